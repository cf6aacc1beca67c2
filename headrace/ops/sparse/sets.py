"""Sets in the last axis of tensors: intersections, differences and unions, and how large sets are.

A set is what lies in one row, each value once and sorted. The rows' other axes are the same in both operands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import NAMES, export
from headrace.opdef import convert_to_tensor, op, raw
from headrace.shapes import to_text, with_rank, with_rank_at_least

_REST = """
      set_operation: string
      validate_indices: bool = true
      T: {int8, int16, int32, int64, uint8, uint16, string}
"""
_RESULTS = "result_indices: int64, result_values: T, result_shape: int64"

DenseToDenseSetOperation = op(f"""
    DenseToDenseSetOperation(set1: T, set2: T) -> ({_RESULTS}){_REST}
    Combines the sets of two dense tensors.
""", grad=None)  # fmt: skip

DenseToSparseSetOperation = op(f"""
    DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) -> ({_RESULTS}){_REST}
    Combines the sets of a dense tensor with those of a sparse one.
""", grad=None)  # fmt: skip

SparseToSparseSetOperation = op(f"""
    SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, \
set2_values: T, set2_shape: int64) -> ({_RESULTS}){_REST}
    Combines the sets of two sparse tensors.
""", grad=None)  # fmt: skip

SetSize = op("""
    SetSize(set_indices: int64, set_values: T, set_shape: int64) -> (size: int32)
      validate_indices: bool = true
      T: {int8, int16, int32, int64, uint8, uint16, string}

    How many different values each row of a sparse tensor holds.
