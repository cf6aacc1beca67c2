"""Split and SplitV: a tensor cut into pieces along a dimension."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.ops.array.failing import invalid
from headrace.tensor_shape import Dimension

Split = op("""
    Split(split_dim: int32, value: T) -> (output: num_split * T)
      num_split: int >= 1
      T: type

    Equal pieces of a tensor.
""")


def _axis(axis, rank):
    if not -rank <= axis < rank:
        raise ValueError(f"Dimension size, given by scalar input {axis} must be in range [-{rank}, {rank})")
    return axis % rank


@Split.shape
def split_shape(split_dim, value, *, num_split, ctx):
    shapes.with_rank(split_dim, 0)
    axis = ctx.constant("split_dim")
    if axis is None or value is None:
        return [None if value is None else (None,) * len(value)] * num_split
    at = _axis(int(axis), len(value))
    size = value[at]
    if size is not None and size % num_split:
        raise ValueError(
            f"Dimension size must be evenly divisible by {num_split} but is {size}\n"
            "\tNumber of ways to split should evenly divide the split dimension"
        )
    return [(*value[:at], None if size is None else size // num_split, *value[at + 1 :])] * num_split


def _cut(value, sizes, at, xp):
    out, begin = [], 0
    for size in sizes:
        index = [slice(None)] * value.ndim
        index[at] = slice(begin, begin + size)
        out.append(value[tuple(index)])
        begin += size
    return tuple(out)


def _place(value, split_dim):
    rank = value.ndim
    axis = int(split_dim)
    if not -rank <= axis < rank:
        invalid(f"split_dim must be in [{-rank}, {rank}), but got {axis}")
    return axis % rank


def _split(split_dim, value, num_split, xp):
    at = _place(value, split_dim)
    size = value.shape[at]
    if size % num_split:
        invalid(
            f"Number of ways to split should evenly divide the split dimension, but got split_dim {at} (size = {size}) "
            f"and num_split {num_split}"
        )
    return _cut(value, [size // num_split] * num_split, at, xp)


@Split.host
def split_host(split_dim, value, *, num_split):
    return _split(split_dim, value, num_split, np)


@Split.lower(static="split_dim")
def split_lower(split_dim, value, *, num_split):
    return _split(split_dim, value, num_split, jnp)


def _joined(dys, axis):
    if len(dys) == 1:
        return raw.Identity(dys[0], name="concat")
    return raw.ConcatV2(list(dys), axis, name="concat")


@Split.grad
def split_grad(op, *dys):
    return None, _joined(dys, op.inputs[0])


@Split.cases
def split_cases(case):
    case(np.int32(0), [1.0, 2.0, 3.0, 4.0], num_split=2, gives=([1.0, 2.0], [3.0, 4.0]))
    case(np.int32(-1), [[1.0, 2.0]], num_split=2, gives=([[1.0]], [[2.0]]))
    case.shapes("[];[2,?]", "[2,?];[2,?]", values={"split_dim": 1}, num_split=2)
    case.shapes("[];[2,6]", "[?,?];[?,?]", num_split=2)
    case.fails("[];[2,6]", match="evenly divisible by 4 but is 6", values={"split_dim": 1}, num_split=4)
    case.fails((np.int32(0), [1.0, 2.0, 3.0]), match="should evenly divide the split dimension", num_split=2)


SplitV = op("""
    SplitV(value: T, size_splits: Tlen, split_dim: int32) -> (output: num_split * T)
      num_split: int >= 1
      T: type
      Tlen: {int32, int64} = int64

    Pieces of a tensor of given sizes; one -1 among them is what the others leave.
