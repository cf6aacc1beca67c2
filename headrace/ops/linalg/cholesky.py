"""The Cholesky decomposition."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.lazy import jnp, lax
from headrace.opdef import export, op, raw
from headrace.ops.linalg.parts import (
    adjoint,
    adjoint_of,
    batch_of,
    check_matrices,
    invalid,
    product,
    square,
    widened,
)

Cholesky = op("""
    Cholesky(input: T) -> (output: T)
      T: {double, float, half, complex64, complex128}

    The lower triangular factors of positive definite matrices, of which the lower triangles are read.
""", shape=square)  # fmt: skip


@Cholesky.host
def cholesky_host(input):
    check_matrices(input)
    if input.size == 0:
        return input
    work = widened(np, input)
    try:
        return np.linalg.cholesky(work).astype(input.dtype)
    except np.linalg.LinAlgError:
        # NumPy refuses NaN as well, which is no error in TensorFlow.
        factors = np.stack([_factor(one) for one in batch_of(work)])
        return factors.reshape(input.shape).astype(input.dtype)


def _factor(matrix):
    factor = np.zeros_like(matrix)
    with np.errstate(all="ignore"):
        for j in range(len(matrix)):
            left = factor[j, :j]
            pivot = matrix[j, j].real - np.sum(left * left.conj()).real
            if pivot <= 0:
                invalid("Cholesky decomposition was not successful. The input might not be valid.")
            factor[j, j] = np.sqrt(pivot)
            below = matrix[j + 1 :, j] - factor[j + 1 :, :j] @ left.conj()
            factor[j + 1 :, j] = below / factor[j, j]
    return factor


@Cholesky.lower
def cholesky_lower(input, *, ctx):
    check_matrices(input)
    if input.size == 0:
        return input
    factor = jnp.linalg.cholesky(widened(jnp, input), symmetrize_input=False)
    ctx.check(jnp.all(jnp.isfinite(factor)), "the Cholesky decomposition was not successful")
    return factor.astype(input.dtype)


@Cholesky.grad
def cholesky_grad(op, dy):
    factor = op.outputs[0]
    n = NAMES["shape"](factor)[-1]
    batch = NAMES["shape"](factor)[:-2]
    eye = NAMES["eye"](n, batch_shape=batch, dtype=factor.dtype)
    inverse = raw.MatrixTriangularSolve(factor, eye)
    middle = product(factor, dy, adjoint_a=True)
    halved = 0.5 * NAMES["matrix_diag_part"](middle)
    middle = NAMES["matrix_set_diag"](middle, halved)
    middle = raw.MatrixBandPart(middle, np.int64(-1), np.int64(0))
    whole = product(product(inverse, middle, adjoint_a=True), inverse)
    return (whole + adjoint(whole)) * 0.5


CholeskyGrad = op("""
    CholeskyGrad(l: T, grad: T) -> (output: T)
      T: {half, float, double}

    The gradient of Cholesky, of which the factors and their gradients are given.
""")  # fmt: skip


@CholeskyGrad.shape
def cholesky_grad_shape(l, grad):
    return square(l)


def _check_grad(factor, grad):
    check_matrices(factor)
    if factor.shape != grad.shape:
        invalid("Inputs (L and grad) must have the same shape.")


def _gradient(xp, factor, grad, solve):
    """Returns half the sum of G and its transpose, where G is L^-T low(L^T grad) L^-1 and low halves the diagonal."""
    factor, grad = xp.tril(widened(xp, factor)), xp.tril(widened(xp, grad))
    middle = xp.tril(adjoint_of(xp, factor) @ grad)
    middle = middle - 0.5 * middle * xp.eye(middle.shape[-1], dtype=middle.dtype)
    half = solve(factor, middle)
    whole = adjoint_of(xp, solve(factor, adjoint_of(xp, half)))
    return (whole + adjoint_of(xp, whole)) * 0.5


@CholeskyGrad.host
def cholesky_grad_host(l, grad):
    _check_grad(l, grad)
    if l.size == 0:
        return l

    def solve(factor, x):
        if np.all(np.diagonal(factor, axis1=-2, axis2=-1) != 0):
            return np.linalg.solve(adjoint_of(np, factor), x)
        return np.full_like(x, np.nan)

    return _gradient(np, l, grad, solve).astype(l.dtype)


@CholeskyGrad.lower
def cholesky_grad_lower(l, grad):
    _check_grad(l, grad)
    if l.size == 0:
        return l

    def solve(factor, x):
        return lax.linalg.triangular_solve(factor, x, left_side=True, lower=True, transpose_a=True)

    return _gradient(jnp, l, grad, solve).astype(l.dtype)


@CholeskyGrad.cases
def cholesky_grad_cases(case):
    factor = np.array([[2.0, 0, 0], [1, 3, 0], [4, 5, 6]])
    grad = np.arange(9.0).reshape(3, 3)
    gives = np.array([[-49 / 108, 19 / 54, 5 / 36], [19 / 54, 31 / 54, 1 / 18], [5 / 36, 1 / 18, 2 / 3]])
    case(factor, grad, gives=gives, tol=1e-12)
    case(np.stack([factor] * 2), np.stack([grad] * 2))
    case(np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32))
    case.shapes("[?,3,?];?", "[?,3,3]")
    case.fails("[2,3];[3,3]", match="must be equal, but are 2 and 3")
    case.fails("[3];[3,3]", match="at least rank 2 but is rank 1")
    case.fails((factor, grad[:2]), match="must have the same shape")


@Cholesky.cases
def cholesky_cases(case):
    case([[4.0, 2.0], [2.0, 5.0]], gives=[[2.0, 0.0], [1.0, 2.0]], tol=1e-6, grad=False)
    x = case.normal(2, 3, 3, dtype=np.float64)
    case(x @ np.swapaxes(x, 1, 2) + np.eye(3), grad=False)
    case.shapes("[?,?,3]", "[?,3,3]")
    case.fails("[2,3]", match="must be equal, but are 2 and 3")
    case.fails(([[-1.0, 0.0], [0.0, 1.0]],), match="Cholesky decomposition was not successful.")


@export("cholesky", "linalg.cholesky")
def cholesky(input, name=None):
    """Returns the Cholesky factors of positive definite matrices.

    Args:
      input: Symmetric matrices, in the last two dimensions; the lower triangles are read.
      name: The node's name.

    Returns:
      Lower triangular matrices that times their adjoints are the input.
    """
    return raw.Cholesky(input, name=name)
