"""Sorting, made of TopKV2."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import constant_node, constant_value, convert_to_tensor, export, raw


@export("sort")
def sort(values, axis=-1, direction="ASCENDING", name=None):
    """Returns the elements along an axis in order.

    Args:
      values: A tensor of numbers.
      axis: The axis, known while building.
      direction: "ASCENDING" or "DESCENDING".
      name: The scope's name.

    Raises:
      ValueError: The direction is unknown, or the axis is not known.
    """
    with name_scope(name, "sort"):
        return _ordered(values, axis, direction, indices=False)


@export("argsort")
def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """Returns the places along an axis of the elements in order.

    Args:
      values: A tensor of numbers.
      axis: The axis, known while building.
      direction: "ASCENDING" or "DESCENDING".
      stable: Kept for compatibility; equal elements always stay in their order.
      name: The scope's name.

    Returns:
      An int32 tensor of the shape of `values`.

    Raises:
      ValueError: The direction is unknown, or the axis is not known.
    """
    del stable
    with name_scope(name, "argsort"):
        return _ordered(values, axis, direction, indices=True)


def _ordered(values, axis, direction, indices):
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"{direction} should be one of ASCENDING, DESCENDING")
    known = constant_value(convert_to_tensor(axis, name="axis"))
    if known is None:
        raise ValueError("axis must be a constant scalar")
    axis = int(known)
    values = convert_to_tensor(values, name="values")
    if direction == "DESCENDING":
        return _descending(values, axis, indices)
    # What is least is greatest once negated; numbers without a sign can't be, as in TensorFlow.
    order = _descending(raw.Neg(values), axis, indices)
    return order if indices else raw.Neg(order)


def _descending(values, axis, indices):
    k = NAMES["shape"](values)[axis]
    rank = NAMES["rank"](values)
    known_rank = values._rank()
    output = 1 if indices else 0
    if axis == -1 or (known_rank is not None and axis + 1 == known_rank):
        return raw.TopKV2(values, k)[output]
    if known_rank is not None:
        order = np.arange(known_rank)
        order[axis], order[-1] = order[-1], order[axis]
        order = constant_node(order.astype(np.int64), name="transposition")
    else:
        order = _swapped_with_last(axis, rank)
    found = raw.TopKV2(raw.Transpose(values, order, name="transpose"), k)[output]
    return raw.Transpose(found, order, name="transpose")


def _swapped_with_last(axis, rank):
    """Returns the order of axes, of which as many as `rank` says there are, with one and the last exchanged."""
    if axis < 0:
        axis = raw.AddV2(axis, rank, name="add")
    before = raw.Range(0, axis, 1, name="range")
    last = raw.Sub(rank, 1, name="sub")
    after = axis + 1 if isinstance(axis, int) else raw.AddV2(axis, 1, name="add")
    between = raw.Range(after, raw.Sub(rank, 1, name="sub"), 1, name="range")
    return NAMES["concat"]([before, [last], between, [axis]], axis=0)
