"""A small C++ library for what NumPy and XLA are slow at; optional, and off with HEADRACE_NATIVE=0.

`library()` gives the functions for the interpreter, or None: whoever calls them has NumPy code that gives the same.
`headrace.native.xla` has those that compiled programs call. The sources lie beside this file; hatch_build.py in the
project's folder compiles them when the package is built.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

VERSION = 13  # of what the library's functions take; src/version.cc has the same number

_HERE = Path(__file__).parent
_loaded: list[Any] = []  # the library, or None, once it was looked for
_why_not = ""
_threads: int | None = None


def library() -> Any:
    """Returns the library for the interpreter, None if there is none or it is turned off."""
    if not _loaded:
        _loaded.append(open_library("libheadrace.so", "headrace_native_version"))
    return _loaded[0]


def open_library(name: str, version: str) -> Any:
    """Loads one of the libraries.

    Args:
      name: The file's name.
      version: The name of its function that tells its version.

    Returns:
      The library, None if it can't be used; `describe` says why.
    """
    global _why_not
    path = _HERE / name
    if os.environ.get("HEADRACE_NATIVE", "1") == "0":
        _why_not = "turned off by HEADRACE_NATIVE=0"
        return None
    if not path.is_file():
        _why_not = _noted() or "not built"
        return None
    try:
        found = ctypes.CDLL(str(path))
        its_own = getattr(found, version)()
    except (OSError, AttributeError) as e:
        _why_not = f"{name} can't be used: {e}"
        return None
    if its_own != VERSION:
        _why_not = f"{name} is of another version: install headrace again"
        return None
    return found


def say_why_not(reason: str) -> None:
    """Notes why a library can't be used, for `describe`."""
    global _why_not
    _why_not = reason


def _noted() -> str:
    try:
        return (_HERE / "_why_not.txt").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def forget() -> None:
    """Looks for the library anew when it is next asked for, as after HEADRACE_NATIVE was set."""
    _loaded.clear()
    xla = sys.modules.get("headrace.native.xla")
    if xla is not None:
        xla.forget()


def threads() -> int:
    """Returns on how many threads a kernel of the interpreter may run."""
    if _threads is not None:
        return _threads
    try:
        return min(8, len(os.sched_getaffinity(0)))
    except AttributeError:
        return 1


def use_threads(n: int) -> None:
    """Says on how many threads a kernel of the interpreter may run."""
    global _threads
    _threads = max(1, n)


def describe() -> str:
    """Returns one line on what is in use."""
    if library() is None:
        return f"none ({_why_not}): NumPy and plain XLA do it all"
    from headrace.native import xla

    return (
        "for the interpreter and for XLA"
        if xla.library()
        else f"for the interpreter, not for XLA ({_why_not})"
    )


def address(array: Any) -> ctypes.c_void_p:
    """Returns where a contiguous array's numbers are; they stay there for as long as what is returned does.

    A call lets other threads run: an array made for it alone would be gone, and its memory theirs.
    """
    try:
        # A quarter of the time that the other way takes.
        found = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(array)))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        found = ctypes.c_void_p(array.__array_interface__["data"][0])
    found.array = array  # type: ignore[attr-defined]
    return found
