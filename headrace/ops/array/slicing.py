"""What a strided slice means: its specification laid over a shape. Shared by the ops that read and write slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ATTRS = """
      T: type
      Index: {int32, int64}
      begin_mask: int = 0
      end_mask: int = 0
      ellipsis_mask: int = 0
      new_axis_mask: int = 0
      shrink_axis_mask: int = 0
"""


@dataclass
class Plan:
    """A slice of a known shape.

    Attributes:
      index: For each of the input's dimensions a range (begin, end, stride), all in bounds.
      processed: The shape after slicing and before dimensions come and go; None for what is not known.
      final: The result's shape; None for what is not known.
      entries: For each of the input's dimensions which range of the specification is its, None if it is taken whole.
      strides_of_axes: True where a stride is not 1.
    """

    index: list[tuple[int, int, int]]
    processed: list[int | None]
    final: list[int | None]
    entries: list[int | None]


def _bit(mask: int, i: int) -> bool:
    return bool(mask >> i & 1)


def plan(
    shape: Any,
    begin: Any,
    end: Any,
    strides: Any,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Plan:
    """Lays a slice over a shape.

    Args:
      shape: The input's shape; None for a dimension that is not known.
      begin: Where each range begins; None if not known.
      end: Where each range ends; None if not known.
      strides: Each range's stride.
      begin_mask: Bits of the ranges whose begin is left out.
      end_mask: Bits of the ranges whose end is left out.
      ellipsis_mask: The bit of the ellipsis.
      new_axis_mask: Bits of new dimensions of size 1.
      shrink_axis_mask: Bits of dimensions that an index picks one place of.

    Raises:
      ValueError: The slice does not fit the shape.
    """
    n, rank = len(strides), len(shape)
    if ellipsis_mask & (ellipsis_mask - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    after_ellipsis = 0  # new dimensions that follow the ellipsis take no place of the input
    seen = False
    for i in range(n):
        if seen and _bit(new_axis_mask, i):
            after_ellipsis += 1
        if _bit(ellipsis_mask, i):
            seen = True
    entries = list(range(n))
    if not seen:
        ellipsis_mask |= 1 << n
        entries.append(n)
        n += 1
    # For each dimension of the input: (begin, end, stride, begin left out, end left out, shrink).
    dense: list[tuple[Any, Any, int, bool, bool, bool]] = []
    ranges: list[int | None] = []
    layout: list[int] = []  # the result's dimensions: a dense index, or -1 for a new one
    for i in entries:
        if _bit(ellipsis_mask, i):
            stop = min(rank - (n - i) + 1 + after_ellipsis, rank)
            while len(dense) < stop:
                layout.append(len(dense))
                dense.append((0, 0, 1, True, True, False))
                ranges.append(None)
        elif _bit(new_axis_mask, i):
            layout.append(-1)
        else:
            if len(dense) == rank:
                raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
            shrink = _bit(shrink_axis_mask, i)
            if not shrink:
                layout.append(len(dense))
            ranges.append(i)
            dense.append(
                (
                    None if begin is None else int(begin[i]),
                    None if end is None else int(end[i]),
                    int(strides[i]),
                    _bit(begin_mask, i),
                    _bit(end_mask, i),
                    shrink,
                )
            )
    index: list[tuple[int, int, int]] = []
    processed: list[int | None] = []
    for axis, (size, spec) in enumerate(zip(shape, dense, strict=True)):
        interval, place = _range(axis, size, *spec)
        processed.append(interval)
        index.append(place)
    final = [1 if axis < 0 else processed[axis] for axis in layout]
    return Plan(index, processed, final, ranges)


def _range(
    axis: int, size: Any, begin: Any, end: Any, stride: int, no_begin: bool, no_end: bool, shrink: bool
) -> tuple[int | None, tuple[int, int, int]]:
    """Returns how many places a range has (None if not known), and the range in bounds."""
    if stride == 0:
        raise ValueError(f"strides[{axis}] must be non-zero")
    unknown = (0, 0, stride)
    if size is None:
        return (1 if shrink else None), unknown
    if shrink and stride <= 0:
        raise ValueError("only stride 1 allowed on non-range indexing.")
    low, high = (0, size) if stride > 0 else (-1, size - 1)

    def in_bounds(x: int) -> int:
        return max(low, min(high, size + x if x < 0 else x))

    if shrink:
        if begin is None:
            return 1, unknown
        at = size + begin if begin < 0 else begin
        if not 0 <= at < size:
            raise ValueError(f"slice index {at if begin < 0 else begin} of dimension {axis} out of bounds.")
        return 1, (at, at + 1, stride)
    if not (no_begin and no_end) and (begin is None or end is None):
        return None, unknown
    first = (low if stride > 0 else high) if no_begin else in_bounds(begin)
    last = (high if stride > 0 else low) if no_end else in_bounds(end)
    span = last - first
    if span == 0 or (span < 0) != (stride < 0):
        return 0, (first, first, stride)
    count = -(-span // stride)
    return count, (first, last, stride)


def slices(index: list[tuple[int, int, int]]) -> tuple[slice, ...]:
    """Returns the ranges as Python slices."""
    return tuple(slice(b, None if e < 0 else e, s) for b, e, s in index)
