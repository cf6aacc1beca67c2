"""Concat and ConcatV2: tensors put one after the other along a dimension they have."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.export import NAMES
from headrace.graph import IndexedSlices, name_scope
from headrace.lazy import jnp
from headrace.opdef import (
    constant_as_shape,
    constant_node,
    constant_value,
    convert_to_tensor,
    export,
    op,
    raw,
)
from headrace.opdef.nodes import rank_of, shape_of

ConcatV2 = op("""
    ConcatV2(values: N * T, axis: Tidx) -> (output: T)
      N: int >= 2
      T: type
      Tidx: {int32, int64} = int32

    The tensors one after the other along the dimension `axis`.
""")

Concat = op("""
    Concat(concat_dim: int32, values: N * T) -> (output: T)
      N: int >= 2
      T: type

    The tensors one after the other along a dimension: the old form of ConcatV2.
""")


def joined_rank(values):
    """Returns the shape of inputs joined along an axis that is not known: just the rank."""
    rank = None
    for v in values:
        if v is None:
            continue
        if rank is None:
            rank = len(v)
            if rank == 0:
                raise ValueError("Can't concatenate scalars (use tf.stack instead)")
        shapes.with_rank(v, rank)
    return None if rank is None else (None,) * rank


def concat_shapes(values, axis):
    """Returns the shape of inputs joined along `axis`, an int or None if it is not known.

    Raises:
      ValueError: They do not fit.
    """
    if axis is None:
        return joined_rank(values)
    need = axis + 1 if axis >= 0 else -axis
    out = None
    for v in values:
        if v is not None and len(v) == 0:
            raise ValueError("Can't concatenate scalars (use tf.stack instead)")
        shapes.with_rank_at_least(v, need)
    if all(v is None for v in values):
        return None
    rank = len(next(v for v in values if v is not None))
    at = axis % rank
    for v in values:
        v = shapes.with_rank(v, rank)
        if out is None:
            out = v
            continue
        # Checked as two merges of the dimensions before and after, which is what the message shows.
        before = shapes.merge(out[:at], v[:at])
        after = shapes.merge(out[at + 1 :], v[at + 1 :])
        size = None if out[at] is None or v[at] is None else out[at] + v[at]
        out = (*before, size, *after)
    return out


def _axis_of(ctx, name):
    value = ctx.constant(name)
    return int(value) if value is not None and value.ndim == 0 else None


@ConcatV2.shape
def concat_v2_shape(values, axis, *, ctx):
    shapes.with_rank(axis, 0)
    joined_rank(values)
    return concat_shapes(values, _axis_of(ctx, "axis"))


@Concat.shape
def concat_shape(concat_dim, values, *, ctx):
    shapes.with_rank(concat_dim, 0)
    joined_rank(values)
    return concat_shapes(values, _axis_of(ctx, "concat_dim"))


def _shown(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def join(values, axis, xp, name="ConcatOp"):
    """Returns arrays joined along `axis`, checked as TensorFlow's kernel does."""
    if np.ndim(axis) != 0:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Concat dim tensor should be a scalar integer, but got shape {_shown(np.shape(axis))}",
        )
    axis = int(axis)
    first = values[0].shape
    rank = len(first)
    at = axis + rank if axis < 0 else axis
    if not 0 <= at < rank:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{name} : Expected concatenating dimensions in the range [{-rank}, {rank}), but got {axis}",
        )
    for i, v in enumerate(values):
        if len(v.shape) != rank:
            raise errors.InvalidArgumentError(
                None, None, f"{name} : Ranks of all input tensors should match: shape[0] = {_shown(first)} vs. "
                f"shape[{i}] = {_shown(v.shape)}"
            )  # fmt: skip
        if any(j != at and a != b for j, (a, b) in enumerate(zip(first, v.shape, strict=True))):
            raise errors.InvalidArgumentError(
                None, None, f"{name} : Dimensions of inputs should match: shape[0] = {_shown(first)} vs. "
                f"shape[{i}] = {_shown(v.shape)}"
            )  # fmt: skip
    return xp.concatenate(values, at)


@ConcatV2.host
def concat_v2_host(values, axis):
    return join(values, axis, np)


@ConcatV2.lower(static="axis")
def concat_v2_lower(values, axis):
    return join(values, axis, jnp)


@Concat.host
def concat_host(concat_dim, values):
    return join(values, concat_dim, np)


