"""Sequences of numbers: Range and LinSpace."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes, shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.building import cast_to

Range = op("""
    Range(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)
      Tidx: {bfloat16, float, double, int32, int64} = DT_INT32

    start, start + delta, start + 2 * delta ... before limit.
""", grad=None)  # fmt: skip


_MOST = 2.0**62


def _length(start: Any, limit: Any, delta: Any) -> int:
    """Returns how many numbers there are.

    Raises:
      ValueError: delta is 0 or leads away from limit, or limit is never reached.
    """
    if delta == 0:
        raise ValueError(f"Requires delta != 0: {_spell(delta)}")
    if delta > 0 and not start <= limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {_spell(start)}/{_spell(limit)}")
    if not delta > 0 and not start >= limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {_spell(start)}/{_spell(limit)}")
    if start.dtype.kind in "iu":
        distance, step = abs(int(limit) - int(start)), abs(int(delta))
        return -(-distance // step)
    with np.errstate(all="ignore"):
        length = float(np.ceil(np.abs((limit - start) / delta)))
    if not length < _MOST:
        raise ValueError(f"Requires (limit - start) / delta to be a size: {length:g}")
    return int(length)


def _spell(value: Any) -> str:
    return f"{value:g}" if value.dtype.kind not in "iu" else str(value)


@Range.shape
def range_shape(start, limit, delta, *, ctx):
    for name, shape in (("start", start), ("limit", limit), ("delta", delta)):
        try:
            shapes.with_rank(shape, 0)
        except ValueError as e:
            raise ValueError(f"{e}\n\t for '{name}'") from None
    values = [ctx.constant(name) for name in ("start", "limit", "delta")]
    if any(v is None or not np.isfinite(v) for v in values):
        return (None,)
    try:
        return (_length(*values),)
    except ValueError as e:
        text = str(e)
        raise ValueError(text.partition(":")[0] if text.startswith("Requires delta") else text) from None


@Range.host
def range_host(start, limit, delta):
    try:
        n = _length(start, limit, delta)
    except ValueError as e:
        raise InvalidArgumentError(None, None, str(e)) from None
    if start.dtype.kind in "iu":
        with np.errstate(all="ignore"):
            return start + delta * np.arange(n, dtype=start.dtype)
    # Added up one by one, with each sum's rounding error.
    steps = np.full(n, delta, start.dtype)
    if n:
        steps[0] = start
    return np.add.accumulate(steps)


@Range.lower(static="start limit delta")
def range_lower(start, limit, delta):
    return range_host(np.asarray(start), np.asarray(limit), np.asarray(delta))


@Range.cases
def range_cases(case):
    def i32(x):
        return np.int32(x)

    case(i32(0), i32(5), i32(2), gives=np.array([0, 2, 4], np.int32))
    case(i32(5), i32(0), i32(-2), gives=np.array([5, 3, 1], np.int32))
    case(i32(3), i32(3), i32(1), gives=np.zeros(0, np.int32))
    case(np.float32(0.0), np.float32(1.0), np.float32(0.25), gives=[0.0, 0.25, 0.5, 0.75])
    case.shapes("[];[];[]", "[?]")
    case.shapes("[];[];[]", "[3]", values={"start": 0, "limit": 5, "delta": 2})
    case.fails((i32(0), i32(5), i32(0)), match="Requires delta != 0: 0")
    case.fails((i32(5), i32(0), i32(1)), match="Requires start <= limit when delta > 0: 5/0")
    case.fails("[1];[];[]", match="must be rank 0 but is rank 1")


_ORDER = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@export("range")
def range_v1(start, limit=None, delta=1, dtype=None, name="range"):
    """Returns the numbers start, start + delta, start + 2 * delta ... before limit.

    Args:
      start: The first number; the limit, counting from 0, if it is the only argument.
      limit: Where to stop.
      delta: The step.
      dtype: The type; by default the widest of the arguments'.
      name: The node's name.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "range", [start, limit, delta]) as scope:
        start = convert_to_tensor(start, dtype=dtype, name="start")
        limit = convert_to_tensor(limit, dtype=dtype, name="limit")
        delta = convert_to_tensor(delta, dtype=dtype, name="delta")
        if dtype is None:
            types = [t.dtype.base_dtype for t in (start, limit, delta)]
            assert all(t in _ORDER for t in types)
            dtype = max(types, key=_ORDER.index)
            start, limit, delta = cast_to(start, dtype), cast_to(limit, dtype), cast_to(delta, dtype)
        return raw.Range(start, limit, delta, name=scope)


LinSpace = op("""
    LinSpace(start: T, stop: T, num: Tidx) -> (output: T)
      T: {bfloat16, float, double}
      Tidx: {int32, int64} = DT_INT32

    num numbers from start to stop, equally far apart.
""", grad=None)  # fmt: skip


@LinSpace.shape
def lin_space_shape(start, stop, num, *, ctx):
    for shape in (start, stop, num):
        shapes.with_rank(shape, 0)
    n = ctx.constant("num")
    if n is None:
        return (None,)
    if n <= 0:
        raise ValueError(f"Requires num > 0: {n}")
    return (int(n),)


@LinSpace.host
def lin_space_host(start, stop, num):
    return _lin_space(np, start, stop, num)


@LinSpace.lower(static="num")
def lin_space_lower(start, stop, num):
    return _lin_space(jnp, start, stop, num)


def _lin_space(xp, start, stop, num):
    n = int(num)
    if n <= 0:
        raise InvalidArgumentError(None, None, f"Requires num > 0: {n}")
    if n == 1:
        return xp.reshape(start, (1,))
    dtype = start.dtype
    step = (stop - start) / dtype.type(n - 1)
    inner = start + step * xp.arange(1, n - 1).astype(dtype)
    # The ends are what was given, even where it is no number.
    ends = [xp.reshape(v, (1,)) for v in (start, stop)]
    return xp.concatenate([ends[0], inner, ends[1]]).astype(dtype)


@LinSpace.cases
def lin_space_cases(case):
    case(np.float32(0.0), np.float32(1.0), np.int32(5), gives=[0.0, 0.25, 0.5, 0.75, 1.0])
    case(np.float32(3.0), np.float32(1.0), np.int32(1), gives=[3.0])
    case.shapes("[];[];[]", "[7]", values={"num": 7})
    case.fails((np.float32(0.0), np.float32(1.0), np.int32(0)), match="Requires num > 0: 0")


@export("linspace", "lin_space")
def linspace(start, stop, num, name=None):
    """Returns `num` numbers from `start` to `stop`, equally far apart.

    Args:
      start: The first number, a float scalar.
      stop: The last number.
      num: How many.
      name: The node's name.
    """
    return raw.LinSpace(start, stop, num, name=name)
