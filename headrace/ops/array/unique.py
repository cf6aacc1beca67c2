"""Unique and ListDiff: distinct elements. Their sizes depend on values, so they run on the host only."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.native import rows as native
from headrace.opdef import export, op, raw
from headrace.ops.array.failing import invalid

Unique = op("""
    Unique(x: T) -> (y: T, idx: out_idx)
      T: type
      out_idx: {int32, int64} = int32

    The distinct elements of a vector in the order of their first occurrence, and where each element is among them.
""")

UniqueWithCounts = op("""
    UniqueWithCounts(x: T) -> (y: T, idx: out_idx, count: out_idx)
      T: type
      out_idx: {int32, int64} = int32

    Unique, and how often each distinct element occurs.
""")

_V2 = """
      T: type
      Taxis: {int32, int64} = int64
      out_idx: {int32, int64} = int32
"""

UniqueV2 = op(f"""
    UniqueV2(x: T, axis: Taxis) -> (y: T, idx: out_idx){_V2}
    The distinct slices of a tensor along a dimension, and where each slice is among them.
""")

UniqueWithCountsV2 = op(f"""
    UniqueWithCountsV2(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx){_V2}
    UniqueV2, and how often each distinct slice occurs.
""")


@Unique.shape
def unique_shape(x):
    return [(None,), shapes.with_rank(x, 1)]


@UniqueWithCounts.shape
def unique_with_counts_shape(x):
    return [(None,), shapes.with_rank(x, 1), (None,)]


def _sliced_shapes(x, ctx):
    at = ctx.constant("axis")
    if x is None:
        return [None, (None,)]
    if at is None or at.size != 1 or not -len(x) <= int(at.reshape(-1)[0]) < len(x):
        return [(None,) * len(x), (None,) if len(x) != 1 else x]
    axis = int(at.reshape(-1)[0]) % len(x)
    return [(*x[:axis], None, *x[axis + 1 :]), (x[axis],)]


@UniqueV2.shape
def unique_v2_shape(x, axis, *, ctx):
    return _sliced_shapes(x, ctx)


@UniqueWithCountsV2.shape
def unique_with_counts_v2_shape(x, axis, *, ctx):
    return [*_sliced_shapes(x, ctx), (None,)]


def _distinct(keys, out_idx):
    """Returns the places of the first occurrences, each key's number, and the counts."""
    numbers, firsts, counts = {}, [], []
    idx = np.empty(len(keys), out_idx.storage)
    for i, key in enumerate(keys):
        if key != key:  # a NaN equals nothing, itself included
            n = len(firsts)
        else:
            n = numbers.setdefault(key, len(firsts))
        if n == len(firsts):
            firsts.append(i)
            counts.append(0)
        counts[n] += 1
        idx[i] = n
    return np.array(firsts, np.int64), idx, np.array(counts, out_idx.storage)


def _keys(x):
    """Returns what tells the elements of a vector apart."""
    if x.dtype.name == "float16":  # TensorFlow tells their zeros apart
        return [(v, np.signbit(v)) if v == v else v for v in x]
    return x.tolist()


def _vector(x, out_idx):
    if x.ndim != 1:
        invalid("unique expects a 1D vector.")
    firsts, idx, counts = native.distinct(x, out_idx.storage) or _distinct(_keys(x), out_idx)
    return x[firsts], idx, counts


@Unique.host
def unique_host(x, *, out_idx):
    return _vector(x, out_idx)[:2]


@UniqueWithCounts.host
def unique_with_counts_host(x, *, out_idx):
    return _vector(x, out_idx)


def _slices(x, axis, out_idx):
    if axis.shape == (0,):
        return _vector(x, out_idx)
    if axis.ndim != 1:
        invalid("axis expects a 1D vector.")
    if axis.size > 1:
        invalid("axis does not support input tensors larger than 1 elements")
    at = int(axis.reshape(-1)[0])
    if not -x.ndim <= at < x.ndim:
        invalid(f"axis has to be between [0, {x.ndim})")
    moved = np.moveaxis(x, at, 0)
    if x.ndim == 1:
        keys = _keys(moved)
    else:
        keys = [tuple(_keys(row.reshape(-1))) for row in moved]
    firsts, idx, counts = _distinct(keys, out_idx)
    return np.take(x, firsts, at), idx, counts


