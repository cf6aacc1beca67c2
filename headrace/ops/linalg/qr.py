"""Qr: a matrix as an orthogonal one times an upper triangular one."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.graph import name_scope
from headrace.lazy import jnp
from headrace.opdef import export, op, raw

Qr = op("""
    Qr(input: T) -> (q: T, r: T)
      full_matrices: bool = false
      T: {double, float, half, complex64, complex128}

    The QR decomposition of matrices, which lie in the last two dimensions.
""")


@Qr.shape
def qr_shape(input, *, full_matrices):
    input = shapes.with_rank_at_least(input, 2)
    if input is None:
        return [None, None]
    *batch, m, n = input
    inner = None if m is None or n is None else min(m, n)
    if 0 in (m, n):
        inner = 0
    if full_matrices:
        return [(*batch, m, m), (*batch, m, n)]
    return [(*batch, m, inner), (*batch, inner, n)]


@Qr.host
def qr_host(input, *, full_matrices):
    work = input.astype(np.float32) if input.dtype == np.float16 else input
    q, r = np.linalg.qr(work, mode="complete" if full_matrices else "reduced")
    return q.astype(input.dtype), r.astype(input.dtype)


@Qr.lower
def qr_lower(input, *, full_matrices):
    work = input.astype(jnp.float32) if input.dtype == jnp.float16 else input
    q, r = jnp.linalg.qr(work, mode="complete" if full_matrices else "reduced")
    return q.astype(input.dtype), r.astype(input.dtype)


def _product(a, b, left=False, right=False):
    """Multiplies matrices, the conjugate transpose of one where `left` or `right` is set."""
    if len(a._dims) == 2 and not a.dtype.is_complex:
        return raw.MatMul(a, b, transpose_a=left, transpose_b=right)
    return raw.BatchMatMulV2(a, b, adj_x=left, adj_y=right, name="MatMul")


def _adjoint(x):
    rank = len(x._dims)
    with name_scope("adjoint"), name_scope("matrix_transpose"):
        order = [*range(rank - 2), rank - 1, rank - 2]
        return (raw.ConjugateTranspose if x.dtype.is_complex else raw.Transpose)(x, order, name="transpose")


@Qr.grad
def qr_grad(op, dq, dr):
    q, r = op.outputs
    if q.dtype.is_complex:
        raise NotImplementedError("QrGrad not implemented for dtype: " + str(q.dtype))
    if r._dims is None or q._dims is None or None in r._dims[-2:]:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    if r._dims[-2] != r._dims[-1]:
        raise NotImplementedError(
            "QrGrad not implemented when ncols > nrows or full_matrices is true and ncols != nrows."
        )

    def solved(a):
        # a times the inverse of R's adjoint, by a triangular system.
        return _adjoint(raw.MatrixTriangularSolve(r, _adjoint(a), lower=False, adjoint=False))

    qdq = _product(q, dq, left=True)
    qdq_ = raw.Sub(qdq, _adjoint(qdq), name="sub")
    rdr = _product(r, dr, right=True)
    rdr_ = raw.Sub(rdr, _adjoint(rdr), name="sub")
    low = raw.MatrixBandPart(raw.AddV2(qdq_, rdr_, name="add"), np.int64(-1), np.int64(0))
    a = _product(q, raw.AddV2(dr, solved(low), name="add"))
    b = solved(raw.Sub(dq, _product(q, qdq), name="sub"))
    return raw.AddV2(a, b, name="add")


@Qr.cases
def qr_cases(case):
    case(np.eye(2, dtype=np.float32), grad=False)
    case(case.normal(3, 2, dtype=np.float64), grad=False)
    case(case.normal(2, 3, 3, dtype=np.float64), grad=False)
    case(case.normal(3, 3, dtype=np.float64))
    case.shapes("[2,?,3]", "[2,?,?];[2,?,3]")
    case.shapes("[5,3]", "[5,3];[3,3]")
    case.shapes("[5,3]", "[5,5];[5,3]", full_matrices=True)
    case.fails("[3]", match="at least rank 2")


@export("qr", "linalg.qr")
def qr(input, full_matrices=False, name=None):
    """Returns the QR decomposition of matrices.

    Args:
      input: Matrices, in the last two dimensions.
      full_matrices: Whether Q is square.
      name: The node's name.

    Returns:
      A named tuple of Q, with orthonormal columns, and R, upper triangular.
    """
    return raw.Qr(input, full_matrices=full_matrices, name=name)
