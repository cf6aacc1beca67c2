"""How ragged tensors are made of values and of one way or another to say where rows begin.

These functions are the class methods of RaggedTensor; `cls` is the class.
"""

from __future__ import annotations

from typing import Any

from headrace.dtypes import int32, int64
from headrace.export import NAMES
from headrace.graph import Tensor, name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.opdef.plain_values import plain_value
from headrace.ops.array.concat import concat
from headrace.ops.array.fill import zeros
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.flow.checks import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_non_negative,
    assert_rank,
    assert_rank_at_least,
)
from headrace.ops.flow.group import with_dependencies
from headrace.ops.math.bincount import bincount
from headrace.ops.math.cast import cast
from headrace.ops.math.cumulative import cumsum


def positive_axis(axis: Any, ndims: int | None) -> int:
    """Returns a dimension's number counted from the first one.

    Raises:
      TypeError: It is no integer.
      ValueError: There is no such dimension, or it is counted from the last one of an unknown rank.
    """
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if ndims is not None:
        if 0 <= axis < ndims:
            return axis
        if -ndims <= axis < 0:
            return axis + ndims
        raise ValueError(f"axis={axis} out of bounds: expected {-ndims}<=axis<{ndims}")
    if axis < 0:
        raise ValueError("axis may only be negative if ndims is statically known.")
    return axis


def _check_validate(validate: Any) -> None:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _is_ragged(value: Any) -> bool:
    return hasattr(value, "row_splits")


def _converted(values: Any, partition: Any, name: str) -> tuple[Any, Any]:
    """Returns values and a row partition as tensors.

    Raises:
      ValueError: The partition is not of int32 or int64, or of another type than the splits of the values.
    """
    if _is_ragged(values):
        from headrace.ragged.tensor import convert_to_tensor_or_ragged_tensor

        values = convert_to_tensor_or_ragged_tensor(values)
        preferred = values.row_splits.dtype
    else:
        values = convert_to_tensor(values, name="values")
        preferred = int64
    if not isinstance(partition, Tensor):
        partition = convert_to_tensor(partition, preferred_dtype=_own_type(partition, preferred), name=name)
    if partition.dtype not in (int32, int64):
        raise ValueError(f"{name} must have dtype int32 or int64")
    if _is_ragged(values) and values.row_splits.dtype is not partition.dtype:
        raise ValueError(
            f"dtype mismatch: {name} ({partition.dtype}) vs values.row_splits ({values.row_splits.dtype})"
        )
    return values, partition


def _own_type(partition: Any, preferred: Any) -> Any:
    kind = getattr(partition, "dtype", None)
    return int32 if kind == "int32" else preferred


def _count(values: Any, out_type: Any = int32) -> Any:
    """Returns how many rows a value has."""
    if _is_ragged(values):
        return values.nrows(out_type=out_type)
    return shape_of(values, out_type=out_type)[0]


def _assert_zero(values: Any, message: str) -> Any:
    return assert_equal(values, raw.Const(value=_zero(values), dtype=values.dtype), message=message)


def _zero(values: Any) -> Any:
    import numpy as np

    return np.zeros((), values.dtype.storage)


def _assert_sorted(values: Any, message: str) -> Any:
    return assert_non_negative(values[1:] - values[:-1], message=message)


def _checked(checks: list[Any], values: Any, partition: Any, message: str) -> Any:
    """Returns the partition after checks of it and of the values' rank."""
    if not _is_ragged(values):
        checks.append(assert_rank_at_least(values, 1, message=message))
    return with_dependencies(checks, partition)


