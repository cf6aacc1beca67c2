"""Modules that are imported on first use, so that `import headrace` stays quick.

`from headrace.lazy import jax, jnp, lax` gives stand-ins that import the real module when an attribute is first
read. JAX is set up here, once: 64-bit types on (TensorFlow's dtypes are exact).
"""

from __future__ import annotations

import gc
import importlib
import os
import threading
import types
from collections.abc import Callable
from typing import Any


class LazyModule(types.ModuleType):
    """A module that imports itself when its first attribute is read."""

    def __init__(self, name: str):
        super().__init__(name)
        self.__dict__["_loading"] = name

    def __getattr__(self, attribute: str) -> Any:
        name = self.__dict__["_loading"]
        if not _jax_ready and (name == "jax" or name.startswith("jax.")):
            _set_up_jax()
        module = importlib.import_module(name)
        # Later reads find the attributes here and never come back to __getattr__.
        for key, value in vars(module).items():
            self.__dict__.setdefault(key, value)
        return getattr(module, attribute)


_jax_ready = False
_jax_lock = threading.RLock()
_waiting: list[Callable[[Any], None]] = []


lost_threads = (
    False  # whether this process is a copy of one that had started XLA's threads, which stayed there
)


def _note_fork() -> None:
    """Sees, in a forked child, whether there is anybody left to run a compiled step."""
    global lost_threads
    from jax._src import xla_bridge

    lost_threads = bool(xla_bridge.backends_are_initialized())


def _set_up_jax() -> None:
    global _jax_ready
    # A thread that comes second must not go on before the first has set up what numbers are.
    with _jax_lock:
        if _jax_ready:
            return
        module = _import_jax()
        module.config.update("jax_enable_x64", True)
        _jax_ready = True
        os.register_at_fork(after_in_child=_note_fork)
        for function in _waiting:
            function(module)
        _waiting.clear()


def _import_jax() -> Any:
    # It makes objects by the hundred thousand, none of them garbage; looking through them all again and again takes a
    # fifth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module("jax")
    finally:
        if collects:
            gc.enable()


def when_jax_is_there(function: Callable[[Any], None]) -> None:
    """Has a function called with the module `jax` once that has been imported and set up; at once if it has been."""
    with _jax_lock:
        if _jax_ready:
            function(importlib.import_module("jax"))
        else:
            _waiting.append(function)


def has_jax() -> bool:
    """Whether JAX has been imported already, which takes half a second."""
    return _jax_ready


jax: Any = LazyModule("jax")
jnp: Any = LazyModule("jax.numpy")
lax: Any = LazyModule("jax.lax")
jax_core: Any = LazyModule("jax.extend.core")
jax_partial_eval: Any = LazyModule("jax.interpreters.partial_eval")
scipy_special: Any = LazyModule("scipy.special")
scipy_linalg: Any = LazyModule("scipy.linalg")
