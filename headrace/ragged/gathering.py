"""Gathering rows and elements of ragged tensors."""

from __future__ import annotations

from typing import Any

from headrace.graph import control_dependencies, name_scope
from headrace.opdef import raw
from headrace.ops.array.batched import gather_nd as dense_gather_nd
from headrace.ops.array.concat import concat
from headrace.ops.array.fill import ones
from headrace.ops.array.gather import gather as dense_gather
from headrace.ops.array.repeat import repeat
from headrace.ops.array.reshape import expand_dims, reshape
from headrace.ops.array.shape import rank as rank_of
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.flow.checks import assert_equal
from headrace.ops.math.cast import cast
from headrace.ragged import repeating
from headrace.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    from_parts,
    match_row_splits_dtypes,
)


def _operands(params: Any, indices: Any) -> list[Any]:
    return match_row_splits_dtypes(
        convert_to_tensor_or_ragged_tensor(params, name="params"),
        convert_to_tensor_or_ragged_tensor(indices, name="indices"),
    )


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = 0,
    batch_dims: Any = 0,
    name: str | None = None,
) -> Any:
    """Returns the rows of a tensor that indices name; either may be ragged.

    Args:
      params: The rows.
      indices: Their numbers.
      validate_indices: Has no meaning.
      axis: 0.
      batch_dims: 0.
      name: The scope's name.

    Raises:
      ValueError: Another axis or batch dimensions, or indices of unknown rank.
    """
    if not isinstance(axis, int) or axis != 0:
        raise ValueError("axis != 0 is not supported for ragged gather yet.")
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with name_scope(name, "RaggedGather", [params, indices]):
        params, indices = _operands(params, indices)
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather(params, indices.values))
        if not isinstance(params, RaggedTensor):
            return dense_gather(params, indices)
        if indices.shape.ndims is None:
            raise ValueError("indices.shape.ndims must be known statically")
        found = raw.RaggedGather(
            params.nested_row_splits,
            params.flat_values,
            indices,
            OUTPUT_RAGGED_RANK=indices.shape.ndims + params.ragged_rank - 1,
        )
        return from_parts(found.output_dense_values, found.output_nested_splits)


_BATCH_MISMATCH = "batch shape from indices does not match params shape"


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Returns the elements that indices name within each row; either operand may be ragged.

    Args:
      params: The rows.
      indices: Numbers of elements, in rows too.
      name: The scope's name.

    Raises:
      ValueError: The outer dimensions differ, or the rank of the indices is unknown or zero.
    """
    if not (isinstance(params, RaggedTensor) or isinstance(indices, RaggedTensor)):
        return _dense_batch_gather(params, indices, name)
    with name_scope(name, "RaggedBatchGather", [params, indices]):
        params, indices = _operands(params, indices)
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if rank == 0:
            raise ValueError("indices.rank must be at least 1.")
        if isinstance(indices, RaggedTensor):
            if not isinstance(params, RaggedTensor):
                params = _rows_of(params, indices)
        elif rank > 2:
            # The outer dimensions of dense indices can't agree with ragged ones.
            raise ValueError(_BATCH_MISMATCH)
        if rank == 1:
            return gather(params, indices)
        if isinstance(indices, RaggedTensor) and indices.ragged_rank > 1:
            if not isinstance(params, RaggedTensor):
                raise ValueError(_BATCH_MISMATCH)
            checks = [assert_equal(params.row_splits, indices.row_splits)]
            with control_dependencies(checks):
                if not isinstance(params.values, RaggedTensor):
                    raise ValueError(_BATCH_MISMATCH)
                return params.with_values(batch_gather(params.values, indices.values))
        if isinstance(indices, RaggedTensor):
            starts = repeat(*reversed((indices.row_lengths(), params.row_starts())), axis=0)
            places = cast(indices.values, params.row_splits.dtype) + starts
            return indices.with_values(gather(params.values, places))
        starts = expand_dims(params.row_starts(), axis=1)
        places = cast(indices, params.row_splits.dtype) + starts
        return gather(params.values, places)


def _rows_of(params: Any, indices: Any) -> Any:
    if params.shape.ndims is not None and params.shape.ndims < 2:
        raise ValueError(_BATCH_MISMATCH)
    if indices.ragged_rank > 1:
        raise ValueError(_BATCH_MISMATCH)
    return RaggedTensor.from_tensor(params, ragged_rank=1, row_splits_dtype=indices.row_splits.dtype)


def _dense_batch_gather(params: Any, indices: Any, name: str | None) -> Any:
    from headrace.ops.array.batched import batch_gather as dense

    return dense(params, indices, name)


def gather_nd(params: Any, indices: Any, batch_dims: Any = 0, name: str | None = None) -> Any:
    """Returns the elements or rows at coordinates; either operand may be ragged.

    Args:
      params: The elements.
      indices: Coordinates in the last dimension.
      batch_dims: 0.
      name: The scope's name.

    Raises:
      ValueError: Batch dimensions, or coordinates of unknown rank or size.
    """
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    if not (isinstance(params, RaggedTensor) or isinstance(indices, RaggedTensor)):
        return dense_gather_nd(params, indices, name)
    with name_scope(name, "RaggedGatherNd", [params, indices]):
        params, indices = _operands(params, indices)
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("indices.rank be statically known.")
        if rank == 0:
            raise ValueError("indices.rank must be at least 1.")
        size = indices.shape[-1].value
        if size is None:
            raise ValueError("indices.shape[-1] must be statically known.")
        if rank > 2:
            return _of_many(params, indices, rank)
        if isinstance(indices, RaggedTensor):
            raise ValueError("indices.shape[-1] must be statically known.")
        if not isinstance(params, RaggedTensor):
            return dense_gather_nd(params, indices)
        if size == 0:
            return _copies(params, indices)
        if size == 1:
            return gather(params, reshape(indices, [-1]))
        return _at_coordinates(params, indices, size)


def _of_many(params: Any, indices: Any, rank: int) -> Any:
    """Takes coordinates apart into a list, and puts what is found in their shape."""
    dense = not isinstance(indices, RaggedTensor)
    if dense:
        indices = RaggedTensor.from_tensor(
            indices, ragged_rank=rank - 2, row_splits_dtype=params.row_splits.dtype
        )
    result = indices.with_flat_values(gather_nd(params, indices.flat_values))
    return result.to_tensor() if dense and result.ragged_rank == rank - 2 else result


def _copies(params: Any, indices: Any) -> Any:
    """Returns the whole of `params` for each of the empty coordinates."""
    count = params.ragged_rank + rank_of(params.flat_values)
    rows = repeating.expand_dims(params, axis=0)
    outer = shape_of(indices)[:-1]
    return repeating.tile(rows, concat([outer, ones([count], dtype=outer.dtype)], axis=0))


def _at_coordinates(params: Any, indices: Any, size: int) -> Any:
    indices = cast(indices, params.row_splits.dtype)
    places = dense_gather(params.row_splits, indices[..., 0]) + indices[..., 1]
    values = params.values
    for axis in range(2, size):
        if not isinstance(values, RaggedTensor):
            places = expand_dims(places, axis=1)
            return dense_gather_nd(values, concat([places, indices[..., axis:]], axis=1))
        places = dense_gather(values.row_starts(), places) + indices[..., axis]
        values = values.values
    return gather(values, places)
