"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.lazy import jnp, lax
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.quiet import quiet


def known_axis(x: Any, axis: Any) -> int:
    axis = np.asarray(axis)
    if axis.ndim:
        shape = ",".join(map(str, axis.shape))
        raise InvalidArgumentError(None, None, f"ScanOp: axis must be a scalar, not [{shape}]")
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgumentError(
            None, None, f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {axis}"
        )
    return int(axis) % x.ndim


def _scan(xp: Any, x: Any, axis: int, exclusive: bool, reverse: bool, running: Any, first: Any) -> Any:
    """Returns running(x) along an axis, from the end if `reverse`, without the element itself if `exclusive`."""
    if reverse:
        x = xp.flip(x, axis)
    if exclusive:
        start = [slice(None)] * x.ndim
        start[axis] = slice(0, -1)
        shape = x.shape[:axis] + (min(1, x.shape[axis]),) + x.shape[axis + 1 :]
        x = xp.concatenate([xp.full(shape, first, x.dtype), x[tuple(start)]], axis)
    out = running(x, axis)
    return xp.flip(out, axis) if reverse else out


def _declare(
    name: str, host: Any, lower: Any, first: Any, grad: Any, doc: str, types: str, gives: Any
) -> None:
    made = op(f"""
        {name}(x: T, axis: Tidx) -> (out: T)
          exclusive: bool = false
          reverse: bool = false
          T: {types}
          Tidx: {{int32, int64}} = DT_INT32

        {doc}
    """, shape=shapes.unchanged, grad=grad)  # fmt: skip

    @made.host
    @quiet
    def scan_host(x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
        return _scan(np, x, known_axis(x, axis), exclusive, reverse, host, first)

    @made.lower(static="axis")
    def scan_lower(x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
        return _scan(jnp, x, known_axis(x, axis), exclusive, reverse, lower, first)

    @made.cases
    def scan_cases(case: Any) -> None:
        if gives is not None:
            case([2.0, 3.0, 4.0], np.int32(0), gives=gives[0])
            case([2.0, 3.0, 4.0], np.int32(-1), exclusive=True, reverse=True, gives=gives[1])
        case(case.uniform(2, 3, low=0.5, high=1.5), np.int32(1), reverse=True)
        case(case.uniform(2, 3, low=0.5, high=1.5), np.int64(0), exclusive=True)
        case(np.zeros((0, 2), np.float32), np.int32(0), exclusive=True)
        case.shapes("[2,?];[]", "[2,?]")
        case.fails(([1.0], np.int32(3)), match=r"Expected scan axis in the range \[-1, 1\), but got 3")


def _cumsum_grad(op: Any, dy: Any) -> Any:
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    return [raw.Cumsum(dy, op.inputs[1], exclusive=exclusive, reverse=not reverse), None]


def _cumprod_grad(op: Any, dy: Any) -> Any:
    x, axis = op.inputs
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    product = raw.Cumprod(x, axis, exclusive=exclusive, reverse=reverse)
    return [raw.Cumsum(product * dy, axis, exclusive=exclusive, reverse=not reverse) / x, None]


_declare("Cumsum", lambda x, axis: np.cumsum(x, axis, x.dtype), lambda x, axis: lax.cumsum(x, axis), 0, _cumsum_grad,
         "The sum of the elements up to each one along an axis.", "numbertype",
         ([2.0, 5.0, 9.0], [7.0, 4.0, 0.0]))  # fmt: skip
_declare("Cumprod", lambda x, axis: np.cumprod(x, axis, x.dtype), lambda x, axis: lax.cumprod(x, axis), 1,
         _cumprod_grad,
         "The product of the elements up to each one along an axis.", "numbertype",
         ([2.0, 6.0, 24.0], [12.0, 4.0, 1.0]))  # fmt: skip


@export("cumsum", "math.cumsum")
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Returns the sum of the elements up to each one along an axis.

    Args:
      x: A tensor of numbers.
      axis: The axis.
      exclusive: Whether an element's own value is left out.
      reverse: Whether to add from the end.
      name: The node's name.
    """
    with name_scope(name, "Cumsum", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw.Cumsum(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


@export("cumprod", "math.cumprod")
def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """Returns the product of the elements up to each one along an axis.

    Args:
      x: A tensor of numbers.
      axis: The axis.
      exclusive: Whether an element's own value is left out.
      reverse: Whether to multiply from the end.
      name: The node's name.
    """
    with name_scope(name, "Cumprod", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return raw.Cumprod(x, axis, exclusive=exclusive, reverse=reverse, name=scope)
