"""Compiled programs kept on disk between runs.

Two kinds of entries share one folder. A *step* is a whole program of a cluster, found by the fingerprint of its nodes
before anything is traced: what tracing found out, and the executable. Everything else that JAX compiles (the
interpreter's one-op programs) goes through JAX's own persistent cache, whose files are entries here as well.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

from headrace import lazy
from headrace.native import xla as native
from headrace.runtime.disk_store import DiskStore
from headrace.runtime.surroundings import surroundings

DEFAULT_LIMIT = 2 << 30

_stores: dict[tuple[str, int], DiskStore] = {}
_lock = threading.Lock()
_for_jax: DiskStore | None = None

# The first letters of a custom call's target -> what has to be done in this process before it can be called.
PREPARE: dict[str, Callable[[], Any]] = {"headrace_": native.prepare}

_LAPACK = frozenset(
    "cholesky cholesky_update eig eigh geqp3 geqrf hessenberg householder_product lu qr ormqr schur svd sytrd "
    "symmetric_product triangular_solve tridiagonal tridiagonal_solve".split()
)


def default_folder() -> str:
    """Returns the folder that is used if nobody names one: `headrace` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "headrace") if os.path.isabs(base) else ""


def store_in(folder: str, limit: int = DEFAULT_LIMIT) -> DiskStore | None:
    """Returns the store in a folder, one for the whole process; None if `folder` is empty."""
    global _for_jax
    if not folder or limit <= 0:
        return None
    key = os.path.abspath(os.path.expanduser(folder)), limit
    with _lock:
        store = _stores.get(key)
        if store is None:
            store = _stores[key] = DiskStore(*key)
        if _for_jax is None:
            _for_jax = store
            lazy.when_jax_is_there(_plug_into_jax)
    return store


# -- whole steps -------------------------------------------------------------------------------------------------


def step_key(fingerprint: str) -> str:
    """Returns the key of a step's entry."""
    text = f"{fingerprint} {surroundings()}"
    return "step-" + hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def save_step(
    store: DiskStore, key: str, found: dict[str, Any], programs: list[Any], targets: set[str], **facts: Any
) -> None:
    """Keeps what tracing found out about a step, and its executables.

    Args:
      store: Where.
      key: The entry's key.
      found: Whatever `Program` needs besides; anything that can be pickled.
      programs: (executable, number of arguments, number of results) of each, all flat.
      targets: What `custom_calls` says of them.
      **facts: What the entry says of itself to who asks whether it pays to load it.
    """
    if any(_preparation(t) is None for t in targets):
        return
    parts = []
    for program, n_in, n_out in programs:
        data = _serialized(program)
        if data is None:
            return
        parts.append((data, n_in, n_out))
    try:
        payload = pickle.dumps((found, parts, sorted(targets)), protocol=5)
    except Exception:  # something in it belongs to this process
        return
    store.put(key, payload, {**facts, "for": surroundings(), "device": _device() if parts else ""})


def load_step(store: DiskStore, key: str) -> tuple[dict[str, Any], list[Any]] | None:
    """Returns what `save_step` kept, ready to run; None if it is not there or of no use here."""
    entry = store.get(key)
    if entry is None:
        return None
    facts, payload = entry
    try:
        if facts.get("for") != surroundings() or facts.get("device") not in ("", _device()):
            store.discard(key, "it was made for another machine")
            return None
        found, parts, targets = pickle.loads(payload)
        for target in targets:
            prepare = _preparation(target)
            if prepare is None:
                return None
            prepare()
        programs = [_loaded(*part) for part in parts]
    except Exception as e:
        store.discard(key, f"{type(e).__name__}: {str(e)[:100]}")
        return None
    return found, programs


def _device() -> str:
    device = lazy.jax.devices()[0]
    return f"{device.platform}:{device.device_kind}"


def custom_calls(jaxpr: Any) -> set[str]:
    """Returns the targets of the calls in a traced step that something has to be prepared for in each process."""
    found: set[str] = set()
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name == "ffi_call":
            found.add(str(eqn.params.get("target_name", "?")))
        elif name in _LAPACK:
            found.add("lapack_")
        elif "callback" in name:
            found.add("callback")
        for value in eqn.params.values():
            for part in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    found |= custom_calls(inner)
    return found


def _preparation(target: str) -> Callable[[], Any] | None:
    if target.startswith(("lapack_", "blas_")):
        return _prepare_lapack
    return next((make for start, make in PREPARE.items() if target.startswith(start)), None)


def _prepare_lapack() -> None:
    from jaxlib import lapack  # the kernels look up LAPACK when they are first asked for

    lapack._lapack.initialize()


def _serialized(program: Any) -> bytes | None:
    from jax.experimental import serialize_executable

    try:
        data: bytes = serialize_executable.serialize(program)[0]
    except Exception:  # not every backend can, nor every program
        return None
    return data


def _loaded(data: bytes, n_in: int, n_out: int) -> Any:
    from jax.experimental import serialize_executable

    in_tree = lazy.jax.tree.structure(((0,) * n_in, {}))
    out_tree = lazy.jax.tree.structure([0] * n_out)
    return serialize_executable.deserialize_and_load(data, in_tree, out_tree)


# -- what JAX compiles by itself ---------------------------------------------------------------------------------


class _JaxEntries:
    """What JAX takes for its cache: entries of a store under JAX's keys."""

    def __init__(self, store: DiskStore):
        self._path = store.folder
        self._store = store

    def get(self, key: str) -> bytes | None:
        found = self._store.get(self._key(key))
        return None if found is None else found[1]

    def put(self, key: str, value: bytes) -> None:
        self._store.put(self._key(key), value)

    @staticmethod
    @functools.lru_cache(1024)
    def _key(key: str) -> str:
        return "jax-" + hashlib.blake2b(f"{key} {surroundings()}".encode(), digest_size=20).hexdigest()


def _plug_into_jax(jax: Any) -> None:
    """Has JAX keep what it compiles in the store, unless the user has given JAX a folder of its own."""
    store = _for_jax
    if store is None or jax.config.jax_compilation_cache_dir:
        return
    try:
        from jax._src import compilation_cache

        make = compilation_cache.get_file_cache
    except (ImportError, AttributeError):  # another JAX: steps are kept all the same
        return

    def made(path: str) -> Any:
        return (_JaxEntries(store), path) if path == store.folder else make(path)

    compilation_cache.get_file_cache = made
    jax.config.update("jax_compilation_cache_dir", store.folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def not_by_jax() -> Any:
    """Returns a block in which JAX keeps nothing of what it compiles: it is kept as a step."""
    try:
        from jax._src import config

        return config.persistent_cache_min_compile_time_secs(float("inf"))
    except (ImportError, AttributeError, TypeError):
        return contextlib.nullcontext()
