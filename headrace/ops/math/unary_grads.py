"""The ops that gradients of elementwise functions use: they compute dx from y and dy."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.math.building import after, conjugate
from headrace.ops.math.quiet import quiet
from headrace.shapes import merge

_SIGNATURE = "(y: T, dy: T) -> (z: T)\n  T: {bfloat16, half, float, double, complex64, complex128}"


def _declare(name: str, doc: str, compute: Any, grad: Any, gives: Any) -> None:
    made = op(f"{name}{_SIGNATURE}\n\n{doc}", shape=lambda y, dy: merge(y, dy), grad=grad)
    made.declare("host", quiet(lambda y, dy: compute(np, y, dy)))
    made.declare("lower", lambda y, dy: compute(jnp, y, dy))

    def cases(case: Any) -> None:
        case([0.5, 2.0], [1.0, 3.0], gives=gives)
        case(case.uniform(2, 3, low=0.2), case.normal(2, 3))
        case.shapes("[2,?];[?,3]", "[2,3]")
        case.fails("[2];[3]", match="must be equal, but are 2 and 3")

    made.declare("cases", cases)


def _conj(xp: Any, y: Any) -> Any:
    return xp.conj(y) if y.dtype.kind == "c" else y


def _half(y: Any) -> Any:
    return y.dtype.type(0.5)


def _zero_where_dy_is(xp: Any, dy: Any, dx: Any) -> Any:
    """Returns dx, and 0 where dy is 0 whatever y is: the gradients of 1 / x and its like are infinite at 0."""
    return xp.where(dy == 0, xp.zeros((), dy.dtype), dx)


def _reciprocal_grad(xp: Any, y: Any, dy: Any) -> Any:
    y = _conj(xp, y)
    return _zero_where_dy_is(xp, dy, -dy * y * y)


def _reciprocal_grad_grad(op: Any, dz: Any) -> Any:
    b = op.inputs[1]
    with after(dz):
        a, g = conjugate(op.inputs[0]), conjugate(dz)
        return g * -2.0 * b * a, raw.ReciprocalGrad(a, dz)


def _sigmoid_grad_grad(op: Any, dz: Any) -> Any:
    with after(dz):
        a = conjugate(op.inputs[0])
        gb = dz * conjugate(op.inputs[1])
        return gb - 2.0 * gb * a, raw.SigmoidGrad(a, dz)


def _tanh_grad_grad(op: Any, dz: Any) -> Any:
    with after(dz):
        a = conjugate(op.inputs[0])
        b = conjugate(op.inputs[1])
        return dz * -2.0 * b * a, raw.TanhGrad(a, dz)


def _sqrt_grad_grad(op: Any, dz: Any) -> Any:
    with after(dz):
        ga = dz / op.inputs[0]
        return -conjugate(ga) * op.outputs[0], 0.5 * ga


def _rsqrt_grad_grad(op: Any, dz: Any) -> Any:
    a, b = op.inputs
    with after(dz):
        ca, cg = conjugate(a), conjugate(dz)
        return -1.5 * cg * b * raw.Square(ca), raw.RsqrtGrad(ca, dz)


def _sigmoid_grad(xp: Any, y: Any, dy: Any) -> Any:
    # The graph conjugates y where it is complex, so this one must not.
    return dy * y * (y.dtype.type(1) - y)


def _tanh_grad(xp: Any, y: Any, dy: Any) -> Any:
    return dy * (y.dtype.type(1) - y * y)


def _sqrt_grad(xp: Any, y: Any, dy: Any) -> Any:
    return _zero_where_dy_is(xp, dy, _half(y) * dy / _conj(xp, y))


def _rsqrt_grad(xp: Any, y: Any, dy: Any) -> Any:
    y = _conj(xp, y)
    return _zero_where_dy_is(xp, dy, -_half(y) * dy * y * y * y)


_declare("SigmoidGrad", "dy * y * (1 - y).", _sigmoid_grad, _sigmoid_grad_grad, [0.25, -6.0])
_declare("TanhGrad", "dy * (1 - y * y).", _tanh_grad, _tanh_grad_grad, [0.75, -9.0])
_declare("SqrtGrad", "dy / (2 * y).", _sqrt_grad, _sqrt_grad_grad, [1.0, 0.75])
_declare("RsqrtGrad", "-dy * y ** 3 / 2.", _rsqrt_grad, _rsqrt_grad_grad, [-0.0625, -12.0])
_declare("ReciprocalGrad", "-dy * y * y.", _reciprocal_grad, _reciprocal_grad_grad, [-0.25, -12.0])
_declare("InvGrad", "-dy * y * y.", _reciprocal_grad, _reciprocal_grad_grad, [-0.25, -12.0])
