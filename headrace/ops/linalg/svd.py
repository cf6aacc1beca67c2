"""The singular value decomposition."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import product, widened
from headrace.shapes import with_rank_at_least

Svd = op("""
    Svd(input: T) -> (s: T, u: T, v: T)
      compute_uv: bool = true
      full_matrices: bool = false
      T: {double, float, half, complex64, complex128}

    Matrices as products u * diag(s) * adjoint(v); the singular values come in descending order.
""")


@Svd.shape
def svd_shape(input, *, compute_uv, full_matrices):
    shape = with_rank_at_least(input, 2)
    empty = [(0,), (0,)]
    if shape is None:
        return [None, *([None, None] if compute_uv else empty)]
    *batch, m, n = shape
    inner = 0 if 0 in (m, n) else None if m is None or n is None else min(m, n)
    if not compute_uv:
        return [(*batch, inner), *empty]
    if full_matrices:
        return [(*batch, inner), (*batch, m, m), (*batch, n, n)]
    return [(*batch, inner), (*batch, m, inner), (*batch, n, inner)]


def _decomposed(xp, input, compute_uv, full_matrices):
    work = widened(xp, input)
    if not compute_uv:
        s = xp.linalg.svd(work, compute_uv=False)
        none = xp.zeros((0,), input.dtype)
        return s.astype(input.dtype), none, none
    u, s, vh = xp.linalg.svd(work, full_matrices=full_matrices)
    v = xp.conj(xp.swapaxes(vh, -1, -2))
    return s.astype(input.dtype), u.astype(input.dtype), v.astype(input.dtype)


@Svd.host
def svd_host(input, *, compute_uv, full_matrices):
    return _decomposed(np, input, compute_uv, full_matrices)


@Svd.lower
def svd_lower(input, *, compute_uv, full_matrices):
    return _decomposed(jnp, input, compute_uv, full_matrices)


@Svd.grad
def svd_grad(op, ds, _du, _dv):
    if op.attrs["compute_uv"]:
        raise NotImplementedError(
            "The gradient of singular vectors is not there yet; ask for the values alone with compute_uv=False."
        )
    diagonal = NAMES["matrix_diag"](ds)
    _, u, v = raw.Svd(op.inputs[0], compute_uv=True)
    return product(u, product(diagonal, v, adjoint_b=True))


@Svd.cases
def svd_cases(case):
    case(np.diag([3.0, 1.0]).astype(np.float32), compute_uv=False, tol=1e-5, grad=False,
         gives=([3.0, 1.0], np.zeros(0, np.float32), np.zeros(0, np.float32)))  # fmt: skip
    case(case.normal(2, 3, 2, dtype=np.float64), compute_uv=False, grad=False)
    case.shapes("[4,5,3]", "[4,3];[4,5,3];[4,3,3]")
    case.shapes("[5,3]", "[3];[5,5];[3,3]", full_matrices=True)
    case.shapes("[5,3]", "[3];[0];[0]", compute_uv=False)
    case.fails("[3]", match="at least rank 2")


@export("svd", "linalg.svd")
def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Returns the singular value decomposition of matrices.

    Args:
      tensor: Matrices, in the last two dimensions.
      full_matrices: Whether the matrices of singular vectors are square.
      compute_uv: Whether to return the singular vectors.
      name: The node's name.

    Returns:
      The singular values, and with `compute_uv` the left and the right singular vectors as columns.
    """
    s, u, v = raw.Svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (s, u, v) if compute_uv else s
