"""MatrixSolveLs, and least squares by the normal equations."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.lazy import jax, jnp
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.ops.linalg.parts import adjoint_of, check_systems, invalid, product, solved, widened

MatrixSolveLs = op("""
    MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double) -> (output: T)
      T: {double, float, half, complex64, complex128}
      fast: bool = true

    The solutions of systems of linear equations with the least squared error.
""")


@MatrixSolveLs.shape
def matrix_solve_ls_shape(matrix, rhs, l2_regularizer):
    if l2_regularizer is not None and len(l2_regularizer) != 0:
        shapes.with_rank(l2_regularizer, 0)
    return solved(matrix, rhs, must_be_square=False)


def _check(matrix, rhs, regularizer):
    if np.ndim(regularizer):
        invalid(f"l2_regularizer must be scalar, got shape {shapes.to_text(np.shape(regularizer))}")
    check_systems(matrix, rhs, must_be_square=False)


@MatrixSolveLs.host
def matrix_solve_ls_host(matrix, rhs, l2_regularizer, *, fast):
    _check(matrix, rhs, l2_regularizer)
    if l2_regularizer < 0:
        invalid("l2_regularizer must be >= 0.")
    *batch, m, n = matrix.shape
    out = np.zeros((*batch, n, rhs.shape[-1]), matrix.dtype)
    if out.size == 0 or matrix.size == 0:
        return out
    a, b = widened(np, matrix), widened(np, rhs)
    if not fast:
        # TensorFlow leaves the regularizer out here.
        for i in np.ndindex(*batch):
            out[i] = np.linalg.lstsq(a[i], b[i], rcond=None)[0]
        return out
    try:
        return _by_normal_equations(
            np, a, b, l2_regularizer.astype(a.real.dtype), _solved_by_cholesky
        ).astype(matrix.dtype)
    except np.linalg.LinAlgError:
        more = "provide a larger l2_regularizer > 0." if m >= n else "provide an l2_regularizer > 0."
        invalid(f"Input matrix was rank deficient or ill-conditioned. Try setting fast=False or {more}")


def _solved_by_cholesky(gramian, rhs):
    if not np.all(np.isfinite(gramian)):
        return np.full_like(rhs, np.nan)
    np.linalg.cholesky(gramian)  # refuses what is not positive definite
    return np.linalg.solve(gramian, rhs)


def _by_normal_equations(xp, a, b, regularizer, solve):
    m, n = a.shape[-2:]
    adjoint = adjoint_of(xp, a)
    eye = xp.eye(min(m, n), dtype=a.dtype) * regularizer
    if m >= n:
        return solve(adjoint @ a + eye, adjoint @ b)
    return adjoint @ solve(a @ adjoint + eye, b)


@MatrixSolveLs.lower
def matrix_solve_ls_lower(matrix, rhs, l2_regularizer, *, fast, ctx):
    _check(matrix, rhs, l2_regularizer)
    if matrix.size == 0 or rhs.size == 0:
        return jnp.zeros((*matrix.shape[:-2], matrix.shape[-1], rhs.shape[-1]), matrix.dtype)
    a, b = widened(jnp, matrix), widened(jnp, rhs)
    ctx.check(jnp.asarray(l2_regularizer) >= 0, "l2_regularizer must be >= 0")
    if not fast:
        return _of_least_norm(a, b).astype(matrix.dtype)

    def solve(gramian, rhs):
        factor = jnp.linalg.cholesky(gramian, symmetrize_input=False)
        ctx.check(jnp.all(jnp.isfinite(factor)), "a matrix is rank deficient")
        return jax.scipy.linalg.cho_solve((factor, True), rhs)

    regularizer = jnp.asarray(l2_regularizer).astype(a.real.dtype)
    return _by_normal_equations(jnp, a, b, regularizer, solve).astype(matrix.dtype)


def _of_least_norm(a, b):
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    least = jnp.finfo(s.dtype).eps * max(a.shape[-2:]) * s[..., :1]
    inverse = jnp.where(s > least, 1 / jnp.where(s > least, s, 1), 0)
    return adjoint_of(jnp, vh) @ (inverse[..., None] * (adjoint_of(jnp, u) @ b))


@MatrixSolveLs.grad
def matrix_solve_ls_grad(op, dy):
    if not op.attrs["fast"]:
        raise ValueError("Gradient not defined for fast=False")
    a, b = op.inputs[:2]
    if a._dims is None or None in a._dims[-2:]:
        # TensorFlow fails with this sentence while it makes the two branches of a condition.
        raise ValueError("None values not supported.")
    regularizer = NAMES["cast"](op.inputs[2], a.dtype.base_dtype)
    if a._dims[-2] >= a._dims[-1]:
        factor = _factor(a, regularizer, tall=True)
        z = _substituted(factor, dy)
        xz = product(op.outputs[0], z, adjoint_b=True)
        both = xz + NAMES["matrix_transpose"](xz)
        da = -product(a, both) + product(b, z, adjoint_b=True)
        return da, product(a, z), None
    factor = _factor(a, regularizer, tall=False)
    db = _substituted(factor, product(a, dy))
    z = _substituted(factor, b)
    first = -product(db, product(z, a, adjoint_a=True))
    rest = dy - product(a, db, adjoint_a=True)
    return first + product(z, rest, adjoint_b=True), db, None


def _substituted(factor, rhs):
    return NAMES["cholesky_solve"](factor, rhs)


def _factor(matrix, regularizer, tall):
    """Makes the Cholesky factor of a matrix times its adjoint, regularized where `regularizer` is not None."""
    gramian = product(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
    if regularizer is not None:
        shape = NAMES["shape"](matrix)
        batch = shape[:-2]
        n = shape[-1] if tall else shape[-2]
        eye = NAMES["eye"](n, batch_shape=batch, dtype=matrix.dtype)
        gramian = gramian + regularizer * eye
    return raw.Cholesky(gramian)


@MatrixSolveLs.cases
def matrix_solve_ls_cases(case):
    a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    b = np.array([[1.0], [2.0], [4.0]])
    none, some = np.float64(0.0), np.float64(0.5)
    case(
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), b, none, gives=np.array([[4 / 3], [7 / 3]]), tol=1e-9
    )
    case(a, b, none, gives=np.array([[2 / 3], [1 / 12]]), tol=1e-9)
    case(a, b, none, gives=np.array([[2 / 3], [1 / 12]]), tol=1e-9, fast=False, grad=False)
    case(a.T, b[:2], some, gives=np.array([[10 / 31], [6 / 31], [2 / 31]]), tol=1e-9)
    case(a.astype(np.float32), b.astype(np.float32), some, fast=False, grad=False,
         gives=np.array([[2 / 3], [1 / 12]], np.float32), tol=1e-5)  # fmt: skip
    case(np.ones((2, 3)), b[:2], none, fast=False, grad=False, gives=np.full((3, 1), 0.5), tol=1e-9)
    case(case.normal(2, 4, 3, dtype=np.float64), case.normal(2, 4, 2, dtype=np.float64), some)
    case(case.normal(2, 3, 4, dtype=np.float64), case.normal(2, 3, 2, dtype=np.float64), some)
    case(np.zeros((2, 0), np.float32), np.zeros((2, 1), np.float32), none, grad=False)
    case.shapes("[4,3,2];[4,3,5];[]", "[4,2,5]")
    case.fails("[3,2];[2,1];[]", match="must be equal, but are 3 and 2")
    case.fails("[3,2];[3,1];[1]", match="must be rank 0 but is rank 1")
    case.fails((a, b, np.float64(-1)), match="l2_regularizer must be >= 0.")
    case.fails((np.ones((3, 2)), b, none), match="ill-conditioned.*provide a larger l2_regularizer > 0")
    case.fails((np.ones((2, 3)), b[:2], none), match="ill-conditioned.*provide an l2_regularizer > 0")


@export("matrix_solve_ls", "linalg.lstsq")
def matrix_solve_ls(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """Returns what solves systems of linear equations with the least squared error.

    Args:
      matrix: Matrices, in the last two dimensions.
      rhs: The right-hand sides, as columns.
      l2_regularizer: How much the squared size of the solution counts; has no effect if `fast` is False.
      fast: Whether to solve the normal equations, which is quick and less exact. Otherwise systems without full rank
        are solved as well, by the smallest of the best solutions.
      name: The scope's name.

    Raises:
      NotImplementedError: The type is complex128 and there is a regularizer, as in TensorFlow.
    """
    given = convert_to_tensor(matrix, name="matrix")
    regularizer = l2_regularizer if l2_regularizer != 0 else None
    if given.dtype.base_dtype is dtypes.complex128 and regularizer is not None:
        raise NotImplementedError(
            "matrix_solve_ls is currently disabled for complex128 and l2_regularizer != 0 due to poor accuracy."
        )
    if not fast:
        return raw.MatrixSolveLs(given, rhs, l2_regularizer, fast=fast, name=name)
    with name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):

        def tall():
            factor = _factor(given, regularizer, tall=True)
            return _substituted(factor, product(given, rhs, adjoint_a=True))

        def wide():
            return product(given, _substituted(_factor(given, regularizer, tall=False), rhs), adjoint_a=True)

        dims = given._dims
        if dims is not None and None not in dims[-2:]:
            return tall() if dims[-2] >= dims[-1] else wide()
        last = NAMES["shape"](given)[-2:]
        return NAMES["cond"](last[-2] >= last[-1], tall, wide)
