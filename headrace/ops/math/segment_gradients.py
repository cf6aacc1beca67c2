"""Gradients of reductions over segments, node for node TensorFlow's."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.opdef import raw
from headrace.ops.math.building import cast_to, ones_like, rank_of, scalar, shape_of, zeros_like


def _gather(rows: Any, ids: Any) -> Any:
    return raw.GatherV2(rows, ids, 0)


def segment_sum_grad(op: Any, dy: Any) -> Any:
    return [_gather(dy, op.inputs[1]), None]


def segment_mean_grad(op: Any, dy: Any) -> Any:
    x, ids = op.inputs
    rank = rank_of(x)
    # One for each row, in a shape that broadcasts against the rows.
    ones_shape = raw.ConcatV2([shape_of(ids), raw.Fill(raw.ExpandDims(rank - 1, 0), 1)], 0, name="concat")
    ones = raw.Fill(ones_shape, scalar(1, dy))
    return [_gather(dy / raw.SegmentSum(ones, ids), ids), None]


def segment_extreme_grad(op: Any, dy: Any) -> Any:
    x, ids = op.inputs
    nothing = zeros_like(x)
    chosen = raw.Equal(x, _gather(op.outputs[0], ids))
    number = raw.SegmentSum(cast_to(chosen, dy.dtype), ids)
    return [raw.Select(chosen, _gather(dy / number, ids), nothing), None]


def _gather_positive(rows: Any, ids: Any, zero_clipped: Any = None, positive: Any = None) -> Any:
    """Gathers rows by id, zeros where the id is negative; returns them, the clipped ids and the mask."""
    if zero_clipped is None:
        zero_clipped = raw.Maximum(ids, zeros_like(ids))
    gathered = _gather(rows, zero_clipped)
    if positive is None:
        positive = raw.GreaterEqual(ids, 0)
        missing = len(gathered._dims or ()) - len(positive._dims or ())
        for _ in range(missing):
            positive = raw.ExpandDims(positive, -1)
        positive = positive & ones_like(gathered, dtype=dtypes.bool)
    return raw.Select(positive, gathered, zeros_like(gathered)), zero_clipped, positive


def unsorted_segment_sum_grad(op: Any, dy: Any) -> Any:
    return [_gather_positive(dy, op.inputs[1])[0], None, None]


def unsorted_segment_extreme_grad(op: Any, dy: Any) -> Any:
    x, ids, count = op.inputs
    gathered, clipped, positive = _gather_positive(op.outputs[0], ids)
    chosen = raw.LogicalAnd(raw.Equal(x, gathered), positive)
    number = raw.UnsortedSegmentSum(cast_to(chosen, dy.dtype), ids, count)
    shared = _gather_positive(dy / number, ids, clipped, positive)[0]
    return [raw.Select(chosen, shared, zeros_like(shared)), None, None]


def unsorted_segment_prod_grad(op: Any, dy: Any) -> Any:
    """An element's factor is the product of the others: with one zero in a segment, that of the nonzero ones."""
    x, ids, count = op.inputs
    is_zero = raw.Equal(x, 0)
    zeros_in_segment = raw.UnsortedSegmentSum(cast_to(is_zero, dtypes.int32), ids, count)
    dy = raw.Select(raw.Greater(zeros_in_segment, 1), zeros_like(dy), dy)
    nonzero = raw.Select(is_zero, ones_like(x), x)
    nonzero_product = raw.UnsortedSegmentProd(nonzero, ids, count)
    clipped = raw.Maximum(ids, zeros_like(ids))
    gathered_product = _gather(op.outputs[0], clipped)
    gathered_nonzero = _gather(nonzero_product, clipped)
    factor = raw.Select(is_zero, gathered_nonzero, gathered_product / x)
    gathered = _gather_positive(dy, ids, clipped)[0]
    return [gathered * factor, None, None]
