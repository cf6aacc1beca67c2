"""Distinct numbers, rows, their sums, and the greatest elements of rows, by the native library."""

from __future__ import annotations

import math
from ctypes import c_int64
from typing import Any

import numpy as np

from headrace.native import address, library, threads

_SUMS = {np.dtype(np.float32): "headrace_add_rows_float", np.dtype(np.float64): "headrace_add_rows_double"}
_DIVISIONS = {
    np.dtype(np.float32): "headrace_divide_rows_float",
    np.dtype(np.float64): "headrace_divide_rows_double",
}
_FOR_A_THREAD = 1 << 19  # elements; fewer are not worth a thread of their own
_PLACES = (np.dtype(np.int32), np.dtype(np.int64))


def distinct(keys: np.ndarray, place: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Numbers the distinct elements of a vector of integers in the order of their first occurrence.

    Args:
      keys: The vector.
      place: The type of numbers and counts, int32 or int64.

    Returns:
      The places of the first occurrences, each element's number, and how often each occurs. None without the library,
      or if the elements are no integers.
    """
    lib = library()
    if lib is None or keys.dtype.kind not in "iub":
        return None
    keys = np.ascontiguousarray(keys)
    n = keys.size
    place = np.dtype(place)
    firsts, numbers, counts = np.empty(n, np.int64), np.empty(n, place), np.empty(n, place)
    function = lib.headrace_distinct
    function.restype = c_int64
    found = function(
        address(keys),
        c_int64(keys.itemsize),
        c_int64(n),
        address(firsts),
        c_int64(place.itemsize),
        address(numbers),
        address(counts),
    )
    return None if found < 0 else (firsts[:found].copy(), numbers, counts[:found].copy())


def sums(rows: np.ndarray, chosen: np.ndarray | None, ids: np.ndarray, count: int) -> np.ndarray | None:
    """Returns `count` sums of rows, each row added to that of its id in the order of the rows.

    Args:
      rows: The rows, along the first axis: float32 or float64.
      chosen: Which of the rows there are, each an index within range; None for all.
      ids: Their ids, less than `count`, int32 or int64; those with negative ones are left out.
      count: How many sums.

    Returns:
      The sums; None without the library, or for other types.

    Raises:
      IndexError: An index or an id is out of range.
    """
    lib = library()
    name = _SUMS.get(rows.dtype)
    if lib is None or name is None or ids.dtype not in _PLACES:
        return None
    if chosen is not None and chosen.dtype not in _PLACES:
        return None
    if rows.shape[0] < ids.size and chosen is None:
        raise IndexError("there are more ids than rows")
    rows, ids = np.ascontiguousarray(rows), np.ascontiguousarray(ids)
    out = np.zeros((count, *rows.shape[1:]), rows.dtype)
    if chosen is not None:
        chosen = np.ascontiguousarray(chosen)
    function = getattr(lib, name)
    function.restype = c_int64
    bad = function(
        address(rows),
        c_int64(rows.shape[0]),
        c_int64(math.prod(rows.shape[1:])),
        c_int64(count),
        c_int64(ids.size),
        None if chosen is None else address(chosen),
        c_int64(8 if chosen is None else chosen.itemsize),
        address(ids),
        c_int64(ids.itemsize),
        address(out),
    )
    if bad >= 0:
        raise IndexError(f"index or id {bad} is out of range")
    return out


def take(table: np.ndarray, indices: np.ndarray) -> np.ndarray | None:
    """Returns rows of a table.

    Args:
      table: The rows, along the first axis.
      indices: Which ones, int32 or int64, in any shape.

    Returns:
      A row for each; None without the library, for objects, or if an index is out of range.
    """
    lib = library()
    if lib is None or indices.dtype not in _PLACES or table.dtype.hasobject or not table.flags.c_contiguous:
        return None
    out = np.empty((*indices.shape, *table.shape[1:]), table.dtype)
    if not out.size:
        return None
    indices = np.ascontiguousarray(indices)
    function = lib.headrace_take_rows
    function.restype = c_int64
    bad = function(
        address(table),
        c_int64(table.shape[0]),
        c_int64(out.nbytes // indices.size),
        address(indices),
        c_int64(indices.itemsize),
        c_int64(indices.size),
        address(out),
    )
    return out if bad < 0 else None


def divide(rows: np.ndarray, ids: np.ndarray, root: bool) -> bool:
    """Divides each row, in place, by how many of the ids are its number, or by the root of that.

    Args:
      rows: The rows, along the first axis: a contiguous array of one's own.
      ids: The ids; a row whose number is not among them stays as it is.
      root: Whether it is the root.

    Returns:
      Whether that was done; False without the library, or for other types.
    """
    lib = library()
    name = _DIVISIONS.get(rows.dtype)
    if lib is None or name is None or ids.dtype not in _PLACES:
        return False
    ids = np.ascontiguousarray(ids)
    function = getattr(lib, name)
    function.restype = c_int64
    failed = function(
        address(rows),
        c_int64(math.prod(rows.shape[1:])),
        c_int64(rows.shape[0]),
        address(ids),
        c_int64(ids.itemsize),
        c_int64(ids.size),
        c_int64(root),
    )
    return not failed


def top_k(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns the k greatest elements of each row and their places, the first of equal ones first.

    Args:
      x: Rows along the last axis.
      k: How many of each, at most a row's length.

    Returns:
      The values and, as int32, the places. None without the library, for other types than floats and integers of 32
      and 64 bits, and where sorting whole rows is as quick.
    """
    lib = library()
    n = x.shape[-1]
    if lib is None or x.dtype.kind not in "fi" or x.dtype.itemsize not in (4, 8) or not x.dtype.isnative:
        return None
    if not 0 < k <= n // 4 or n >= 2**31 or not x.size:
        return None
    x = np.ascontiguousarray(x)
    values, places = np.empty((*x.shape[:-1], k), x.dtype), np.empty((*x.shape[:-1], k), np.int32)
    function = lib.headrace_top_k
    function.restype = c_int64
    failed = function(
        address(x),
        c_int64(ord(x.dtype.kind)),
        c_int64(x.itemsize),
        c_int64(x.size // n),
        c_int64(n),
        c_int64(k),
        c_int64(max(1, min(threads(), x.size // _FOR_A_THREAD))),
        address(values),
        address(places),
    )
    return None if failed else (values, places)
