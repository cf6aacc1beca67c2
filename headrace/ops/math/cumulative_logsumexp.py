"""CumulativeLogsumexp: the running logarithm of a sum of exponentials along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.lazy import jnp, lax
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.cumulative import known_axis
from headrace.ops.math.quiet import quiet

CumulativeLogsumexp = op("""
    CumulativeLogsumexp(x: T, axis: Tidx) -> (out: T)
      exclusive: bool = false
      reverse: bool = false
      T: {half, float, double}
      Tidx: {int32, int64} = DT_INT32

    log(exp(x[0]) + ... + exp(x[i])) for each i along an axis, without overflow. The logarithm of nothing is the
    least number that the type has.
""", shape=shapes.unchanged)  # fmt: skip


def _add(xp: Any, sum: Any, x: Any) -> Any:
    """Returns log(exp(sum) + exp(x)); where `x` is NaN, log(2 exp(sum))."""
    least, greatest = xp.where(x < sum, x, sum), xp.where(sum < x, x, sum)
    return greatest + xp.log1p(xp.exp(least - greatest))


def _oriented(xp: Any, x: Any, axis: int, exclusive: bool, reverse: bool, running: Any) -> Any:
    """Puts the axis first and in the right order, runs along it, and puts all back."""
    x = xp.moveaxis(x, axis, 0)
    if reverse:
        x = x[::-1]
    lowest = np.finfo(x.dtype).min
    out = running(x, xp.full(x.shape[1:], lowest, x.dtype))
    if exclusive:
        out = xp.concatenate([xp.full_like(out[:1], lowest), out[:-1]])
    if reverse:
        out = out[::-1]
    return xp.moveaxis(out, 0, axis)


def _running_host(x: Any, start: Any) -> Any:
    out = np.empty_like(x)
    for i in range(len(x)):
        start = out[i] = _add(np, start, x[i])
    return out


def _running_lower(x: Any, start: Any) -> Any:
    return lax.associative_scan(lambda a, b: _add(jnp, a, b), _add(jnp, start, x)) if len(x) else x


@CumulativeLogsumexp.host
@quiet
def cumulative_logsumexp_host(x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
    return _oriented(np, x, known_axis(x, axis), exclusive, reverse, _running_host)


@CumulativeLogsumexp.lower(static="axis")
def cumulative_logsumexp_lower(x: Any, axis: Any, *, exclusive: bool, reverse: bool, ctx: Any) -> Any:
    # What NaN gives depends on what stands before, which the halves of this scan do not know.
    ctx.check(jnp.logical_not(jnp.isnan(x)).all(), "x holds NaN")
    return _oriented(jnp, x, known_axis(x, axis), exclusive, reverse, _running_lower)


@CumulativeLogsumexp.grad
def cumulative_logsumexp_grad(op: Any, dy: Any) -> Any:
    x, axis = op.inputs
    result = op.outputs[0]
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    nothing = float(np.finfo(dy.dtype.as_numpy_dtype).min)
    # Positive and negative gradients have a logarithm each.
    positive = raw.SelectV2(raw.Greater(dy, 0.0), raw.Log(dy), nothing)
    negative = raw.SelectV2(raw.Less(dy, 0.0), raw.Log(-dy), nothing)

    def part(log_dy: Any) -> Any:
        shares = cumulative_logsumexp(log_dy - result, axis=axis, exclusive=exclusive, reverse=not reverse)
        return raw.Exp(shares + x)

    return [part(positive) - part(negative), None]


@CumulativeLogsumexp.cases
def cumulative_logsumexp_cases(case):
    case([0.0, 0.0, np.log(2.0)], np.int32(0), gives=[0.0, 0.6931472, 1.3862944])
    low = np.finfo(np.float32).min
    case([1.0, 2.0], np.int32(-1), exclusive=True, reverse=True, gives=[2.0, low], grad=False)
    case([-np.inf, 2.0, -np.inf], np.int32(0), gives=[low, 2.0, 2.0], grad=False)
    case(case.normal(2, 3), np.int64(1), reverse=True)
    case(np.zeros((0, 2), np.float32), np.int32(0), exclusive=True)
    case.shapes("[2,?];[]", "[2,?]")
    case.fails(([1.0], np.int32(3)), match=r"Expected scan axis in the range \[-1, 1\), but got 3")


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """Returns the logarithm of the sum of the exponentials up to each element along an axis.

    Args:
      x: A tensor of floats.
      axis: The axis.
      exclusive: Whether an element's own value is left out.
      reverse: Whether to add from the end.
      name: The node's name.
    """
    with name_scope(name, "CumulativeLogsumexp", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw.CumulativeLogsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=scope)