""")


def _sizes(total, sizes):
    """Returns the sizes with the -1 worked out, or None if they do not fit."""
    sizes = [int(s) for s in sizes]
    unknown = [i for i, s in enumerate(sizes) if s == -1]
    if any(s < -1 for s in sizes) or len(unknown) > 1:
        return None
    known = sum(s for s in sizes if s >= 0)
    if unknown:
        if known > total:
            return None
        sizes[unknown[0]] = total - known
    elif known != total:
        return None
    return sizes


@SplitV.shape
def split_v_shape(value, size_splits, split_dim, *, num_split, ctx):
    if split_dim not in (None, ()):
        raise ValueError(f"Input must be scalar but has rank {len(split_dim)}")
    asked_sizes = ctx.constant("size_splits")
    axis = ctx.constant("split_dim")
    if value is None:
        return [None] * num_split
    rank = len(value)
    if axis is None:
        if asked_sizes is not None and num_split > 1:
            # TensorFlow 1.15 reads an unknown axis as the last one here.
            return _v_shapes(value, asked_sizes, rank - 1, num_split)
        return [(None,) * rank] * num_split
    return _v_shapes(value, asked_sizes, _axis(int(axis), rank), num_split)


def _v_shapes(value, sizes, at, num_split):
    if sizes is not None and np.shape(sizes) != (num_split,):
        raise ValueError("Length of size_splits should be equal to num_outputs")
    if sizes is None:
        pieces = [None] * num_split
        if num_split == 1:
            pieces = [value[at]]
    elif value[at] is None:
        pieces = [None if int(s) < 0 else int(s) for s in sizes]
    else:
        pieces = _sizes(value[at], sizes)
        if pieces is None:
            listed = ",".join(str(int(s)) for s in sizes)
            raise ValueError(f"can't split axis of size {value[at]} into pieces of size [{listed}]")
    return [(*value[:at], p, *value[at + 1 :]) for p in pieces]


def _split_v(value, size_splits, split_dim, num_split, xp):
    at = _place(value, split_dim)
    if size_splits.shape != (num_split,):
        invalid(
            "size of the split_tensor must be 1-D and have the same elements as outputs got "
            f"{size_splits.ndim} -D and {size_splits.size} elements"
        )
    sizes = _sizes(value.shape[at], size_splits)
    if sizes is None:
        known = sum(int(s) for s in size_splits if s >= 0)
        invalid(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less "
            f"than the size of the input along split_dim if not fully specified.  Got: {known}"
        )
    return _cut(value, sizes, at, xp)


@SplitV.host
def split_v_host(value, size_splits, split_dim, *, num_split):
    return _split_v(value, size_splits, split_dim, num_split, np)


@SplitV.lower(static="size_splits split_dim")
def split_v_lower(value, size_splits, split_dim, *, num_split):
    return _split_v(value, size_splits, split_dim, num_split, jnp)


@SplitV.grad
def split_v_grad(op, *dys):
    return _joined(dys, op.inputs[2]), None, None


@SplitV.cases
def split_v_cases(case):
    case([1.0, 2.0, 3.0], [1, 2], np.int32(0), num_split=2, gives=([1.0], [2.0, 3.0]))
    case(
        [[1.0, 2.0, 3.0]],
        np.array([2, -1], np.int64),
        np.int32(-1),
        num_split=2,
        gives=([[1.0, 2.0]], [[3.0]]),
    )
    case.shapes("[2,6];[2];[]", "[2,2];[2,4]", values={"size_splits": [2, -1], "split_dim": 1}, num_split=2)
    case.shapes("[2,6];[2];[]", "[2,?];[2,?]", values={"split_dim": 1}, num_split=2)
    case.fails(
        "[2,6];[2];[]",
        match="can't split axis of size 6",
        values={"size_splits": [2, 3], "split_dim": 1},
        num_split=2,
    )
    case.fails(
        ([1.0, 2.0, 3.0], [1, 1], np.int32(0)), match="Determined shape must either match", num_split=2
    )


@export("split")
def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Returns the pieces of a tensor along a dimension.

    Args:
      value: The tensor.
      num_or_size_splits: How many equal pieces, or the size of each; one of those may be -1.
      axis: The dimension.
      num: How many pieces there are, where the sizes are a tensor of unknown length.
      name: The node's name.

    Raises:
      ValueError: The number of pieces is not known.
    """
    sizes = convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, np.integer, Dimension)):
        return raw.Split(axis, value, num_split=int(num_or_size_splits), name=name)
    if sizes._dims == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: "
            f"{num_or_size_splits}"
        )
    if num is None:
        num = sizes._dims[0] if sizes._dims is not None else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
    return raw.SplitV(value, sizes, axis, num_split=num, name=name)
