"""Gather and GatherV2: slices of a tensor picked by their numbers along a dimension."""

from __future__ import annotations

import contextlib
import math

import numpy as np

from headrace import dtypes, errors
from headrace.graph import IndexedSlices, colocate_with
from headrace.lazy import jnp
from headrace.native import rows as native
from headrace.native import updates, xla
from headrace.opdef import constant_value, export, op, raw
from headrace.opdef.nodes import ones, shape_of, size_of, zeros
from headrace.ops.array.pack import stack

_FEWEST_IN_ROW, _FEWEST_NUMBERS = 16, 4096

GatherV2 = op("""
    GatherV2(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)
      batch_dims: int = 0
      Tparams: type
      Tindices: {int32, int64}
      Taxis: {int32, int64}

    The slices of `params` along `axis` that `indices` names; the first `batch_dims` dimensions go side by side.
""")

Gather = op("""
    Gather(params: Tparams, indices: Tindices) -> (output: Tparams)
      validate_indices: bool = true
      Tparams: type
      Tindices: {int32, int64}

    The slices of `params` along its first dimension that `indices` names.
""")


@Gather.shape
def gather_shape(params, indices):
    if params is not None and len(params) < 1:
        raise ValueError(f"Shape must be at least rank 1 but is rank {len(params)}")
    return None if params is None or indices is None else indices + params[1:]


@GatherV2.shape
def gather_v2_shape(params, indices, axis, *, batch_dims, ctx):
    if params is not None and len(params) < 1:
        raise ValueError(f"Shape must be at least rank 1 but is rank {len(params)}")
    if axis is not None and axis != ():
        raise ValueError(f"Shape must be rank 0 but is rank {len(axis)}")
    at = ctx.constant("axis")
    if at is None:
        if params is None or indices is None:
            return None
        return (None,) * (len(params) + len(indices) - 1 - batch_dims)
    at = int(at)
    need = at + 1 if at >= 0 else -at
    if params is not None and len(params) < need:
        raise ValueError(f"Shape must be at least rank {need} but is rank {len(params)}")
    if params is None or indices is None:
        return None
    if at < 0:
        at += len(params)
    batch = batch_dims + len(indices) if batch_dims < 0 else batch_dims
    if at < batch:
        raise ValueError(f"batch_dims ({batch}) must be less than or equal to axis ({at})")
    return params[:at] + indices[batch:] + params[at + 1 :]


def _flat_position(indices, bad):
    place = np.unravel_index(int(np.flatnonzero(bad.ravel())[0]), indices.shape)
    return ",".join(str(int(p)) for p in place), indices[place]


def check_indices(indices, limit, axis=0):
    """Refuses indices outside [0, limit), in TensorFlow's words.

    Raises:
      errors.InvalidArgumentError: There are some.
    """
    if updates.first_outside(indices, limit) == -1:
        return
    bad = (indices < 0) | (indices >= limit)
    if bad.any():
        at, value = _flat_position(indices, bad)
        place = f"indices[{at}]" if indices.ndim else "indices"
        raise errors.InvalidArgumentError(None, None, f"{place} = {int(value)} is not in [0, {limit})")


def _batch_and_axis(params, indices, axis, batch_dims):
    rank = params.ndim
    at = axis + rank if axis < 0 else axis
    if not 0 <= at < rank:
        raise errors.InvalidArgumentError(
            None, None, f"Expected axis in the range [{-rank}, {rank}), but got {axis}"
        )
    batch = batch_dims
    if batch < 0:
        batch += indices.ndim
    if batch and not 0 <= batch_dims + (indices.ndim if batch_dims < 0 else 0) <= indices.ndim:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Expected batch_dims in the range [{-indices.ndim}, {indices.ndim}), but got {batch_dims}",
        )
    if batch > at:
        raise errors.InvalidArgumentError(
            None, None, f"batch_dims ({batch}) must be less than or equal to axis ({at})."
        )
    for i in range(batch):
        if params.shape[i] != indices.shape[i]:
            raise errors.InvalidArgumentError(
                None, None, f"params.shape[{i}]: {params.shape[i]} should be equal to indices.shape[{i}]: "
                f"{indices.shape[i]}"
            )  # fmt: skip
    return batch, at


def _is_worth_a_call(params, indices):
    """Whether the native library copies rows quicker than XLA, which copies number by number and looks up each."""
    width = math.prod(params.shape[1:])
    return (
        width >= _FEWEST_IN_ROW
        and width * indices.size >= _FEWEST_NUMBERS
        and params.shape[0] > 0
        and np.dtype(params.dtype).kind in "fiu"
        and xla.library() is not None
    )