@UniqueV2.host
def unique_v2_host(x, axis, *, out_idx):
    return _slices(x, axis, out_idx)[:2]


@UniqueWithCountsV2.host
def unique_with_counts_v2_host(x, axis, *, out_idx):
    return _slices(x, axis, out_idx)


@Unique.cases
def unique_cases(case):
    case([3, 1, 3, 2, 1], gives=(np.array([3, 1, 2], np.int32), np.array([0, 1, 0, 2, 1], np.int32)))
    case([np.nan, 1.0, np.nan], out_idx="int64", gives=([np.nan, 1.0, np.nan], np.array([0, 1, 2])))
    case(
        np.array([b"a", b"b", b"a"], object),
        gives=(np.array([b"a", b"b"], object), np.array([0, 1, 0], np.int32)),
    )
    case.shapes("[3]", "[?];[3]")
    case.fails("[2,3]", match="Shape must be rank 1 but is rank 2")


@UniqueWithCounts.cases
def unique_with_counts_cases(case):
    case(
        [3, 1, 3],
        gives=(np.array([3, 1], np.int32), np.array([0, 1, 0], np.int32), np.array([2, 1], np.int32)),
    )
    case.shapes("[5]", "[?];[5];[?]")


@UniqueV2.cases
def unique_v2_cases(case):
    case([[1, 1], [3, 4], [1, 1]], np.array([0]),
         gives=(np.array([[1, 1], [3, 4]], np.int32), np.array([0, 1, 0], np.int32)))  # fmt: skip
    case(
        [2, 1, 2], np.zeros([0], np.int64), gives=(np.array([2, 1], np.int32), np.array([0, 1, 0], np.int32))
    )


@UniqueWithCountsV2.cases
def unique_with_counts_v2_cases(case):
    case([[2, 1, 2], [1, 2, 1]], np.array([-1]),
         gives=(np.array([[2, 1], [1, 2]], np.int32), np.array([0, 1, 0], np.int32),
                np.array([2, 1], np.int32)))  # fmt: skip


ListDiff = op("""
    ListDiff(x: T, y: T) -> (out: T, idx: out_idx)
      T: type
      out_idx: {int32, int64} = int32

    The elements of `x` that are not in `y`, in order, and their places in `x`.
""")


@ListDiff.shape
def list_diff_shape(x, y):
    shapes.with_rank(x, 1)
    shapes.with_rank(y, 1)
    return [(None,), (None,)]


@ListDiff.host
def list_diff_host(x, y, *, out_idx):
    if x.ndim != 1:
        invalid("x should be a 1D vector.")
    if y.ndim != 1:
        invalid("y should be a 1D vector.")
    without = set(y.tolist())
    kept = [i for i, v in enumerate(x.tolist()) if v not in without]
    return x[kept], np.array(kept, out_idx.storage)


@ListDiff.cases
def list_diff_cases(case):
    case(
        [1, 2, 3, 2, 5, 1], [2, 7], gives=(np.array([1, 3, 5, 1], np.int32), np.array([0, 2, 4, 5], np.int32))
    )
    case.shapes("[5];[3]", "[?];[?]")


@export("unique")
def unique(x, out_idx=dtypes.int32, name=None):
    """Returns the distinct elements of a vector, and where each of its elements is among them.

    Args:
      x: The vector.
      out_idx: The type of the places, int32 or int64.
      name: The node's name.
    """
    return raw.Unique(x, out_idx=out_idx, name=name)


@export("unique_with_counts")
def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    """Returns the distinct elements of a vector, where each of its elements is among them, and their counts.

    Args:
      x: The vector.
      out_idx: The type of the places and counts, int32 or int64.
      name: The node's name.
    """
    return raw.UniqueWithCounts(x, out_idx=out_idx, name=name)


@export("setdiff1d")
def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """Returns the elements of one vector that are not in another, and their places.

    Args:
      x: The vector.
      y: What is left out.
      index_dtype: The type of the places, int32 or int64.
      name: The node's name.
    """
    return raw.ListDiff(x, y, out_idx=index_dtype, name=name)
