"""Reductions over segments of chosen rows: gather, then combine, in one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.native import rows as native
from headrace.native import updates
from headrace.opdef import op, raw
from headrace.ops.math.building import shape_of
from headrace.ops.math.quiet import quiet
from headrace.ops.math.segment import combine


def _check(data: Any, indices: Any, segment_ids: Any, count: int | None) -> int:
    """Returns how many segments there are.

    Raises:
      InvalidArgumentError: Ids decrease or are out of range, or an index is.
    """
    if indices.ndim != 1:
        raise InvalidArgumentError(None, None, "indices should be a vector.")
    if segment_ids.ndim != 1:
        raise InvalidArgumentError(None, None, "segment_ids should be a vector.")
    if indices.shape != segment_ids.shape:
        raise InvalidArgumentError(None, None, "segment_ids and indices should have same size.")
    if not indices.size:
        return count or 0
    last = int(segment_ids[-1]) + 1
    if last <= 0 and count is None:
        raise InvalidArgumentError(None, None, "segment ids must be >= 0")
    if count is None:
        count = last
    elif last > count:
        raise InvalidArgumentError(None, None, "segment ids must be < num_segments")
    if (segment_ids[1:] < segment_ids[:-1]).any():
        raise InvalidArgumentError(None, None, "segment ids are not increasing")
    if segment_ids[0] < 0:
        raise InvalidArgumentError(None, None, "segment ids must be >= 0")
    i = updates.first_outside(indices, data.shape[0])
    if i is None:
        bad = np.flatnonzero((indices < 0) | (indices >= data.shape[0]))
        i = int(bad[0]) if bad.size else -1
    if i >= 0:
        raise InvalidArgumentError(
            None, None, f"Bad: indices[{i}] == {indices[i]} out of range [0, {data.shape[0]})"
        )
    return count


def _divisor(kind: str, ids: Any, count: int, data: Any) -> Any:
    n = np.maximum(np.bincount(ids, minlength=count), 1).astype(data.dtype)
    if kind == "SqrtN":
        n = np.sqrt(n)
    return n.reshape((-1,) + (1,) * (data.ndim - 1))


def _reduce(kind: str, data: Any, indices: Any, segment_ids: Any, count: int | None) -> Any:
    count = _check(data, indices, segment_ids, count)
    total = native.sums(data, indices, segment_ids, count)
    if total is None:
        total = combine(np.add, data[indices], segment_ids, count, 0)
    if kind == "Sum" or native.divide(total, segment_ids, kind == "SqrtN"):
        return total
    return (total / _divisor(kind, segment_ids, count, data)).astype(data.dtype)


def _declare(kind: str, types: str, gives: Any) -> None:
    doc = {"Sum": "Sums", "Mean": "Means", "SqrtN": "Sums over the square root of the number"}[kind]
    made = op(f"""
        SparseSegment{kind}(data: T, indices: Tidx, segment_ids: int32) -> (output: T)
          T: {types}
          Tidx: {{int32, int64}} = DT_INT32

        {doc} of the chosen rows of each id.
    """)  # fmt: skip
    counted = op(f"""
        SparseSegment{kind}WithNumSegments(
            data: T, indices: Tidx, segment_ids: int32, num_segments: Tnumsegments) -> (output: T)
          T: {types}
          Tidx: {{int32, int64}} = DT_INT32
          Tnumsegments: {{int32, int64}} = DT_INT32

        {doc} of the chosen rows of each id, for a given number of ids.
    """)  # fmt: skip

    @made.shape
    def shape(data: Any, indices: Any, segment_ids: Any) -> Any:
        shapes.merge(shapes.with_rank(indices, 1), shapes.with_rank(segment_ids, 1))
        shapes.with_rank_at_least(data, 1)
        return None if data is None else (None, *data[1:])

    @counted.shape
    def counted_shape(data: Any, indices: Any, segment_ids: Any, num_segments: Any, *, ctx: Any) -> Any:
        shapes.merge(shapes.with_rank(indices, 1), shapes.with_rank(segment_ids, 1))
        shapes.with_rank_at_least(data, 1)
        shapes.with_rank(num_segments, 0)
        count = ctx.constant("num_segments")
        if count is not None and count < 0:
            raise ValueError("Cannot specify a negative value for num_segments")
        return None if data is None else (None if count is None else int(count), *data[1:])

    @made.host
    @quiet
    def host(data: Any, indices: Any, segment_ids: Any) -> Any:
        return _reduce(kind, data, indices, segment_ids, None)

    @counted.host
    @quiet
    def counted_host(data: Any, indices: Any, segment_ids: Any, num_segments: Any) -> Any:
        if num_segments < 0:
            raise InvalidArgumentError(None, None, "segment ids must be >= 0")
        return _reduce(kind, data, indices, segment_ids, int(num_segments))

    @made.grad
    def grad(op: Any, dy: Any) -> Any:
        return [_grad(kind, op, dy), None, None]

    @counted.grad
    def counted_grad(op: Any, dy: Any) -> Any:
        return [_grad(kind, op, dy), None, None, None]

    @made.cases
    def cases(case: Any) -> None:
        rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        case(rows, np.int32([0, 2, 1]), np.int32([0, 0, 2]), gives=gives)
        case.shapes("[4,3];[5];[5]", "[?,3]")
        case.fails(
            (rows, np.int32([0, 3]), np.int32([0, 0])), match=r"Bad: indices\[1\] == 3 out of range \[0, 3\)"
        )
        case.fails((rows, np.int32([0, 1]), np.int32([1, 0])), match="segment ids are not increasing")

    @counted.cases
    def counted_cases(case: Any) -> None:
        rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        case(rows, np.int32([0, 2, 1]), np.int32([0, 0, 2]), np.int32(4), gives=[*gives, [0.0, 0.0]])
        case.shapes("[4,3];[5];[5];[]", "[7,3]", values={"num_segments": 7})
        case.fails(
            (rows, np.int32([0]), np.int32([2]), np.int32(2)), match="segment ids must be < num_segments"
        )


def _grad(kind: str, op: Any, dy: Any) -> Any:
    x, indices, segment_ids = op.inputs[:3]
    rows = shape_of(x)[0]
    if kind == "Sum":
        return raw.UnsortedSegmentSum(raw.GatherV2(dy, segment_ids, 0), indices, rows)
    return getattr(raw, f"SparseSegment{kind}Grad")(dy, indices, segment_ids, rows)


_declare("Sum", "realnumbertype", [[6.0, 8.0], [0.0, 0.0], [3.0, 4.0]])
_declare("Mean", "{float, double}", [[3.0, 4.0], [0.0, 0.0], [3.0, 4.0]])
_declare("SqrtN", "{float, double}", [[4.242641, 5.656854], [0.0, 0.0], [3.0, 4.0]])


def _check_grad(grad: Any, indices: Any, segment_ids: Any, rows: int) -> None:
    """Checks the operands of a gradient.

    Raises:
      InvalidArgumentError: An index or an id is out of range, or there are not as many of both.
    """
    if indices.ndim != 1 or segment_ids.ndim != 1:
        what = "indices" if indices.ndim != 1 else "segment_ids"
        raise InvalidArgumentError(None, None, f"{what} should be a vector.")
    if indices.shape != segment_ids.shape:
        raise InvalidArgumentError(None, None, "segment_ids and indices should have same size.")
    if not grad.ndim:
        raise InvalidArgumentError(None, None, "Shape must be at least rank 1")
    if segment_ids.size and segment_ids[-1] >= grad.shape[0]:
        raise InvalidArgumentError(None, None, "Invalid number of segments")
    if not rows:
        return
    for names, values, count in (("Index", indices, rows), ("Segment id", segment_ids, grad.shape[0])):
        at = updates.first_outside(values, count)
        if at is None:
            bad = values[(values < 0) | (values >= count)]
        else:
            bad = values[at : at + 1] if at >= 0 else ()
        if len(bad):
            raise InvalidArgumentError(None, None, f"{names} {bad[0]} out of range [0, {count}).")


def _declare_grad(kind: str, gives: Any) -> None:
    made = op(f"""
        SparseSegment{kind}Grad(grad: T, indices: Tidx, segment_ids: int32, output_dim0: int32) -> (output: T)
          T: {{float, double}}
          Tidx: {{int32, int64}} = DT_INT32

        The gradient of SparseSegment{kind} with respect to its rows.
    """)  # fmt: skip

    @made.shape
    def shape(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any, *, ctx: Any) -> Any:
        shapes.merge(shapes.with_rank(indices, 1), shapes.with_rank(segment_ids, 1))
        shapes.with_rank(output_dim0, 0)
        rows = ctx.constant("output_dim0")
        return None if grad is None else (None if rows is None else int(rows), *grad[1:])

    @made.host
    @quiet
    def host(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any) -> Any:
        _check_grad(grad, indices, segment_ids, int(output_dim0))
        if not output_dim0:
            return np.zeros((0, *grad.shape[1:]), grad.dtype)
        rows = np.array(grad, order="C")
        if not native.divide(rows, segment_ids, kind == "SqrtN"):
            rows = grad / _divisor(kind, segment_ids, grad.shape[0], grad)
        summed = native.sums(rows.astype(grad.dtype, copy=False), segment_ids, indices, int(output_dim0))
        if summed is not None:
            return summed
        rows = rows[segment_ids]
        return combine(np.add, rows.astype(grad.dtype), indices, int(output_dim0), 0)

    @made.lower(static="output_dim0")
    def lower(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any, *, ctx: Any) -> Any:
        _check_grad(grad, np.zeros(indices.shape, np.int32), np.zeros(segment_ids.shape, np.int32), 1)
        if not output_dim0:
            return jnp.zeros((0, *grad.shape[1:]), grad.dtype)
        ctx.check(((indices >= 0) & (indices < int(output_dim0))).all(), "Index out of range")
        ctx.check(((segment_ids >= 0) & (segment_ids < grad.shape[0])).all(), "Segment id out of range")
        n = jnp.zeros(grad.shape[0], grad.dtype).at[segment_ids].add(1)
        n = jnp.sqrt(n) if kind == "SqrtN" else n
        rows = grad[segment_ids] / n[segment_ids].reshape((-1,) + (1,) * (grad.ndim - 1))
        return jnp.zeros((int(output_dim0), *grad.shape[1:]), grad.dtype).at[indices].add(rows)

    @made.cases
    def cases(case: Any) -> None:
        case([[2.0, 4.0], [6.0, 8.0]], np.int32([0, 2, 1]), np.int32([0, 0, 1]), np.int32(4), gives=gives)
        case.shapes("[4,3];[5];[5];[]", "[7,3]", values={"output_dim0": 7})
        rows = [[2.0, 4.0], [6.0, 8.0]]
        case.fails((rows, np.int32([4]), np.int32([1]), np.int32(4)), match=r"Index 4 out of range \[0, 4\)")
        case.fails((rows, np.int32([0]), np.int32([2]), np.int32(4)), match="Invalid number of segments")


_declare_grad("Mean", [[1.0, 2.0], [6.0, 8.0], [1.0, 2.0], [0.0, 0.0]])
_declare_grad("SqrtN", [[1.4142135, 2.828427], [6.0, 8.0], [1.4142135, 2.828427], [0.0, 0.0]])


def _export(public: str, kind: str, what: str) -> None:
    def segment(
        data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
    ) -> Any:
        if num_segments is not None:
            counted = getattr(raw, f"SparseSegment{kind}WithNumSegments")
            return counted(data, indices, segment_ids, num_segments, name=name)
        return getattr(raw, f"SparseSegment{kind}")(data, indices, segment_ids, name=name)

    segment.__name__ = public
    segment.__doc__ = f"""Returns {what} of the chosen rows of each id.

    Args:
      data: The rows, along the first axis.
      indices: Which rows to take.
      segment_ids: The ids of those taken, which must not decrease.
      name: The node's name.
      num_segments: How many ids there are; by default the last one and one more.
    """
    export(public, public.replace("_", ".", 1))(segment)


_export("sparse_segment_sum", "Sum", "the sums")
_export("sparse_segment_mean", "Mean", "the means")
_export("sparse_segment_sqrt_n", "SqrtN", "the sums, over the square root of the number,")
