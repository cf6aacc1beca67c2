"""Python's operators on tensors, and the public arithmetic functions behind them."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.graph.tensor import Tensor
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.math.cast import cast
from headrace.ops.math.elementwise import absolute
from headrace.ops.math.sparse_values import is_sparse


def _declare(public: str, op_name: str, what: str, *more: str, operands: str = "x y") -> Any:
    """Exports a function of two operands under `public`, math.`public` and further names."""
    a, b = operands.split()
    code = f"def {public}({a}, {b}, name=None): return raw.{op_name}({a}, {b}, name=name)"
    scope: dict[str, Any] = {"raw": raw, "__name__": __name__}
    exec(code, scope)  # so that the parameters have TensorFlow's names
    function = scope[public]
    function.__doc__ = (
        f"Returns {what}, element by element; the operands broadcast.\n\n"
        f"Args:\n  {a}: A tensor, or what converts to one.\n"
        f"  {b}: A tensor of the same type.\n  name: The node's name.\n"
    )
    export(public, *more)(function)
    return function


for _public, _op_name, _what in (
    ("add", "Add", "x + y"),
    ("equal", "Equal", "whether x == y"),
    ("not_equal", "NotEqual", "whether x != y"),
    ("less", "Less", "whether x < y"),
    ("less_equal", "LessEqual", "whether x <= y"),
    ("greater", "Greater", "whether x > y"),
    ("greater_equal", "GreaterEqual", "whether x >= y"),
    ("logical_and", "LogicalAnd", "x and y"),
    ("logical_or", "LogicalOr", "x or y"),
    ("maximum", "Maximum", "the greater one"),
    ("minimum", "Minimum", "the lesser one"),
    ("squared_difference", "SquaredDifference", "the square of x - y"),
    ("floormod", "FloorMod", "the remainder of a floored division"),
):
    _declare(_public, _op_name, _what, "math." + _public)
_declare("atan2", "Atan2", "the angle of the point (x, y)", "math.atan2", operands="y x")
_declare("floor_div", "FloorDiv", "floor(x / y)")
_declare("realdiv", "RealDiv", "x / y")
_declare("truncatediv", "TruncateDiv", "x / y rounded toward zero")
_declare("truncatemod", "TruncateMod", "the remainder of a division rounded toward zero")


def _only_math(public: str, op_name: str, what: str, operands: str = "x y") -> None:
    a, b = operands.split()
    scope: dict[str, Any] = {"raw": raw, "__name__": __name__}
    exec(f"def {public}({a}, {b}, name=None): return raw.{op_name}({a}, {b}, name=name)", scope)
    scope[public].__doc__ = f"Returns {what}, element by element; the operands broadcast."
    export("math." + public)(scope[public])


_only_math("xdivy", "Xdivy", "x / y, and 0 where x is 0")
_only_math("xlogy", "Xlogy", "x * log(y), and 0 where x is 0")
_only_math("nextafter", "NextAfter", "the next number after x1 towards x2", operands="x1 x2")


@export("mod", "math.mod")
def mod(x, y, name=None):
    """Returns the remainder of a floored division: it has the sign of `y`.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: The node's name.
    """
    return raw.FloorMod(x, y, name=name)


@export("subtract", "math.subtract")
def subtract(x, y, name=None):
    """Returns x - y, element by element.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: The node's name.
    """
    return raw.Sub(x, y, name=name)


@export("multiply", "math.multiply")
def multiply(x, y, name=None):
    """Returns x * y, element by element.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: The node's name.
    """
    return raw.Mul(x, y, name=name)


@export("pow", "math.pow")
def power(x, y, name=None):
    """Returns x ** y, element by element.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: The node's name.
    """
    with name_scope(name, "Pow", [x]) as scope:
        return raw.Pow(x, y, name=scope)


_AS_FLOAT = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
}
_DIVIDES_ITSELF = frozenset(
    (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
)


@export("truediv", "math.truediv")
def truediv(x, y, name=None):
    """Returns x / y as Python 3 divides: integers become floats.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: The node's name.

    Raises:
      TypeError: The operands have different types, or one that does not divide.
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y")
        x_type, y_type = x.dtype.base_dtype, y.dtype.base_dtype
        if x_type is not y_type:
            raise TypeError(f"x and y must have the same dtype, got {x_type!r} != {y_type!r}")
        wide = _AS_FLOAT.get(x_type)
        if wide is not None:
            x = cast(x, wide)
            y = cast(y, wide)
        elif x_type not in _DIVIDES_ITSELF:
            raise TypeError(f"Invalid dtype {x_type!r} in __truediv__.")
        return raw.RealDiv(x, y, name=scope)


@export("divide", "math.divide")
def divide(x, y, name=None):
    """Returns x / y as Python divides them; of two numbers, a number.

    Args:
      x: A tensor or a number.
      y: A tensor or a number.
      name: The node's name.
    """
    return x / y if name is None else truediv(x, y, name)


