"""Memory for large arrays: results in that of an operand that nobody needs any more, and feeds where XLA takes them.

New memory has to be cleared by the kernel before it can be written, which takes longer than most of what is computed
from one or two large arrays; so does reading what has left the caches.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from headrace.native import threads

_LARGE = 1 << 18  # bytes
LEAST_ELEMENTS = _LARGE >> 4  # of results that may be large enough
_FOR_A_THREAD = 1 << 20  # bytes; less is not worth a thread of its own
_ALIGNMENT = 64  # bytes
_pools: list[ThreadPoolExecutor] = []


def reused(ufunc: np.ufunc, operands: list[Any], places: tuple[int, ...]) -> Any:
    """Returns a function of two arrays computed in the memory of one of them, None if nothing can be reused.

    Args:
      ufunc: The function; its result is of its operands' type.
      operands: The operands. The caller's table of values and this list hold the only references to those at `places`
        that it knows of.
      places: Which operands are not needed any more.
    """
    for place in places:
        out = operands[place]
        other = operands[1 - place]
        if (
            type(out) is np.ndarray
            and out.nbytes >= _LARGE
            and sys.getrefcount(out) <= _UNSHARED
            and out.flags.carray
            and _is_whole(out)
            and type(other) is np.ndarray
            and other.dtype == out.dtype
            and (other.shape == out.shape or other.ndim == 0)
        ):
            a, b = operands
            if other.flags.c_contiguous:
                _in_pieces(ufunc, a, b, out)
            else:
                ufunc(a, b, out=out)
            return out
    return None


def aligned(array: Any) -> Any:
    """Returns an array as XLA takes it without copying it: at an address that is a multiple of 64.

    XLA copies others on one thread.
    """
    if type(array) is not np.ndarray or not array.flags.c_contiguous or not array.ctypes.data % _ALIGNMENT:
        return array
    room = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    out = room[first : first + array.nbytes]
    flat = array.reshape(-1).view(np.uint8)
    n = max(1, min(threads(), array.nbytes // _FOR_A_THREAD))
    step = -(-array.nbytes // n)

    def work(i: int) -> None:
        out[i * step : (i + 1) * step] = flat[i * step : (i + 1) * step]

    _on_threads(work, n)
    return out.view(array.dtype).reshape(array.shape)


def _is_whole(array: Any) -> bool:
    """Whether an array is not part of another that somebody may have."""
    base = array.base
    if base is None:
        return bool(array.flags.owndata)
    return (
        type(base) is np.ndarray
        and base.base is None
        and base.size == array.size
        and bool(base.flags.owndata)
        and sys.getrefcount(base) <= _UNSHARED_BASE
    )


def _in_pieces(ufunc: np.ufunc, a: Any, b: Any, out: Any) -> None:
    n = min(threads(), out.nbytes // _FOR_A_THREAD)
    if n < 2:
        ufunc(a, b, out=out)
        return
    flat = [v.reshape(-1) if v.ndim else v for v in (a, b, out)]
    step = -(-out.size // n)

    def work(i: int) -> None:
        x, y, z = (v[i * step : (i + 1) * step] if v.ndim else v for v in flat)
        with np.errstate(all="ignore"):
            ufunc(x, y, out=z)

    _on_threads(work, n)


def _on_threads(work: Any, n: int) -> None:
    """Calls `work(i)` for each i below n, at the same time."""
    if not _pools:
        _pools.append(ThreadPoolExecutor(threads(), "headrace-numpy"))
    others = [_pools[0].submit(work, i) for i in range(1, n)]
    work(0)
    for other in others:
        other.result()


def _count() -> int:
    values = [np.zeros(1)]
    operands = [values[0]]
    return _seen(operands)


def _seen(operands: list[Any]) -> int:
    for place in (0,):
        out = operands[place]
    return sys.getrefcount(out)


def _count_of_base() -> int:
    array = np.zeros(1).reshape(1, 1)
    base = array.base
    return sys.getrefcount(base)


# How many references `reused` sees to an array that only a table of values and a list of operands hold, and to one that
# only such an array is a view of.
_UNSHARED = _count()
_UNSHARED_BASE = _count_of_base()
