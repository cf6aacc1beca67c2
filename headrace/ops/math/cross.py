"""Cross: products of vectors in space."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw

Cross = op("""
    Cross(a: T, b: T) -> (product: T)
      T: realnumbertype

    The cross products of the vectors of three elements along the last axis.
""")  # fmt: skip


@Cross.shape
def cross_shape(a, b):
    shapes.with_rank_at_least(a, 1)
    shapes.with_rank_at_least(b, 1)
    merged = shapes.merge(a, b)
    if merged is not None and merged[-1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {merged[-1]}")
    return merged


def _cross(xp, a, b):
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], -1).astype(a.dtype)


@Cross.host
def cross_host(a, b):
    if a.shape != b.shape:
        raise InvalidArgumentError(None, None, "Both inputs must be of same shape")
    with np.errstate(all="ignore"):
        return _cross(np, a, b)


@Cross.lower
def cross_lower(a, b):
    return _cross(jnp, a, b)


@Cross.grad
def cross_grad(op, dy):
    a, b = op.inputs
    return raw.Cross(b, dy), raw.Cross(dy, a)


@Cross.cases
def cross_cases(case):
    case([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], gives=[-3.0, 6.0, -3.0])
    case(case.normal(2, 3), case.normal(2, 3))
    case.shapes("[2,?];[?,3]", "[2,3]")
    case.fails("[2];[2]", match="Dimension must be 3 but is 2")


@export("cross", "linalg.cross")
def cross(a, b, name=None):
    """Returns the cross products of vectors of three elements along the last axis.

    Args:
      a: The left vectors.
      b: The right vectors, in the same shape.
      name: The node's name.
    """
    return raw.Cross(a, b, name=name)
