"""Means over unsorted segments, made of several nodes."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.graph.default import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.opdef.nodes import ones
from headrace.ops.math.building import shape_of


def _counts(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Returns how many rows each id has, at least 1, in a shape that broadcasts against the rows."""
    one = ones(shape_of(segment_ids), dtype=data.dtype)
    n = raw.UnsortedSegmentSum(one, segment_ids, num_segments)
    rank = len(data._dims) - len(segment_ids._dims)
    known = num_segments if not hasattr(num_segments, "_op") else shape_of(n)[0]
    return raw.Maximum(raw.Reshape(n, [known] + [1] * rank), 1)


@export("unsorted_segment_mean", "math.unsorted_segment_mean")
def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """Returns the means of the rows of each id; rows with negative ids do not count.

    Args:
      data: The rows.
      segment_ids: Their ids, in any order.
      num_segments: How many ids there are.
      name: The scope of the nodes.
    """
    with name_scope(name, "UnsortedSegmentMean"):
        data = convert_to_tensor(data)
        segment_ids = convert_to_tensor(segment_ids)
        n = _counts(data, segment_ids, num_segments)
        return raw.UnsortedSegmentSum(data, segment_ids, num_segments) / n


@export("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """Returns the sums of the rows of each id over the square root of their number.

    Args:
      data: The rows.
      segment_ids: Their ids, in any order.
      num_segments: How many ids there are.
      name: The scope of the nodes.
    """
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data = convert_to_tensor(data)
        segment_ids = convert_to_tensor(segment_ids)
        n = _counts(data, segment_ids, num_segments)
        return raw.UnsortedSegmentSum(data, segment_ids, num_segments) / raw.Sqrt(n)
