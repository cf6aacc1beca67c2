"""Ragged tensors from dense and sparse ones, and back."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import as_dtype, int64
from headrace.export import NAMES
from headrace.graph import control_dependencies, name_scope
from headrace.graph.sparse_tensor import is_sparse
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.array.concat import concat
from headrace.ops.array.fill import ones, zeros
from headrace.ops.array.gather import gather
from headrace.ops.array.pack import stack
from headrace.ops.array.reshape import expand_dims, reshape
from headrace.ops.array.shape import rank as rank_of
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.array.sparse_to_dense import sequence_mask
from headrace.ops.array.where import boolean_mask, where
from headrace.ops.flow.assertion import assert_that
from headrace.ops.flow.cond import cond
from headrace.ops.math.cast import cast
from headrace.ops.math.cumulative import cumprod, cumsum
from headrace.ops.math.ranges import range_v1
from headrace.ragged.tensor import RaggedTensor, integer_tensor


def from_tensor(
    cls: Any,
    tensor: Any,
    lengths: Any = None,
    padding: Any = None,
    ragged_rank: int = 1,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """Returns a ragged tensor of the rows of a dense one.

    Args:
      tensor: The dense tensor.
      lengths: How much of each row to keep; lists of that for several ragged dimensions.
      padding: The value to drop from the end of rows.
      ragged_rank: How many dimensions after the first shall be ragged.
      name: The scope's name.
      row_splits_dtype: int32 or int64.

    Raises:
      TypeError: `ragged_rank` is no integer.
      ValueError: The arguments do not fit.
    """
    row_splits_dtype = as_dtype(row_splits_dtype)
    if lengths is not None and padding is not None:
        raise ValueError("Specify lengths or padding, but not both")
    if not isinstance(ragged_rank, int):
        raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
    if ragged_rank <= 0:
        raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
    with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
        tensor = convert_to_tensor(tensor, name="tensor")
        tensor.shape.with_rank_at_least(ragged_rank + 1)
        input_shape = shape_of(tensor, out_type=row_splits_dtype)
        width = input_shape[1]
        if ragged_rank > 1:
            return _outer_dimensions(
                cls, tensor, lengths, padding, ragged_rank, input_shape, row_splits_dtype
            )
        if _is_nested(lengths):
            return _of_nested_lengths(cls, tensor, lengths)
        if padding is not None:
            lengths = _unpadded(tensor, padding, width, row_splits_dtype)
        if lengths is not None:
            lengths = integer_tensor(lengths, "lengths", row_splits_dtype)
            lengths.shape.assert_has_rank(1)
            lengths = raw.Minimum(lengths, width)
            lengths = raw.Maximum(lengths, 0)
            limits = cumsum(lengths)
            splits = concat([zeros([1], row_splits_dtype), limits], axis=0)
            mask = sequence_mask(lengths, maxlen=width)
            return cls.from_row_splits(boolean_mask(tensor, mask), splits, validate=False)
        count = input_shape[0]
        total = count * width
        splits = range_v1(count + 1) * width
        values = reshape(tensor, concat([[total], input_shape[2:]], axis=0))
        return cls.from_row_splits(values, splits, validate=False)


def _is_nested(lengths: Any) -> bool:
    return isinstance(lengths, (list, tuple)) and any(not isinstance(each, (int, float)) for each in lengths)


def _outer_dimensions(
    cls: Any, tensor: Any, lengths: Any, padding: Any, ragged_rank: int, input_shape: Any, splits_type: Any
) -> Any:
    """Makes the innermost ragged dimension of a flattened tensor; those around it are uniform."""
    flattened = reshape(tensor, concat([_minus_one(splits_type), input_shape[ragged_rank:]], axis=0))
    result = cls.from_tensor(flattened, lengths, padding, row_splits_dtype=splits_type)
    sizes = cumprod(input_shape)
    levels = []
    for axis in range(1, ragged_rank):
        levels.append(range_v1(sizes[axis - 1] + 1) * input_shape[axis])
    for splits in reversed(levels):
        result = cls.from_row_splits(result, splits, validate=False)
    return result


def _minus_one(dtype: Any) -> Any:
    return NAMES["constant"]([-1], dtype)


def _of_nested_lengths(cls: Any, tensor: Any, lengths: Any) -> Any:
    kept = ones([NAMES["reduce_sum"](lengths[-1])], dtype="bool")
    mask = cls.from_nested_row_lengths(kept, lengths, validate=False).to_tensor(default_value=False)
    return cls.from_nested_row_lengths(boolean_mask(tensor, mask), lengths, validate=False)


def _unpadded(tensor: Any, padding: Any, width: Any, splits_type: Any) -> Any:
    """Returns how long each row is without the padding at its end."""
    padding = convert_to_tensor(padding, name="padding", dtype=tensor.dtype)
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    padded = NAMES["equal"](padding, tensor)
    rank = rank_of(tensor)
    inner = range_v1(2, rank)
    padded = cond(raw.Greater(rank, 2), lambda: NAMES["reduce_all"](padded, axis=inner), lambda: padded)
    padded.set_shape([tensor.shape[0].value, tensor.shape[1].value] if tensor.shape.ndims else [None, None])
    kept = cast(raw.LogicalNot(padded), splits_type)
    return NAMES["reduce_max"](kept * expand_dims(range_v1(1, width + 1), 0), axis=1)


def to_tensor(self: Any, default_value: Any = None, name: str | None = None) -> Any:
    """Returns a dense tensor as wide as the longest rows.

    Args:
      default_value: What fills shorter rows; by default zeros.
      name: The scope's name.

    Raises:
      ValueError: The default does not fit the values' shape.
    """
    with name_scope(name, "RaggedToTensor", [self, default_value]):
        if default_value is not None:
            default_value = convert_to_tensor(default_value, name="default_value", dtype=self.dtype)
        values = self.values
        if isinstance(values, RaggedTensor):
            values = values.to_tensor(default_value)
        if default_value is not None:
            default_value = _as_element(default_value, values)
        return _padded(values, self.row_splits, default_value)


def _as_element(default: Any, values: Any) -> Any:
    if values.shape.ndims is not None:
        default.shape.with_rank_at_most(values.shape.ndims - 1)
    if (
        values.shape.ndims is None
        or default.shape.ndims is None
        or values.shape.ndims - 1 != default.shape.ndims
    ):
        default = raw.BroadcastTo(default, shape_of(values)[1:])
    return default


def _padded(values: Any, splits: Any, default: Any) -> Any:
    kind = splits.dtype
    lengths = splits[1:] - splits[:-1]
    rows = shape_of(splits, out_type=kind)[0] - 1
    columns = raw.Maximum(NAMES["reduce_max"]([lengths]), 0)
    values_shape = shape_of(values, out_type=kind)
    element_shape, count = values_shape[1:], values_shape[0]
    if default is None:
        default = zeros(element_shape, dtype=values.dtype)
    starts = expand_dims(splits[:-1], axis=1)
    limits = expand_dims(splits[1:], axis=1)
    offsets = expand_dims(range_v1(columns), axis=0)
    # The default stands behind the values; what is not in a row is taken from there.
    with_default = concat([values, stack([default])], axis=0)
    places = starts + offsets
    inside = raw.Less(places, limits)
    places = where(inside, places, raw.Fill(stack([rows, columns]), count))
    return gather(with_default, places)


def to_sparse(self: Any, name: str | None = None) -> Any:
    """Returns a sparse tensor of the same elements.

    Args:
      name: The scope's name.
    """
    with name_scope(name, "RaggedToSparse", [self]):
        found = raw.RaggedTensorToSparse(self.nested_row_splits, self.flat_values, name=name)
        return NAMES["SparseTensor"](found.sparse_indices, found.sparse_values, found.sparse_dense_shape)


def from_sparse(cls: Any, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64) -> Any:
    """Returns a ragged tensor of the elements of a sparse matrix whose rows have no gaps.

    Args:
      st_input: A SparseTensor of rank 2.
      name: The scope's name.
      row_splits_dtype: int32 or int64.

    Raises:
      TypeError: `st_input` is no SparseTensor.
      ValueError: It is no matrix.
    """
    row_splits_dtype = as_dtype(row_splits_dtype)
    if not is_sparse(st_input):
        raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
    with name_scope(name, "RaggedFromSparse", [st_input]):
        st_input = NAMES["convert_to_tensor_or_sparse_tensor"](st_input, name="rt_input")
        rank = st_input.dense_shape.shape[0].value
        columns = st_input.indices.shape[1].value
        if rank != 2 and columns != 2:
            raise ValueError("rank(st_input) must be 2")
        with control_dependencies(_assert_without_gaps(st_input.indices)):
            rows = cast(st_input.indices[:, 0], row_splits_dtype)
            count = cast(st_input.dense_shape[0], row_splits_dtype)
            return cls.from_value_rowids(st_input.values, rows, count, validate=False)


def _assert_without_gaps(indices: Any) -> list[Any]:
    prefix, last = indices[:, :-1], indices[:, -1]
    new_row = NAMES["reduce_any"](NAMES["not_equal"](prefix[1:], prefix[:-1]), axis=1)
    right = where(new_row, NAMES["equal"](last[1:], 0), NAMES["equal"](last[1:], last[:-1] + 1))
    first = NAMES["reduce_all"](NAMES["equal"](last[:1], 0))
    whole = raw.LogicalAnd(first, NAMES["reduce_all"](right))
    return [assert_that(whole, ["SparseTensor is not right-ragged", "SparseTensor.indices =", indices])]


RaggedTensor.from_tensor = classmethod(from_tensor)  # type: ignore[attr-defined]
RaggedTensor.from_sparse = classmethod(from_sparse)  # type: ignore[attr-defined]
RaggedTensor.to_tensor = to_tensor  # type: ignore[attr-defined]
RaggedTensor.to_sparse = to_sparse  # type: ignore[attr-defined]
