"""RaggedRange: a range for each row."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import as_dtype
from headrace.opdef import op
from headrace.opdef.strings import invalid

RaggedRange = op("""
    RaggedRange(starts: T, limits: T, deltas: T) -> (rt_nested_splits: Tsplits, rt_dense_values: T)
      T: {bfloat16, float, double, int32, int64} = DT_INT32
      Tsplits: {int32, int64} = DT_INT64

    The numbers from each start up to each limit, one row after the other; scalars serve all rows.
""", grad=None)  # fmt: skip

# A row may not promise more numbers than this: a limit of infinity would ask for all memory.
_LONGEST = 2**31


@RaggedRange.shape
def ragged_range_shape(starts, limits, deltas):
    rows = None
    scalars = 0
    for shape in (starts, limits, deltas):
        if shape is None:
            continue
        if len(shape) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(shape)}")
        if not shape:
            scalars += 1
        elif rows is None:
            rows = shape[0]
        elif shape[0] is not None and shape[0] != rows:
            raise ValueError(f"Dimensions must be equal, but are {shape[0]} and {rows}")
    if scalars == 3:
        rows = 1
    return [(None if rows is None else rows + 1,), (None,)]


def _count(start, limit, delta):
    if delta == 0:
        invalid("Requires delta != 0")
    if (delta > 0 and start >= limit) or (delta < 0 and start <= limit):
        return 0
    if isinstance(start, int):
        return -((start - limit) // delta) if delta > 0 else -((limit - start) // -delta)
    count = np.ceil(np.abs((limit - start) / delta))
    if not np.isfinite(count) or count > _LONGEST:
        invalid(f"Requires a finite range, got start {start}, limit {limit} and delta {delta}")
    return int(count)


def _row(start, delta, count, storage):
    if isinstance(start, int):
        return np.asarray([start + i * delta for i in range(count)], storage)
    # Each number is the one before plus the delta, in the type itself, as the kernel counts.
    return np.add.accumulate(np.array([start] + [delta] * (count - 1), storage)) if count else []


@RaggedRange.host
def ragged_range_host(starts, limits, deltas, *, T, Tsplits):
    for name, value in (("starts", starts), ("limits", limits), ("deltas", deltas)):
        if value.ndim > 1:
            invalid(f"{name} must be a scalar or vector")
    sizes = {len(v) for v in (starts, limits, deltas) if v.ndim}
    if len(sizes) > 1:
        invalid("starts, limits, and deltas must have the same shape")
    rows = sizes.pop() if sizes else 1
    storage = as_dtype(T).storage
    scalar = (lambda v: int(v)) if storage.kind in "iu" else (lambda v: v)
    operands = [np.broadcast_to(v, (rows,)) for v in (starts, limits, deltas)]
    values, lengths = [], []
    for start, limit, delta in zip(*operands, strict=True):
        start, limit, delta = scalar(start), scalar(limit), scalar(delta)
        count = _count(start, limit, delta)
        if count > _LONGEST or sum(lengths) + count > _LONGEST:
            invalid(f"Requires fewer than {_LONGEST} numbers")
        lengths.append(count)
        values.append(_row(start, delta, count, storage))
    splits = np.cumsum([0, *lengths]).astype(as_dtype(Tsplits).storage)
    joined = np.concatenate(values) if values else []
    return splits, np.asarray(joined, storage)


@RaggedRange.cases
def ragged_range_cases(case):
    case([0.0, 5.0], [3.0, 5.0], 1.0, gives=(np.array([0, 3, 3]), np.float32([0, 1, 2])))
    case(
        np.int64([5, 8]),
        np.int64([0, 12]),
        np.int64([-2, 3]),
        Tsplits="int32",
        gives=(np.int32([0, 3, 5]), np.array([5, 3, 1, 8, 11])),
    )
    case.shapes("[?];[];[3]", "[4];[?]")
    case.shapes("[];[];[]", "[2];[?]")
    case.fails("[2];[3];[]", match="Dimensions must be equal, but are 3 and 2")
    case.fails("[2,1];[];[]", match="at most rank 1")
    case.fails(([0.0], [1.0], [0.0]), match="Requires delta != 0")
    case.fails(([0.0], [np.inf], [1.0]), match="finite range")
