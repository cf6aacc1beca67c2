"""Integers as rows of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.export import export
from headrace.lazy import jax, jnp
from headrace.opdef import op, raw
from headrace.ops.math.binary import broadcasting

_INTEGERS = "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}"


def _declare(name: str, host: Any, lower: Any, *, doc: str, flags: str = "", gives: Any) -> None:
    line = f"  {flags}\n" if flags else ""
    made = op(
        f"{name}(x: T, y: T) -> (z: T)\n  T: {_INTEGERS}\n{line}\n{doc}", shape=shapes.broadcasted, grad=None
    )
    made.declare("host", broadcasting(host))
    made.declare("lower", lower)

    def cases(case: Any) -> None:
        case(np.array([12, -1, 7], np.int32), np.array([10, 3, 1], np.int32), gives=np.array(gives, np.int32))
        case(np.array([12, 255], np.uint8), np.array([1], np.uint8))
        case.shapes("[2,1];[3]", "[2,3]")

    made.declare("cases", cases)


def _amount(xp: Any, x: Any, y: Any) -> Any:
    """Shifts by more than the width count as the width less one."""
    return xp.clip(y, 0, x.dtype.itemsize * 8 - 1).astype(x.dtype)


_declare("BitwiseAnd", np.bitwise_and, lambda x, y: x & y, doc="The bits that are 1 in both.", flags="commutative",
         gives=[8, 3, 1])  # fmt: skip
_declare("BitwiseOr", np.bitwise_or, lambda x, y: x | y, doc="The bits that are 1 in either.", flags="commutative",
         gives=[14, -1, 7])  # fmt: skip
_declare("BitwiseXor", np.bitwise_xor, lambda x, y: x ^ y, doc="The bits that differ.", flags="commutative",
         gives=[6, -4, 6])  # fmt: skip
_declare("LeftShift", lambda x, y: np.left_shift(x, _amount(np, x, y)),
         lambda x, y: jnp.left_shift(x, _amount(jnp, x, y)), doc="x with its bits moved up y places.",
         gives=[12288, -8, 14])  # fmt: skip
_declare("RightShift", lambda x, y: np.right_shift(x, _amount(np, x, y)),
         lambda x, y: jnp.right_shift(x, _amount(jnp, x, y)), doc="x with its bits moved down; the sign stays.",
         gives=[0, -1, 3])  # fmt: skip

Invert = op(f"""
    Invert(x: T) -> (y: T)
      T: {_INTEGERS}

    Every bit the other way.
""", shape=shapes.unchanged, grad=None, host=lambda x: np.invert(x), lower=lambda x: ~x)  # fmt: skip


@Invert.cases
def invert_cases(case):
    case(np.array([0, -1, 5], np.int32), gives=np.array([-1, 0, -6], np.int32))
    case(np.array([0, 250], np.uint8), gives=np.array([255, 5], np.uint8))


PopulationCount = op(f"""
    PopulationCount(x: T) -> (y: uint8)
      T: {_INTEGERS}

    How many bits are 1.
""", shape=shapes.unchanged, grad=None)  # fmt: skip


@PopulationCount.host
def population_count_host(x):
    # Negative numbers count the bits of their two's complement.
    return np.bitwise_count(
        x.view(f"u{x.dtype.itemsize}") if x.ndim else np.asarray(x).view(f"u{x.dtype.itemsize}")
    )


@PopulationCount.lower
def population_count_lower(x):
    return jax.lax.population_count(x).astype(np.uint8)


@PopulationCount.cases
def population_count_cases(case):
    case(np.array([0, -1, 5], np.int32), gives=np.array([0, 32, 2], np.uint8))


def _wrapper(public: str, name: str, doc: str) -> None:
    op_name = name

    def wrapper(x: Any, y: Any, name: str | None = None) -> Any:
        return getattr(raw, op_name)(x, y, name=name)

    wrapper.__name__ = public
    wrapper.__doc__ = doc
    export("bitwise." + public)(wrapper)


_wrapper("bitwise_and", "BitwiseAnd", "Returns the bits that are 1 in both `x` and `y`.")
_wrapper("bitwise_or", "BitwiseOr", "Returns the bits that are 1 in `x` or `y`.")
_wrapper("bitwise_xor", "BitwiseXor", "Returns the bits that differ between `x` and `y`.")
_wrapper("left_shift", "LeftShift", "Returns `x` with its bits moved up `y` places.")
_wrapper(
    "right_shift",
    "RightShift",
    "Returns `x` with its bits moved down `y` places; a negative number stays so.",
)


@export("bitwise.invert")
def invert(x, name=None):
    """Returns `x` with every bit the other way."""
    return raw.Invert(x, name=name)
