"""Gathering within the members of a batch, composed of plain gathers."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.graph import name_scope
from headrace.opdef import constant_value, convert_to_tensor, export, raw
from headrace.opdef.nodes import ones, rank_of, shape_of, zeros
from headrace.ops.array.concat import concat
from headrace.ops.array.pack import stack
from headrace.ops.array.tile import meshgrid
from headrace.ops.array.transpose import transpose


def cast_to(x, dtype):
    return raw.Cast(x, DstT=dtype)


@export("batch_gather")
def batch_gather(params, indices, name=None):
    """Returns the slices that indices name within each member of a batch.

    Args:
      params: The batch: dimensions that `indices` has too, then the one that slices are numbered along.
      indices: The slices' numbers, in the last dimension.
      name: The scope's name.

    Raises:
      ValueError: The rank of `indices` is not known.
    """
    with name_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if indices._dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        n = len(indices._dims)
        indices_shape, params_shape = shape_of(indices), shape_of(params)
        dtype = indices.dtype.base_dtype
        step = ones((), dtype=dtype)
        sizes = cast_to(params_shape, dtype)
        flat = indices
        for axis in range(n - 1, 0, -1):
            size = sizes[axis - 1]
            step = step * sizes[axis]
            offsets = raw.Range(zeros((), dtype=dtype), size, ones((), dtype=dtype)) * step
            flat = flat + raw.Reshape(offsets, stack([*[1] * (axis - 1), size, *[1] * (n - axis)]))
        flat = raw.Reshape(flat, [-1])
        inner = params_shape[n:]
        rows = raw.Reshape(params, concat([[_product(params_shape[:n])], inner], 0))
        result = raw.Reshape(raw.GatherV2(rows, flat, 0), concat([indices_shape, inner], 0))
        dims = params._dims
        result.set_shape(None if dims is None else (*indices._dims, *dims[n:]))
        return result


def _product(shape):
    return raw.Prod(shape, np.array([0], np.int32), name="Prod")


@export("gather_nd", "manip.gather_nd")
def gather_nd(params, indices, name=None, batch_dims=0):
    """Returns the slices of a tensor at coordinates.

    Args:
      params: The tensor, or a resource variable.
      indices: The coordinates, in the last dimension.
      name: The node's name.
      batch_dims: How many leading dimensions `params` and `indices` share.
    """
    known = constant_value(batch_dims) if not isinstance(batch_dims, int) else batch_dims
    if known is not None and int(known) != 0:
        return _batch_gather_nd(params, indices, int(known), name)
    read = getattr(params, "gather_nd", None)
    if read is not None:
        return read(indices, name=name)
    return raw.GatherNd(params, indices, name=name)


def _batch_gather_nd(params, indices, batch_dims, name):
    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        rank = None if indices._dims is None else len(indices._dims)
        if rank is None:
            raise ValueError("tf.gather_nd does not allow indices with unknown rank")
        if not isinstance(batch_dims, int):
            raise TypeError(f"batch_dims must be an int; got {batch_dims!r}")
        if batch_dims < 0:
            batch_dims += rank
        if not 0 <= batch_dims < rank:
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {rank}")
        params_rank = None if params._dims is None else len(params._dims)
        if params_rank is not None and batch_dims >= params_rank:
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank(params) = {params_rank}")
        # The coordinates get the batch's in front of theirs.
        params_shape, indices_shape = shape_of(params), shape_of(indices)
        batch = params_shape[:batch_dims]
        batch_size = _product(batch)
        inner = rank_of(indices) - batch_dims - 1
        inner_shape = indices_shape[batch_dims:-1]
        grid = meshgrid(
            *[
                cast_to(raw.Range(0, d, 1), indices.dtype.base_dtype)
                for d in raw.Unpack(batch, num=batch_dims, name="unstack")
            ],
            indexing="ij",
        )
        flat = [raw.Reshape(x, [-1]) for x in grid]
        rows = transpose(stack(flat))
        rows_shape = shape_of(rows)
        rows = raw.Reshape(rows, concat([rows_shape[:1], ones(inner, dtype=dtypes.int32), rows_shape[1:]], 0))
        rows = raw.Tile(rows, concat([[1], inner_shape, [1]], 0))
        indices = raw.Reshape(indices, concat([[batch_size], indices_shape[batch_dims:]], 0))
        result = raw.GatherNd(params, concat([rows, indices], -1))
        return raw.Reshape(result, concat([batch, shape_of(result)[1:]], 0))