def from_value_rowids(
    cls: Any,
    values: Any,
    value_rowids: Any,
    nrows: Any = None,
    name: str | None = None,
    validate: bool = True,
) -> Any:
    """Returns the ragged tensor of values whose rows are named.

    Args:
      values: The values, those of one row side by side and rows in order.
      value_rowids: The row of each value.
      nrows: How many rows there are; by default as many as the last value's row says.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
        values, value_rowids = _converted(values, value_rowids, "value_rowids")
        known = None
        if nrows is None:
            ids = plain_value(value_rowids)
            if ids is None:
                nrows = concat([value_rowids[-1:], [-1]], axis=0)[0] + 1
            else:
                known = int(ids[-1]) + 1 if ids.size else 0
                nrows = convert_to_tensor(known, value_rowids.dtype, name="nrows")
        else:
            nrows = convert_to_tensor(nrows, value_rowids.dtype, name="nrows")
            known = _known_rows(nrows, value_rowids)
        value_rowids.shape.assert_has_rank(1)
        nrows.shape.assert_has_rank(0)
        values.shape[:1].assert_is_compatible_with(value_rowids.shape)
        if validate:
            message = "Arguments to from_value_rowids do not form a valid RaggedTensor"
            counts = _count(values), _count(value_rowids)
            checks = [
                assert_rank(value_rowids, 1, message=message),
                assert_rank(nrows, 0, message=message),
                assert_equal(*counts, message=message),
                assert_non_negative(value_rowids[:1], message=message),
                _assert_sorted(value_rowids, message),
                assert_less(value_rowids[-1:], nrows, message=message),
            ]
            value_rowids = _checked(checks, values, value_rowids, message)
        ids32, rows32 = cast(value_rowids, int32), cast(nrows, int32)
        lengths = bincount(ids32, minlength=rows32, maxlength=rows32, dtype=value_rowids.dtype)
        row_splits = concat([[0], cumsum(lengths)], axis=0)
        if known is not None:
            lengths.set_shape([known])
            row_splits.set_shape([known + 1])
        return cls(values, row_splits, lengths, value_rowids, nrows, internal=True)


def _known_rows(nrows: Any, value_rowids: Any) -> int | None:
    value, ids = plain_value(nrows), plain_value(value_rowids)
    if value is None or value.ndim:
        return None
    if value < 0:
        raise ValueError(f"Expected nrows >= 0; got {value}")
    if ids is not None and ids.size and value < ids[-1] + 1:
        raise ValueError(
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={value}, value_rowids[-1]={ids[-1]}"
        )
    return int(value)


def from_row_splits(
    cls: Any, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
) -> Any:
    """Returns the ragged tensor of values split into rows.

    Args:
      values: The values.
      row_splits: Where each row begins, and where the last one ends.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    if isinstance(row_splits, (list, tuple)) and not row_splits:
        raise ValueError("row_splits tensor may not be empty.")
    with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
        values, row_splits = _converted(values, row_splits, "row_splits")
        row_splits.shape.assert_has_rank(1)
        if validate:
            message = "Arguments to from_row_splits do not form a valid RaggedTensor"
            count = _count(values, row_splits.dtype)
            checks = [
                assert_rank(row_splits, 1, message=message),
                _assert_zero(row_splits[0], message),
                _assert_sorted(row_splits, message),
                assert_equal(row_splits[-1], count, message=message),
            ]
            row_splits = _checked(checks, values, row_splits, message)
        return cls(values, row_splits, internal=True)


def from_row_lengths(
    cls: Any, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
) -> Any:
    """Returns the ragged tensor of values in rows of given lengths.

    Args:
      values: The values.
      row_lengths: How many values each row has.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
        values, row_lengths = _converted(values, row_lengths, "row_lengths")
        row_lengths.shape.assert_has_rank(1)
        if validate:
            message = "Arguments to from_row_lengths do not form a valid RaggedTensor"
            counts = NAMES["reduce_sum"](row_lengths), _count(values, row_lengths.dtype)
            checks = [
                assert_rank(row_lengths, 1, message=message),
                assert_non_negative(row_lengths, message=message),
                assert_equal(*counts, message=message),
            ]
            row_lengths = _checked(checks, values, row_lengths, message)
        row_splits = concat([[0], cumsum(row_lengths)], axis=0)
        return cls(values, row_splits, row_lengths, internal=True)


def from_row_starts(
    cls: Any, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
) -> Any:
    """Returns the ragged tensor of values in rows with given starts.

    Args:
      values: The values.
      row_starts: Where each row begins.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
        values, row_starts = _converted(values, row_starts, "row_starts")
        row_starts.shape.assert_has_rank(1)
        count = _count(values, row_starts.dtype)
        if validate:
            message = "Arguments to from_row_starts do not form a valid RaggedTensor"
            checks = [
                assert_rank(row_starts, 1, message=message),
                _assert_zero(row_starts[:1], message),
                _assert_sorted(row_starts, message),
                assert_less_equal(row_starts[-1:], count, message=message),
            ]
            row_starts = _checked(checks, values, row_starts, message)
        row_splits = concat([row_starts, [count]], axis=0)
        return cls(values, row_splits, internal=True)


