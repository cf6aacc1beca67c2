"""Ragged tensors of nested Python lists, and placeholders for ragged tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.export import export
from headrace.graph import name_scope
from headrace.ops.array.constant import constant_v1
from headrace.ops.array.constant import placeholder as dense_placeholder
from headrace.ragged.tensor import RaggedTensor
from headrace.ragged.value import RaggedTensorValue


@export("ragged.constant")
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Returns a constant ragged tensor.

    Args:
      pylist: Nested lists, or NumPy arrays, of different lengths.
      dtype: The type of the values.
      ragged_rank: How many dimensions are ragged; by default all but the first, or those that `inner_shape` leaves.
      inner_shape: The shape of the values, which are dense.
      name: The scope's name.
      row_splits_dtype: int32 or int64.

    Returns:
      A RaggedTensor; a Tensor if no dimension is ragged.

    Raises:
      ValueError: The lists do not nest evenly, or not as deep as asked for.
    """

    def ragged(values: Any, row_splits: Any) -> Any:
        row_splits = constant_v1(row_splits, dtype=row_splits_dtype)
        return RaggedTensor.from_row_splits(values, row_splits, validate=False)

    with name_scope(name, "RaggedConstant"):
        return _constant(ragged, constant_v1, pylist, dtype, ragged_rank, inner_shape)


@export("ragged.constant_value")
def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Returns a RaggedTensorValue of nested lists; an array if no dimension is ragged.

    Args:
      pylist: Nested lists, or NumPy arrays, of different lengths.
      dtype: The NumPy type of the values.
      ragged_rank: How many dimensions are ragged; by default all but the first, or those that `inner_shape` leaves.
      inner_shape: The shape of the values, which are dense.
      row_splits_dtype: int32 or int64.

    Raises:
      ValueError: The lists do not nest evenly, or not as deep as asked for.
    """
    if dtype is not None and isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    splits_type = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype

    def ragged(values: Any, row_splits: Any) -> Any:
        return RaggedTensorValue(values, np.array(row_splits, dtype=splits_type))

    def inner(values: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
        if dtype is object:
            flat = np.empty(len(values), object)
            flat[:] = values
            values = flat
        array = np.array(values, dtype=dtype)
        return array if shape is None else np.reshape(array, shape)

    return _constant(ragged, inner, pylist, dtype, ragged_rank, inner_shape)


def _constant(
    ragged: Callable[..., Any],
    inner: Callable[..., Any],
    pylist: Any,
    dtype: Any,
    ragged_rank: int | None,
    inner_shape: Any,
) -> Any:
    if isinstance(pylist, np.ndarray) and pylist.ndim == 0:
        pylist = pylist.item()
    if not isinstance(pylist, (list, tuple, np.ndarray)):
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return inner(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    scalar_depth, deepest = _depths(pylist)
    if scalar_depth is not None and deepest > scalar_depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + 1 + len(inner_shape)
        if (scalar_depth is not None and expected != scalar_depth) or (
            scalar_depth is None and expected < deepest
        ):
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    if ragged_rank == 0 or (
        ragged_rank is None and (deepest < 2 or (inner_shape is not None and deepest - len(inner_shape) < 2))
    ):
        return inner(pylist, dtype, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        ragged_rank = (
            max(1, deepest - 1) if scalar_depth is None else max(1, scalar_depth - 1 - len(inner_shape))
        )
    nested_splits = []
    values = pylist
    for _ in range(ragged_rank):
        splits = [0]
        concatenated: list[Any] = []
        for row in values:
            splits.append(splits[-1] + len(row))
            concatenated.extend(row)
        nested_splits.append(splits)
        values = concatenated
    made = inner(values, dtype=dtype, shape=(len(values), *inner_shape), name="values")
    for splits in reversed(nested_splits):
        made = ragged(made, splits)
    return made


def _depths(pylist: Any) -> tuple[int | None, int]:
    """Returns how deep scalars are nested, None if there are none, and how deep lists are."""
    if not isinstance(pylist, (list, tuple, np.ndarray)):
        return 0, 0
    scalars, deepest = None, 1
    for each in pylist:
        depth, inside = _depths(each)
        if depth is not None:
            if scalars is not None and scalars != depth + 1:
                raise ValueError("all scalar values must have the same nesting depth")
            scalars = depth + 1
        deepest = max(deepest, inside + 1)
    return scalars, deepest


def _inner_shape(pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """Returns the shape of what is `ragged_rank` dimensions further in."""

    def shape_of(item: Any, shapes: tuple[int, ...] = ()) -> tuple[int, ...]:
        if isinstance(item, (list, tuple, np.ndarray)) and getattr(item, "ndim", 1):
            found = (len(item), *shapes)
            return shape_of(item[0], found) if len(item) else found
        return shapes

    def check(item: Any, shape: tuple[int, ...]) -> None:
        is_nested = isinstance(item, (list, tuple, np.ndarray)) and getattr(item, "ndim", 1)
        if is_nested != bool(shape):
            raise ValueError("inner values have inconsistent shape")
        if is_nested:
            if shape[0] != len(item):
                raise ValueError("inner values have inconsistent shape")
            for each in item:
                check(each, shape[1:])

    flat = pylist
    for depth in range(ragged_rank):
        if any(not isinstance(each, (list, tuple, np.ndarray)) for each in flat):
            raise ValueError(
                f"pylist has scalar values depth {depth + 1}, but ragged_rank={ragged_rank} requires scalar value "
                f"depth greater than {ragged_rank}"
            )
        flat = [each for row in flat for each in row]
    if not flat:
        return ()
    shape = tuple(reversed(shape_of(flat[0])))
    for each in flat:
        check(each, shape)
    return shape


@export("ragged.placeholder")
def placeholder(dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None) -> Any:
    """Returns a ragged tensor whose value must be fed.

    Args:
      dtype: The type of the values.
      ragged_rank: How many dimensions are ragged.
      value_shape: The shape of the values within the innermost ragged dimension.
      name: The scope's name.
    """
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder", []):
        from headrace.tensor_shape import TensorShape

        shape = TensorShape([None]).concatenate(TensorShape(value_shape))
        result = dense_placeholder(dtype, shape, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = dense_placeholder(dtypes.int64, [None], f"row_splits_{i}")
            result = RaggedTensor.from_row_splits(result, splits, validate=False)
        return result
