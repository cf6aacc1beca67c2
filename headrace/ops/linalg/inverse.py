"""MatrixInverse and MatrixSolve."""

from __future__ import annotations

import numpy as np

from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import (
    adjoint_of,
    batch_of,
    check_matrices,
    check_systems,
    eliminated,
    invalid,
    product,
    solved,
    square,
    widened,
)

_TYPES = "T: {double, float, half, complex64, complex128}"

MatrixInverse = op(f"""
    MatrixInverse(input: T) -> (output: T)
      adjoint: bool = false
      {_TYPES}

    The inverses of matrices, or of their adjoints.
""", shape=square)  # fmt: skip

MatrixSolve = op(f"""
    MatrixSolve(matrix: T, rhs: T) -> (output: T)
      adjoint: bool = false
      {_TYPES}

    The solutions of systems of linear equations.
""", shape=solved)  # fmt: skip


def _pivots_vanish(matrix):
    """Whether elimination with exchanged rows meets a column of zeros in one of the matrices."""
    with np.errstate(all="ignore"):
        return any(eliminated(one.copy()) is None for one in batch_of(matrix))


@MatrixInverse.host
def matrix_inverse_host(input, *, adjoint):
    check_matrices(input)
    matrix = widened(np, input)
    matrix = adjoint_of(np, matrix) if adjoint else matrix
    if matrix.size == 0:
        return input
    if _pivots_vanish(matrix):
        invalid("Input is not invertible.")
    return np.linalg.inv(matrix).astype(input.dtype)


@MatrixInverse.lower
def matrix_inverse_lower(input, *, adjoint, ctx):
    check_matrices(input)
    matrix = widened(jnp, input)
    matrix = adjoint_of(jnp, matrix) if adjoint else matrix
    if matrix.size == 0:
        return input
    inverse = jnp.linalg.inv(matrix)
    ctx.check(jnp.all(jnp.isfinite(inverse)), "a matrix is not invertible")
    return inverse.astype(input.dtype)


@MatrixInverse.grad
def matrix_inverse_grad(op, dy):
    # TensorFlow builds this for adjoint=True as well, where it is the transpose of what it should be.
    inverse = op.outputs[0]
    return raw.Neg(product(inverse, product(dy, inverse, adjoint_b=True), adjoint_a=True))


@MatrixInverse.cases
def matrix_inverse_cases(case):
    case([[2.0, 1.0], [1.0, 1.0]], gives=[[1.0, -1.0], [-1.0, 2.0]], tol=1e-5)
    case([[2.0, 4.0], [0.0, 1.0]], adjoint=True, gives=[[0.5, 0.0], [-2.0, 1.0]], tol=1e-5, grad=False)
    case(case.normal(2, 3, 3, dtype=np.float64) + 3 * np.eye(3))
    case(np.zeros((0, 0), np.float32), grad=False)
    case.shapes("[?,?,3]", "[?,3,3]")
    case.fails("[2,3]", match="must be equal, but are 2 and 3")
    case.fails("[2]", match="at least rank 2")
    case.fails(([[1.0, 2.0], [2.0, 4.0]],), match="Input is not invertible.")


@MatrixSolve.host
def matrix_solve_host(matrix, rhs, *, adjoint):
    check_systems(matrix, rhs)
    work = widened(np, matrix)
    work = adjoint_of(np, work) if adjoint else work
    if work.size == 0 or rhs.size == 0:
        return rhs
    if _pivots_vanish(work):
        invalid("Input matrix is not invertible.")
    return np.linalg.solve(work, widened(np, rhs)).astype(matrix.dtype)


@MatrixSolve.lower
def matrix_solve_lower(matrix, rhs, *, adjoint, ctx):
    check_systems(matrix, rhs)
    work = widened(jnp, matrix)
    work = adjoint_of(jnp, work) if adjoint else work
    if work.size == 0 or rhs.size == 0:
        return rhs
    solution = jnp.linalg.solve(work, widened(jnp, rhs))
    ctx.check(jnp.all(jnp.isfinite(solution)), "a matrix is not invertible")
    return solution.astype(matrix.dtype)


@MatrixSolve.grad
def matrix_solve_grad(op, dy):
    matrix, solution, adjoint = op.inputs[0], op.outputs[0], op.attrs["adjoint"]
    to_rhs = raw.MatrixSolve(matrix, dy, adjoint=not adjoint)
    pair = (solution, to_rhs) if adjoint else (to_rhs, solution)
    return raw.Neg(product(*pair, adjoint_b=True)), to_rhs


@MatrixSolve.cases
def matrix_solve_cases(case):
    case([[2.0, 1.0], [1.0, 1.0]], [[3.0], [2.0]], gives=[[1.0], [1.0]], tol=1e-5)
    case(case.normal(2, 3, 3, dtype=np.float64) + 3 * np.eye(3), case.normal(2, 3, 2, dtype=np.float64))
    case(
        case.normal(3, 3, dtype=np.float64) + 3 * np.eye(3), case.normal(3, 2, dtype=np.float64), adjoint=True
    )
    case.shapes("[?,?,3];[?,3,5]", "[?,3,5]")
    case.shapes("[?,?,3];?", "[?,3,?]")
    case.fails("[2,2];[3,1]", match="must be equal, but are 2 and 3")
    case.fails(([[1.0, 2.0], [2.0, 4.0]], [[1.0], [1.0]]), match="Input matrix is not invertible.")


@export("matrix_inverse", "linalg.inv")
def matrix_inverse(input, adjoint=False, name=None):
    """Returns the inverses of matrices.

    Args:
      input: Matrices, in the last two dimensions.
      adjoint: Whether to invert their adjoints.
      name: The node's name.
    """
    return raw.MatrixInverse(input, adjoint=adjoint, name=name)


@export("matrix_solve", "linalg.solve")
def matrix_solve(matrix, rhs, adjoint=False, name=None):
    """Returns the solutions of systems of linear equations.

    Args:
      matrix: Square matrices, in the last two dimensions.
      rhs: The right-hand sides, as columns.
      adjoint: Whether the adjoints of the matrices are meant.
      name: The node's name.
    """
    return raw.MatrixSolve(matrix, rhs, adjoint=adjoint, name=name)
