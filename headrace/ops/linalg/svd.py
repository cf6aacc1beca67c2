"""The singular value decomposition."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.graph import control_dependencies
from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import adjoint, invalid, product, widened
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
    if input.ndim < 2:
        invalid(f"Input tensor must have rank >= 2, got {input.ndim}")
    work = widened(xp, input)
    if 0 in input.shape:
        *batch, m, n = input.shape
        inner = min(m, n)
        s = xp.zeros((*batch, inner), input.dtype)
        if not compute_uv:
            return s, xp.zeros((0,), input.dtype), xp.zeros((0,), input.dtype)
        u, v = (xp.eye(k, k if full_matrices else inner, dtype=input.dtype) for k in (m, n))
        return s, xp.broadcast_to(u, (*batch, *u.shape)), xp.broadcast_to(v, (*batch, *v.shape))
    if not compute_uv:
        s = xp.linalg.svd(work, compute_uv=False)
        none = xp.zeros((0,), input.dtype)
        return s.astype(input.dtype), none, none
    u, s, vh = xp.linalg.svd(work, full_matrices=full_matrices)
    v = xp.conj(xp.swapaxes(vh, -1, -2))
    return s.astype(input.dtype), u.astype(input.dtype), v.astype(input.dtype)


@Svd.host
def svd_host(input, *, compute_uv, full_matrices):
    finite = np.isfinite(input).all((-2, -1), keepdims=True) if input.ndim > 1 else np.True_
    if finite.all():
        return _decomposed(np, input, compute_uv, full_matrices)
    # NumPy refuses what TensorFlow answers with NaN and unit matrices.
    s, u, v = _decomposed(np, np.where(finite, input, 0), compute_uv, full_matrices)
    s = np.where(finite[..., 0], s, np.asarray(np.nan, s.dtype))
    if compute_uv:
        u, v = (np.where(finite, x, np.eye(*x.shape[-2:], dtype=x.dtype)) for x in (u, v))
    return s, u, v


@Svd.lower
def svd_lower(input, *, compute_uv, full_matrices, ctx):
    if input.size:
        ctx.check(jnp.isfinite(input).all(), "a matrix is not finite")
    return _decomposed(jnp, input, compute_uv, full_matrices)


@Svd.grad
def svd_grad(op, ds, du, dv):
    a, full = op.inputs[0], op.attrs["full_matrices"]
    if op.attrs["compute_uv"] and a.dtype.is_complex:
        raise NotImplementedError("SVD gradient is not implemented for complex types and compute_uv=True.")
    diagonal = NAMES["matrix_diag"](ds)
    if not op.attrs["compute_uv"]:
        _, u, v = svd(a, compute_uv=True)
        return product(u, product(diagonal, v, adjoint_b=True))
    s, u, v = op.outputs
    if a._dims is None or None in a._dims[-2:]:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    m, n = a._dims[-2:]
    if full and abs(m - n) > 1:
        raise NotImplementedError(
            "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True"
        )
    with control_dependencies([ds, du, dv]):
        if m <= n:
            return _wide_gradient(s, u, v, diagonal, du, dv, m, n, full)
        whole = _wide_gradient(s, v, u, diagonal, dv, du, n, m, full)
        return NAMES["matrix_transpose"](whole)


def _wide_gradient(s, u, v, diagonal, du, dv, m, n, full):
    """Makes the gradient for matrices that are not taller than wide.

    By J. Townsend, "Differentiating the singular value decomposition" (2016).
    """
    transpose = NAMES["matrix_transpose"]
    values, squares = NAMES["matrix_diag"](s), raw.Square(s)
    shape = NAMES["shape"](s)
    eye = NAMES["eye"](shape[-1], batch_shape=shape[:-1], dtype=s.dtype)
    gaps = NAMES["expand_dims"](squares, -2) - NAMES["expand_dims"](squares, -1)
    gaps = NAMES["matrix_set_diag"](raw.Reciprocal(gaps + eye), NAMES["zeros_like"](s))
    inverses = NAMES["matrix_diag"](raw.Reciprocal(s))
    v1, dv1 = v[..., :, :m], dv[..., :, :m]
    from_u = product(u, du, adjoint_a=True)
    from_v = product(v1, dv1, adjoint_a=True)
    from_u, from_v = gaps * from_u, gaps * from_v
    inner = diagonal + product(from_u + adjoint(from_u), values)
    inner = inner + product(values, from_v + adjoint(from_v))
    whole = product(u, product(inner, v1, adjoint_b=True))
    if m == n:
        return whole
    rest = transpose(dv1)
    outside = rest - product(product(rest, v1), v1, adjoint_b=True)
    if full:
        v2, dv2 = v[..., :, m:n], dv[..., :, m:n]
        mixed = product(v1, dv2, adjoint_a=True)
        outside = outside - product(mixed, v2, adjoint_b=True)
    return whole + product(product(u, inverses), outside)


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
    s = NAMES["real"](s)
    return (s, u, v) if compute_uv else s
