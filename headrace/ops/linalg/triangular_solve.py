"""MatrixTriangularSolve, and systems of which a Cholesky factor is known."""

from __future__ import annotations

import numpy as np

from headrace.graph import name_scope
from headrace.lazy import jax, jnp
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import adjoint_of, check_systems, invalid, product, solved, widened

MatrixTriangularSolve = op("""
    MatrixTriangularSolve(matrix: T, rhs: T) -> (output: T)
      lower: bool = true
      adjoint: bool = false
      T: {double, float, half, complex64, complex128}

    The solutions of triangular systems; the other triangle counts as zero.
""", shape=solved)  # fmt: skip


@MatrixTriangularSolve.host
def matrix_triangular_solve_host(matrix, rhs, *, lower, adjoint):
    check_systems(matrix, rhs)
    if matrix.size == 0 or rhs.size == 0:
        return rhs
    work = (np.tril if lower else np.triu)(widened(np, matrix))
    if not np.all(np.abs(np.diagonal(work, axis1=-2, axis2=-1)) > 0):
        invalid("Input matrix is not invertible.")
    work = adjoint_of(np, work) if adjoint else work
    return _substituted(work, widened(np, rhs), lower != adjoint).astype(matrix.dtype)


def _substituted(matrix, rhs, lower):
    n = matrix.shape[-1]
    out = rhs.copy()
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, n)
        out[..., i, :] -= np.einsum("...j,...jk->...k", matrix[..., i, known], out[..., known, :])
        out[..., i, :] /= matrix[..., i, i][..., None]
    return out


@MatrixTriangularSolve.lower
def matrix_triangular_solve_lower(matrix, rhs, *, lower, adjoint, ctx):
    check_systems(matrix, rhs)
    if matrix.size == 0 or rhs.size == 0:
        return rhs
    work = widened(jnp, matrix)
    ctx.check(jnp.all(jnp.abs(jnp.diagonal(work, axis1=-2, axis2=-1)) > 0), "a matrix is not invertible")
    solution = jax.lax.linalg.triangular_solve(
        work,
        widened(jnp, rhs),
        left_side=True,
        lower=lower,
        transpose_a=adjoint,
        conjugate_a=adjoint and jnp.iscomplexobj(work),
    )
    return solution.astype(matrix.dtype)


@MatrixTriangularSolve.grad
def matrix_triangular_solve_grad(op, dy):
    matrix, solution = op.inputs[0], op.outputs[0]
    lower, adjoint = op.attrs["lower"], op.attrs["adjoint"]
    to_rhs = raw.MatrixTriangularSolve(matrix, dy, lower=lower, adjoint=not adjoint)
    pair = (solution, to_rhs) if adjoint else (to_rhs, solution)
    whole = raw.Neg(product(*pair, adjoint_b=True))
    triangle = (-1, 0) if lower else (0, -1)
    return raw.MatrixBandPart(whole, *(np.int64(k) for k in triangle)), to_rhs


@MatrixTriangularSolve.cases
def matrix_triangular_solve_cases(case):
    case([[2.0, 9.0], [1.0, 1.0]], [[4.0], [3.0]], gives=[[2.0], [1.0]], tol=1e-6)
    case([[2.0, 1.0], [9.0, 1.0]], [[3.0], [1.0]], lower=False, gives=[[1.0], [1.0]], tol=1e-6)
    for flags in (dict(), dict(adjoint=True), dict(lower=False), dict(lower=False, adjoint=True)):
        case(
            case.normal(2, 3, 3, dtype=np.float64) + 3 * np.eye(3),
            case.normal(2, 3, 2, dtype=np.float64),
            **flags,
        )
    case.shapes("[?,?,3];[?,3,5]", "[?,3,5]")
    case.fails("[2,2];[3,1]", match="must be equal, but are 2 and 3")
    case.fails(([[0.0, 0.0], [1.0, 1.0]], [[1.0], [1.0]]), match="Input matrix is not invertible.")


@export("matrix_triangular_solve", "linalg.triangular_solve")
def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    """Returns the solutions of triangular systems of linear equations.

    Args:
      matrix: Square matrices, in the last two dimensions; the other triangle is ignored.
      rhs: The right-hand sides, as columns.
      lower: Whether the lower triangle is meant.
      adjoint: Whether the adjoints of the matrices are meant.
      name: The node's name.
    """
    return raw.MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


@export("cholesky_solve", "linalg.cholesky_solve")
def cholesky_solve(chol, rhs, name=None):
    """Returns the solutions of systems of which the matrices' Cholesky factors are known.

    Args:
      chol: The lower triangular factors.
      rhs: The right-hand sides, as columns.
      name: The scope's name.
    """
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        half = raw.MatrixTriangularSolve(chol, rhs, lower=True, adjoint=False)
        return raw.MatrixTriangularSolve(chol, half, lower=True, adjoint=True)
