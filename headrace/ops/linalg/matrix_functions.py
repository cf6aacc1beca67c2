"""MatrixExponential, MatrixLogarithm and MatrixSquareRoot."""

from __future__ import annotations

import math

import numpy as np

from headrace.export import NAMES
from headrace.lazy import LazyModule, jax, jnp
from headrace.opdef import export, nodes, op, raw
from headrace.ops.linalg.parts import batch_of, check_matrices, square, widened

# Schur decompositions are in neither NumPy nor XLA.
_scipy_linalg = LazyModule("scipy.linalg")

MatrixExponential = op("""
    MatrixExponential(input: T) -> (output: T)
      T: {double, float, half, complex64, complex128}
      deprecated 27

    The exponentials of matrices.
""", shape=square)  # fmt: skip

MatrixLogarithm = op("""
    MatrixLogarithm(input: T) -> (output: T)
      T: {complex64, complex128}

    The principal logarithms of matrices.
""", shape=square)  # fmt: skip

MatrixSquareRoot = op("""
    MatrixSquareRoot(input: T) -> (output: T)
      T: {double, float, half, complex64, complex128}

    The principal square roots of matrices.
""", shape=square)  # fmt: skip


def _each(input, function):
    check_matrices(input)
    if input.size == 0:
        return input
    with np.errstate(all="ignore"):
        results = [function(one) for one in batch_of(widened(np, input))]
    return np.stack(results).reshape(input.shape).astype(input.dtype)


@MatrixExponential.host
def matrix_exponential_host(input):
    return _each(input, _scipy_linalg.expm)


@MatrixExponential.lower
def matrix_exponential_lower(input):
    check_matrices(input)
    if input.size == 0:
        return input
    return jax.scipy.linalg.expm(widened(jnp, input)).astype(input.dtype)


def _triangular(matrix):
    """Returns T and Q of a matrix's complex Schur decomposition Q T Q*, in double precision."""
    return _scipy_linalg.schur(matrix.astype(np.complex128), output="complex")


def _logarithm(matrix):
    if not np.all(np.isfinite(matrix)):
        return np.full_like(matrix, np.nan + 1j * np.nan)
    t, q = _triangular(matrix)
    if np.any(np.diagonal(t) == 0):
        return np.full_like(matrix, np.nan + 1j * np.nan)
    diagonal = np.diagonal(t)
    if np.array_equal(np.triu(t, 1), np.zeros_like(t)):
        return (q * np.log(diagonal)) @ q.conj().T
    return q @ _scipy_linalg.logm(t) @ q.conj().T


@MatrixLogarithm.host
def matrix_logarithm_host(input):
    return _each(input, _logarithm)


def _root_of_triangular(t):
    """Returns the square root of an upper triangular matrix, diagonal by diagonal."""
    n = len(t)
    root = np.diag(np.sqrt(np.diagonal(t)))
    for j in range(n):
        for i in range(j - 1, -1, -1):
            rest = t[i, j] - root[i, i + 1 : j] @ root[i + 1 : j, j]
            root[i, j] = rest / (root[i, i] + root[j, j])
    return root


def _square_root(matrix):
    if not np.all(np.isfinite(matrix)):
        return np.full_like(matrix, np.nan)
    if np.iscomplexobj(matrix):
        t, q = _triangular(matrix)
        return q @ _root_of_triangular(t) @ q.conj().T
    t, q = _scipy_linalg.schur(matrix.astype(np.float64), output="real")
    alone = np.ones(len(t), bool)
    pairs = np.flatnonzero(np.diagonal(t, -1))
    alone[pairs] = alone[pairs + 1] = False
    if np.any(np.diagonal(t)[alone] < 0):
        return np.full_like(matrix, np.nan)
    t, q = _scipy_linalg.rsf2csf(t, q)
    return (q @ _root_of_triangular(t) @ q.conj().T).real


@MatrixSquareRoot.host
def matrix_square_root_host(input):
    return _each(input, _square_root)


def _kronecker(left, right):
    """Multiplies matrices as blocks: every element of the left times the whole of the right."""
    concat, shape_of = NAMES["concat"], NAMES["shape"]
    shape, other = shape_of(left), shape_of(right)
    m, n = shape[-1], other[-1]
    batch = _batch(shape)
    left_shape = concat([batch, [m], [1], [m], [1]], 0)
    right_shape = concat([batch, [1], [n], [1], [n]], 0)
    left, right = raw.Reshape(left, left_shape), raw.Reshape(right, right_shape)
    size = m * n
    whole = concat([batch, [size], [size]], 0)
    return raw.Reshape(left * right, whole)


