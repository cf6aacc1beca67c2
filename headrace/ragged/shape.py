"""RaggedTensorDynamicShape: sizes of ragged and uniform dimensions, and how they broadcast."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import as_dtype, int64
from headrace.export import NAMES
from headrace.graph import Tensor, control_dependencies, name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.opdef.plain_values import plain_value
from headrace.ops.array.concat import concat
from headrace.ops.array.constant import constant_v1
from headrace.ops.array.fill import ones
from headrace.ops.array.gather import gather
from headrace.ops.array.pack import stack
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.array.shape import size as size_of
from headrace.ops.array.where import where
from headrace.ops.flow.assertion import assert_that
from headrace.ops.math.cast import cast
from headrace.ops.math.ranges import range_v1
from headrace.ragged.repeating import lengths_to_splits, repeat_ranges, tile
from headrace.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, integer_tensor


class RaggedTensorDynamicShape:
    """The sizes of a tensor's dimensions when it runs: outer ones that may be ragged, and inner uniform ones.

    Args:
      partitioned: For each outer dimension its size, or a vector of row lengths where it is ragged.
      inner: A vector of the inner dimensions' sizes.
      dtype: int32 or int64.
    """

    def __init__(self, partitioned: Any, inner: Any, dtype: Any = None):
        dtype = None if dtype is None else as_dtype(dtype)
        with name_scope(None, "RaggedTensorDynamicShape", [*partitioned, inner]):
            sizes = [
                convert_to_tensor(size, name=f"partitioned_dimension_size_{i}")
                for i, size in enumerate(partitioned)
            ]
            inner = convert_to_tensor(inner, name="inner_dim_sizes")
            dtype = dtype or (sizes[0].dtype if sizes else inner.dtype)
            self.dtype = dtype
            self.partitioned: tuple[Any, ...] = tuple(cast(size, dtype) for size in sizes)
            self.inner = cast(inner, dtype)

    @classmethod
    def from_tensor(cls, value: Any, dtype: Any = None) -> RaggedTensorDynamicShape:
        """Returns the shape of a tensor, ragged or not."""
        with name_scope(None, "RaggedTensorDynamicShapeFromTensor", [value]):
            value = convert_to_tensor_or_ragged_tensor(value)
            if not isinstance(value, RaggedTensor):
                return cls([], shape_of(value), dtype or int64)
            sizes = (value.nrows(), *value.nested_row_lengths())
            return cls(sizes, shape_of(value.flat_values)[1:], dtype or value.row_splits.dtype)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None if it is unknown."""
        inner = self.inner.shape[0].value
        return None if inner is None else len(self.partitioned) + inner

    def is_ragged(self, axis: int) -> bool:
        """Whether a dimension's size differs from row to row."""
        return 0 < axis < len(self.partitioned) and self.partitioned[axis].shape.ndims == 1

    def size(self, axis: int) -> Any:
        """Returns a dimension's size, or its row lengths."""
        outer = len(self.partitioned)
        return self.partitioned[axis] if axis < outer else self.inner[axis - outer]

    def slices(self, axis: int) -> Any:
        """Returns how many elements the dimensions up to one have in all."""
        if axis < 0:
            return constant_v1(1, dtype=self.dtype)
        if self.is_ragged(axis):
            return NAMES["reduce_sum"](self.partitioned[axis])
        return self.size(axis) * self.slices(axis - 1)

    def with_rank(self, rank: int) -> RaggedTensorDynamicShape:
        """Returns a shape with dimensions of size one in front."""
        if self.rank is None:
            raise ValueError("Unable to broadcast: self.rank is unknown")
        added = rank - self.rank
        if added < 0:
            raise ValueError(f"Unable to broadcast: rank={rank} must be greater than self.rank={self.rank}.")
        if not added:
            return self
        if self.partitioned:
            return RaggedTensorDynamicShape([1] * added + list(self.partitioned), self.inner, self.dtype)
        inner = concat([ones([added], dtype=self.dtype), self.inner], axis=0)
        return RaggedTensorDynamicShape([], inner, self.dtype)

    def broadcast_dimension(self, axis: int, lengths: Any) -> RaggedTensorDynamicShape:
        """Returns a shape of which one dimension has a given size or given row lengths.

        Raises:
          ValueError: The lengths' rank is unknown or more than one.
        """
        lengths = integer_tensor(lengths, "lengths", self.dtype)
        if lengths.shape.ndims is None:
            raise ValueError("lengths must have a known rank.")
        if lengths.shape.ndims > 1:
            raise ValueError("lengths must be a scalar or vector")
        is_scalar = lengths.shape.ndims == 0
        equal = NAMES["equal"]
        if self.is_ragged(axis):
            fits = equal(lengths, 1) if is_scalar else NAMES["reduce_all"](equal(lengths, self.size(axis)))
        else:
            size = self.size(axis)
            if is_scalar:
                fits = equal(lengths, 1) | equal(size, 1) | equal(size, lengths)
            else:
                fits = equal(size, 1)
        words = ("Unable to broadcast: dimension size mismatch in dimension", "lengths=", "dim_size=")
        data = [words[0], axis, words[1], lengths, words[2], self.size(axis)]
        check = assert_that(fits, data, summarize=10)
        with control_dependencies([check]):
            if axis >= len(self.partitioned):
                return self._uniform_inner(axis, lengths) if is_scalar else self._ragged_inner(axis, lengths)
            if self.is_ragged(axis):
                return RaggedTensorDynamicShape(self.partitioned, raw.Identity(self.inner), self.dtype)
            return self._partitioned(axis, lengths)

    def _partitioned(self, axis: int, lengths: Any) -> RaggedTensorDynamicShape:
        size = self.size(axis)
        sizes = list(self.partitioned[:axis])
        if lengths.shape.ndims == 0:
            lengths = where(NAMES["equal"](size, 1), lengths, size)
            repeats = where(NAMES["equal"](size, 1), lengths, 1)
            splits = stack([0, self.slices(axis)])
        else:
            splits = range_v1(size_of(lengths, out_type=self.dtype) + 1)
            repeats = lengths
        sizes.append(lengths)
        for each in self.partitioned[axis + 1 :]:
            if each.shape.ndims == 0:
                sizes.append(each)
                splits *= each
            else:
                sizes.append(repeat_ranges(each, splits, repeats))
                splits = gather(lengths_to_splits(each), splits)
        return RaggedTensorDynamicShape(sizes, self.inner, self.dtype)

    def _uniform_inner(self, axis: int, length: Any) -> RaggedTensorDynamicShape:
        size = self.size(axis)
        at = axis - len(self.partitioned)
        parts = [self.inner[:at], [where(NAMES["equal"](size, 1), length, size)], self.inner[at + 1 :]]
        inner = concat(parts, axis=0)
        return RaggedTensorDynamicShape(self.partitioned, inner, self.dtype)

    def _ragged_inner(self, axis: int, lengths: Any) -> RaggedTensorDynamicShape:
        at = axis - len(self.partitioned)
        sizes = (*self.partitioned, *[self.inner[i] for i in range(at)], lengths)
        return RaggedTensorDynamicShape(sizes, self.inner[at + 1 :], self.dtype)


