"""Choosing among the elements of ragged tensors by masks and conditions."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import bool as bool_type
from headrace.dtypes import int64
from headrace.export import NAMES, export
from headrace.graph import control_dependencies, name_scope
from headrace.ops.array.concat import concat as dense_concat
from headrace.ops.array.gather import gather as dense_gather
from headrace.ops.array.reshape import expand_dims, reshape
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.array.where import boolean_mask as dense_mask
from headrace.ops.array.where import where as dense_where
from headrace.ops.math.cast import cast
from headrace.ops.math.cumulative import cumprod
from headrace.ops.math.ranges import range_v1
from headrace.ragged.elementwise import assert_same_splits, map_flat_values
from headrace.ragged.gathering import gather
from headrace.ragged.joining import concat
from headrace.ragged.reducing import reduce_sum
from headrace.ragged.repeating import lengths_to_splits
from headrace.ragged.segments import row_splits_to_segment_ids
from headrace.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    match_row_splits_dtypes,
)


@export("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Returns the elements that a mask chooses; the mask's dimensions but the first become ragged.

    Args:
      data: A RaggedTensor, or what converts to a tensor.
      mask: Booleans of the same leading shape, ragged or not.
      name: The scope's name.

    Raises:
      ValueError: The mask's rank is unknown or zero, or the shapes do not fit.
    """
    with name_scope(name, "RaggedMask", [data, mask]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        mask = convert_to_tensor_or_ragged_tensor(mask, dtype=bool_type, name="mask")
        kinds = {t.row_splits.dtype for t in (data, mask) if isinstance(t, RaggedTensor)}
        kind = kinds.pop() if len(kinds) == 1 else int64
        match_row_splits_dtypes(data, mask)
        rank = mask.shape.ndims
        if rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if isinstance(mask, RaggedTensor):
            return _ragged_mask(data, mask, kind)
        if isinstance(data, RaggedTensor) and rank == 1:
            return _rows(data, mask)
        if isinstance(data, RaggedTensor):
            mask = RaggedTensor.from_tensor(
                mask, ragged_rank=min(data.ragged_rank, rank - 1), row_splits_dtype=kind
            )
            return boolean_mask(data, mask)
        return _dense(data, mask, rank, kind)


def _ragged_mask(data: Any, mask: Any, kind: Any) -> Any:
    if not isinstance(data, RaggedTensor):
        data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank, row_splits_dtype=kind)
    with control_dependencies(assert_same_splits([mask, data], mask.ragged_rank)):
        outer = []
        while mask.ragged_rank > 1:
            outer.append(data.row_splits)
            data, mask = data.values, mask.values
        numbers = mask.with_values(cast(mask.values, kind))
        splits = lengths_to_splits(reduce_sum(numbers, axis=1))
        values = boolean_mask(data.values, mask.values)
        result = RaggedTensor.from_row_splits(values, splits, validate=False)
        for each in reversed(outer):
            result = RaggedTensor.from_row_splits(result, each, validate=False)
        return result


def _rows(data: Any, mask: Any) -> Any:
    """Returns the rows that a vector chooses."""
    lengths = dense_mask(data.row_lengths(), mask)
    splits = lengths_to_splits(lengths)
    inner = dense_gather(mask, row_splits_to_segment_ids(data.row_splits))
    values = boolean_mask(data.values, inner)
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def _dense(data: Any, mask: Any, rank: int, kind: Any) -> Any:
    values = dense_mask(data, mask)
    if rank < 2:
        return values
    lengths = NAMES["count_nonzero"](mask, axis=-1, dtype=kind)
    result = RaggedTensor.from_row_lengths(values, reshape(lengths, [-1]), validate=False)
    if rank > 2:
        shape = shape_of(mask, out_type=kind)
        ends = cumprod(shape) + 1
        for axis in range(rank - 3, -1, -1):
            width = shape[axis + 1]
            splits = range_v1(ends[axis]) * width
            result = RaggedTensor.from_row_splits(result, splits, validate=False)
    return result


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Returns coordinates of what is true, or a choice between the elements or rows of two tensors.

    Args:
      condition: Booleans, ragged or not.
      x: What to take where they are true.
      y: What to take where they are false.
      name: The scope's name.

    Raises:
      ValueError: One of `x` and `y` is missing, or the shapes do not fit.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with name_scope("RaggedWhere", None, [condition, x, y]):  # whatever the name, as in TensorFlow
        condition = convert_to_tensor_or_ragged_tensor(condition, name="condition")
        if x is None:
            return _coordinates(condition)
        x = convert_to_tensor_or_ragged_tensor(x, name="x")
        y = convert_to_tensor_or_ragged_tensor(y, name="y")
        condition, x, y = match_row_splits_dtypes(condition, x, y)
        return _chosen(condition, x, y)


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(condition, RaggedTensor):
        if not (isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor)):
            raise ValueError("Input shapes do not match.")
        return map_flat_values(dense_where, condition, x, y)
    if not (isinstance(x, RaggedTensor) or isinstance(y, RaggedTensor)):
        return dense_where(condition, x, y)
    condition.shape.assert_has_rank(1)
    both = concat([x, y], axis=0)
    x_rows, y_rows = _count(x), _count(y)
    picked = dense_where(condition, range_v1(x_rows), x_rows + range_v1(y_rows))
    return gather(both, picked)


def _count(value: Any) -> Any:
    if isinstance(value, RaggedTensor):
        return value.nrows()
    return shape_of(value, out_type=int64)[0]


def _coordinates(condition: Any) -> Any:
    if not isinstance(condition, RaggedTensor):
        return dense_where(condition)
    inner = _coordinates(condition.values)
    first = inner[:, 0]
    rows = dense_gather(condition.value_rowids(), first)
    places = first - dense_gather(condition.row_splits, rows)
    return dense_concat([expand_dims(rows, 1), expand_dims(places, 1), inner[:, 1:]], axis=1)
