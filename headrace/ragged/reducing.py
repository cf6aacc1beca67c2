"""Reductions of ragged tensors, along their dimensions and by segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.dtypes import bool as bool_type
from headrace.dtypes import int32
from headrace.export import NAMES
from headrace.graph import Tensor, control_dependencies, name_scope
from headrace.opdef import raw
from headrace.opdef.plain_values import plain_value
from headrace.ops.array.concat import concat
from headrace.ops.array.fill import ones_like, zeros
from headrace.ops.array.gather import gather
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.flow.checks import assert_equal
from headrace.ops.math.cast import cast
from headrace.ops.math.cumulative import cumsum
from headrace.ragged.building import positive_axis
from headrace.ragged.ranges import ragged_range
from headrace.ragged.segments import row_splits_to_segment_ids
from headrace.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    match_row_splits_dtypes,
)


def aggregate(
    reduce: Callable[..., Any],
    by_segments: Callable[..., Any],
    value: Any,
    axis: Any,
    keepdims: Any,
    name: str | None = None,
    default_name: str = "RaggedReduce",
    **options: Any,
) -> Any:
    """Reduces dimensions of a ragged tensor.

    Args:
      reduce: How a dense tensor is reduced: `(tensor, axis, keepdims, name=)`.
      by_segments: How segments of a dense tensor are: `(tensor, segment_ids, num_segments)`.
      value: The tensor.
      axis: The dimension, or several; all by default.
      keepdims: False.
      name: The scope's name.
      default_name: The name of the scope where there is none.
      **options: More for both functions.

    Raises:
      ValueError: Dimensions shall be kept, or the axis is not known.
    """
    if not isinstance(value, RaggedTensor):
        return reduce(value, axis, keepdims, name=name, **options)
    if keepdims:
        raise ValueError("keepdims=True is not supported for RaggedTensors.")
    if isinstance(axis, Tensor):
        axis = plain_value(axis)
        if axis is None:
            raise ValueError("axis must be known at graph construction time.")
    if isinstance(axis, (np.ndarray, np.generic)):
        axis = axis.tolist()
    if axis is None:
        return reduce(value.flat_values, None, keepdims, name=name or default_name, **options)
    with name_scope(name, default_name, [value, axis]):
        if isinstance(axis, (tuple, list)):
            if not axis:
                return value
            if len(axis) > 1:
                return _several(reduce, by_segments, value, axis, keepdims, options)
            axis = axis[0]
        axis = positive_axis(axis, value.shape.ndims)
        if axis == 0:
            lengths = value.row_splits[1:] - value.row_splits[:-1]
            count = raw.Maximum(NAMES["reduce_max"](lengths), 0)
            ids = ragged_range(lengths, row_splits_dtype=value.row_splits.dtype).values
            return segment_aggregate(by_segments, value.values, ids, count, **options)
        if axis == 1:
            count = shape_of(value.row_splits)[0] - 1
            ids = row_splits_to_segment_ids(value.row_splits)
            return segment_aggregate(by_segments, value.values, ids, count, **options)
        inner = aggregate(reduce, by_segments, value.values, axis - 1, keepdims, **options)
        return value.with_values(inner)


def _several(reduce: Any, by_segments: Any, value: Any, axis: Any, keepdims: Any, options: Any) -> Any:
    """Reduces several dimensions, the innermost first."""
    if value.shape.ndims is None:
        raise ValueError("rt_input.shape.ndims must be known statically")
    axes = sorted(positive_axis(d, value.shape.ndims) for d in axis)
    inner = aggregate(reduce, by_segments, value, axes[-1], keepdims, **options)
    return aggregate(reduce, by_segments, inner, axes[:-1], keepdims, **options)


def segment_aggregate(
    by_segments: Callable[..., Any],
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    name: str | None = None,
    default_name: str = "RaggedSegment",
    **options: Any,
) -> Any:
    """Aggregates the rows, or the elements, of each segment.

    Args:
      by_segments: How a dense tensor's segments are: `(tensor, segment_ids, num_segments)`.
      data: The rows, ragged or not.
      segment_ids: The segment of each row, or, if ragged, of each element.
      num_segments: How many segments there are.
      name: The scope's name.
      default_name: The name of the scope where there is none.
      **options: More for the function.

    Raises:
      ValueError: The ids are ragged and the data is not.
    """
    if not (isinstance(data, RaggedTensor) or isinstance(segment_ids, RaggedTensor)):
        return by_segments(data, segment_ids, num_segments, **options)
    with name_scope(name, default_name, [data, segment_ids, num_segments]):
        data, segment_ids = match_row_splits_dtypes(
            convert_to_tensor_or_ragged_tensor(data, name="data"),
            convert_to_tensor_or_ragged_tensor(segment_ids, name="segment_ids"),
        )
        if isinstance(segment_ids, RaggedTensor):
            words = "segment_ids.shape must be a prefix of data.shape"
            if not isinstance(data, RaggedTensor):
                raise ValueError(f"{words}, but segment_ids is ragged and data is not.")
            checks = [assert_equal(segment_ids.row_splits, data.row_splits, message=words)]
            with control_dependencies(checks):
                return segment_aggregate(
                    by_segments, data.values, segment_ids.values, num_segments, **options
                )
        lengths = data.row_splits[1:] - data.row_splits[:-1]
        longest = raw.Maximum(raw.UnsortedSegmentMax(lengths, segment_ids, num_segments), 0)
        splits = concat([zeros([1], longest.dtype), cumsum(longest)], axis=0)
        # The element j of a row goes to the place j of its segment's row.
        starts = gather(splits, segment_ids)
        limits = starts + lengths
        places = ragged_range(starts, limits, row_splits_dtype=data.row_splits.dtype).values
        values = segment_aggregate(by_segments, data.values, places, splits[-1], **options)
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def _over_all(value: Any) -> Any:
    return RaggedTensor.from_nested_row_splits(
        ones_like(value.flat_values), value.nested_row_splits, validate=False
    )


def _divided(total: Any, count: Any) -> Any:
    if isinstance(total, RaggedTensor):
        return total.with_flat_values(total.flat_values / count.flat_values)
    return total / count


def _reduction(dense: str, segment: str, scope: str) -> Callable[..., Any]:
    def reduce(input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None) -> Any:
        def by_segments(*args: Any) -> Any:
            return getattr(raw, segment)(*args)

        return aggregate(NAMES[dense], by_segments, input_tensor, axis, keepdims, name, scope)

    return reduce


reduce_sum = _reduction("reduce_sum", "UnsortedSegmentSum", "RaggedReduceSum")
reduce_prod = _reduction("reduce_prod", "UnsortedSegmentProd", "RaggedReduceProd")
reduce_min = _reduction("reduce_min", "UnsortedSegmentMin", "RaggedReduceMin")
reduce_max = _reduction("reduce_max", "UnsortedSegmentMax", "RaggedReduceMax")


def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None) -> Any:
    """Returns the mean over dimensions of a ragged tensor."""
    with name_scope(name, "RaggedReduceMean", [input_tensor, axis]):
        total = reduce_sum(input_tensor, axis, keepdims)
        ones = _over_all(input_tensor) if isinstance(input_tensor, RaggedTensor) else ones_like(input_tensor)
        return _divided(total, reduce_sum(ones, axis, keepdims))


def _logical(scope: str, reduce: Callable[..., Any]) -> Callable[..., Any]:
    def logical(input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None) -> Any:
        with name_scope(name, scope, [input_tensor, axis]):
            return _cast(reduce(_cast(input_tensor, int32), axis, keepdims), bool_type)

    return logical


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(cast(value.flat_values, dtype))
    return cast(value, dtype)


reduce_all = _logical("RaggedReduceAll", reduce_prod)
reduce_any = _logical("RaggedReduceAny", reduce_sum)


def _segments(op: str, scope: str) -> Callable[..., Any]:
    def by_segments(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        def dense(*args: Any) -> Any:
            return getattr(raw, op)(*args)

        return segment_aggregate(dense, data, segment_ids, num_segments, name, scope)

    return by_segments


segment_sum = _segments("UnsortedSegmentSum", "RaggedSegmentSum")
segment_prod = _segments("UnsortedSegmentProd", "RaggedSegmentProd")
segment_max = _segments("UnsortedSegmentMax", "RaggedSegmentMax")
segment_min = _segments("UnsortedSegmentMin", "RaggedSegmentMin")


def segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    """Returns the mean of each segment."""
    with name_scope(name, "RaggedSegmentMean", [data, segment_ids, num_segments]):
        total = segment_sum(data, segment_ids, num_segments)
        ones = _over_all(data) if isinstance(data, RaggedTensor) else ones_like(data)
        return _divided(total, segment_sum(ones, segment_ids, num_segments))


def segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    """Returns the sum of each segment over the square root of its size."""
    with name_scope(name, "RaggedSegmentSqrtN", [data, segment_ids, num_segments]):
        total = segment_sum(data, segment_ids, num_segments)
        ones = _over_all(data) if isinstance(data, RaggedTensor) else ones_like(data)
        count = segment_sum(ones, segment_ids, num_segments)
        if isinstance(count, RaggedTensor):
            count = count.with_flat_values(raw.Sqrt(count.flat_values))
        else:
            count = raw.Sqrt(count)
        return _divided(total, count)
