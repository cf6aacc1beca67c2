"""Rows of variables changed in place by the native library: optimizers' sparse updates, and scattered values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import c_int64, c_void_p

import numpy as np

from headrace.native import address, library, threads

# What the library knows, in the order of the numbers that it has for them.
UPDATES = (
    "ProximalGradientDescent",
    "Momentum",
    "KerasMomentum",
    "Adagrad",
    "AdagradV2",
    "AdagradDA",
    "ProximalAdagrad",
    "Adadelta",
    "RMSProp",
    "CenteredRMSProp",
    "Ftrl",
    "FtrlV2",
)
# Those that it knows for whole variables, with the same results as NumPy to the last bit.
WHOLE = (
    "GradientDescent",
    "Adam",
    "Momentum",
    "KerasMomentum",
    "Adagrad",
    "AdagradV2",
    "Adadelta",
    "RMSProp",
    "CenteredRMSProp",
)
WAYS = ("Update", "Add", "Sub", "Mul")

_NUMBERS = {name: i for i, name in enumerate((*UPDATES, "GradientDescent", "Adam"))}
_WAYS = {name: i for i, name in enumerate(WAYS)}
_FUNCTIONS = {
    np.dtype(np.float32): "headrace_update_rows_float",
    np.dtype(np.float64): "headrace_update_rows_double",
}
_WHOLE_FUNCTIONS = {
    np.dtype(np.float32): "headrace_update_whole_float",
    np.dtype(np.float64): "headrace_update_whole_double",
}
_FOR_A_THREAD = 1 << 18  # elements; fewer are not worth a thread of their own
_FEWEST = 1 << 12  # NumPy is as quick for fewer elements
_KINDS = {np.dtype(np.float32): "f", np.dtype(np.float64): "d"}
_KINDS.update({np.dtype(t): "i" for t in (np.int32, np.uint32)})
_KINDS.update({np.dtype(t): "l" for t in (np.int64, np.uint64)})
_INDICES = (np.dtype(np.int32), np.dtype(np.int64))


def first_outside(indices: np.ndarray, count: int) -> int | None:
    """Returns the flat place of the first index outside [0, count), -1 if there is none; None without the library."""
    lib = library()
    if lib is None or indices.dtype not in _INDICES:
        return None
    indices = np.ascontiguousarray(indices)
    function = lib.headrace_first_outside
    function.restype = c_int64
    return int(function(address(indices), c_int64(indices.itemsize), c_int64(indices.size), c_int64(count)))


def update_rows(
    name: str,
    tables: Sequence[np.ndarray],
    indices: np.ndarray,
    gradient: np.ndarray,
    scalars: Sequence[np.ndarray],
    flag: bool,
) -> bool:
    """Does an optimizer's update of some rows, one after the other, in place.

    Args:
      name: One of `UPDATES`.
      tables: The variable and its slots: arrays of one shape that may be written to.
      indices: Which rows, each within range.
      gradient: A row for each.
      scalars: The op's scalars in the order of its operands.
      flag: use_nesterov or update_slots, for those that have one.

    Returns:
      Whether that was done; False without the library, or for other types.
    """
    lib = library()
    table = tables[0]
    function_name = _FUNCTIONS.get(table.dtype)
    if lib is None or function_name is None or name not in _NUMBERS or indices.dtype not in _INDICES:
        return False
    if not all(t.flags.c_contiguous for t in tables) or len({id(t) for t in tables}) < len(tables):
        return False
    if gradient.dtype != table.dtype or gradient.shape != (indices.size, *table.shape[1:]):
        return False
    gradient, indices = np.ascontiguousarray(gradient), np.ascontiguousarray(indices)
    numbers = np.array([float(s) for s in scalars], table.dtype)
    if not gradient.size:
        return True
    function = getattr(lib, function_name)
    function.restype = c_int64
    failed = function(
        c_int64(_NUMBERS[name]),
        (c_void_p * len(tables))(*[address(t) for t in tables]),
        c_int64(math.prod(table.shape[1:])),
        c_int64(indices.size),
        address(indices),
        c_int64(indices.itemsize),
        address(gradient),
        address(numbers),
        c_int64(flag),
    )
    return not failed


def can_update_whole(name: str, tables: Sequence[np.ndarray], gradient: np.ndarray) -> bool:
    """Whether the library updates whole variables like this one."""
    like = tables[0]
    return (
        name in WHOLE
        and like.size >= _FEWEST
        and like.dtype in _WHOLE_FUNCTIONS
        and library() is not None
        and all(x.dtype == like.dtype and x.shape == like.shape for x in (*tables[1:], gradient))
    )


def update_whole(
    name: str,
    tables: Sequence[np.ndarray],
    gradient: np.ndarray,
    scalars: Sequence[np.ndarray],
    flag: bool,
) -> None:
    """Does an optimizer's update of a whole variable in place.

    Args:
      name: One of `WHOLE`.
      tables: The variable and its slots: arrays of which `can_update_whole` holds, and that may be written to.
      gradient: The gradient.
      scalars: The op's scalars in the order of its operands.
      flag: use_nesterov or update_slots, for those that have one.
    """
    table = tables[0]
    gradient = np.ascontiguousarray(gradient)
    numbers = np.array([float(s) for s in scalars], table.dtype)
    getattr(library(), _WHOLE_FUNCTIONS[table.dtype])(
        c_int64(_NUMBERS[name]),
        (c_void_p * len(tables))(*[address(t) for t in tables]),
        c_int64(len(tables)),
        c_int64(table.size),
        address(gradient),
        address(numbers),
        c_int64(flag),
        c_int64(max(1, min(threads(), table.size // _FOR_A_THREAD))),
    )


def scatter(way: str, table: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> bool:
    """Changes rows of a table, one after the other, in place.

    Args:
      way: One of `WAYS`.
      table: An array that may be written to.
      indices: Which rows, each within range.
      updates: A row for each, or what broadcasts to that.

    Returns:
      Whether that was done; False without the library, or for other types.
    """
    lib = library()
    kind = _KINDS.get(table.dtype)
    if lib is None or kind is None or way not in _WAYS or indices.dtype not in _INDICES:
        return False
    if not table.flags.c_contiguous or not table.dtype.isnative or updates.dtype != table.dtype:
        return False
    rows = np.ascontiguousarray(np.broadcast_to(updates, (*indices.shape, *table.shape[1:])))
    if not rows.size:
        return True
    if np.may_share_memory(rows, table):
        rows = rows.copy()
    indices = np.ascontiguousarray(indices)
    function = lib.headrace_scatter_rows
    function.restype = c_int64
    failed = function(
        c_int64(_WAYS[way]),
        c_int64(ord(kind)),
        address(table),
        c_int64(math.prod(table.shape[1:])),
        c_int64(indices.size),
        address(indices),
        c_int64(indices.itemsize),
        address(rows),
    )
    return not failed
