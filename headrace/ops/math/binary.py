"""Elementwise arithmetic of two operands that broadcast against each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InternalError, InvalidArgumentError
from headrace.lazy import jax, jnp
from headrace.native import batch_norm, finish
from headrace.opdef import op
from headrace.ops.math import binary_gradients as gradients

NUMBERS = "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}"
QUOTIENTS = "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128}"
SIGNED = "{bfloat16, half, float, double, int32, int64, complex64, complex128}"
ORDERED = "{bfloat16, half, float, double, int32, int64}"
REMAINDERS = "{int32, int64, bfloat16, half, float, double}"
INEXACT = "{half, float, double, complex64, complex128}"


def incompatible(x: Any, y: Any) -> InvalidArgumentError:
    """Returns the error of operands that do not broadcast when the graph runs."""
    spell = [f"[{','.join(map(str, np.shape(v)))}]" for v in (x, y)]
    return InvalidArgumentError(None, None, f"Incompatible shapes: {spell[0]} vs. {spell[1]}")


def broadcasting(function: Any) -> Any:
    """Returns the host rule of a NumPy function of two arrays: no warnings, TensorFlow's error for bad shapes."""

    def run(x: Any, y: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return function(x, y)
        except ValueError:
            raise incompatible(x, y) from None

    run.in_quiet = function  # type: ignore[attr-defined]  # for where they are off, and shapes fit
    return run


def binary(
    name: str,
    types: str,
    host: Any,
    lower: Any,
    grad: Any = None,
    *,
    doc: str,
    flags: str = "",
    operands: str = "x y",
    cases: Any = None,
) -> Any:
    """Declares one function of two operands.

    Args:
      name: The op's name.
      types: What stands after `T:`.
      host: A NumPy function of two arrays.
      lower: A JAX function of two arrays, and of `ctx` if it must check values.
      grad: Its gradient function; absent if it has none.
      doc: What it computes.
      flags: Flags of the signature.
      operands: The operands' names.
      cases: Triples (x, y, result), arrays or lists of floats.
    """
    a, b = operands.split()
    line = f"  {flags}\n" if flags else ""
    made = op(f"{name}({a}: T, {b}: T) -> (z: T)\n  T: {types}\n{line}\n{doc}", shape=shapes.broadcasted)
    if grad is not None:
        made.declare("grad", grad)
    made.declare("host", broadcasting(host))
    made.declare("lower", lower)

    def recorded(case: Any) -> None:
        for x, y, z in cases or ():
            case(x, y, gives=z, grad=False)
        case(
            case.uniform(2, 3, low=0.5, high=2.0),
            case.uniform(2, 3, low=0.5, high=2.0),
            grad=grad is not None,
        )
        case(case.uniform(2, 1, low=0.5, high=2.0), case.uniform(3, low=0.5, high=2.0), grad=name != "Atan2")
        case(np.zeros((0, 3), np.float32), np.ones((1, 3), np.float32), grad=False)
        case.shapes("[2,?];[?]", "[2,?]")
        case.shapes("[2,1];[3]", "[2,3]")
        case.shapes("?;[3]", "?")
        case.fails("[2,3];[2,4]", match="Dimensions must be equal, but are 3 and 4")

    made.declare("cases", recorded)
    return made


def _integer(x: Any) -> bool:
    return x.dtype.kind in "iu"  # type: ignore[no-any-return]


def _nonzero(x: Any, y: Any) -> None:
    if x.size and not np.all(y):  # nothing is divided where there is nothing to divide
        raise InvalidArgumentError(None, None, "Integer division by zero")


def _checked(ctx: Any, x: Any, y: Any) -> Any:
    if x.size:
        ctx.check(jnp.all(y != 0), "Integer division by zero")
    return jnp.where(y == 0, jnp.ones_like(y), y)


def _string_add(x: Any, y: Any) -> Any:
    out = np.add(x, y)
    return out if isinstance(out, np.ndarray) else np.array(out, object)


def add(x: Any, y: Any) -> Any:
    return np.add(x, y) if x.dtype != object else _string_add(x, y)


def add_lower(x: Any, y: Any) -> Any:
    found = finish.added(x, y)
    return batch_norm.added(x + y, x, y) if found is None else found


def truncated_quotient(x: Any, y: Any) -> Any:
    """Returns x / y rounded toward zero, as C divides."""
    if not _integer(x):
        return np.divide(x, y)  # the kernel leaves floats as they come
    _nonzero(x, y)
    if x.dtype.kind == "u":
        return x // y
    quotient = np.floor_divide(x, y)
    return (quotient + ((x % y != 0) & (quotient < 0))).astype(x.dtype)


def truncated_quotient_lower(x: Any, y: Any, *, ctx: Any) -> Any:
    if not _integer(x):
        return x / y
    return jax.lax.div(*jnp.broadcast_arrays(x, _checked(ctx, x, y)))


def quotient(x: Any, y: Any) -> Any:
    return truncated_quotient(x, y) if _integer(x) else np.divide(x, y)


def quotient_lower(x: Any, y: Any, *, ctx: Any) -> Any:
    return truncated_quotient_lower(x, y, ctx=ctx) if _integer(x) else x / y


def real_quotient(x: Any, y: Any) -> Any:
    return truncated_quotient(x, y) if _integer(x) else np.divide(x, y)


def floored_quotient(x: Any, y: Any) -> Any:
    if _integer(x):
        _nonzero(x, y)
        if x.dtype.kind == "i" and (_has_least(x) or _has_least(y)):
            return _floored(np, x, y, truncated_quotient)
        return np.floor_divide(x, y)
    return np.floor(np.divide(x, y))


def _has_least(x: Any) -> bool:
    return bool(np.any(x == np.iinfo(x.dtype).min))


def _floored(xp: Any, x: Any, y: Any, divided: Any) -> Any:
    """Returns x / y rounded down; of the least number, whose absolute value overflows, what TensorFlow makes of it."""
    size = xp.abs(y)
    return xp.where((x < 0) != (y < 0), divided(-(xp.abs(x) + size - 1), size), divided(x, y))


def floored_quotient_lower(x: Any, y: Any, *, ctx: Any) -> Any:
    if _integer(x):
        y = _checked(ctx, x, y)
        if x.dtype.kind == "i":
            return _floored(jnp, *jnp.broadcast_arrays(x, y), jax.lax.div)
        return jnp.floor_divide(x, y)
    return jnp.floor(x / y)


def floored_remainder(x: Any, y: Any) -> Any:
    if _integer(x):
        _nonzero(x, y)
        return np.remainder(x, y)
    return _floored_float_remainder(np, np.fmod(x, y), y)


def _floored_float_remainder(xp: Any, remainder: Any, y: Any) -> Any:
    """Moves a C remainder to the sign of the divisor; zeros keep the sign that fmod gave them."""
    return xp.where((remainder != 0) & ((remainder < 0) != (y < 0)), remainder + y, remainder)


def floored_remainder_lower(x: Any, y: Any, *, ctx: Any) -> Any:
    if _integer(x):
        return jnp.remainder(x, _checked(ctx, x, y))
    return _floored_float_remainder(jnp, jax.lax.rem(*jnp.broadcast_arrays(x, y)), y)


def truncated_remainder(x: Any, y: Any) -> Any:
    if _integer(x):
        _nonzero(x, y)
    return np.fmod(x, y)


def _unexpected(divide: Any) -> Any:
    """Returns a rule that refuses to divide by zero with the error that TensorFlow keeps for these two ops."""

    def rule(x: Any, y: Any) -> Any:
        try:
            return divide(x, y)
        except InvalidArgumentError:
            message = "Unexpected error in binary operator (only integer div and mod should have errors)"
            raise InternalError(None, None, message) from None

    return rule


def truncated_remainder_lower(x: Any, y: Any, *, ctx: Any) -> Any:
    if _integer(x):
        y = _checked(ctx, x, y)
    return jax.lax.rem(*jnp.broadcast_arrays(x, y))


def power(x: Any, y: Any) -> Any:
    if _integer(x):
        if np.any(y < 0):
            raise InvalidArgumentError(None, None, "Integers to negative integer powers are not allowed")
        return np.power(x, y)
    return np.power(x, y)


def power_lower(x: Any, y: Any, *, ctx: Any) -> Any:
    if _integer(x):
        ctx.check(jnp.all(y >= 0), "Integers to negative integer powers are not allowed")
        return jnp.power(x, jnp.maximum(y, 0)).astype(x.dtype)
    return jnp.power(x, y)


def _no_nan(combine: str) -> tuple[Any, Any]:
    """Returns the host and lower rules of x / y or x * y that give 0 where y is 0."""

    def compute(xp: Any, x: Any, y: Any) -> Any:
        zero = y == 0
        value = x / xp.where(zero, xp.ones_like(y), y) if combine == "divide" else x * y
        return xp.where(zero, xp.zeros_like(value), value)

    return (lambda x, y: compute(np, x, y)), (lambda x, y: compute(jnp, x, y))


def _x_times(function: Any) -> tuple[Any, Any]:
    """Returns the host and lower rules of function(x, y) that give 0 where x is 0."""

    def compute(xp: Any, x: Any, y: Any) -> Any:
        x, y = xp.broadcast_arrays(x, y)
        zero = x == 0
        return xp.where(zero, xp.zeros_like(x), function(xp, x, xp.where(zero, xp.ones_like(y), y)))

    return (lambda x, y: compute(np, x, y)), (lambda x, y: compute(jnp, x, y))


def squared_difference(x: Any, y: Any) -> Any:
    difference = np.subtract(x, y)
    if difference.dtype.kind == "c" or not difference.ndim:
        return difference * np.conj(difference)
    return np.multiply(difference, difference, out=difference)


def squared_difference_lower(x: Any, y: Any) -> Any:
    difference = x - y
    return difference * jnp.conj(difference)


def i32(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int32)


_SUMS = [([1.0, 2.0], [10.0], [11.0, 12.0]), (i32(2**31 - 1), i32(1), i32(-(2**31)))]
binary("Add", NUMBERS[:-1] + ", string}", add, add_lower, gradients.add_grad, doc="x + y; joins strings.",
       cases=[*_SUMS, (np.array([b"a"], object), np.array(b"b", object), np.array([b"ab"], object))])  # fmt: skip
binary("AddV2", NUMBERS, np.add, add_lower, gradients.add_grad, doc="x + y.", flags="commutative, aggregate",
       cases=_SUMS)  # fmt: skip
binary("Sub", QUOTIENTS, np.subtract, lambda x, y: x - y, gradients.sub_grad, doc="x - y.",
       cases=[([1.0, 2.0], [10.0], [-9.0, -8.0])])  # fmt: skip
binary("Mul", QUOTIENTS, np.multiply, lambda x, y: x * y, gradients.mul_grad, doc="x * y.", flags="commutative",
       cases=[([1.0, 2.0], [10.0], [10.0, 20.0]), (i32(2**30), i32(4), i32(0))])  # fmt: skip
_NOTHING = (i32(), i32(0), i32())  # no number is divided by this zero
_TRUNCATED = [_NOTHING, (i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(3, -3, -3, 3))]
_FLOORED = [_NOTHING, (i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(3, -4, -4, 3))]
binary("Div", QUOTIENTS, quotient, quotient_lower, gradients.div_grad,
       doc="x / y, rounded toward 0 for integers.", cases=_TRUNCATED)  # fmt: skip
binary("RealDiv", QUOTIENTS, real_quotient, quotient_lower, gradients.real_div_grad, doc="x / y.",
       cases=[([1.0, -1.0, 0.0], [0.0], [np.inf, -np.inf, np.nan])])  # fmt: skip
binary("FloorDiv", QUOTIENTS, floored_quotient, floored_quotient_lower, gradients.two_nones, doc="floor(x / y).",
       cases=[*_FLOORED, ([7.0, -7.0], [2.0], [3.0, -4.0])])  # fmt: skip
binary("TruncateDiv", QUOTIENTS, _unexpected(truncated_quotient), truncated_quotient_lower, gradients.two_nones,
       doc="x / y, rounded toward 0.", cases=_TRUNCATED)  # fmt: skip
_REMAINDER = [
    _NOTHING,
    (i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(1, -1, 1, -1)),
    ([7.5, -7.5], [2.0], [1.5, -1.5]),
]
binary("Mod", "{int32, int64, half, half, bfloat16, float, double}", truncated_remainder, truncated_remainder_lower,
       doc="The remainder of a division rounded toward 0.", cases=_REMAINDER)  # fmt: skip
binary("TruncateMod", REMAINDERS, _unexpected(truncated_remainder), truncated_remainder_lower,
       doc="The remainder of a division rounded toward 0.", cases=_REMAINDER)  # fmt: skip
binary("FloorMod", REMAINDERS, floored_remainder, floored_remainder_lower, gradients.floor_mod_grad,
       doc="The remainder of a floored division: it has the sign of y.",
       cases=[_NOTHING, (i32(7, -7, 7, -7), i32(2, 2, -2, -2), i32(1, 1, -1, -1)),
              ([7.5, -7.5], [2.0], [1.5, 0.5])])  # fmt: skip
binary("DivNoNan", INEXACT, *_no_nan("divide"), gradients.div_no_nan_grad, doc="x / y; 0 where y is 0.",
       cases=[([1.0, np.nan], [0.0], [0.0, 0.0]), ([3.0], [2.0], [1.5])])  # fmt: skip
binary("MulNoNan", INEXACT, *_no_nan("multiply"), gradients.mul_no_nan_grad, doc="x * y; 0 where y is 0.",
       cases=[([np.inf, np.nan], [0.0], [0.0, 0.0]), ([3.0], [2.0], [6.0])])  # fmt: skip
binary("Pow", "{bfloat16, float, half, double, int32, int64, complex64, complex128}", power, power_lower,
       gradients.pow_grad, doc="x ** y.",
       cases=[([2.0, 0.0, -8.0], [3.0, 0.0, 1.5], [8.0, 1.0, np.nan]),
              (i32(2, -3, 0), i32(10, 3, 0), i32(1024, -27, 1))])  # fmt: skip
# A NaN on the left stays, one on the right does not.
binary("Maximum", ORDERED, lambda x, y: np.where(x < y, y, x), lambda x, y: jnp.where(x < y, y, x),
       gradients.maximum_grad, doc="The greater one.",
       cases=[([1.0, 5.0, np.nan, 1.0], [3.0, 3.0, 1.0, np.nan], [3.0, 5.0, np.nan, 1.0])])  # fmt: skip
binary("Minimum", ORDERED, lambda x, y: np.where(y < x, y, x), lambda x, y: jnp.where(y < x, y, x),
       gradients.minimum_grad, doc="The lesser one.", cases=[([1.0, 5.0], [3.0], [1.0, 3.0])])  # fmt: skip
binary("SquaredDifference", SIGNED, squared_difference, squared_difference_lower, gradients.squared_difference_grad,
       doc="(x - y) * conj(x - y).", flags="commutative", cases=[([1.0, 5.0], [3.0], [4.0, 4.0])])  # fmt: skip
binary("Xdivy", INEXACT, *_x_times(lambda xp, x, y: x / y), gradients.xdivy_grad, doc="x / y; 0 where x is 0.",
       cases=[([0.0, 3.0], [0.0, 2.0], [0.0, 1.5])])  # fmt: skip
binary("Xlogy", INEXACT, *_x_times(lambda xp, x, y: x * xp.log(y)), gradients.xlogy_grad,
       doc="x * log(y); 0 where x is 0.", cases=[([0.0, 3.0], [0.0, 1.0], [0.0, 0.0])])  # fmt: skip
binary("Atan2", "{bfloat16, half, float, double}", np.arctan2, lambda y, x: jnp.arctan2(y, x), gradients.atan2_grad,
       doc="The angle of the point (x, y).", operands="y x",
       cases=[([0.0, 1.0, -1.0], [-1.0, 0.0, 0.0], [np.pi, np.pi / 2, -np.pi / 2])])  # fmt: skip
NextAfter = op("""
    NextAfter(x1: T, x2: T) -> (output: T)
      T: {double, float} = DT_FLOAT

    The next number after x1 towards x2.
""", shape=shapes.broadcasted, host=broadcasting(np.nextafter), lower=lambda x1, x2: jnp.nextafter(x1, x2))  # fmt: skip


@NextAfter.grad
def next_after_grad(op, dy):
    return gradients.next_after_grad(op, dy)


@NextAfter.cases
def next_after_cases(case):
    case([1.0], [2.0], gives=[1.0000001])
    case.shapes("[2,1];[3]", "[2,3]")
