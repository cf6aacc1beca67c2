"""The public elementwise functions of one operand."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.graph.default import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.math.sparse_values import is_sparse, on_values

# Public name, op, whether it takes sparse tensors, further public names, what it returns.
_TABLE = """
acos Acos - - the inverse cosine
acosh Acosh - - the inverse hyperbolic cosine
asin Asin - - the inverse sine
asinh Asinh - - the inverse hyperbolic sine
atan Atan - - the inverse tangent
atanh Atanh - - the inverse hyperbolic tangent
ceil Ceil - - the least integer not below each element
cos Cos - - the cosine
cosh Cosh - - the hyperbolic cosine
digamma Digamma - - the derivative of the logarithm of the gamma function
erf Erf sparse - the error function
erfc Erfc - - one minus the error function
exp Exp - - the exponential
expm1 Expm1 - - the exponential less one, exact near zero
floor Floor - - the greatest integer not above each element
is_finite IsFinite - debugging.is_finite whether each element is neither infinite nor NaN
is_inf IsInf - debugging.is_inf whether each element is infinite
is_nan IsNan - debugging.is_nan whether each element is not a number
lgamma Lgamma - - the logarithm of the absolute value of the gamma function
log Log - - the natural logarithm
log1p Log1p - - the logarithm of one more, exact near zero
negative Neg sparse - the negative
reciprocal Reciprocal - - the reciprocal
rint Rint - - the nearest integer, halves going to the even one
rsqrt Rsqrt - - the reciprocal of the square root
sigmoid Sigmoid - nn.sigmoid 1 / (1 + exp(-x))
sign Sign sparse - the sign: -1, 0 or 1
sin Sin - - the sine
sinh Sinh - - the hyperbolic sine
sqrt Sqrt sparse - the square root
square Square sparse - the square
tan Tan - - the tangent
tanh Tanh sparse nn.tanh the hyperbolic tangent
logical_not LogicalNot - - not each element
"""


def _declare(row: str) -> None:
    public, op_name, sparse, more, what = row.split(" ", 4)

    def function(x: Any, name: str | None = None) -> Any:
        if sparse == "sparse" and is_sparse(x):
            return on_values(x, function, name, op_name)
        return getattr(raw, op_name)(x, name=name)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = (
        f"Returns {what}, element by element.\n\n"
        "Args:\n  x: A tensor, or what converts to one.\n  name: The node's name.\n"
    )
    export(public, "math." + public, *([] if more == "-" else [more]))(function)


for _row in _TABLE.strip().split("\n"):
    _declare(_row)


@export("abs", "math.abs")
def absolute(x, name=None):
    """Returns the absolute value of each element, a real number for complex ones.

    Args:
      x: A tensor or SparseTensor of numbers.
      name: The node's name.
    """
    if is_sparse(x):
        return on_values(x, absolute, name, "Abs")
    with name_scope(name, "Abs", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return raw.ComplexAbs(x, Tout=x.dtype.real_dtype, name=scope)
        return raw.Abs(x, name=scope)


@export("round", "math.round")
def round(x, name=None):
    """Returns the nearest integer to each element, halves going to the even one; integers as they are.

    Args:
      x: A tensor of numbers.
      name: The node's name.
    """
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else raw.Round(x, name=name)
