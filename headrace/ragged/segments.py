"""Row splits and segment ids: two ways to say which elements form a row."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import as_dtype, int32, int64
from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.opdef.plain_values import plain_value
from headrace.ops.array.concat import concat
from headrace.ops.array.repeat import repeat
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.math.bincount import bincount
from headrace.ops.math.cumulative import cumsum
from headrace.ops.math.ranges import range_v1


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Any:
    """Returns the row of each element.

    Args:
      splits: Where each row begins, and where the last one ends.
      name: The scope's name.
      out_type: int32 or int64; by default that of `splits`.

    Raises:
      ValueError: `splits` is no vector of int32 or int64, or `splits` is empty.
    """
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = convert_to_tensor(
            splits, name="splits", preferred_dtype=int64 if out_type is None else as_dtype(out_type)
        )
        if splits.dtype not in (int32, int64):
            raise ValueError("splits must have dtype int32 or int64")
        splits.shape.assert_has_rank(1)
        if splits.shape[0].value == 0:
            raise ValueError("Invalid row_splits: []")
        out_type = splits.dtype if out_type is None else as_dtype(out_type)
        lengths = splits[1:] - splits[:-1]
        rows = shape_of(splits, out_type=out_type)[-1] - 1
        return repeat(range_v1(rows), repeats=lengths, axis=0)


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Any:
    """Returns where each row begins among elements sorted by row, and where the last one ends.

    Args:
      segment_ids: The row of each element.
      num_segments: How many rows there are; by default as many as the last element's row says.
      out_type: int32 or int64, by default int64.
      name: The scope's name.

    Raises:
      TypeError: The ids are no integers.
    """
    if out_type is None:
        out_type = segment_ids.dtype if hasattr(segment_ids, "dtype") else int64
    out_type = as_dtype(out_type)
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        segment_ids = _as_int32(segment_ids, "segment_ids")
        segment_ids.shape.assert_has_rank(1)
        return _row_splits(segment_ids, num_segments, out_type)


def _as_int32(value: Any, name: str) -> Any:
    """Returns integers as int32; a node converts them even where they are, as in TensorFlow."""
    tensor = convert_to_tensor(value, name=name, preferred_dtype=int32)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    return raw.Cast(tensor, DstT=int32, name="Cast")


def _row_splits(segment_ids: Any, num_segments: Any, out_type: Any) -> Any:
    known = None
    if num_segments is not None:
        num_segments = _as_int32(num_segments, "num_segments")
        num_segments.shape.assert_has_rank(0)
        known = plain_value(num_segments)
    lengths = bincount(segment_ids, minlength=num_segments, maxlength=num_segments, dtype=out_type)
    splits = concat([[0], cumsum(lengths)], axis=0)
    if known is not None:
        splits.set_shape([int(known) + 1])
    return splits
