"""What a compiled program hangs on besides the graph: versions, the CPU, the settings of XLA, headrace's own rules.

All of it is read without importing JAX, so that a program may ask whether something is kept before it pays for that.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import re
import sys

from headrace.platform.version import HEADRACE_VERSION

_SETTINGS = (
    "HEADRACE_NATIVE",
    "XLA_FLAGS",
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "CUDA_VISIBLE_DEVICES",
    "NPROC",
)
_STARTS = ("JAX_DEFAULT_", "JAX_NUMPY_", "JAX_ENABLE_", "JAX_CPU_")


_threads: int | None = None


def threads() -> int:
    """Returns how many threads XLA has, or will have, for one op."""
    return cpu_count() if _threads is None else _threads


def use_threads(n: int) -> None:
    """Says how many threads XLA will have: programs are cut into as many pieces."""
    global _threads
    _threads = n


def surroundings() -> str:
    """Returns a text that is the same in two processes if one can run what the other has compiled."""
    return f"{_fixed()} threads={threads()}"


@functools.cache
def _fixed() -> str:
    own = hashlib.blake2b(_sources().encode(), digest_size=8).hexdigest()
    cpu = hashlib.blake2b(_cpu().encode(), digest_size=8).hexdigest()
    settings = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if _is_setting(name)]
    return " ".join(
        [
            f"headrace={HEADRACE_VERSION}-{own}",
            f"jax={_version('jax')}",
            f"jaxlib={_version('jaxlib')}",
            f"python={sys.version_info[0]}.{sys.version_info[1]}",
            f"machine={platform.machine()}-{cpu}",
            *settings,
        ]
    )


def cpu_count() -> int:
    """Returns how many CPUs this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _is_setting(name: str) -> bool:
    return name in _SETTINGS or name.startswith(_STARTS)


def _version(package: str) -> str:
    """Returns a package's version from its file of versions; importing the package would take half a second."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        return "none"
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as file:
            found = re.search(r'^_version\s*=\s*[\'"](.+?)[\'"]', file.read(), re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        from importlib import metadata

        return metadata.version(package)
    return found[1]


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read(8192)
    except OSError:
        return platform.processor()
    kept = [
        line for line in text.splitlines() if line.startswith(("model name", "flags", "Features", "CPU part"))
    ]
    return "\n".join(dict.fromkeys(kept))


def _sources() -> str:
    """Returns name, size and time of every source file of the package: what is compiled is what the rules say."""
    out = []
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in sorted(files):
            if name.endswith((".py", ".so", ".pyd", ".dylib")):
                found = os.stat(os.path.join(folder, name))
                out.append(f"{name} {found.st_size} {found.st_mtime_ns}")
    return "\n".join(out)
