"""When plans are compiled, by what patterns rewritten, and where programs are kept.

The environment says so, and a session's ConfigProto.

A variable of the environment overrides the option of the same name. Options of headrace's own ride in the place that
a ConfigProto has for such things, a custom optimizer's parameters, so a serialized one keeps them and TensorFlow
ignores them: see `with_policies`.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from headrace import lazy, native
from headrace.platform import tf_logging
from headrace.runtime import compile_cache, surroundings
from headrace.runtime.rewrites import Rewrites, rewrites_of

TIERS = ("auto", "interpret", "compile")
BACKGROUND = ("auto", "on", "off")

_NAME = "headrace"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MAY_BE_EMPTY = ("cache_dir", "optimize")  # which says something; other variables are then as if not set
_OPTIONS = ("tier", "compile_after", "background", "cache_dir", "cache_size", "optimize")

# Variables of the environment that the whole process goes by, which no session has as options -> what they may say.
_OF_THE_PROCESS = {
    "native": ("0", "1"),
    "products": ("avx512", "avx2", "plain"),
    "winograd": ("0", "1"),
    "keep_memory": ("0", "1"),
}

_lock = threading.Lock()
_said: set[str] = set()


@dataclass(frozen=True)
class Policies:
    """What decides what becomes of plans.

    Attributes:
      tier: `interpret`, `compile` (at once), or `auto`.
      compile_after: For how many seconds feeds of the same shapes must have been interpreted before they are compiled.
      background: Whether programs are made in a thread while the interpreter goes on: `on`, `off`, or `auto`, where
        that pays.
      cache_dir: The folder of compiled programs; '' for none.
      cache_size: How many bytes they may take together; with 0 none are kept, nor looked for.
      rewrites: Which patterns plans are rewritten by. The option is `optimize`: `on`, `off`, or names of tables.
    """

    tier: str = "auto"
    compile_after: float = 0.0
    background: str = "auto"
    cache_dir: str = ""
    cache_size: int = compile_cache.DEFAULT_LIMIT
    rewrites: Rewrites = field(default_factory=Rewrites)

    @property
    def store(self) -> Any:
        """The store of compiled programs, None if there is none."""
        return compile_cache.store_in(self.cache_dir, self.cache_size)


def policies_of(config: Any = None) -> Policies:
    """Returns the policies that the environment and a ConfigProto ask for.

    Raises:
      ValueError: One of them holds something else than it may.
    """
    given: dict[str, Any] = {}
    if config is not None:
        given = _options(config)
        level = config.graph_options.optimizer_options.global_jit_level
        if level > 0:  # ON_1, ON_2; what is off in TensorFlow by default is `auto` here
            given.setdefault("tier", "compile")
    environment = os.environ
    for option in _OPTIONS:
        value = environment.get(f"HEADRACE_{option.upper()}")
        if value or (value is not None and option in _MAY_BE_EMPTY):
            given[option] = value
    for option, choices in _OF_THE_PROCESS.items():
        _one_of(option, environment.get(f"HEADRACE_{option.upper()}") or choices[0], choices)
    if "cache_dir" not in given:
        given["cache_dir"] = compile_cache.default_folder()
    return Policies(
        tier=_one_of("tier", given.get("tier", "auto"), TIERS),
        compile_after=_seconds(given.get("compile_after", 0.0)),
        background=_one_of("background", given.get("background", "auto"), BACKGROUND),
        cache_dir=str(given["cache_dir"]),
        cache_size=_size(given.get("cache_size", compile_cache.DEFAULT_LIMIT)),
        rewrites=rewrites_of(config, given.get("optimize")),
    )


def with_policies(config: Any = None, **options: Any) -> Any:
    """Returns a ConfigProto with policies of headrace's.

    Args:
      config: A ConfigProto to add them to; a new one if None.
      **options: `tier`, `compile_after` (seconds), `background`, `cache_dir`, `cache_size` (bytes, or text such as
        "500 MB"), `optimize`; see `Policies`.

    Raises:
      TypeError: There is no such option.
      ValueError: An option may not have such a value.
    """
    from headrace.proto import ConfigProto

    made = ConfigProto()
    if config is not None:
        made.CopyFrom(config)
    custom = made.graph_options.rewrite_options.custom_optimizers
    ours = next((c for c in custom if c.name == _NAME), None) or custom.add(name=_NAME)
    for option, value in options.items():
        if option not in _OPTIONS:
            raise TypeError(f"there is no policy {option!r}; there are {', '.join(_OPTIONS)}")
        ours.parameter_map[option].s = str(value).encode()
    policies_of(made)
    return made


def _options(config: Any) -> dict[str, Any]:
    """Returns headrace's own options in a ConfigProto; whatever else its rewriters are told is not for headrace."""
    found: dict[str, Any] = {}
    for custom in config.graph_options.rewrite_options.custom_optimizers:
        if custom.name == _NAME:
            for option, value in custom.parameter_map.items():
                if option not in _OPTIONS:
                    raise ValueError(f"there is no policy {option!r}; there are {', '.join(_OPTIONS)}")
                kind = value.WhichOneof("value")
                got = getattr(value, kind) if kind in ("s", "i", "f", "b") else ""
                found[option] = got.decode() if isinstance(got, bytes) else got
    return found


def _one_of(option: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"HEADRACE_{option.upper()} is one of {', '.join(choices)}, not {value!r}")
    return str(value)


def _seconds(value: Any) -> float:
    try:
        found = float(value)
    except ValueError:
        found = -1.0
    if not found >= 0:
        raise ValueError(f"HEADRACE_COMPILE_AFTER is a number of seconds, not {value!r}")
    return found


def _size(value: Any) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(value).lower())
    if found is None:
        raise ValueError(f"HEADRACE_CACHE_SIZE is a number of bytes such as 500MB, not {value!r}")
    return int(float(found[1]) * _UNITS[found[2]])


# -- threads -----------------------------------------------------------------------------------------------------


def use_threads(config: Any) -> None:
    """Has XLA use as many threads as a ConfigProto asks for, which only the first session of a process can do.

    Zero, and what is below it, leaves that to the machine; more than it has CPUs would only stand in each other's way.
    """
    wanted = config.intra_op_parallelism_threads
    if wanted <= 0:
        return
    wanted = min(wanted, surroundings.cpu_count())
    native.use_threads(wanted)
    with _lock:
        if wanted == surroundings.threads():
            return
        if lazy.has_jax() and _has_devices():
            _say_once(
                "threads",
                f"intra_op_parallelism_threads={wanted} is not heeded: XLA's {surroundings.threads()} threads were "
                "started by an earlier session of this process",
            )
            return
        surroundings.use_threads(wanted)
        lazy.when_jax_is_there(_start_devices)


def _has_devices() -> bool:
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())


def _start_devices(jax: Any) -> None:
    """Starts XLA's client, which looks at NPROC as it starts its threads."""
    if _has_devices():
        return
    before = os.environ.get("NPROC")
    os.environ["NPROC"] = str(surroundings.threads())
    try:
        jax.devices()
    finally:
        if before is None:
            del os.environ["NPROC"]
        else:
            os.environ["NPROC"] = before


def _say_once(kind: str, message: str) -> None:
    if kind not in _said:
        _said.add(kind)
        tf_logging.warning(message)
