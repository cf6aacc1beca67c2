"""Memory: what a step frees is kept for the next one, and large arrays lie where XLA takes them without copying.

XLA asks for the memory of a step's intermediate results anew in each step. What goes back to the kernel in between is
cleared page by page when it is touched next.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

import numpy as np

from headrace.lazy import when_jax_is_there
from headrace.native import library

# Numbers that glibc's malloc.h gives to what can be set.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

_SET_HANDLER = (
    304  # the place of PyDataMem_SetHandler among the functions of NumPy's C API, which stay where they are
)

_keeps_memory = False


def keep_memory() -> None:
    """Has what is freed kept for this process: by malloc if it is glibc's, and for XLA by the native library.

    By default glibc gives large blocks back to the kernel: a fifth of an LSTM's step. With one arena for all threads,
    what one thread frees another can use; threads that come before this was said have arenas of their own, which later
    ones share and which have no room for large blocks.
    """
    global _keeps_memory
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, (1 << 31) - 1)
    mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    mallopt(_ARENA_MAX, 1)
    _keeps_memory = True
    when_jax_is_there(_keep_large_blocks)


def _keep_large_blocks(_: Any) -> None:
    lib = library()
    if lib is not None:
        lib.headrace_keep_large_blocks()


def return_memory() -> None:
    """Gives the kernel what is kept and nobody uses; for after a program was compiled, or variables moved.

    LLVM leaves as much behind as a small program's steps take, and the interpreted steps before it did, in pieces
    that none of the new program's arrays fits in.
    """
    if not _keeps_memory:
        return
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    lib = library()
    if lib is not None:
        lib.headrace_return_large_blocks()


def large_blocks() -> tuple[int, int]:
    """Returns how many bytes XLA's large arrays hold, and how many are kept for others; nothing without the library."""
    counts = (ctypes.c_int64 * 2)()
    lib = library()
    if lib is not None:
        lib.headrace_count_large_blocks(counts)
    return counts[0], counts[1]


def align_arrays() -> None:
    """Has NumPy put this thread's large arrays at multiples of 64 bytes, where XLA takes them without copying."""
    lib = library()
    if lib is None:
        return
    made = ctypes.pythonapi.PyCapsule_New
    made.restype, made.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    lib.headrace_numpy_memory.restype = ctypes.c_void_p
    # In an older NumPy the functions lie elsewhere.
    with contextlib.suppress(AttributeError):
        functions = ctypes.cast(
            pointer(np._core._multiarray_umath._ARRAY_API, None),  # type: ignore[attr-defined]
            ctypes.POINTER(ctypes.c_void_p),
        )
        set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET_HANDLER])
        set_handler(made(lib.headrace_numpy_memory(), b"mem_handler", None))


if os.environ.get("HEADRACE_KEEP_MEMORY", "1") != "0":
    keep_memory()
    align_arrays()
