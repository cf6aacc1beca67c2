"""Ragged tensors one after the other, side by side, and stacked."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import int64
from headrace.export import export
from headrace.graph import control_dependencies, name_scope
from headrace.ops.array.concat import concat as dense_concat
from headrace.ops.array.pack import stack as dense_stack
from headrace.ops.array.reshape import reshape
from headrace.ops.array.transpose import transpose
from headrace.ops.flow.checks import assert_equal
from headrace.ops.math.ranges import range_v1
from headrace.ragged.building import positive_axis
from headrace.ragged.gathering import gather
from headrace.ragged.repeating import expand_dims, lengths_to_splits
from headrace.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    from_parts,
    match_row_splits_dtypes,
)


def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """Returns tensors joined along a dimension; any of them may be ragged.

    Args:
      values: The tensors.
      axis: The dimension.
      name: The scope's name.

    Raises:
      ValueError: They do not fit, or there are none.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    with name_scope(name, "RaggedConcat", values):
        return _joined(values, axis, stacked=False)


@export("ragged.stack")
def stack(values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Returns tensors stacked along a new dimension; any of them may be ragged.

    Args:
      values: The tensors, of the same rank.
      axis: Where the new dimension shall be.
      name: The scope's name.

    Raises:
      ValueError: They do not fit, or there are none.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    with name_scope(name, "RaggedConcat", values):
        return _joined(values, axis, stacked=True)


def _joined(values: Any, axis: Any, stacked: bool) -> Any:
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    tensors = match_row_splits_dtypes(*_converted(values))
    kinds = {t.row_splits.dtype for t in tensors if isinstance(t, RaggedTensor)}
    kind = kinds.pop() if kinds else int64
    if len(tensors) == 1 and not stacked:
        return tensors[0]
    rank = None
    for each in tensors:
        if rank is None:
            rank = each.shape.ndims
        else:
            each.shape.assert_has_rank(rank)
    out_rank = rank if rank is None or not stacked else rank + 1
    axis = positive_axis(axis, out_rank)
    if len(tensors) == 1:
        return expand_dims(tensors[0], axis=axis)
    if rank is not None and axis >= rank - 1 and not any(isinstance(t, RaggedTensor) for t in tensors):
        return dense_stack(tensors, axis) if stacked else dense_concat(tensors, axis)
    ragged = []
    for each in tensors:
        if not isinstance(each, RaggedTensor):
            each = RaggedTensor.from_tensor(each, ragged_rank=1, row_splits_dtype=kind)
        ragged.append(each)
    deepest = max(t.ragged_rank for t in ragged)
    ragged = [_with_ragged_rank(t, deepest) for t in ragged]
    if axis == 0:
        return _stacked_rows(ragged) if stacked else _rows(ragged)
    if axis == 1:
        return _columns(ragged, stacked)
    return _inner(ragged, axis, stacked)


def _with_ragged_rank(rt: Any, ragged_rank: int) -> Any:
    missing = ragged_rank - rt.ragged_rank
    if not missing:
        return rt
    flat = RaggedTensor.from_tensor(rt.flat_values, ragged_rank=missing, row_splits_dtype=rt.row_splits.dtype)
    return rt.with_flat_values(flat)


def _converted(values: Any) -> list[Any]:
    return [convert_to_tensor_or_ragged_tensor(v, name="rt_input") for v in values]


def _rows(tensors: list[Any]) -> Any:
    """Returns ragged tensors one after the other."""
    values = dense_concat([t.flat_values for t in tensors], axis=0)
    levels = zip(*[t.nested_row_splits for t in tensors], strict=True)
    return from_parts(values, [_joined_splits(list(splits)) for splits in levels])


def _joined_splits(splits: list[Any]) -> Any:
    offset = splits[0][-1]
    parts = [splits[0]]
    for each in splits[1:]:
        parts.append(each[1:] + offset)
        offset = offset + each[-1]
    return dense_concat(parts, axis=0)


def _stacked_rows(tensors: list[Any]) -> Any:
    joined = _rows(tensors)
    counts = dense_stack([t.nrows() for t in tensors])
    return RaggedTensor.from_row_splits(joined, lengths_to_splits(counts), validate=False)


def _columns(tensors: list[Any], stacked: bool) -> Any:
    """Returns the rows of ragged tensors side by side."""
    n = len(tensors)
    count = tensors[0].nrows()
    message = "Input tensors have incompatible shapes."
    checks = [assert_equal(t.nrows(), count, message=message) for t in tensors[1:]]
    with control_dependencies(checks):
        joined = _rows(tensors)
        # Row i of each of them in turn.
        order = range_v1(count * n)
        order = reshape(transpose(reshape(order, [n, -1])), [-1])
        rows = gather(joined, order)
        if stacked:
            splits = range_v1(0, count * n + 1, n)
            return RaggedTensor.from_row_splits(rows, splits, validate=False)
        splits = rows.row_splits[::n]
        splits.set_shape(tensors[0].row_splits.shape)
        return RaggedTensor.from_row_splits(rows.values, splits, validate=False)


def _inner(tensors: list[Any], axis: int, stacked: bool) -> Any:
    """Joins the values of ragged tensors with the same rows."""
    splits = [[t.row_splits] for t in tensors]
    checks = [
        assert_equal(splits[0][0], each[0], message="Inputs must have identical ragged splits")
        for each in splits[1:]
    ]
    with control_dependencies(checks):
        return tensors[0].with_values(_joined([t.values for t in tensors], axis - 1, stacked))
