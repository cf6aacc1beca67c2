"""Determinants and their logarithms."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.ops.linalg.parts import check_matrices, square, widened

_TYPES = "T: {half, float, double, complex64, complex128}"

MatrixDeterminant = op(f"""
    MatrixDeterminant(input: T) -> (output: T)
      {_TYPES}

    The determinants of matrices.
""")

LogMatrixDeterminant = op(f"""
    LogMatrixDeterminant(input: T) -> (sign: T, log_abs_determinant: T)
      {_TYPES}

    The signs of determinants and the logarithms of their sizes.
""")


@MatrixDeterminant.shape
def matrix_determinant_shape(input):
    shape = _square(input)
    return None if shape is None else shape[:-2]


def _square(input):
    # TensorFlow names the columns first here.
    if input is not None and len(input) >= 2:
        rows, columns = input[-2:]
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(f"Dimensions must be equal, but are {columns} and {rows}")
    return square(input)


@LogMatrixDeterminant.shape
def log_matrix_determinant_shape(input):
    shape = square(input)
    return [None, None] if shape is None else [shape[:-2]] * 2


@MatrixDeterminant.host
def matrix_determinant_host(input):
    check_matrices(input)
    return np.asarray(np.linalg.det(widened(np, input)), input.dtype)


@MatrixDeterminant.lower
def matrix_determinant_lower(input):
    check_matrices(input)
    if input.size == 0:
        return jnp.ones(input.shape[:-2], input.dtype)
    return jnp.linalg.det(widened(jnp, input)).astype(input.dtype)


@LogMatrixDeterminant.host
def log_matrix_determinant_host(input):
    check_matrices(input)
    sign, log = np.linalg.slogdet(widened(np, input))
    return np.asarray(sign).astype(input.dtype), np.asarray(log).astype(input.dtype)


@LogMatrixDeterminant.lower
def log_matrix_determinant_lower(input):
    check_matrices(input)
    if input.size == 0:
        return jnp.ones(input.shape[:-2], input.dtype), jnp.zeros(input.shape[:-2], input.dtype)
    sign, log = jnp.linalg.slogdet(widened(jnp, input))
    return sign.astype(input.dtype), log.astype(input.dtype)


def _spread(y, like):
    """Gives each scalar of a batch two axes of length 1, to go with matrices."""
    return raw.Reshape(y, NAMES["concat"]([NAMES["shape"](like), [1, 1]], 0))


@MatrixDeterminant.grad
def matrix_determinant_grad(op, dy):
    determinant = op.outputs[0]
    inverse = raw.MatrixInverse(op.inputs[0], adjoint=True)
    scale = _spread(raw.Mul(dy, determinant, name="mul"), determinant)
    return raw.Mul(scale, inverse, name="mul")


@LogMatrixDeterminant.grad
def log_matrix_determinant_grad(op, _, dy):
    inverse = raw.MatrixInverse(op.inputs[0], adjoint=True)
    return raw.Mul(_spread(dy, op.outputs[1]), inverse, name="mul")


@MatrixDeterminant.cases
def matrix_determinant_cases(case):
    case([[2.0, 1.0], [1.0, 3.0]], gives=np.float32(5.0), tol=1e-6)
    case(case.normal(2, 3, 3, dtype=np.float64) + 3 * np.eye(3))
    case(np.zeros((0, 0), np.float32), gives=np.float32(1.0), grad=False)
    case.shapes("[4,?,3]", "[4]")
    case.fails("[2,3]", match="must be equal, but are 3 and 2")


@LogMatrixDeterminant.cases
def log_matrix_determinant_cases(case):
    case([[0.0, 1.0], [1.0, 0.0]], gives=(np.float32(-1.0), np.float32(0.0)), grad=False)
    case(case.normal(2, 3, 3, dtype=np.float64) + 3 * np.eye(3), grad=False)
    case.shapes("[4,?,3]", "[4];[4]")
    case.fails("[2,3]", match="must be equal, but are 2 and 3")


@export("matrix_determinant", "linalg.det")
def matrix_determinant(input, name=None):
    """Returns the determinants of matrices.

    Args:
      input: Square matrices, in the last two dimensions.
      name: The node's name.
    """
    return raw.MatrixDeterminant(input, name=name)


@export("linalg.slogdet")
def slogdet(input, name=None):
    """Returns the signs of the determinants of matrices, and the logarithms of their sizes.

    Args:
      input: Square matrices, in the last two dimensions.
      name: The node's name.

    Returns:
      A named tuple of `sign` and `log_abs_determinant`.
    """
    return raw.LogMatrixDeterminant(input, name=name)


@export("linalg.logdet")
def logdet(matrix, name=None):
    """Returns the logarithms of the determinants of positive definite matrices.

    Args:
      matrix: Symmetric positive definite matrices, in the last two dimensions.
      name: The scope's name.
    """
    with name_scope(name, "logdet", [matrix]):
        factor = raw.Cholesky(convert_to_tensor(matrix, name="matrix"))
        diagonal = NAMES["real"](NAMES["matrix_diag_part"](factor))
        return 2.0 * NAMES["reduce_sum"](raw.Log(diagonal), axis=[-1])