@Concat.lower(static="concat_dim")
def concat_lower(concat_dim, values):
    return join(values, concat_dim, jnp)


@ConcatV2.as_shape
def concat_v2_as_shape(op):
    return _joined_shape(op.inputs[:-1])


@Concat.as_shape
def concat_as_shape(op):
    return _joined_shape(op.inputs[1:])


def _joined_shape(parts):
    if not parts[0].dtype.is_integer:
        return None
    out = ()
    for t in parts:
        if t._dims is not None and len(t._dims) != 1:
            return None
        try:
            part = constant_as_shape(t)
        except ValueError:
            return None
        if part is None:
            return None
        out += part
    return out


# -- gradient -------------------------------------------------------------------------------------------------


def _sizes(inputs):
    """Returns the inputs' shapes as constants where all are known, else as one ShapeN."""
    known = shape_of(inputs[0])
    if known.op.type == "Const":
        out = [known]
        for x in inputs[1:]:
            each = shape_of(x)
            if each.op.type != "Const":
                break
            out.append(each)
        else:
            return out
    return raw.ShapeN(list(inputs), name="ShapeN")


def _concat_gradient(op, dy, start, end, dim_index):
    values = op.inputs[start:end]
    axis = op.inputs[dim_index]
    if len(values) == 1:
        return [dy]
    mod = axis % rank_of(values[0])
    if isinstance(dy, IndexedSlices):
        return _slices_gradient(dy, values, axis, mod)
    sizes = _sizes(values)
    if len(sizes) > 16:
        # One split costs less than many slices.
        column = raw.Slice(raw.Pack(sizes, axis=1, name="stack"), [mod, 0], [1, -1])
        return list(raw.SplitV(dy, raw.Squeeze(column), mod, num_split=len(sizes), name="split"))
    offset = raw.ConcatOffset(mod, sizes)
    return [raw.Slice(dy, begin, size) for begin, size in zip(offset, sizes, strict=True)]


def _slices_gradient(dy, values, axis, mod):
    concrete = constant_value(axis)
    if concrete is None:
        raise ValueError("Can only compute IndexedSlices gradient with statically-known concat_dim")
    at = int(concrete)
    if at < 0:
        rank = constant_value(rank_of(values[0]))
        if rank is None:
            raise ValueError(
                "Can only compute IndexedSlices gradient with negative concat_dim when first value rank is "
                "statically-known."
            )
        at %= int(rank)
    sizes = [shape_of(v) for v in values]
    return _column_slices(dy, sizes, mod) if at > 0 else _row_slices(dy, sizes, mod)


def _column_slices(dy, sizes, mod):
    """Cuts the rows of a gradient; the pieces keep all of its indices."""
    dims = shape_of(sizes[0])
    # 1 along the joined dimension, 0 elsewhere.
    before = raw.Fill(raw.ExpandDims(mod, 0), 0)
    after = raw.Fill(dims - mod - 1, 0)
    step = concat([before, [1], after], 0)
    begin = raw.Fill(dims, 0)
    out = []
    for size in sizes:
        piece = raw.Slice(dy.values, begin, concat([[-1], raw.Slice(size, [1], [-1])], 0))
        out.append(IndexedSlices(piece, dy.indices, size))
        begin = raw.Add(begin, size * step)
    return out


def _row_slices(dy, sizes, mod):
    """Deals the rows of a gradient out to the inputs that they belong to."""
    out = []
    kind = dy.indices.dtype.base_dtype
    start = constant_node(0, kind)
    for size in sizes:
        rows = raw.GatherV2(size, mod, 0)
        if rows.dtype.base_dtype is not kind:
            rows = raw.Cast(rows, DstT=kind)
        end = start + rows
        mine = raw.Where(raw.LogicalAnd(raw.GreaterEqual(dy.indices, start), raw.Less(dy.indices, end)))
        mine = raw.Squeeze(mine, squeeze_dims=[1])
        indices = raw.Sub(raw.GatherV2(dy.indices, mine, 0), start, name="sub")
        out.append(IndexedSlices(raw.GatherV2(dy.values, mine, 0), indices, size))
        start = end
    return out


@ConcatV2.grad
def concat_v2_grad(op, dy):
    n = op.attrs["N"]
    return [*_concat_gradient(op, dy, 0, n, n), None]


@Concat.grad
def concat_grad(op, dy):
    return [None, *_concat_gradient(op, dy, 1, op.attrs["N"] + 1, 0)]