def _take(params, indices, axis, batch_dims, xp):
    batch, at = _batch_and_axis(params, indices, axis, batch_dims)
    if batch == 0:
        if xp is np:
            return np.take(params, indices, at)
        if at == 0 and _is_worth_a_call(params, indices):
            width = math.prod(params.shape[1:])
            shape = indices.size, width
            flat = params.reshape(params.shape[0], width), indices.reshape(-1)
            rows = xla.call("headrace_gather_rows", shape, params.dtype, *flat)
            return rows.reshape(*indices.shape, *params.shape[1:])
        return jnp.take(params, indices, at, mode="clip")
    # One index array a batch dimension, broadcast against the indices, beside slices up to the axis.
    inner = indices.shape[batch:]
    moved = xp.moveaxis(params, at, batch)
    grids = []
    for i in range(batch):
        shape = [1] * indices.ndim
        shape[i] = indices.shape[i]
        grids.append(np.arange(indices.shape[i]).reshape(shape))
    taken = moved[(*grids, indices)]
    # Now: batch, inner, params between batch and axis, the rest. The inner dimensions belong at the axis.
    between = at - batch
    order = [
        *range(batch),
        *range(batch + len(inner), batch + len(inner) + between),
        *range(batch, batch + len(inner)),
        *range(batch + len(inner) + between, taken.ndim),
    ]
    return xp.transpose(taken, order)


@GatherV2.host
def gather_v2_host(params, indices, axis, *, batch_dims):
    if params.ndim < 1:
        raise errors.InvalidArgumentError(None, None, "params must be at least 1 dimensional")
    _, at = _batch_and_axis(params, indices, int(axis), batch_dims)
    if at == 0 and indices.ndim == 1:
        taken = native.take(params, indices)
        if taken is not None:
            return taken
    check_indices(indices, params.shape[at])
    return _take(params, indices, int(axis), batch_dims, np)


def in_range(indices, limit):
    return jnp.all((indices >= 0) & (indices < limit))


@GatherV2.lower(static="axis")
def gather_v2_lower(params, indices, axis, *, batch_dims, ctx):
    _, at = _batch_and_axis(params, indices, int(axis), batch_dims)
    ctx.check(in_range(indices, params.shape[at]), "an index is out of range")
    return _take(params, indices, int(axis), batch_dims, jnp)


@Gather.host
def gather_host(params, indices):
    return gather_v2_host(params, indices, 0, batch_dims=0)


@Gather.lower
def gather_lower(params, indices, *, ctx):
    return gather_v2_lower(params, indices, 0, batch_dims=0, ctx=ctx)


# -- gradients ------------------------------------------------------------------------------------------------


def _params_shape(params):
    """Returns the shape of the params as int32, made where they are: a variable's may live far away."""
    with colocate_with(params):
        shape = shape_of(params, out_type=dtypes.int64)
        return raw.Cast(shape, DstT=dtypes.int32, name="Cast")


def _rows_gradient(params, indices, dy):
    shape = _params_shape(params)
    size = raw.ExpandDims(size_of(indices), 0)
    values = raw.Reshape(dy, raw.ConcatV2([size, shape[1:]], 0, name="concat"))
    return IndexedSlices(values, raw.Reshape(indices, size), shape)


@Gather.grad
def gather_grad(op, dy):
    return _rows_gradient(op.inputs[0], op.inputs[1], dy), None


def _range(start, limit):
    return raw.Range(start, limit, 1, name="range")


@GatherV2.grad
def gather_v2_grad(op, dy):
    params, indices, axis = op.inputs
    batch = op.attrs["batch_dims"]
    if batch < 0:
        batch += len(indices._dims)
    at = constant_value(axis)
    if at is not None and int(at) == 0:
        return _rows_gradient(params, indices, dy), None, None
    shape = _params_shape(params)
    raw.ExpandDims(size_of(indices), 0)  # TensorFlow adds it and does not use it
    outer_shape = shape[:axis]
    inner_shape = shape[axis:][1:]
    values_shape = raw.ConcatV2([outer_shape, [-1], inner_shape], 0, name="concat")
    values_dims = size_of(values_shape)
    axis_dims = size_of(outer_shape)
    batch_axes = _range(0, batch)
    outer_axes = _range(batch, axis_dims)
    inner_axes = _range(axis_dims + 1, values_dims)
    values = raw.Reshape(dy, values_shape)
    # Dimension `axis` moves behind the batch dimensions, where rows can be summed up.
    order = raw.ConcatV2([batch_axes, [axis_dims], outer_axes, inner_axes], 0, name="concat")
    values = raw.Transpose(values, order, name="transpose")
    rows = shape[axis]
    sums = _batch_sums(values, indices, rows, shape, batch)
    back = raw.ConcatV2([batch_axes, outer_axes + 1, [batch], inner_axes], 0, name="concat")
    return raw.Transpose(sums, back, name="transpose"), None, None