def from_row_limits(
    cls: Any, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
) -> Any:
    """Returns the ragged tensor of values in rows with given ends.

    Args:
      values: The values.
      row_limits: Where each row ends.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
        values, row_limits = _converted(values, row_limits, "row_limits")
        row_limits.shape.assert_has_rank(1)
        if validate:
            message = "Arguments to from_row_limits do not form a valid RaggedTensor"
            count = _count(values, row_limits.dtype)
            checks = [
                assert_rank(row_limits, 1, message=message),
                assert_non_negative(row_limits[:1], message=message),
                _assert_sorted(row_limits, message),
                assert_equal(row_limits[-1:], count, message=message),
            ]
            row_limits = _checked(checks, values, row_limits, message)
        row_splits = concat([zeros([1], row_limits.dtype), row_limits], axis=0)
        return cls(values, row_splits, internal=True)


def from_nested_value_rowids(
    cls: Any,
    flat_values: Any,
    nested_value_rowids: Any,
    nested_nrows: Any = None,
    name: str | None = None,
    validate: bool = True,
) -> Any:
    """Returns the ragged tensor of several ragged dimensions given by row ids.

    Args:
      flat_values: The values.
      nested_value_rowids: A list of row ids, those of the outermost dimension first.
      nested_nrows: A list of how many rows there are.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      TypeError: An argument is no list.
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    if isinstance(nested_value_rowids, Tensor):
        raise TypeError("nested_value_rowids must be a list of Tensors")
    if nested_nrows is None:
        nested_nrows = [None] * len(nested_value_rowids)
    else:
        if isinstance(nested_nrows, Tensor):
            raise TypeError("nested_nrows must be a list of Tensors")
        if len(nested_nrows) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
    scope = [flat_values, *nested_value_rowids, *nested_nrows]
    with name_scope(name, "RaggedFromNestedValueRowIds", scope):
        result = flat_values
        for value_rowids, nrows in reversed(list(zip(nested_value_rowids, nested_nrows, strict=True))):
            result = cls.from_value_rowids(result, value_rowids, nrows, validate=validate)
        return result


def from_nested_row_splits(
    cls: Any, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
) -> Any:
    """Returns the ragged tensor of several ragged dimensions given by splits.

    Args:
      flat_values: The values.
      nested_row_splits: A list of splits, those of the outermost dimension first.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      TypeError: An argument is no list.
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    if isinstance(nested_row_splits, Tensor):
        raise TypeError("nested_row_splits must be a list of Tensors")
    with name_scope(name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits]):
        result = flat_values
        for splits in reversed(nested_row_splits):
            result = cls.from_row_splits(result, splits, validate=validate)
        return result


def from_nested_row_lengths(
    cls: Any, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
) -> Any:
    """Returns the ragged tensor of several ragged dimensions given by lengths.

    Args:
      flat_values: The values.
      nested_row_lengths: A list of row lengths, those of the outermost dimension first.
      name: The scope's name.
      validate: Whether to check the arguments when they are known.

    Raises:
      TypeError: An argument is no list.
      ValueError: The arguments do not fit.
    """
    _check_validate(validate)
    if isinstance(nested_row_lengths, Tensor):
        raise TypeError("nested_row_lengths must be a list of Tensors")
    with name_scope(name, "RaggedFromNestedRowlengths", [flat_values, *nested_row_lengths]):
        result = flat_values
        for lengths in reversed(nested_row_lengths):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result