@export("div")
def div(x, y, name=None):
    """Returns x / y as Python 2 divides: floored for integers.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: The node's name.
    """
    with name_scope(name, "div", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        inexact = x.dtype.is_floating or x.dtype.is_complex
        return (raw.RealDiv if inexact else raw.FloorDiv)(x, y, name=scope)


@export("floordiv", "math.floordiv")
def floordiv(x, y, name=None):
    """Returns floor(x / y), element by element.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: The node's name.
    """
    with name_scope(name, "floordiv", [x, y]) as scope:
        return raw.FloorDiv(x, y, name=scope)


def _no_nan(op_name: str, default: str, x: Any, y: Any, name: str | None) -> Any:
    with name_scope(name, default, [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return getattr(raw, op_name)(x, y, name=scope)


@export("div_no_nan", "math.divide_no_nan")
def div_no_nan(x, y, name=None):
    """Returns x / y, and 0 where `y` is 0.

    Args:
      x: A tensor of floats.
      y: A tensor of the same type.
      name: The node's name.
    """
    return _no_nan("DivNoNan", "div_no_nan", x, y, name)


@export("math.multiply_no_nan")
def multiply_no_nan(x, y, name=None):
    """Returns x * y, and 0 where `y` is 0, even if `x` is infinite or NaN.

    Args:
      x: A tensor of floats.
      y: A tensor of the same type.
      name: The node's name.
    """
    return _no_nan("MulNoNan", "multiply_no_nan", x, y, name)


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x, name=None):
    """Returns 1 / x, and 0 where `x` is 0.

    Args:
      x: A tensor of floats.
      name: The node's name.
    """
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        one = convert_to_tensor(1, dtype=x.dtype.base_dtype, name="one")
        return raw.DivNoNan(one, x, name=scope)


@export("logical_xor", "math.logical_xor")
def logical_xor(x, y, name="LogicalXor"):
    """Returns whether exactly one of x and y is true.

    Args:
      x: A tensor of booleans.
      y: A tensor of booleans.
      name: The node's name.
    """
    either = raw.LogicalOr(x, y)
    return raw.LogicalAnd(either, raw.LogicalNot(raw.LogicalAnd(x, y)), name=name)


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar, x, name=None):
    """Returns a tensor or IndexedSlices times a scalar.

    Args:
      scalar: A number or a scalar tensor.
      x: The tensor.
      name: The node's name.

    Raises:
      ValueError: `scalar` is no scalar.
    """
    from headrace.graph.indexed_slices import IndexedSlices

    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if scalar._dims is None or len(scalar._dims):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(raw.Mul(scalar, x.values, name=name), x.indices, x.dense_shape)
    return raw.Mul(scalar, x, name=name)


# -- the operators themselves --------------------------------------------------------------------------------


_NUMBERS = _DIVIDES_ITSELF | {dtypes.int32, dtypes.int64}


def _overload(operator: str, function: Any, direct: str | None = None) -> None:
    """Gives tensors `operator` and its reflection.

    Args:
      operator: Python's name for it, also the node's name.
      function: Called as `(x, y, name)`.
      direct: The op that two tensors of one graph and one type of `_NUMBERS` need: the short way; None if there is
        more to do.
    """
    reflected = f"__r{operator}__"
    plain = _DIVIDES_ITSELF if operator == "truediv" else _NUMBERS

    def forward(x: Any, y: Any) -> Any:
        if direct is not None and type(y) is Tensor and y._dtype is x._dtype and x._dtype in plain:
            if y._op._graph is x._op._graph:
                return getattr(raw, direct)(x, y, name=operator)
        with name_scope(None, operator, [x, y]) as scope:
            if not isinstance(y, Tensor) and not is_sparse(y):
                try:
                    y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
                except TypeError:
                    if hasattr(type(y), reflected):
                        return NotImplemented
                    raise
            return function(x, y, name=scope)

    def backward(y: Any, x: Any) -> Any:
        with name_scope(None, operator, [x, y]) as scope:
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
            return function(x, y, name=scope)

    Tensor._override_operator(f"__{operator}__", forward)
    Tensor._override_operator(reflected, backward)


def _add(x: Any, y: Any, name: str | None = None) -> Any:
    return (raw.Add if x.dtype.base_dtype is dtypes.string else raw.AddV2)(x, y, name=name)


def _mul(x: Any, y: Any, name: str | None = None) -> Any:
    if is_sparse(y):
        values = raw.SparseDenseCwiseMul(y.indices, y.values, y.dense_shape, x, name=name)
        return type(y)(y.indices, values, y.dense_shape)
    return raw.Mul(x, y, name=name)


def _matmul(x: Any, y: Any, name: str | None = None) -> Any:
    from headrace.ops.math.matmul import matmul

    return matmul(x, y, name=name)


_overload("add", _add, "AddV2")
_overload("sub", lambda x, y, name=None: raw.Sub(x, y, name=name), "Sub")
_overload("mul", _mul, "Mul")
_overload("div", div)
_overload("truediv", truediv, "RealDiv")
_overload("floordiv", lambda x, y, name=None: raw.FloorDiv(x, y, name=name), "FloorDiv")
_overload("mod", lambda x, y, name=None: raw.FloorMod(x, y, name=name), "FloorMod")
_overload("pow", lambda x, y, name=None: raw.Pow(x, y, name=name), "Pow")
_overload("and", lambda x, y, name=None: raw.LogicalAnd(x, y, name=name))
_overload("or", lambda x, y, name=None: raw.LogicalOr(x, y, name=name))
_overload("xor", logical_xor)
_overload("matmul", _matmul)

for _operator, _op_name in (("lt", "Less"), ("le", "LessEqual"), ("gt", "Greater"), ("ge", "GreaterEqual")):
    Tensor._override_operator(
        f"__{_operator}__", lambda x, y, _op_name=_op_name: getattr(raw, _op_name)(x, y)
    )
Tensor._override_operator("__neg__", lambda x: raw.Neg(x))
Tensor._override_operator("__invert__", lambda x: raw.LogicalNot(x))
Tensor._override_operator("__abs__", lambda x: absolute(x))
