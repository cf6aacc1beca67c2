"""Shapes of square matrices, and products and adjoints as TensorFlow builds them."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from headrace import errors
from headrace.export import NAMES
from headrace.shapes import merge, merge_dim, with_rank_at_least


def square(shape):
    """Returns the shape of a batch of matrices, whose last two dimensions must be the same.

    Raises:
      ValueError: The rank is less than 2, or the matrices are not square.
    """
    shape = with_rank_at_least(shape, 2)
    if shape is None:
        return None
    n = merge_dim(shape[-2], shape[-1])
    return (*shape[:-2], n, n)


def solved(matrix, rhs, must_be_square=True):
    """Returns the shape of what solves linear systems.

    Raises:
      ValueError: The shapes do not fit.
    """
    if must_be_square:
        matrix = square(matrix)
    matrix, rhs = with_rank_at_least(matrix, 2), with_rank_at_least(rhs, 2)
    if matrix is None:
        return None
    if rhs is None:
        return (*matrix[:-2], matrix[-1], None)

    batch = merge(matrix[:-2], rhs[:-2])
    rows = merge_dim(matrix[-2], rhs[-2])
    inner = rows if must_be_square else matrix[-1]
    return (*batch, inner, rhs[-1])


def invalid(message: str) -> NoReturn:
    """Raises an InvalidArgumentError; the runtime adds the node."""
    raise errors.InvalidArgumentError(None, None, message)


def widened(xp, x):
    """Returns half-precision matrices as float32, and others as they are."""
    return x.astype(xp.float32) if x.dtype == np.float16 else x


def adjoint_of(xp, x):
    """Returns the conjugate transpose of matrices."""
    x = xp.swapaxes(x, -1, -2)
    return xp.conj(x) if xp.iscomplexobj(x) else x


def product(a, b, **flags):
    """Multiplies matrices as `tf.matmul` does."""
    return NAMES["matmul"](a, b, **flags)


def adjoint(x):
    """Takes conjugate transposes as `tf.linalg.adjoint` does."""
    return NAMES["linalg.adjoint"](x)


def check_matrices(input: np.ndarray, *, of: str = "matrix") -> None:
    """Raises an InvalidArgumentError unless these are square matrices: what static shapes could not tell.

    Args:
      input: The batch of matrices.
      of: What they are called: `matrix`, or `lhs` where they belong to linear systems.
    """
    if input.ndim < 2:
        invalid(f"Input tensor must have rank >= 2, got {input.ndim}")
    if input.shape[-1] != input.shape[-2]:
        invalid(
            "First input (lhs) must be a square matrix." if of == "lhs" else "Input matrix must be square."
        )


def check_systems(matrix, rhs, must_be_square: bool = True) -> None:
    """Raises an InvalidArgumentError unless matrices and right-hand sides make linear systems."""
    for operand in (matrix, rhs):
        if operand.ndim < 2:
            invalid(f"Input tensor must have rank >= 2, got {operand.ndim}")
    if must_be_square:
        check_matrices(matrix, of="lhs")
    if matrix.shape[:-2] != rhs.shape[:-2]:
        invalid("All input tensors must have the same outer dimensions.")
    if matrix.shape[-2] != rhs.shape[-2]:
        invalid("Input matrix and rhs are incompatible.")


def batch_of(x):
    """Yields the matrices of a batch."""
    yield from x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def eliminated(matrix):
    """Factors one matrix in place by Gaussian elimination with row exchanges.

    Args:
      matrix: A square matrix; L below the diagonal and U stand in it afterwards.

    Returns:
      The order of the rows, or None where a column has no pivot.
    """
    n = len(matrix)
    order = np.arange(n)
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(matrix[i:, i])))
        if not np.abs(matrix[pivot, i]) > 0:
            return None
        if pivot != i:
            matrix[[i, pivot]] = matrix[[pivot, i]]
            order[[i, pivot]] = order[[pivot, i]]
        matrix[i + 1 :, i] /= matrix[i, i]
        matrix[i + 1 :, i + 1 :] -= np.outer(matrix[i + 1 :, i], matrix[i, i + 1 :])
    return order