""", grad=None)  # fmt: skip


def _result(rank):
    return [(None, rank), (None,), (rank,)]


def _check_groups(first, second):
    """Checks that all axes but the last agree, as far as they are known."""
    for i, (a, b) in enumerate(zip(first[:-1], second[:-1], strict=True)):
        if a is not None and b is not None and a != b:
            shapes = f"{to_text(first[:-1])} and {to_text(second[:-1])}"
            raise ValueError(
                f"Dimension {i} in both shapes must be equal, but are {a} and {b}. Shapes are {shapes}."
            )


@DenseToDenseSetOperation.shape
def dense_to_dense_shape(set1, set2):
    if set1 is None or set2 is None:
        known = set1 if set1 is not None else set2
        return _result(None if known is None else len(with_rank_at_least(known, 2)))
    with_rank_at_least(set1, 2)
    with_rank(set2, len(set1))
    _check_groups(set1, set2)
    return _result(len(set1))


def _check_parts(indices, values, shape):
    """Checks the parts of a sparse tensor against each other, as far as their shapes are known."""
    rows, columns = with_rank(indices, 2)
    [count], [rank] = with_rank(values, 1), with_rank(shape, 1)
    if None not in (rows, count) and rows != count:
        raise ValueError(f"Number of elements in index ({rows}) and values ({count}) do not match.")
    if None not in (columns, rank) and columns != rank:
        raise ValueError(f"Index rank ({columns}) and shape rank ({rank}) do not match.")


def _rank_of(indices, shape):
    if indices is not None and indices[1] is not None:
        return indices[1]
    return None if shape is None else with_rank(shape, 1)[0]


@DenseToSparseSetOperation.shape
def dense_to_sparse_shape(set1, set2_indices, set2_values, set2_shape):
    _check_parts(set2_indices, set2_values, set2_shape)
    rank = _rank_of(set2_indices, set2_shape)
    if set1 is not None:
        with_rank_at_least(set1, 2)
        if rank is not None and rank != len(set1):
            raise ValueError(f"Dimension must be {len(set1)} but is {rank}")
        return _result(len(set1))
    return _result(rank)


@SparseToSparseSetOperation.shape
def sparse_to_sparse_shape(set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape):
    _check_parts(set1_indices, set1_values, set1_shape)
    rank = _rank_of(set1_indices, set1_shape)
    if rank is not None and rank < 2:
        raise ValueError(f"Input 0, expected rank >= 2, got {rank}.")
    _check_parts(set2_indices, set2_values, set2_shape)
    other = _rank_of(set2_indices, set2_shape)
    if None not in (rank, other) and rank != other:
        raise ValueError(f"Dimension must be {rank} but is {other}")
    return _result(other if rank is None else rank)


@SetSize.shape
def set_size_shape(set_indices, set_values, set_shape):
    return None


def _invalid(message):
    return InvalidArgumentError(None, None, message)


def _groups_of_dense(values):
    if values.ndim < 2:
        raise _invalid(f"Shape {to_text(values.shape)} has rank {values.ndim} < 2")
    rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
    return values.shape[:-1], {i: set(row.tolist()) for i, row in enumerate(rows) if len(row)}


def _check_sparse(indices, values, shape):
    count = indices.shape[0] if indices.ndim else 0
    if values.ndim != 1 or len(values) != count:
        found = values.shape[0] if values.ndim else 0
        raise _invalid(
            f"indices and values rows (indexing dimension) must match. (indices = {count}, values = {found})"
        )
    if shape.ndim != 1 or len(shape) < 2:
        raise _invalid(f"Invalid rank {len(shape) if shape.ndim == 1 else 0}.")
    if indices.ndim != 2 or indices.shape[1] != len(shape):
        raise _invalid(f"indices must be a matrix of {len(shape)} columns, not {to_text(indices.shape)}")
    outside = ((indices < 0) | (indices >= shape)).any(1)
    differs = indices[1:] - indices[:-1]
    first = (differs != 0).argmax(1) if len(differs) else np.zeros(0, np.int64)
    step = np.take_along_axis(differs, first[:, None], 1)[:, 0] if len(differs) else first
    bad = np.flatnonzero(outside | np.append(np.zeros(min(1, count), bool), step <= 0))
    if not len(bad):
        return
    i = bad[0]
    at = f"indices[{i}] = {to_text(tuple(indices[i].tolist()))} is "
    if outside[i]:
        raise _invalid(f"{at}out of bounds: need 0 <= index < {to_text(tuple(shape.tolist()))}")
    if step[i - 1] == 0:
        raise _invalid(at + "repeated")
    raise _invalid(at + "out of order. Many sparse ops require sorted indices.")


def _groups_of_sparse(indices, values, shape):
    _check_sparse(indices, values, shape)
    outer = tuple(int(n) for n in shape[:-1])
    found: dict[int, set[Any]] = {}
    strides = [math.prod(outer[i + 1 :]) for i in range(len(outer))]
    numbers = [sum(a * b for a, b in zip(row, strides, strict=True)) for row in indices[:, :-1].tolist()]
    for number, value in zip(numbers, values.tolist(), strict=True):
        found.setdefault(number, set()).add(value)
    return outer, found


_OPERATIONS = {
    "intersection": set.__and__,
    "union": set.__or__,
    "a-b": set.__sub__,
    "b-a": lambda a, b: b - a,
}


def _combined(first, second, operation, dtype):
    text = operation.decode() if isinstance(operation, bytes) else operation
    combine = _OPERATIONS.get(text.lower())
    if combine is None:
        raise _invalid(f"Invalid set_operation {text}.")
    (outer, a), (other, b) = first, second
    if outer != other:
        raise _invalid(f"Mismatched shapes {to_text(outer)} vs {to_text(other)}")
    places, values, widest = [], [], 0
    for number in sorted({*a, *b}):
        row = sorted(combine(a.get(number, set()), b.get(number, set())))
        widest = max(widest, len(row))
        at, rest = [], number
        for size in reversed(outer):
            rest, i = divmod(rest, size)
            at.append(i)
        places += [(*reversed(at), i) for i in range(len(row))]
        values += row
    rank = len(outer) + 1
    indices = np.array(places, np.int64).reshape(-1, rank)
    return indices, np.array(values, dtype), np.array([*outer, widest], np.int64)


@DenseToDenseSetOperation.host
def dense_to_dense_host(set1, set2, *, set_operation):
    return _combined(_groups_of_dense(set1), _groups_of_dense(set2), set_operation, set1.dtype)


@DenseToSparseSetOperation.host
def dense_to_sparse_host(set1, set2_indices, set2_values, set2_shape, *, set_operation):
    second = _groups_of_sparse(set2_indices, set2_values, set2_shape)
    return _combined(_groups_of_dense(set1), second, set_operation, set1.dtype)


@SparseToSparseSetOperation.host
def sparse_to_sparse_host(
    set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape, *, set_operation
):
    first = _groups_of_sparse(set1_indices, set1_values, set1_shape)
    second = _groups_of_sparse(set2_indices, set2_values, set2_shape)
    return _combined(first, second, set_operation, set1_values.dtype)


@SetSize.host
def set_size_host(set_indices, set_values, set_shape):
    outer, found = _groups_of_sparse(set_indices, set_values, set_shape)
    size = math.prod(outer)
    if size > 1 << 40:
        raise _invalid(f"Too many sets: {to_text(outer)}")
    out = np.zeros(size, np.int32)
    for number, row in found.items():
        out[number] = len(row)
    return out.reshape(outer)


_A = np.array([[1, 5, 9, 5], [2, 2, 3, 4]], np.int64)
_B = np.array([[9, 1, 7], [0, 4, 4]], np.int64)


@DenseToDenseSetOperation.cases
def dense_to_dense_cases(case):
    case(_A, _B, set_operation="intersection", gives=([[0, 0], [0, 1], [1, 0]], [1, 9, 4], [2, 2]))
    case(_A, _B, set_operation="a-b", gives=([[0, 0], [1, 0], [1, 1]], [5, 2, 3], [2, 2]))
    case(_A, _B, set_operation="B-A", gives=([[0, 0], [1, 0]], [7, 0], [2, 1]))
    case(_A[:, :0], _B[:, :0], set_operation="union", gives=(np.zeros((0, 2)), np.zeros(0), [2, 0]))
    case.shapes("[2,4];[2,?]", "[?,2];[?];[2]", set_operation="union")
    case.shapes("?;[?,?,?]", "[?,3];[?];[3]", set_operation="union")
    case.fails("[4];[3]", match="at least rank 2 but is rank 1", set_operation="union")
    case.fails(
        "[1,4];[2,3]",
        match="Dimension 0 in both shapes must be equal, but are 1 and 2",
        set_operation="union",
    )
    case.fails((_A, _B), match="Invalid set_operation x", set_operation="x")


_PLACES = np.array([[0, 0], [0, 1], [1, 2]], np.int64)
_VALUES = np.array([5, 7, 4], np.int64)
_SIZES = np.array([2, 3], np.int64)


@DenseToSparseSetOperation.cases
def dense_to_sparse_cases(case):
    case(_A, _PLACES, _VALUES, _SIZES, set_operation="a-b",
         gives=([[0, 0], [0, 1], [1, 0], [1, 1]], [1, 9, 2, 3], [2, 2]))  # fmt: skip
    case(_A, _PLACES, _VALUES, _SIZES, set_operation="union",
         gives=([[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [1, 2]], [1, 5, 7, 9, 2, 3, 4], [2, 4]))  # fmt: skip
    case.shapes("[2,4];?;?;?", "[?,2];[?];[2]", set_operation="union")
    case.shapes("?;[?,3];?;?", "[?,3];[?];[3]", set_operation="union")
    case.fails((_A[:1], _PLACES, _VALUES, _SIZES), match="Mismatched shapes", set_operation="union")
    case.fails((_A, _PLACES[::-1].copy(), _VALUES, _SIZES), match="is out of order", set_operation="union")


@SparseToSparseSetOperation.cases
def sparse_to_sparse_cases(case):
    other = np.array([[0, 0], [1, 0]], np.int64), np.array([7, 3], np.int64), np.array([2, 1], np.int64)
    case(_PLACES, _VALUES, _SIZES, *other, set_operation="intersection", gives=([[0, 0]], [7], [2, 1]))
    case(_PLACES, _VALUES, _SIZES, *other, set_operation="union",
         gives=([[0, 0], [0, 1], [1, 0], [1, 1]], [5, 7, 3, 4], [2, 2]))  # fmt: skip
    case.shapes("[?,2];?;?;?;?;?", "[?,2];[?];[2]", set_operation="union")
    case.fails((_PLACES + 5, _VALUES, _SIZES, *other), match="out of bounds", set_operation="union")


@SetSize.cases
def set_size_cases(case):
    case(_PLACES, np.array([5, 5, 4], np.int64), _SIZES, gives=[1, 1])
    case(_PLACES[:0], _VALUES[:0], _SIZES, gives=[0, 0])
    case.shapes("?;?;?", "?")
    case.fails((_PLACES[[0, 0, 1]], _VALUES, _SIZES), match=r"indices\[1\] = \[0,0\] is repeated")
    case.fails((_PLACES, _VALUES[:1], _SIZES), match=r"must match. \(indices = 3, values = 1\)")


# -- public functions ---------------------------------------------------------------------------------------


def _is_sparse(value):
    return hasattr(value, "dense_shape")


def _parts(value):
    return (value.indices, value.values, value.dense_shape) if _is_sparse(value) else (value,)


def _operation(a, b, operation, validate_indices):
    kinds = {
        (False, False): raw.DenseToDenseSetOperation,
        (False, True): raw.DenseToSparseSetOperation,
        (True, True): raw.SparseToSparseSetOperation,
    }
    kind = kinds[_is_sparse(a), _is_sparse(b)]
    found = kind(*_parts(a), *_parts(b), set_operation=operation, validate_indices=validate_indices)
    return NAMES["SparseTensor"](*found)


def _ordered(a, b):
    """Returns both as tensors, a sparse one second, and whether they changed places."""
    sparse = NAMES["SparseTensor"]
    a, b = (x if _is_sparse(x) else _tensor_or_sparse(x, sparse, n) for x, n in ((a, "a"), (b, "b")))
    if a.dtype.base_dtype != b.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if _is_sparse(a) and not _is_sparse(b):
        return b, a, True
    return a, b, False


def _tensor_or_sparse(value, sparse, name):
    return sparse.from_value(value) if hasattr(value, "_fields") else convert_to_tensor(value, name=name)


@export("sets.set_size", "sets.size")
def set_size(a, validate_indices=True):
    """Returns how many different values each row of a SparseTensor holds.

    Args:
      a: A SparseTensor.
      validate_indices: Kept for compatibility: indices are always checked.

    Raises:
      TypeError: `a` is no SparseTensor.
    """
    if hasattr(a, "_fields"):
        a = NAMES["SparseTensor"].from_value(a)
    if not _is_sparse(a):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return raw.SetSize(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


@export("sets.set_intersection", "sets.intersection")
def set_intersection(a, b, validate_indices=True):
    """Returns what the sets of two tensors have in common, row by row, as a SparseTensor.

    Args:
      a: A tensor or SparseTensor whose last axis holds sets.
      b: Another one with the same other axes.
      validate_indices: Kept for compatibility: indices are always checked.
    """
    a, b, _ = _ordered(a, b)
    return _operation(a, b, "intersection", validate_indices)


@export("sets.set_difference", "sets.difference")
def set_difference(a, b, aminusb=True, validate_indices=True):
    """Returns what only one tensor's sets hold, row by row, as a SparseTensor.

    Args:
      a: A tensor or SparseTensor whose last axis holds sets.
      b: Another one with the same other axes.
      aminusb: Whether to return what is in `a` alone, and not what is in `b` alone.
      validate_indices: Kept for compatibility: indices are always checked.
    """
    a, b, swapped = _ordered(a, b)
    return _operation(a, b, "b-a" if swapped == bool(aminusb) else "a-b", validate_indices)


@export("sets.set_union", "sets.union")
def set_union(a, b, validate_indices=True):
    """Returns what the sets of two tensors hold together, row by row, as a SparseTensor.

    Args:
      a: A tensor or SparseTensor whose last axis holds sets.
      b: Another one with the same other axes.
      validate_indices: Kept for compatibility: indices are always checked.
    """
    a, b, _ = _ordered(a, b)
    return _operation(a, b, "union", validate_indices)