def broadcast_dynamic_shape(
    x: RaggedTensorDynamicShape, y: RaggedTensorDynamicShape
) -> RaggedTensorDynamicShape:
    """Returns the shape that two shapes broadcast to.

    Raises:
      ValueError: A rank is unknown.
    """
    if x.rank is None or y.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    rank = max(x.rank, y.rank)
    x, y = x.with_rank(rank), y.with_rank(rank)
    for axis in range(rank):
        x = x.broadcast_dimension(axis, y.size(axis))
        y = y.broadcast_dimension(axis, x.size(axis))
    return x


def broadcast_to(value: Any, shape: RaggedTensorDynamicShape, inner: bool = True) -> Any:
    """Returns a tensor repeated to fill a shape.

    Args:
      value: A tensor, ragged or not.
      shape: The shape.
      inner: Whether the inner dimensions are repeated too.

    Raises:
      ValueError: The tensor has more ragged dimensions than the shape, or an unknown rank.
    """
    value = convert_to_tensor_or_ragged_tensor(value)
    if shape.partitioned:
        return _to_ragged_shape(value, shape, inner)
    if isinstance(value, RaggedTensor):
        raise ValueError("Incompatible with shape: ragged rank mismatch")
    return raw.BroadcastTo(value, shape.inner) if inner else value