def _batch(shape):
    return raw.Slice(shape, [0], [raw.Sub(nodes.size_of(shape), 2)])


@MatrixSquareRoot.grad
def matrix_square_root_grad(op, dy):
    # The root R of A has dR R + R dR = dA, a linear system in the elements of dR.
    concat, transpose = NAMES["concat"], NAMES["matrix_transpose"]
    root = op.outputs[0]
    shape = NAMES["shape"](root)
    n = shape[-1]
    count = NAMES["reduce_prod"](shape[0:-2])
    flat = raw.Reshape(NAMES["eye"](n, dtype=root.dtype), [-1])
    eye = raw.Reshape(raw.Tile(flat, [count]), shape)
    system = raw.Add(_kronecker(eye, transpose(root)), _kronecker(root, eye))
    column = concat([_batch(shape), [n * n], [1]], 0)
    solution = raw.MatrixSolve(system, raw.Reshape(transpose(dy), column))
    return transpose(raw.Reshape(solution, shape))


@MatrixExponential.cases
def matrix_exponential_cases(case):
    e = math.e
    case([[0.0, 1.0], [0.0, 0.0]], gives=[[1.0, 1.0], [0.0, 1.0]], tol=1e-6)
    case(np.diag([1.0, 2.0]), gives=np.diag([e, e * e]), tol=1e-12)
    case(5 * case.normal(2, 3, 3, dtype=np.float64))
    case(np.zeros((0, 0), np.float32))
    case.shapes("[?,?,3]", "[?,3,3]")
    case.fails("[2,3]", match="must be equal, but are 2 and 3")


@MatrixLogarithm.cases
def matrix_logarithm_cases(case):
    case(np.array([[1, 1], [0, 1]], np.complex64), gives=np.array([[0, 1], [0, 0]], np.complex64), tol=1e-6)
    case(
        np.diag([-1.0, math.e]).astype(np.complex128),
        gives=np.diag([math.pi * 1j, 1.0]).astype(np.complex128),
        tol=1e-12,
    )
    case(np.zeros((2, 2), np.complex64), gives=np.full((2, 2), np.nan * 1j + np.nan, np.complex64))
    case(case.normal(2, 3, 3, dtype=np.float64) + 1j * case.normal(2, 3, 3, dtype=np.float64))
    case(np.zeros((0, 0), np.complex64))
    case.shapes("[?,?,3]", "[?,3,3]")
    case.fails("[2,3]", match="must be equal, but are 2 and 3")


@MatrixSquareRoot.cases
def matrix_square_root_cases(case):
    case([[4.0, 1.0], [0.0, 9.0]], gives=[[2.0, 0.2], [0.0, 3.0]], tol=1e-5, grad=False)
    case(
        np.array([[0.0, -1.0], [1.0, 0.0]]), gives=np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2), tol=1e-12
    )
    case([[4.0, 1.0], [0.0, -9.0]], gives=np.full((2, 2), np.nan, np.float32), grad=False)
    case(
        np.diag([-1, -4]).astype(np.complex64),
        gives=np.diag([1j, 2j]).astype(np.complex64),
        tol=1e-6,
        grad=False,
    )
    x = case.normal(2, 3, 3, dtype=np.float64)
    case(x @ np.swapaxes(x, 1, 2) + np.eye(3))
    case(np.zeros((0, 0), np.float32), grad=False)
    case.shapes("[?,?,3]", "[?,3,3]")
    case.fails("[2,3]", match="must be equal, but are 2 and 3")


@export("linalg.logm")
def logm(input, name=None):
    """Returns the principal logarithms of matrices.

    Args:
      input: Complex square matrices, in the last two dimensions.
      name: The node's name.
    """
    return raw.MatrixLogarithm(input, name=name)


@export("matrix_square_root", "linalg.sqrtm")
def sqrtm(input, name=None):
    """Returns the principal square roots of matrices: those whose eigenvalues have no negative real parts.

    A real matrix without a real root gives NaN.

    Args:
      input: Square matrices, in the last two dimensions.
      name: The node's name.
    """
    return raw.MatrixSquareRoot(input, name=name)
