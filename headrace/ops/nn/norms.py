"""The L2 norm as a loss and as a unit."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.nn.names import public, renamed
from headrace.shapes import scalar

L2Loss = op("""
    L2Loss(t: T) -> (output: T)
      T: {half, bfloat16, float, double}

    Half the sum of squares.
""", shape=scalar)  # fmt: skip


def _l2_loss(xp, t):
    x = t.astype(xp.float32) if t.dtype.itemsize < 4 else t
    return (xp.sum(x * x) * xp.asarray(0.5, x.dtype)).astype(t.dtype)


@L2Loss.host
def l2_loss_host(t):
    return _l2_loss(np, t)


@L2Loss.lower
def l2_loss_lower(t):
    return _l2_loss(jnp, t)


@L2Loss.grad
def l2_loss_grad(op, dy):
    return raw.Mul(op.inputs[0], dy, name="mul")


@L2Loss.cases
def l2_loss_cases(case):
    case([1.0, 2.0, 3.0], gives=7.0)
    case(np.array([1, 2, 3], np.float16), gives=np.float16(7))
    case(np.zeros((0, 2), np.float32), gives=0.0)
    case.shapes("[2,?]", "[]")


@export("nn.l2_loss")
def l2_loss(t, name=None):
    """Returns half the sum of the squares of a tensor.

    Args:
      t: A tensor of floats.
      name: A name for the operation.
    """
    return raw.L2Loss(t, name=name)


@export("nn.l2_normalize", "linalg.l2_normalize", "math.l2_normalize")
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """Returns `x` divided by its L2 norm along some axes.

    Args:
      x: A tensor.
      axis: The axis or axes of the norm.
      epsilon: The least square of the norm to divide by.
      name: A name for the operation.
      dim: The deprecated name of `axis`.
    """
    axis = renamed("axis", axis, "dim", dim)
    with public.name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        square_sum = public.reduce_sum(raw.Square(x), axis, keepdims=True)
        inverse = raw.Rsqrt(raw.Maximum(square_sum, epsilon))
        return raw.Mul(x, inverse, name=scope)


@export("nn.zero_fraction", "math.zero_fraction")
def zero_fraction(value, name=None):
    """Returns the fraction of the elements of `value` that are zero.

    Args:
      value: A tensor of numbers.
      name: A name for the operation.
    """
    with public.name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        size = public.size(value, out_type="int64")
        # Counted in int32 where that can hold the count, which is quicker.
        nonzero = public.cond(
            raw.LessEqual(size, 2**31 - 1),
            true_fn=lambda: public.cast(_count_nonzero(value, "int32"), "int64"),
            false_fn=lambda: _count_nonzero(value, "int64"),
        )
        with public.name_scope("counts_to_fraction"):
            zeros = raw.Sub(size, nonzero, name="sub")
            fraction = raw.RealDiv(
                public.cast(zeros, "float32"), public.cast(size, "float32"), name="truediv"
            )
        return raw.Identity(fraction, name="fraction")


def _count_nonzero(value, dtype):
    with public.name_scope("count_nonzero"):
        zero = raw.Const(value=np.zeros((), value.dtype.storage), dtype=value.dtype.base_dtype, name="zeros")
        present = public.cast(raw.NotEqual(value, zero), dtype)
        return public.reduce_sum(present, name="nonzero_count")
