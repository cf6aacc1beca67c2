"""Candidate classes drawn by the native library."""

from __future__ import annotations

from ctypes import c_double, c_int64
from typing import Any

import numpy as np

from headrace.native import address, library


def log_uniform(
    key: Any, counter: Any, range_max: int, log_range: float, count: int, unique: bool
) -> tuple[np.ndarray[Any, Any], int] | None:
    """Draws classes whose likelihood falls as their number grows.

    Args:
      key: A uint32[2] key.
      counter: The uint32[4] counter of the first block.
      range_max: How many classes there are.
      log_range: The logarithm of one more than that.
      count: How many to draw; no more than there are if they are to be different.
      unique: Whether they are all different.

    Returns:
      The classes and how many draws it took; None without the library.
    """
    lib = library()
    if lib is None:
        return None
    classes = np.empty(count, np.int64)
    function = lib.headrace_log_uniform
    function.restype = c_int64
    tries = function(
        address(np.ascontiguousarray(key, np.uint32)),
        address(np.ascontiguousarray(counter, np.uint32)),
        c_int64(range_max),
        c_double(log_range),
        c_int64(count),
        c_int64(unique),
        address(classes),
    )
    return None if tries < 0 else (classes, tries)


def log_uniform_expected(
    classes: np.ndarray[Any, Any], log_range: float, count: int, tries: int
) -> np.ndarray[Any, Any] | None:
    """Returns how many of the drawn classes were to be expected to be each of some; None without the library.

    Args:
      classes: int64 numbers of classes.
      log_range: The logarithm of one more than how many classes there are.
      count: How many were drawn.
      tries: In how many draws.
    """
    lib = library()
    if lib is None:
        return None
    classes = np.ascontiguousarray(classes, np.int64)
    out = np.empty(classes.shape, np.float32)
    lib.headrace_log_uniform_expected(
        address(classes),
        c_int64(classes.size),
        c_double(log_range),
        c_int64(count),
        c_int64(tries),
        address(out),
    )
    return out
