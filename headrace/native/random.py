"""Random numbers from Philox streams by the native library."""

from __future__ import annotations

from ctypes import c_int64, c_uint64
from typing import Any

import numpy as np

from headrace.native import address, library, threads

# Numbers for each thread: fewer are not worth one of their own.
_FOR_A_THREAD = 1 << 17


def philox_blocks(key: Any, counter: Any, count: int, stride: int) -> np.ndarray | None:
    """Returns blocks of a stream as uint32[count, 4], None without the library.

    Args:
      key: A uint32[2] key.
      counter: The uint32[4] counter of the first block.
      count: How many blocks.
      stride: How far the counter moves from one to the next.
    """
    lib = library()
    if lib is None:
        return None
    out = np.empty((count, 4), np.uint32)
    stream = _stream(key, counter)
    lib.headrace_philox_blocks(
        address(stream[0]),
        address(stream[1]),
        c_int64(count),
        c_uint64(stride),
        c_int64(_workers(4 * count)),
        address(out),
    )
    return out


def uniform(key: Any, counter: Any, count: int, bits: int) -> np.ndarray | None:
    """Returns float32 numbers of so many random bits, or float64 ones of 52; None without the library."""
    if bits == 52:
        return _made("headrace_uniform_double", key, counter, count, np.float64)
    return _made("headrace_uniform", key, counter, count, np.float32, c_int64(bits))


def normal(key: Any, counter: Any, count: int) -> np.ndarray | None:
    """Returns float32 standard normal numbers; None without the library."""
    return _made("headrace_normal", key, counter, count, np.float32)


def truncated_normal(key: Any, counter: Any, count: int) -> np.ndarray | None:
    """Returns float32 normal numbers of magnitude below two; None without the library."""
    return _made("headrace_truncated_normal", key, counter, count, np.float32)


def _made(name: str, key: Any, counter: Any, count: int, dtype: Any, *more: Any) -> np.ndarray | None:
    lib = library()
    if lib is None:
        return None
    out = np.empty(count, dtype)
    stream = _stream(key, counter)
    getattr(lib, name)(
        address(stream[0]),
        address(stream[1]),
        c_int64(count),
        *more,
        c_int64(_workers(count)),
        address(out),
    )
    return out


def _stream(key: Any, counter: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(key, np.uint32), np.ascontiguousarray(counter, np.uint32)


def _workers(count: int) -> int:
    return max(1, min(threads(), count // _FOR_A_THREAD))