def _to_ragged_shape(value: Any, shape: RaggedTensorDynamicShape, inner: bool) -> Any:
    source = RaggedTensorDynamicShape.from_tensor(value, shape.dtype)
    rank = shape.rank
    if value.shape.ndims is None or rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    if rank > value.shape.ndims:
        source = source.with_rank(rank)
        for _ in range(rank - value.shape.ndims):
            if isinstance(value, RaggedTensor):
                rows = value.nrows()
            else:
                rows = shape_of(value, out_type=shape.dtype)[0]
            value = RaggedTensor.from_row_lengths(value, [rows], validate=False)
    value = _with_ragged_rank(value, shape)
    value = _tiled(value, source, shape)
    if inner:
        flat = value.flat_values
        sizes = concat([shape_of(flat, out_type=shape.dtype)[:1], shape.inner], axis=0)
        value = value.with_flat_values(raw.BroadcastTo(flat, sizes))
    for axis in range(len(shape.partitioned)):
        if not source.is_ragged(axis) and shape.is_ragged(axis):
            value = _tiled_axis(value, axis, shape.size(axis), shape.dtype)
    return value


def _with_ragged_rank(value: Any, shape: RaggedTensorDynamicShape) -> Any:
    if not isinstance(value, RaggedTensor):
        wanted = len(shape.partitioned) - 1
        return RaggedTensor.from_tensor(value, ragged_rank=wanted, row_splits_dtype=shape.dtype)
    missing = len(shape.partitioned) - 1 - value.ragged_rank
    if missing > 0:
        flat = RaggedTensor.from_tensor(value.flat_values, ragged_rank=missing, row_splits_dtype=shape.dtype)
        value = value.with_flat_values(flat)
    return value


def _tiled(value: Any, source: RaggedTensorDynamicShape, shape: RaggedTensorDynamicShape) -> Any:
    multiples: list[Any] = [1] * (shape.rank or 0)
    for axis in range(len(shape.partitioned)):
        if source.is_ragged(axis) or shape.is_ragged(axis):
            continue
        have, want = source.size(axis), shape.size(axis)
        if plain_value(have) in (1, None) or plain_value(want) != 1:
            multiples[axis] = where(NAMES["equal"](have, 1), want, 1)
    if all(not isinstance(m, Tensor) for m in multiples):
        return value
    return tile(value, stack(multiples, axis=0))


def _tiled_axis(value: Any, axis: int, repeats: Any, dtype: Any) -> Any:
    """Repeats the elements of a dimension, each row's its own number of times."""
    if not isinstance(value, RaggedTensor):
        value = RaggedTensor.from_tensor(value, ragged_rank=1, row_splits_dtype=dtype)
    if axis > 1:
        return value.with_values(_tiled_axis(value.values, axis - 1, repeats, dtype))
    nested, lengths = value.nested_row_splits, value.nested_row_lengths()
    splits = nested[0]
    new_lengths = [repeats]
    for inner, row_lengths in zip(nested[1:], lengths[1:], strict=True):
        new_lengths.append(repeat_ranges(row_lengths, splits, repeats))
        splits = gather(inner, splits)
    values = repeat_ranges(value.flat_values, splits, repeats)
    return RaggedTensor.from_nested_row_lengths(values, new_lengths, validate=False)
