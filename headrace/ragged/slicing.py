"""Indexing and slicing of ragged tensors."""

from __future__ import annotations

from typing import Any

from headrace.graph import Tensor, name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.array.concat import concat
from headrace.ops.array.fill import zeros
from headrace.ops.array.gather import gather as dense_gather
from headrace.ops.array.pack import stack
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.array.shape import size as size_of
from headrace.ops.flow.cond import cond
from headrace.ops.math.cast import cast
from headrace.ops.math.ranges import range_v1
from headrace.ragged.gathering import gather
from headrace.ragged.tensor import RaggedTensor


def get_item(self: Any, key: Any) -> Any:
    """Returns a part of a ragged tensor.

    Args:
      key: Numbers, scalar tensors, slices, `...` and `tf.newaxis`, as for a tensor. Rows of a ragged dimension can be
        sliced, but not picked by number except in the first dimension.

    Raises:
      TypeError: Something else is in the key.
      ValueError: A number for an inner ragged dimension.
    """
    scope = key if isinstance(key, (list, tuple)) else [key]
    with name_scope(None, "RaggedGetItem", [self, *[k for k in scope if isinstance(k, Tensor)]]):
        if isinstance(key, tuple):
            return _rows(self, list(key))
        return _rows(self, key if isinstance(key, list) else [key])


def _rows(rt: Any, key: list[Any]) -> Any:
    if not key:
        return rt
    first, rest = key[0], key[1:]
    if first is Ellipsis:
        return _rows(rt, _expanded(key, rt.shape.ndims))
    if first is None:
        inner = _rows(rt, rest)
        count = shape_of(inner.row_splits, out_type=inner.row_splits.dtype)[0] - 1
        return RaggedTensor.from_row_splits(inner, stack([0, count]), validate=False)
    if isinstance(first, slice):
        return _inner(_sliced_rows(rt, first), rest)
    starts, limits = rt.row_splits[:-1], rt.row_splits[1:]
    row = rt.values[starts[first] : limits[first]]
    return row.__getitem__(rest)


def _expanded(key: list[Any], remaining: int | None) -> list[Any]:
    """Returns a key that begins with an ellipsis with one `:` in front of it, or without it if it stands for nothing.

    Raises:
      IndexError: There are more indices than dimensions.
      ValueError: The rank is unknown.
    """
    if remaining is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    indices = sum(k is not None for k in key)
    if indices > remaining + 1:
        raise IndexError("Too many indices for RaggedTensor")
    return key[1:] if indices == remaining + 1 else [slice(None), *key]


def _sliced_rows(rt: Any, key: slice) -> Any:
    if key == slice(None):
        return rt
    starts = rt.row_splits[:-1][key]
    limits = rt.row_splits[1:][key]
    zero = zeros([1], dtype=starts.dtype)
    if key.step is None or (isinstance(key.step, int) and key.step == 1):
        # No rows have splits too: the zero stays in front where there is no first start.
        splits = concat([zero[size_of(starts) :], starts[:1], limits], axis=0)
        first, last = splits[0], splits[-1]
        return RaggedTensor.from_row_splits(rt.values[first:last], splits - first, validate=False)
    return _of_ranges(starts, limits, 1, rt.values)


def _of_ranges(starts: Any, limits: Any, step: Any, values: Any) -> Any:
    """Returns the ragged tensor whose rows are ranges of values."""
    step = cast(convert_to_tensor(step, name="step"), starts.dtype)
    ranges = raw.RaggedRange(starts, limits, step, Tsplits=starts.dtype)
    if isinstance(values, RaggedTensor):
        picked = gather(params=values, indices=ranges.rt_dense_values)
    else:
        picked = dense_gather(params=values, indices=ranges.rt_dense_values)
    return RaggedTensor.from_row_splits(picked, ranges.rt_nested_splits, validate=False)


def _inner(rt: Any, key: list[Any]) -> Any:
    """Applies a key to all dimensions but the first."""
    if not key:
        return rt
    if isinstance(rt, Tensor):
        return rt.__getitem__([slice(None), *key])
    first = key[0]
    if first is Ellipsis:
        return _inner(rt, _expanded(key, rt.values.shape.ndims))
    if first is None:
        count = shape_of(rt.row_splits, out_type=rt.row_splits.dtype)[0]
        splits = range_v1(count)
        return RaggedTensor.from_row_splits(_inner(rt, key[1:]), splits, validate=False)
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if first == slice(None):
        return rt.with_values(_inner(rt.values, key[1:]))
    sliced = _sliced_columns(rt, first)
    return sliced.with_values(_inner(sliced.values, key[1:]))


def _sliced_columns(rt: Any, key: slice) -> Any:
    starts, limits = rt.row_splits[:-1], rt.row_splits[1:]
    if not _is_zero(key.start):
        starts = _moved(key.start, rt)
    if key.stop is not None:
        limits = _moved(key.stop, rt)
    return _of_ranges(starts, limits, 1 if key.step is None else key.step, rt.values)


def _is_zero(start: Any) -> bool:
    return start is None or (isinstance(start, int) and start == 0)


def _moved(offset: Any, rt: Any) -> Any:
    """Returns where an offset falls in each row, counted from its end if negative."""
    starts, limits = rt.row_splits[:-1], rt.row_splits[1:]

    def from_start() -> Any:
        return raw.Minimum(starts + offset, limits)

    def from_end() -> Any:
        return raw.Maximum(limits + offset, starts)

    if isinstance(offset, int):
        return from_start() if offset >= 0 else from_end()
    if not isinstance(offset, Tensor) or not offset.dtype.is_integer:
        raise TypeError("slice offsets must be integers or None")
    offset = cast(offset, starts.dtype)
    return cond(raw.GreaterEqual(offset, 0), from_start, from_end)


RaggedTensor.__getitem__ = get_item  # type: ignore[attr-defined]
