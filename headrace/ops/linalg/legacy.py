"""Ops that graphs of old versions hold: the batch ops from before the plain ones took batches, and SelfAdjointEig."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.linalg import cholesky, determinant, eigen, inverse, least_squares, svd, triangular_solve
from headrace.ops.linalg.parts import square

_REAL = "T: {double, float}"
_BOTH = "T: {double, float, complex64, complex128}"


def _unknown(outputs):
    return lambda *_: [None] * outputs


def _batch(text, host, lower, deprecated=13, outputs=1):
    made = op(
        f"{text}\n      deprecated {deprecated}", shape=_unknown(outputs) if outputs > 1 else shapes.unknown
    )
    made.declare("host", host)
    made.declare("lower", lower)
    return made


BatchCholesky = _batch(
    f"BatchCholesky(input: T) -> (output: T)\n      {_REAL}", cholesky.cholesky_host, cholesky.cholesky_lower
)
BatchCholeskyGrad = _batch(
    "BatchCholeskyGrad(l: T, grad: T) -> (output: T)\n      T: {float, double}",
    cholesky.cholesky_grad_host,
    cholesky.cholesky_grad_lower,
)
BatchMatrixDeterminant = _batch(
    "BatchMatrixDeterminant(input: T) -> (output: T)\n      T: {float, double, complex64, complex128}",
    determinant.matrix_determinant_host,
    determinant.matrix_determinant_lower,
)
BatchMatrixInverse = _batch(
    f"BatchMatrixInverse(input: T) -> (output: T)\n      adjoint: bool = false\n      {_REAL}",
    inverse.matrix_inverse_host,
    inverse.matrix_inverse_lower,
)
BatchMatrixSolve = _batch(
    f"BatchMatrixSolve(matrix: T, rhs: T) -> (output: T)\n      adjoint: bool = false\n      {_REAL}",
    inverse.matrix_solve_host,
    inverse.matrix_solve_lower,
)
BatchMatrixSolveLs = _batch(
    "BatchMatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double) -> (output: T)"
    f"\n      {_REAL}\n      fast: bool = true",
    least_squares.matrix_solve_ls_host,
    least_squares.matrix_solve_ls_lower,
)
BatchMatrixTriangularSolve = _batch(
    "BatchMatrixTriangularSolve(matrix: T, rhs: T) -> (output: T)"
    f"\n      lower: bool = true\n      adjoint: bool = false\n      {_REAL}",
    triangular_solve.matrix_triangular_solve_host,
    triangular_solve.matrix_triangular_solve_lower,
)
BatchSelfAdjointEigV2 = _batch(
    f"BatchSelfAdjointEigV2(input: T) -> (e: T, v: T)\n      compute_v: bool = true\n      {_REAL}",
    eigen.self_adjoint_eig_host,
    eigen.self_adjoint_eig_lower,
    outputs=2,
)
BatchSvd = _batch(
    "BatchSvd(input: T) -> (s: T, u: T, v: T)\n      compute_uv: bool = true\n      full_matrices: bool = false"
    f"\n      {_BOTH}",
    svd.svd_host,
    svd.svd_lower,
    outputs=3,
)


def _joined(xp, values, vectors):
    return xp.concatenate([values[..., None, :], vectors], -2)


def self_adjoint_eig_host(input):
    return _joined(np, *eigen.self_adjoint_eig_host(input, compute_v=True))


def self_adjoint_eig_lower(input, *, ctx):
    return _joined(jnp, *eigen.self_adjoint_eig_lower(input, compute_v=True, ctx=ctx))


BatchSelfAdjointEig = _batch(
    f"BatchSelfAdjointEig(input: T) -> (output: T)\n      {_REAL}",
    self_adjoint_eig_host,
    self_adjoint_eig_lower,
    deprecated=11,
)

SelfAdjointEig = op(
    """
    SelfAdjointEig(input: T) -> (output: T)
      T: {double, float, half}
      deprecated 11

    The eigenvalues of symmetric matrices in ascending order, as a row, and below it the eigenvectors as columns.
""",
    host=self_adjoint_eig_host,
    lower=self_adjoint_eig_lower,
)


@SelfAdjointEig.shape
def self_adjoint_eig_shape(input):
    shape = square(input)
    if shape is None:
        return None
    *batch, n = shape[:-1]
    return (*batch, None if n is None else n + 1, n)


@SelfAdjointEig.cases
def self_adjoint_eig_cases(case):
    case(np.diag([3.0, 3.0]).astype(np.float32)[:1, :1], gives=[[3.0], [1.0]])
    case(np.zeros((2, 0, 0), np.float32), gives=np.zeros((2, 1, 0), np.float32))
    case.shapes("[?,3,?]", "[?,4,3]")
    case.fails("[1,2]", match="must be equal, but are 1 and 2")


_A = np.array([[[2.0, 1.0], [1.0, 3.0]]])
_LOW = np.array([[[2.0, 0.0], [1.0, 3.0]]])


@BatchSelfAdjointEig.cases
def batch_self_adjoint_eig_cases(case):
    case(np.array([[[3.0]]]), gives=np.array([[[3.0], [1.0]]]))


@BatchSelfAdjointEigV2.cases
def batch_self_adjoint_eig_v2_cases(case):
    root = np.sqrt(5.0)
    case(_A, compute_v=False, gives=(np.array([[(5 - root) / 2, (5 + root) / 2]]), np.zeros(0)), tol=1e-12)


@BatchCholesky.cases
def batch_cholesky_cases(case):
    case(_LOW @ np.swapaxes(_LOW, 1, 2), gives=_LOW, tol=1e-12)


@BatchCholeskyGrad.cases
def batch_cholesky_grad_cases(case):
    case(_A, _A, gives=np.array([[[0.5, 0.0], [0.0, 0.5]]]), tol=1e-12)


@BatchMatrixDeterminant.cases
def batch_matrix_determinant_cases(case):
    case(_A, gives=np.array([5.0]), tol=1e-12)


@BatchMatrixInverse.cases
def batch_matrix_inverse_cases(case):
    case(_A, gives=np.array([[[0.6, -0.2], [-0.2, 0.4]]]), tol=1e-12)
    case(_LOW, adjoint=True, gives=np.array([[[1 / 2, -1 / 6], [0.0, 1 / 3]]]), tol=1e-12)


@BatchMatrixSolve.cases
def batch_matrix_solve_cases(case):
    case(_A, np.array([[[5.0], [10.0]]]), gives=np.array([[[1.0], [3.0]]]), tol=1e-12)


@BatchMatrixSolveLs.cases
def batch_matrix_solve_ls_cases(case):
    case(_A, np.array([[[5.0], [10.0]]]), np.float64(0), gives=np.array([[[1.0], [3.0]]]), tol=1e-12)


@BatchMatrixTriangularSolve.cases
def batch_matrix_triangular_solve_cases(case):
    case(_LOW, np.array([[[2.0], [7.0]]]), gives=np.array([[[1.0], [2.0]]]), tol=1e-12)


@BatchSvd.cases
def batch_svd_cases(case):
    root = np.sqrt(5.0)
    none = np.zeros(0)
    case(_A, compute_uv=False, gives=(np.array([[(5 + root) / 2, (5 - root) / 2]]), none, none), tol=1e-12)