@ConcatV2.cases
def concat_v2_cases(case):
    case(([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]), np.int32(0), gives=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    case(([[1.0], [2.0]], [[3.0], [4.0]]), np.int32(-1), gives=[[1.0, 3.0], [2.0, 4.0]])
    case((np.zeros([0, 2], np.float32), [[3.0, 4.0]]), np.int64(0), gives=[[3.0, 4.0]], grad=False)
    case.shapes("[?,3];[2,?];[]", "[?,3]", values={"axis": 0})
    case.shapes("[2,3];[4,3];[]", "[6,3]", values={"axis": 0})
    case.shapes("[2,3];[4,3];[]", "[?,?]")
    case.fails(
        "[2,3];[2,4];[]",
        match="Dimension 0 in both shapes must be equal, but are 3 and 4",
        values={"axis": 0},
    )
    case.fails("[2,3];[2,3];[]", match="Shape must be at least rank 3 but is rank 2", values={"axis": 2})
    case.fails("[];[];[]", match="Can't concatenate scalars", values={"axis": 0})


@Concat.cases
def concat_cases(case):
    case(np.int32(0), ([1.0], [2.0, 3.0]), gives=[1.0, 2.0, 3.0])
    case.shapes("[];[2,3];[2,?]", "[2,?]", values={"concat_dim": 1})


ConcatOffset = op("""
    ConcatOffset(concat_dim: int32, shape: N * int32) -> (offset: N * int32)
      N: int >= 2

    Where each of the joined tensors begins in the result of a concatenation.
""", grad=None)  # fmt: skip


@ConcatOffset.shape
def concat_offset_shape(concat_dim, shape):
    return [shapes.with_rank(s, 1) for s in shape]


@ConcatOffset.host
def concat_offset_host(concat_dim, shape):
    if concat_dim.ndim:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Concat dim tensor should be a scalar integer, but got shape {shapes.to_text(concat_dim.shape)}",
        )
    for i, s in enumerate(shape):
        if s.ndim != 1:
            raise errors.InvalidArgumentError(
                None, None, f"input {i} should be a vector, but got shape {shapes.to_text(s.shape)}"
            )
    rank = shape[0].shape[0]
    at = int(concat_dim) + rank if concat_dim < 0 else int(concat_dim)
    if not 0 <= at < rank:
        raise errors.InvalidArgumentError(
            None, None, f"Concat dim is out of range: {int(concat_dim)} vs. {rank}"
        )
    out, position = [], 0
    for i, s in enumerate(shape):
        if s.shape[0] != rank:
            raise errors.InvalidArgumentError(
                None, None, f"input {i} should contain {rank} elements, but got {s.shape[0]}"
            )
        for j in range(rank):
            if j != at and s[j] != shape[0][j]:
                raise errors.InvalidArgumentError(
                    None, None, f"All dimensions except {at} must match. Input {i} has shape "
                    f"[{' '.join(map(str, s))}] and doesn't match input 0 with shape "
                    f"[{' '.join(map(str, shape[0]))}]."
                )  # fmt: skip
        start = np.zeros([rank], np.int32)
        start[at] = position
        position += int(s[at])
        out.append(start)
    return tuple(out)


@ConcatOffset.lower(static="concat_dim shape")
def concat_offset_lower(concat_dim, shape):
    return concat_offset_host(concat_dim, shape)


@ConcatOffset.cases
def concat_offset_cases(case):
    case(np.int32(1), ([2, 2], [2, 3]), gives=(np.array([0, 0], np.int32), np.array([0, 2], np.int32)))
    case(np.int32(-2), ([2, 2], [5, 2]), gives=(np.array([0, 0], np.int32), np.array([2, 0], np.int32)))
    case.shapes("[];[2];[2]", "[2];[2]")


@export("concat")
def concat(values, axis, name="concat"):
    """Returns tensors put one after the other along one of their dimensions.

    Args:
      values: The tensors, or one tensor.
      axis: The dimension; a negative one counts from the end.
      name: The node's name.

    Raises:
      ValueError: The tensors' other dimensions differ.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            dim = convert_to_tensor(axis, name="concat_dim", dtype="int32")
            dims = dim._dims
            if dims is not None and len(dims) != 0:
                raise ValueError(f"Shape {dim.shape} must have rank 0")
            return NAMES["identity"](values[0], name=name)
    return raw.ConcatV2(values, axis, name=name)
