"""Applying functions of dense tensors to the values of ragged ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import export
from headrace.graph import control_dependencies
from headrace.ops.flow.checks import assert_equal
from headrace.ragged.tensor import RaggedTensor, match_row_splits_dtypes


@export("ragged.map_flat_values")
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function with the innermost values in place of ragged tensors, and gives its result their rows.

    Args:
      op: The function; its result has as many elements in the first dimension as the values.
      *args: Its arguments, among which may be ragged tensors with the same rows, in lists too.
      **kwargs: The same, by name.

    Raises:
      ValueError: The ragged tensors differ in their ragged rank, or the result has another size.
    """
    ragged: list[Any] = []
    inner_args = _replaced(args, ragged)
    inner_kwargs = _replaced(kwargs, ragged)
    if not ragged:
        return op(*args, **kwargs)
    ragged = match_row_splits_dtypes(*ragged)
    checks = assert_same_splits(ragged)
    if checks:
        with control_dependencies(checks):
            result = op(*inner_args, **inner_kwargs)
    else:
        result = op(*inner_args, **inner_kwargs)
    return RaggedTensor.from_nested_row_splits(result, ragged[0].nested_row_splits, validate=False)


def _replaced(value: Any, ragged: list[Any]) -> Any:
    """Returns arguments with ragged tensors replaced by their values; the tensors are collected."""
    if isinstance(value, RaggedTensor):
        ragged.append(value)
        return value.flat_values
    if isinstance(value, list):
        return [_replaced(v, ragged) for v in value]
    if isinstance(value, tuple):
        return tuple(_replaced(v, ragged) for v in value)
    if isinstance(value, dict):
        return {k: _replaced(v, ragged) for k, v in value.items()}
    return value


def assert_same_splits(tensors: list[Any], depth: int | None = None) -> list[Any]:
    """Returns checks that ragged tensors have the same rows.

    Args:
      tensors: The ragged tensors.
      depth: In how many dimensions; by default in all.

    Raises:
      ValueError: They differ in their ragged rank.
    """
    checks = []
    first = tensors[0].nested_row_splits[:depth]
    for each in tensors[1:]:
        splits = each.nested_row_splits[:depth]
        if len(splits) != len(first):
            raise ValueError("Inputs must have identical ragged splits")
        for a, b in zip(first, splits, strict=True):
            checks.append(assert_equal(a, b, message="Inputs must have identical ragged splits"))
    return checks
