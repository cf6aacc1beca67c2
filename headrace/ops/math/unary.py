"""Elementwise functions of one operand, as one table."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lazy import jax, jnp
from headrace.opdef import op, raw
from headrace.ops.math.building import after, conjugate, scalar, shape_of, zeros
from headrace.ops.math.quiet import quiet
from headrace.shapes import unchanged

REAL = "{bfloat16, half, float, double}"
FLOATS = "{bfloat16, half, float, double, complex64, complex128}"
SIGNED = "{bfloat16, half, float, double, int32, int64, complex64, complex128}"
ABS = "{bfloat16, half, float, double, int8, int16, int32, int64}"


def unary(
    name: str, types: str, compute: Any, grad: Any = None, *, doc: str, gives: Any = None, **options: Any
) -> Any:
    """Declares one function: `compute(xp, x)` serves both tiers, `gives` maps x to f(x) for its cases.

    Args:
      name: The op's name.
      types: What stands after `T:`.
      compute: Called with `numpy` or `jax.numpy` and the operand.
      grad: Its gradient function; absent if it has none.
      doc: What it computes.
      gives: Values of the function at some floats.
      **options: `host` and `lower` in place of `compute`; `result`, the output's type; `integers`, a case in int32.
    """
    result = options.get("result", "T")
    made = op(f"{name}(x: T) -> (y: {result})\n  T: {types}\n\n{doc}", shape=unchanged)
    if grad is not None:
        made.declare("grad", grad)
    made.declare("host", quiet(options.get("host") or (lambda x: compute(np, x))))
    made.declare("lower", options.get("lower") or (lambda x: compute(jnp, x)))

    def cases(case: Any) -> None:
        table = gives or {}
        as_bool = result == "bool"
        case(
            list(table),
            gives=list(table.values()) if not as_bool else np.array(list(table.values())),
            grad=False,
        )
        low, high = options.get("domain", (-1.0, 1.0))
        case(case.uniform(2, 3, low=low, high=high), grad=options.get("smooth", True))
        case(np.zeros((0, 3), np.float32), grad=False)
        case.shapes("[2,?]", "[2,?]")
        case.shapes("?", "?")
        integers = options.get("integers")
        if integers:
            case(np.array(list(integers), np.int32), gives=np.array(list(integers.values()), np.int32))

    made.declare("cases", cases)
    return made


def waits(rule: Any) -> Any:
    """Returns a gradient whose nodes wait for the gradient that flows in."""

    def grad(op: Any, dy: Any) -> Any:
        with after(dy):
            return rule(op, dy)

    return grad


def of_input(derivative: Any) -> Any:
    """Returns the gradient dy * derivative(conj(x))."""
    return waits(lambda op, dy: dy * derivative(conjugate(op.inputs[0])))


def of_output(name: str) -> Any:
    """Returns the gradient that one op computes from y and dy."""

    def grad(op: Any, dy: Any) -> Any:
        y = op.outputs[0]
        if name in ("SigmoidGrad", "TanhGrad"):
            with after(dy):
                y = conjugate(y)
                return getattr(raw, name)(y, dy)
        return getattr(raw, name)(y, dy)

    return grad


def no_gradient(op: Any, dy: Any) -> Any:
    """The gradient of a step function: none."""
    return None


def _sign_grad(op: Any, dy: Any) -> Any:
    return zeros(shape_of(op.inputs[0]), op.inputs[0].dtype.base_dtype)


def _square_grad(op: Any, dy: Any) -> Any:
    with after(dy):
        x = conjugate(op.inputs[0])
        return raw.Mul(dy, raw.Mul(x, scalar(2.0, x)))


def _exp_grad(op: Any, dy: Any) -> Any:
    with after(dy):
        return dy * conjugate(op.outputs[0])


def _cos_grad(op: Any, dy: Any) -> Any:
    with after(dy):
        x = conjugate(op.inputs[0])
        return -dy * raw.Sin(x)


def _tan_grad(op: Any, dy: Any) -> Any:
    with after(dy):
        x = conjugate(op.inputs[0])
        return raw.Square(raw.Reciprocal(raw.Cos(x))) * dy


def _one_minus_square(x: Any) -> Any:
    square = raw.Square(x)
    return raw.Sub(scalar(1.0, x), square)


def _asin_grad(op: Any, dy: Any) -> Any:
    with after(dy):
        inverse = raw.Reciprocal(raw.Sqrt(_one_minus_square(conjugate(op.inputs[0]))))
        return dy * inverse


def _acos_grad(op: Any, dy: Any) -> Any:
    with after(dy):
        inverse = raw.Reciprocal(raw.Sqrt(_one_minus_square(conjugate(op.inputs[0]))))
        return -dy * inverse


def _atan_derivative(x: Any) -> Any:
    square = raw.Square(x)
    return raw.Reciprocal(raw.Add(scalar(1.0, x), square))


def _over(function: str) -> Any:
    def grad(op: Any, dy: Any) -> Any:
        with after(dy):
            return dy / getattr(raw, function)(conjugate(op.outputs[0]))

    return grad


def _reciprocal_lower(x: Any) -> Any:
    if x.dtype.kind in "iu":
        return jnp.where(abs(x) == 1, x, jnp.zeros_like(x))
    return x.dtype.type(1) / x


def _reciprocal_host(x: np.ndarray[Any, Any]) -> Any:
    if x.dtype.kind in "iu":
        return np.where(np.abs(x) == 1, x, x.dtype.type(0))
    return x.dtype.type(1) / x


def _rsqrt(xp: Any, x: Any) -> Any:
    return jax.lax.rsqrt(x) if xp is not np else x.dtype.type(1) / np.sqrt(x)


def _sign(xp: Any, x: Any) -> Any:
    if x.dtype.kind in "iu":
        return xp.sign(x)
    if x.dtype.kind != "c":
        # Unlike NumPy's sign, this one makes 0 of NaN.
        one = x.dtype.type(1)
        return xp.where(x > 0, one, xp.where(x < 0, -one, x.dtype.type(0)))
    size = xp.abs(x)
    return xp.where(size == 0, x.dtype.type(0), x / xp.where(size == 0, 1, size)).astype(x.dtype)


def _sigmoid_host(x: np.ndarray[Any, Any]) -> Any:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _through_float(function: str) -> Any:
    """Returns a NumPy function that does bfloat16 and half in float32, as their kernels do."""

    def run(xp: Any, x: Any) -> Any:
        f = getattr(xp, function)
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
            return f(x.astype(np.float32)).astype(x.dtype)
        return f(x)

    return run


def _log1p(xp: Any, x: Any) -> Any:
    if xp is not np or x.dtype.kind != "c":
        return _through_float("log1p")(xp, x)
    # NumPy's own loses small complex numbers beside the 1.
    a, b = x.real, x.imag
    return (0.5 * np.log1p(a * (2 + a) + b * b) + 1j * np.arctan2(b, 1 + a)).astype(x.dtype)


def _integer_trigonometry(function: str) -> Any:
    def run(xp: Any, x: Any) -> Any:
        if x.dtype.kind in "iu":
            return getattr(xp, function)(x.astype(np.float64)).astype(x.dtype)
        return _through_float(function)(xp, x)

    return run


unary("Abs", ABS, lambda xp, x: xp.abs(x), lambda op, dy: dy * raw.Sign(op.inputs[0]), doc="|x|.",
      gives={-1.5: 1.5, 0.0: 0.0, -np.inf: np.inf, np.nan: np.nan}, integers={-3: 3, 0: 0, -(2**31): -(2**31)},
      domain=(0.1, 1.0))  # fmt: skip
unary(
    "Neg",
    SIGNED,
    lambda xp, x: -x,
    lambda op, dy: -dy,
    doc="-x.",
    gives={-1.5: 1.5, 0.0: -0.0},
    integers={3: -3},
)
unary("Sign", SIGNED, _sign, _sign_grad, doc="-1, 0 or 1; x / |x| of a complex number.",
      gives={-1.5: -1.0, 0.0: 0.0, 7.0: 1.0}, integers={-3: -1, 0: 0}, smooth=False)  # fmt: skip
for _name in ("Inv", "Reciprocal"):
    unary(_name, SIGNED, None, of_output("ReciprocalGrad"), host=_reciprocal_host, lower=_reciprocal_lower,
          doc="1 / x.",
          gives={-2.0: -0.5, 4.0: 0.25, 0.0: np.inf}, domain=(0.5, 2.0))  # fmt: skip
unary(
    "Square",
    SIGNED,
    lambda xp, x: x * x,
    _square_grad,
    doc="x * x.",
    gives={-1.5: 2.25, 2.0: 4.0},
    integers={-3: 9},
)
unary("Sqrt", FLOATS, _through_float("sqrt"), of_output("SqrtGrad"), doc="The square root.",
      gives={4.0: 2.0, 0.0: 0.0, -1.0: np.nan}, domain=(0.5, 2.0))  # fmt: skip
unary("Rsqrt", FLOATS, _rsqrt, of_output("RsqrtGrad"), doc="1 / sqrt(x).", gives={4.0: 0.5, 0.0: np.inf, -1.0: np.nan},
      domain=(0.5, 2.0))  # fmt: skip
unary(
    "Exp",
    FLOATS,
    _through_float("exp"),
    _exp_grad,
    doc="e ** x.",
    gives={0.0: 1.0, -np.inf: 0.0, 100.0: np.inf},
)
unary("Expm1", FLOATS, _through_float("expm1"), of_input(lambda x: raw.Exp(x)), doc="e ** x - 1, exact near 0.",
      gives={0.0: 0.0, 1e-10: 1e-10})  # fmt: skip
unary("Log", FLOATS, _through_float("log"), of_input(lambda x: raw.Reciprocal(x)), doc="The natural logarithm.",
      gives={1.0: 0.0, 0.0: -np.inf, -1.0: np.nan}, domain=(0.5, 2.0))  # fmt: skip
unary("Log1p", FLOATS, _log1p, of_input(lambda x: raw.Reciprocal(1 + x)),
      doc="log(1 + x), exact near 0.",
      gives={0.0: 0.0, 1e-10: 1e-10, -1.0: -np.inf}, domain=(-0.5, 2.0))  # fmt: skip
unary("Sin", FLOATS, _through_float("sin"), of_input(lambda x: raw.Cos(x)), doc="The sine.", gives={0.0: 0.0})
unary("Cos", FLOATS, _through_float("cos"), _cos_grad, doc="The cosine.", gives={0.0: 1.0})
unary("Tan", SIGNED, _integer_trigonometry("tan"), _tan_grad, doc="The tangent.", gives={0.0: 0.0})
unary("Asin", SIGNED, _integer_trigonometry("arcsin"), _asin_grad, doc="The inverse sine.",
      gives={0.0: 0.0, 2.0: np.nan},
      domain=(-0.8, 0.8))  # fmt: skip
unary("Acos", SIGNED, _integer_trigonometry("arccos"), _acos_grad, doc="The inverse cosine.",
      gives={1.0: 0.0, 2.0: np.nan},
      domain=(-0.8, 0.8))  # fmt: skip
unary("Atan", SIGNED, _integer_trigonometry("arctan"), of_input(_atan_derivative), doc="The inverse tangent.",
      gives={0.0: 0.0, np.inf: np.pi / 2})  # fmt: skip
unary(
    "Sinh",
    FLOATS,
    _through_float("sinh"),
    of_input(lambda x: raw.Cosh(x)),
    doc="The hyperbolic sine.",
    gives={0.0: 0.0},
)
unary(
    "Cosh",
    FLOATS,
    _through_float("cosh"),
    of_input(lambda x: raw.Sinh(x)),
    doc="The hyperbolic cosine.",
    gives={0.0: 1.0},
)
unary("Tanh", FLOATS, _through_float("tanh"), of_output("TanhGrad"), doc="The hyperbolic tangent.",
      gives={0.0: 0.0, 100.0: 1.0, -np.inf: -1.0})  # fmt: skip
unary(
    "Asinh",
    FLOATS,
    _through_float("arcsinh"),
    _over("Cosh"),
    doc="The inverse hyperbolic sine.",
    gives={0.0: 0.0},
)
unary("Acosh", FLOATS, _through_float("arccosh"), _over("Sinh"), doc="The inverse hyperbolic cosine.",
      gives={1.0: 0.0, 0.0: np.nan}, domain=(1.5, 3.0))  # fmt: skip
unary("Atanh", FLOATS, _through_float("arctanh"), of_input(lambda x: raw.Reciprocal(_one_minus_square(x))),
      doc="The inverse hyperbolic tangent.", gives={0.0: 0.0, 1.0: np.inf}, domain=(-0.8, 0.8))  # fmt: skip
unary("Sigmoid", FLOATS, None, of_output("SigmoidGrad"), host=_sigmoid_host, lower=lambda x: _sigmoid_lower(x),
      doc="1 / (1 + exp(-x)).", gives={0.0: 0.5, 100.0: 1.0, -200.0: 0.0, np.nan: np.nan})  # fmt: skip
unary("Floor", REAL, lambda xp, x: xp.floor(x), no_gradient, doc="The greatest integer not above x.",
      gives={-1.5: -2.0, 1.5: 1.0, 2.0: 2.0}, smooth=False)  # fmt: skip
unary("Ceil", REAL, lambda xp, x: xp.ceil(x), no_gradient, doc="The least integer not below x.",
      gives={-1.5: -1.0, 1.5: 2.0, 2.0: 2.0}, smooth=False)  # fmt: skip
unary("Rint", REAL, lambda xp, x: xp.rint(x), no_gradient, doc="The nearest integer; halves go to the even one.",
      gives={-1.5: -2.0, 0.5: 0.0, 2.5: 2.0}, smooth=False)  # fmt: skip
unary("Round", SIGNED, lambda xp, x: x if x.dtype.kind in "iu" else xp.round(x) + x.dtype.type(0), no_gradient,
      doc="The nearest integer; halves go to the even one.", gives={-1.5: -2.0, 0.5: 0.0, 2.5: 2.0},
      integers={-3: -3}, smooth=False)  # fmt: skip
unary("IsNan", REAL, lambda xp, x: xp.isnan(x), doc="Whether x is not a number.", result="bool",
      gives={0.0: False, np.nan: True, np.inf: False})  # fmt: skip
unary("IsInf", REAL, lambda xp, x: xp.isinf(x), doc="Whether x is infinite.", result="bool",
      gives={0.0: False, np.nan: False, -np.inf: True})  # fmt: skip
unary("IsFinite", REAL, lambda xp, x: xp.isfinite(x), doc="Whether x is neither infinite nor NaN.", result="bool",
      gives={0.0: True, np.nan: False, np.inf: False})  # fmt: skip


def _sigmoid_lower(x: Any) -> Any:
    if x.dtype.kind == "c":
        return 1 / (1 + jnp.exp(-x))
    return jax.nn.sigmoid(x)


LogicalNot = op("""
    LogicalNot(x: bool) -> (y: bool)

    Not x.
""", shape=unchanged, grad=None, host=lambda x: np.logical_not(x), lower=lambda x: jnp.logical_not(x))  # fmt: skip


@LogicalNot.cases
def logical_not_cases(case):
    case(np.array([True, False]), gives=np.array([False, True]))
    case.shapes("[?,2]", "[?,2]")
