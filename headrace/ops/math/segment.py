"""Reductions over segments: rows with the same id are combined."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.native import rows as native
from headrace.opdef import op, raw
from headrace.ops.math import segment_gradients as gradients
from headrace.ops.math.binary import truncated_quotient
from headrace.ops.math.quiet import quiet


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -_largest_float(dtype)


def _highest(dtype: Any) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else _largest_float(dtype)


def _largest_float(dtype: Any) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype).max


def combine(ufunc: Any, rows: Any, ids: Any, count: int, start: Any) -> Any:
    """Returns `count` rows: the rows of each id combined by a NumPy ufunc, `start` for ids without rows.

    Args:
      ufunc: np.add, np.multiply, np.maximum or np.minimum.
      rows: The rows, with ids along the first axis.
      ids: Their ids, int[n]; negative ones are left out.
      count: How many ids there are.
      start: What an id without rows gives.
    """
    if ufunc is np.add and start == 0:
        out = native.sums(rows, None, ids, count)
        if out is not None:
            return out
    out = np.full((count, *rows.shape[1:]), start, rows.dtype)
    if ids.size and (ids[0] < 0 or np.any(ids < 0)):
        kept = ids >= 0
        rows, ids = rows[kept], ids[kept]
    if not ids.size:
        return out
    steps = np.diff(ids)
    if np.any(steps < 0):
        order = np.argsort(ids, kind="stable")
        rows, ids = rows[order], ids[order]
        steps = np.diff(ids)
    starts = np.concatenate([[0], np.flatnonzero(steps) + 1])
    if rows.dtype.itemsize == 2 and rows.dtype.kind not in "iu":
        totals = ufunc.reduceat(rows.astype(np.float32), starts, 0).astype(rows.dtype)
    else:
        totals = ufunc.reduceat(rows, starts, 0, rows.dtype)
    out[ids[starts]] = totals
    return out


def _spell(shape: Any) -> str:
    return "[" + ",".join(map(str, shape)) + "]"


def checked_ids(data: Any, ids: Any) -> int:
    """Returns the number of segments of sorted ids.

    Raises:
      InvalidArgumentError: The ids do not fit the data, decrease, or are negative.
    """
    if ids.ndim != 1:
        raise InvalidArgumentError(None, None, "segment_ids should be a vector.")
    if data.ndim == 0 or ids.shape[0] != data.shape[0]:
        raise InvalidArgumentError(None, None, "segment_ids should be the same size as dimension 0 of input.")
    if not ids.size:
        return 0
    if ids[-1] < 0:
        raise InvalidArgumentError(None, None, "segment ids must be >= 0")
    if np.any(ids[1:] < ids[:-1]) and ids[0] >= 0:
        raise InvalidArgumentError(None, None, "segment ids are not increasing")
    count = int(ids[-1]) + 1
    if ids[0] < 0:
        raise InvalidArgumentError(
            None,
            None,
            f"Segment id {ids[0]} out of range [0, {count}), possibly because 'segment_ids' input is not sorted.",
        )
    return count


def _extreme(ufunc: Any, data: Any, ids: Any, count: int) -> Any:
    """Combines rows as TensorFlow does: NaN counts only where it is the one row of its id."""
    if not np.isnan(data).any():
        return combine(ufunc, data, ids, count, 0)
    worst = data.dtype.type(-np.inf if ufunc is np.maximum else np.inf)
    alone = np.bincount(ids, minlength=count)[ids] == 1
    shown = np.isnan(data) & ~alone.reshape((-1,) + (1,) * (data.ndim - 1))
    return combine(ufunc, np.where(shown, worst, data), ids, count, 0)


def _sorted(name: str, types: str, ufunc: Any, start: Any, grad: Any, doc: str, gives: Any) -> None:
    made = op(f"""
        {name}(data: T, segment_ids: Tindices) -> (output: T)
          T: {types}
          Tindices: {{int32, int64}}

        {doc}
    """)  # fmt: skip
    if grad is not None:
        made.declare("grad", grad)

    @made.shape
    def segment_shape(data: Any, segment_ids: Any) -> Any:
        shapes.with_rank(segment_ids, 1)
        shapes.with_rank_at_least(data, 1)
        if data is None:
            return None
        return (None, *data[1:])

    def compute(data: Any, segment_ids: Any) -> Any:
        count = checked_ids(data, segment_ids)
        if name in ("SegmentMax", "SegmentMin") and data.dtype.kind not in "iu":
            return _extreme(ufunc, data, segment_ids, count)
        if name != "SegmentMean":
            return combine(ufunc, data, segment_ids, count, start)
        total = combine(np.add, data, segment_ids, count, 0)
        rows = np.maximum(np.bincount(segment_ids, minlength=count), 1).reshape(
            (-1,) + (1,) * (data.ndim - 1)
        )
        if data.dtype.kind in "iu":
            return truncated_quotient(total, rows.astype(data.dtype))
        return (total / rows.astype(data.dtype)).astype(data.dtype)

    @made.host
    @quiet
    def segment_host(data: Any, segment_ids: Any) -> Any:
        return compute(data, segment_ids)

    @made.cases
    def segment_cases(case: Any) -> None:
        case([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.int32([0, 0, 3]), gives=gives)
        case(np.zeros((0, 2), np.float32), np.zeros(0, np.int32), gives=np.zeros((0, 2), np.float32))
        case.shapes("[4,?];[4]", "[?,?]")
        case.fails(([1.0, 2.0], np.int32([1, 0])), match="segment ids are not increasing")
        case.fails(([1.0, 2.0], np.int32([-1, 0])), match=r"Segment id -1 out of range \[0, 1\)")
        case.fails("[4,?];[2,2]", match="must be rank 1 but is rank 2")


_sorted("SegmentSum", "numbertype", np.add, 0, gradients.segment_sum_grad, "Sums of the rows of each id.",
        [[4.0, 6.0], [0.0, 0.0], [0.0, 0.0], [5.0, 6.0]])  # fmt: skip
_sorted("SegmentMean", "numbertype", None, 0, gradients.segment_mean_grad, "Means of the rows of each id.",
        [[2.0, 3.0], [0.0, 0.0], [0.0, 0.0], [5.0, 6.0]])  # fmt: skip
_sorted("SegmentMax", "realnumbertype", np.maximum, 0, gradients.segment_extreme_grad,
        "Greatest of the rows of each id.", [[3.0, 4.0], [0.0, 0.0], [0.0, 0.0], [5.0, 6.0]])  # fmt: skip
_sorted("SegmentMin", "realnumbertype", np.minimum, 0, gradients.segment_extreme_grad, "Least of the rows of each id.",
        [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0], [5.0, 6.0]])  # fmt: skip
_sorted("SegmentProd", "numbertype", np.multiply, 1, None, "Products of the rows of each id.",
        [[3.0, 8.0], [1.0, 1.0], [1.0, 1.0], [5.0, 6.0]])  # fmt: skip


def _unsorted(
    name: str, types: str, ufunc: Any, method: str, start: Any, grad: Any, doc: str, gives: Any
) -> None:
    made = op(f"""
        {name}(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)
          T: {types}
          Tindices: {{int32, int64}}
          Tnumsegments: {{int32, int64}} = DT_INT32

        {doc} Rows with negative ids do not count.
    """, grad=grad)  # fmt: skip

    @made.shape
    def segment_shape(data: Any, segment_ids: Any, num_segments: Any, *, ctx: Any) -> Any:
        shapes.with_rank(num_segments, 0)
        count = ctx.constant("num_segments")
        if count is not None and count < 0:
            raise ValueError(f"Dimension size, given by scalar input 2, must be non-negative but is {count}")
        if segment_ids is None or data is None:
            return None
        if len(segment_ids) > len(data):
            raise ValueError(f"Shape must be at least rank {len(segment_ids)} but is rank {len(data)}")
        shapes.merge(data[: len(segment_ids)], segment_ids)
        return (None if count is None else int(count), *data[len(segment_ids) :])

    def first(dtype: Any) -> Any:
        return start(dtype) if callable(start) else start

    @made.host
    @quiet
    def segment_host(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        count, rank = int(num_segments), segment_ids.ndim
        if count < 0:
            raise InvalidArgumentError(None, None, f"Input num_segments == {count} must not be negative.")
        if data.shape[:rank] != segment_ids.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"data.shape = {_spell(data.shape)} does not start with segment_ids.shape ="
                f" {_spell(segment_ids.shape)}",
            )
        ids = segment_ids.reshape(-1)
        if ids.size and ids.max() >= count:
            where = tuple(int(i) for i in np.argwhere(segment_ids >= count)[0])
            place = "".join(f"[{','.join(map(str, where))}]") if where else ""
            raise InvalidArgumentError(
                None, None, f"segment_ids{place} = {segment_ids[where]} is out of range [0, {count})"
            )
        rows = data.reshape((ids.size, *data.shape[rank:]))
        start = first(data.dtype)
        out = combine(ufunc, rows, ids, count, start)
        # No result is beyond what those start with that have no rows: the least finite number, not infinity.
        return ufunc(out, out.dtype.type(start)) if method in ("max", "min") else out

    @made.lower(static="num_segments")
    def segment_lower(data: Any, segment_ids: Any, num_segments: Any, *, ctx: Any) -> Any:
        count, rank = int(num_segments), segment_ids.ndim
        ids = segment_ids.reshape(-1)
        ctx.check((ids < count).all(), "segment_ids out of range")
        rows = data.reshape((ids.size, *data.shape[rank:]))
        wide = np.float32 if rows.dtype.itemsize == 2 and rows.dtype.kind not in "iu" else rows.dtype
        out = jnp.full((count, *rows.shape[1:]), first(data.dtype), wide)
        ids = jnp.where(ids < 0, count, ids)  # out of range: dropped
        return getattr(out.at[ids], method)(rows.astype(wide), mode="drop").astype(data.dtype)

    @made.cases
    def segment_cases(case: Any) -> None:
        rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        case(rows, np.int32([2, -1, 2]), np.int32(3), gives=gives, grad=False)
        case(case.normal(3, 2), np.int64([[0, 1], [1, 1], [0, 0]]), np.int32(2))
        case(np.int32([1, 2, 3]), np.int32([0, 0, 0]), np.int32(1))
        case.shapes("[4,3];[4];[]", "[5,3]", values={"num_segments": 5})
        case.shapes("[4,3];[4,3];[]", "[?]")
        case.fails(
            (rows, np.int32([2, 1, 5]), np.int32(3)), match=r"segment_ids\[2\] = 5 is out of range \[0, 3\)"
        )
        case.fails("[4,3];[5];[]", match="must be equal, but are 4 and 5")


_unsorted("UnsortedSegmentSum", "numbertype", np.add, "add", 0, gradients.unsorted_segment_sum_grad,
          "Sums of the rows of each id.", [[0.0, 0.0], [0.0, 0.0], [6.0, 8.0]])  # fmt: skip
_LOW = np.float32(-3.4028235e38)
_unsorted("UnsortedSegmentMax", "realnumbertype", np.maximum, "max", _lowest, gradients.unsorted_segment_extreme_grad,
          "Greatest of the rows of each id.", [[_LOW, _LOW], [_LOW, _LOW], [5.0, 6.0]])  # fmt: skip
_unsorted("UnsortedSegmentMin", "realnumbertype", np.minimum, "min", _highest, gradients.unsorted_segment_extreme_grad,
          "Least of the rows of each id.", [[-_LOW, -_LOW], [-_LOW, -_LOW], [1.0, 2.0]])  # fmt: skip
_unsorted("UnsortedSegmentProd", "numbertype", np.multiply, "multiply", 1, gradients.unsorted_segment_prod_grad,
          "Products of the rows of each id.", [[1.0, 1.0], [1.0, 1.0], [5.0, 12.0]])  # fmt: skip


def _export_sorted(public: str, op_name: str, what: str, *more: str) -> None:
    def segment(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        return getattr(raw, op_name)(data, segment_ids, name=name)

    segment.__name__ = public
    segment.__doc__ = f"""Returns {what} of the rows of each id.

    Args:
      data: The rows, along the first axis.
      segment_ids: Their ids, which must not decrease.
      name: The node's name.
    """
    export(public, "math." + public, *more)(segment)


def _export_unsorted(public: str, op_name: str, what: str) -> None:
    def segment(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        return getattr(raw, op_name)(data, segment_ids, num_segments, name=name)

    segment.__name__ = public
    segment.__doc__ = f"""Returns {what} of the rows of each id; rows with negative ids do not count.

    Args:
      data: The rows.
      segment_ids: Their ids, in any order; their shape is how the shape of `data` starts.
      num_segments: How many ids there are.
      name: The node's name.
    """
    export(public, "math." + public)(segment)


_export_sorted("segment_sum", "SegmentSum", "the sums")
_export_sorted("segment_mean", "SegmentMean", "the means")
_export_sorted("segment_max", "SegmentMax", "the greatest")
_export_sorted("segment_min", "SegmentMin", "the least")
_export_sorted("segment_prod", "SegmentProd", "the products")
_export_unsorted("unsorted_segment_sum", "UnsortedSegmentSum", "the sums")
_export_unsorted("unsorted_segment_max", "UnsortedSegmentMax", "the greatest")
_export_unsorted("unsorted_segment_min", "UnsortedSegmentMin", "the least")
_export_unsorted("unsorted_segment_prod", "UnsortedSegmentProd", "the products")
