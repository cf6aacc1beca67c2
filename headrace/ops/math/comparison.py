"""Comparisons and logic: results are booleans, operands broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.math.binary import broadcasting, incompatible

_EQUATABLE = (
    "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, quint8, qint8, qint32, string, bool,"
    " complex128}"
)


def _declare(name: str, function: Any, lower: Any, *, doc: str, gives: Any) -> None:
    made = op(
        f"{name}(x: T, y: T) -> (z: bool)\n  T: realnumbertype\n\n{doc}", shape=shapes.broadcasted, grad=None
    )
    made.declare("host", broadcasting(function))
    made.declare("lower", lower)

    def cases(case: Any) -> None:
        case([1.0, 2.0, 3.0, np.nan], [2.0], gives=np.array(gives))
        case(np.arange(4, dtype=np.uint8), np.uint8(2))
        case(case.integers(2, 1), case.integers(3))
        case.shapes("[2,1];[?]", "[2,?]")
        case.fails("[2];[3]", match="Dimensions must be equal, but are 2 and 3")

    made.declare("cases", cases)


_declare("Less", np.less, lambda x, y: x < y, doc="x < y.", gives=[True, False, False, False])
_declare("LessEqual", np.less_equal, lambda x, y: x <= y, doc="x <= y.", gives=[True, True, False, False])
_declare("Greater", np.greater, lambda x, y: x > y, doc="x > y.", gives=[False, False, True, False])
_declare(
    "GreaterEqual", np.greater_equal, lambda x, y: x >= y, doc="x >= y.", gives=[False, True, True, False]
)


def _equality(name: str, host: Any, lower: Any, *, doc: str, equal: bool) -> None:
    made = op(f"""
        {name}(x: T, y: T) -> (z: bool)
          T: {_EQUATABLE}
          incompatible_shape_error: bool = true
          commutative

        {doc} Without `incompatible_shape_error`, shapes that do not broadcast give one boolean.
    """, grad=None)  # fmt: skip

    @made.shape
    def equality_shape(x: Any, y: Any, *, incompatible_shape_error: bool) -> Any:
        if incompatible_shape_error:
            return shapes.broadcast(x, y)
        try:
            joined = shapes.broadcast(x, y)
        except ValueError:
            return None
        return joined if shapes.is_full(x) and shapes.is_full(y) else None

    @made.host
    def equality_host(x: Any, y: Any, *, incompatible_shape_error: bool) -> Any:
        if x.shape != y.shape:
            try:
                np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                if incompatible_shape_error:
                    raise incompatible(x, y) from None
                return np.array(not equal)
        return np.asarray(host(x, y)).astype(bool)

    @made.lower
    def equality_lower(x: Any, y: Any, *, incompatible_shape_error: bool) -> Any:
        if not incompatible_shape_error:
            try:
                np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                return jnp.asarray(not equal)
        return lower(x, y)

    @made.cases
    def equality_cases(case: Any) -> None:
        case([1.0, 2.0, np.nan], [1.0, 3.0, np.nan], gives=np.array([equal, not equal, not equal]))
        words = np.array([b"mill", b"wheel"], object)
        case(words, np.array(b"mill", object), gives=np.array([equal, not equal]))
        case(np.array([True, False]), np.array([True, True]), gives=np.array([equal, not equal]))
        case(np.array([1 + 2j], np.complex64), np.array([1 + 2j], np.complex64), gives=np.array([equal]))
        case([1.0, 2.0], [1.0, 2.0, 3.0], incompatible_shape_error=False, gives=np.array(not equal))
        case.shapes("[2,1];[3]", "[2,3]")
        case.fails("[2];[3]", match="Dimensions must be equal, but are 2 and 3")


_equality("Equal", np.equal, lambda x, y: x == y, doc="x == y.", equal=True)
_equality("NotEqual", np.not_equal, lambda x, y: x != y, doc="x != y.", equal=False)


def _logic(name: str, host: Any, lower: Any, *, doc: str, gives: Any) -> None:
    made = op(
        f"{name}(x: bool, y: bool) -> (z: bool)\n  commutative\n\n{doc}", shape=shapes.broadcasted, grad=None
    )
    made.declare("host", broadcasting(host))
    made.declare("lower", lower)

    def cases(case: Any) -> None:
        case(
            np.array([False, False, True, True]), np.array([False, True, False, True]), gives=np.array(gives)
        )
        case(np.array([[True], [False]]), np.array([True, False]))
        case.shapes("[2,1];[3]", "[2,3]")

    made.declare("cases", cases)


_logic(
    "LogicalAnd",
    np.logical_and,
    lambda x, y: jnp.logical_and(x, y),
    doc="x and y.",
    gives=[False, False, False, True],
)
_logic(
    "LogicalOr",
    np.logical_or,
    lambda x, y: jnp.logical_or(x, y),
    doc="x or y.",
    gives=[False, True, True, True],
)

ApproximateEqual = op("""
    ApproximateEqual(x: T, y: T) -> (z: bool)
      T: numbertype
      tolerance: float = 1e-05
      commutative

    Whether |x - y| < tolerance.
""", shape=shapes.merge, grad=None)  # fmt: skip


@ApproximateEqual.host
def approximate_equal_host(x, y, *, tolerance):
    return _close(np, x, y, tolerance)


@ApproximateEqual.lower
def approximate_equal_lower(x, y, *, tolerance):
    return _close(jnp, x, y, tolerance)


def _close(xp, x, y, tolerance):
    difference = xp.abs(x - y)
    if difference.dtype.kind in "iu":
        # The kernel turns the tolerance into the operands' type.
        return difference < xp.asarray(int(tolerance), difference.dtype)
    limit = xp.asarray(tolerance, difference.dtype)
    # TensorFlow counts the tolerance itself in for these two types only.
    return difference <= limit if x.dtype.name in ("float32", "float64") else difference < limit


@ApproximateEqual.cases
def approximate_equal_cases(case):
    case([1.0, 1.0], [1.000001, 1.1], gives=np.array([True, False]))
    case([1.0, 1.0], [1.5, 3.0], tolerance=1.0, gives=np.array([True, False]))
    case.shapes("[2,?];[?,3]", "[2,3]")
    case.fails("[2];[3]", match="must be equal, but are 2 and 3")