def _batch_sums(values, indices, rows, shape, batch):
    """Returns the sums of the values that belong to each row, batch by batch."""
    count = raw.ExpandDims(size_of(indices), 0)
    if batch == 0:
        return raw.UnsortedSegmentSum(values, raw.Reshape(indices, count), rows)
    gathered = shape_of(values)
    batch_shape = gathered[:batch]
    inner_shape = gathered[batch:][1:]
    flat_rows = raw.Prod(batch_shape, np.array([0], np.int32), name="Prod")
    flat_shape = raw.ConcatV2([[-1], inner_shape], 0, name="concat")
    rows_in_all = rows * flat_rows
    # A batch's rows follow those of the batches before it.
    step = ones((), dtype=indices.dtype)
    for i in reversed(range(batch)):
        dim = shape[i]
        upper = shape[i + 1]
        step = step * (upper if upper.dtype is step.dtype else raw.Cast(upper, DstT=step.dtype, name="Cast"))
        limit = dim if dim.dtype is step.dtype else raw.Cast(dim, DstT=step.dtype, name="Cast")
        start, delta = zeros((), dtype=step.dtype), ones((), dtype=step.dtype)
        offsets = raw.Range(start, limit, delta, name="range") * step
        offset_shape = stack([*[1] * i, dim, *[1] * (len(indices._dims) - i - 1)])
        indices = indices + raw.Reshape(offsets, offset_shape)
    flat_values = raw.Reshape(values, flat_shape)
    flat_indices = raw.Reshape(indices, count)
    sums = raw.UnsortedSegmentSum(flat_values, flat_indices, rows_in_all)
    return raw.Reshape(sums, raw.ConcatV2([batch_shape, flat_shape], 0, name="concat"))


@GatherV2.cases
def gather_v2_cases(case):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    case(x, [2, 0], np.int32(0), gives=x[[2, 0]])
    case(x, [[1], [3]], np.int32(-1), gives=x[:, [[1], [3]]])
    case(x, np.int64(1), np.int32(0), gives=x[1])
    case(x, [[0, 1], [3, 3], [2, 0]], np.int32(1), batch_dims=1, gives=[[0.0, 1.0], [7.0, 7.0], [10.0, 8.0]])
    case(x, np.zeros([0], np.int32), np.int32(0), gives=np.zeros([0, 4], np.float32))
    case.shapes("[5,3];[?];[]", "[5,?]", values={"axis": 1})
    case.shapes("[5,3];[?];[]", "[?,?]")
    case.shapes("[2,5,3];[2,4];[]", "[2,4,3]", values={"axis": 1}, batch_dims=1)
    case.fails("[2,3];[1];[]", match="Shape must be at least rank 3 but is rank 2", values={"axis": 2})
    case.fails((x, [0, 3], np.int32(0)), match=r"indices\[1\] = 3 is not in \[0, 3\)")


@Gather.cases
def gather_cases(case):
    case([[1.0], [2.0], [3.0]], [[2, 0]], gives=[[[3.0], [1.0]]])
    case.shapes("[5,3];[?]", "[?,3]")
    case.fails("[];[1]", match="Shape must be at least rank 1 but is rank 0")
    case.fails(([1.0, 2.0], [-1]), match=r"indices\[0\] = -1 is not in \[0, 2\)")


@export("gather")
def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """Returns the slices of a tensor along a dimension that indices name.

    Args:
      params: The tensor, or a resource variable.
      indices: The slices' numbers, of any shape.
      validate_indices: Has no effect: indices are always checked.
      name: The node's name.
      axis: The dimension, by default the one after the batch dimensions.
      batch_dims: How many leading dimensions `params` and `indices` share.
    """
    del validate_indices
    if axis is None:
        axis = batch_dims
    at = constant_value(axis) if not isinstance(axis, int) else axis
    if at is None or int(at) != 0:
        return raw.GatherV2(params, indices, axis, batch_dims=batch_dims, name=name)
    read = getattr(params, "sparse_read", None)
    if read is not None:
        # A resource variable reads only these rows; other variables have no such thing to offer.
        with contextlib.suppress(AttributeError):
            return read(indices, name=name)
    return raw.GatherV2(params, indices, axis, name=name)
