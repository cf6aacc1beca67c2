"""Shapes of square matrices, and products and adjoints as TensorFlow builds them."""

from __future__ import annotations

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
        return (*matrix[:-1], None)

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
