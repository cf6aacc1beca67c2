"""Reading parts of resource variables: rows, and slices at coordinates."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.graph import IndexedSlices
from headrace.lazy import jnp
from headrace.opdef import constant_node, nodes, op, raw
from headrace.ops.state import places

ResourceGather = op("""
    ResourceGather(resource: resource, indices: Tindices) -> (output: dtype)
      batch_dims: int = 0
      validate_indices: bool = true
      dtype: type
      Tindices: {int32, int64}

    Reads rows of a variable.
""", reads="resource")  # fmt: skip


def _checked(ctx, dtype):
    held, shape = places.held(ctx)
    if held is not None and held is not dtype:
        raise ValueError(
            f"Trying to read variable with wrong dtype. Expected {held.wire_name} got {dtype.wire_name}"
        )
    return shape


@ResourceGather.shape
def resource_gather_shape(resource, indices, *, dtype, batch_dims, ctx):
    params = _checked(ctx, dtype)
    if params is not None:
        shapes.with_rank_at_least(params, batch_dims + 1)
    if batch_dims and indices is not None:
        shapes.with_rank_at_least(indices, batch_dims)
        if params is not None:
            shapes.merge(indices[:batch_dims], params[:batch_dims])
    if params is None or indices is None:
        return None
    return indices + params[batch_dims + 1 :]


def _batch(indices, batch_dims, xp):
    """Returns the coordinates in the batch dimensions that stand before each index."""
    out = []
    for d in range(batch_dims):
        shape = [1] * indices.ndim
        shape[d] = indices.shape[d]
        out.append(xp.arange(indices.shape[d]).reshape(shape))
    return tuple(out)


@ResourceGather.host
def resource_gather_host(resource, indices, *, batch_dims, ctx):
    value = places.value_of(ctx, resource, "resource")
    if value.ndim < batch_dims + 1:
        places.invalid("params must be at least 1 dimensional")
    places.check_row_numbers(indices, value.shape[batch_dims])
    return np.asarray(value[(*_batch(indices, batch_dims, np), indices)])


@ResourceGather.lower
def resource_gather_lower(resource, indices, *, batch_dims, ctx):
    value = jnp.asarray(places.value_of(ctx, resource, "resource"))
    ctx.check(places.rows_in_range(indices, value.shape[batch_dims]), "indices are out of range")
    return value[(*_batch(indices, batch_dims, jnp), indices)]


def _variable_shape(handle):
    """Returns the shape of the variable behind a handle: a constant where it is known."""
    data = handle._handle_data
    if handle.op.type == "VarHandleOp" and data and shapes.is_full(data[0][1]):
        return constant_node(list(data[0][1]), "int32")
    return raw.VariableShape(handle)


@ResourceGather.grad
def resource_gather_grad(op, dy):
    handle, indices = op.inputs
    shape = _variable_shape(handle)
    size = raw.ExpandDims(nodes.size_of(indices), 0)
    values = raw.Reshape(dy, raw.ConcatV2([size, shape[1:]], 0, name="concat"))
    return IndexedSlices(values, raw.Reshape(indices, size), shape), None


@ResourceGather.cases
def resource_gather_cases(case):
    @case.program
    def rows_are_read(step):
        v = raw.VarHandleOp(shape=[3, 2], dtype="float32")
        step(raw.AssignVariableOp(v, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
        step(raw.ResourceGather(v, [2, 0], dtype="float32"), gives=[[4.0, 5.0], [0.0, 1.0]])
        step(
            raw.ResourceGather(v, [[1], [0], [1]], dtype="float32", batch_dims=1), gives=[[1.0], [2.0], [5.0]]
        )
        step(
            raw.ResourceGather(v, [0, 3], dtype="float32"),
            fails=errors.InvalidArgumentError,
            match=r"indices\[1\] = 3 is not in \[0, 3\)",
        )


ResourceGatherNd = op("""
    ResourceGatherNd(resource: resource, indices: Tindices) -> (output: dtype)
      dtype: type
      Tindices: {int32, int64}

    Reads slices of a variable at coordinates.
""", reads="resource")  # fmt: skip


@ResourceGatherNd.shape
def resource_gather_nd_shape(resource, indices, *, dtype, ctx):
    params = _checked(ctx, dtype)
    shapes.with_rank_at_least(indices, 1)
    depth = None if indices is None else indices[-1]
    if params is None or depth is None:
        return None
    if depth > len(params):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: {shapes.to_text(indices)} and params "
            f"shape: {shapes.to_text(params)}"
        )
    return indices[:-1] + params[depth:]


@ResourceGatherNd.host
def resource_gather_nd_host(resource, indices, *, ctx):
    value = places.value_of(ctx, resource, "resource")
    if indices.ndim < 1:
        places.invalid("indices must be at least a vector")
    depth = indices.shape[-1]
    if depth > value.ndim:
        places.invalid(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. {value.ndim}"
        )
    places.check_coordinates(indices, value.shape, "param shape")
    if depth == 0:
        return np.array(np.broadcast_to(value, indices.shape[:-1] + value.shape))
    return np.asarray(value[places.coordinates(indices)])


@ResourceGatherNd.lower
def resource_gather_nd_lower(resource, indices, *, ctx):
    value = jnp.asarray(places.value_of(ctx, resource, "resource"))
    if indices.shape[-1] == 0:
        return jnp.broadcast_to(value, indices.shape[:-1] + value.shape)
    ctx.check(places.coordinates_in_range(indices, value.shape), "coordinates are out of range")
    return value[places.coordinates(indices)]


@ResourceGatherNd.grad
def resource_gather_nd_grad(op, dy):
    handle, indices = op.inputs
    shape = raw.VariableShape(handle, out_type=indices.dtype.base_dtype)
    if indices._dims is not None and len(indices._dims) == 2 and indices._dims[-1] == 1:
        return IndexedSlices(dy, raw.Squeeze(indices, squeeze_dims=[-1]), shape), None
    return raw.ScatterNd(indices, dy, shape), None


@ResourceGatherNd.cases
def resource_gather_nd_cases(case):
    @case.program
    def slices_are_read(step):
        v = raw.VarHandleOp(shape=[3, 2], dtype="float32")
        step(raw.AssignVariableOp(v, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
        step(raw.ResourceGatherNd(v, [[0, 1], [2, 0]], dtype="float32"), gives=[1.0, 4.0])
        step(raw.ResourceGatherNd(v, [[1]], dtype="float32"), gives=[[2.0, 3.0]])
        step(
            raw.ResourceGatherNd(v, [[1], [3]], dtype="float32"),
            fails=errors.InvalidArgumentError,
            match=r"indices\[1\] = \[3\] does not index into param shape \[3,2\]",
        )
