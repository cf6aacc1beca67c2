"""Norms of vectors and matrices."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor


@export("norm", "linalg.norm")
def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """Returns the norm of vectors, matrices, or of all elements of a tensor.

    Args:
      tensor: A float or complex tensor.
      ord: `euclidean` (or `fro` for matrices), 1, 2, infinity, or any positive number for vectors.
      axis: The axis of the vectors, a pair of axes of the matrices, or None for all elements as one vector.
      keepdims: Keeps the reduced axes with length 1.
      name: A name scope for the nodes.
      keep_dims: The older name of `keepdims`.

    Raises:
      ValueError: `ord` or `axis` is none of those.
      NotImplementedError: The 2-norm of matrices is asked for.
    """
    if keep_dims is not None:
        if keepdims is not None:
            raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'")
        keepdims = keep_dims
    keepdims = bool(keepdims)
    matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    if isinstance(axis, (tuple, list)) and not 1 <= len(axis) <= 2:
        raise ValueError("'axis' must be None, an integer, or a tuple of 1 or 2 integers")
    if matrix:
        axis = tuple(axis)
        if axis[0] == axis[1]:
            raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
        if ord not in ("euclidean", "fro", 1, 2, np.inf):
            raise ValueError(
                f"'ord' must be a supported matrix norm in {['euclidean', 'fro', 1, 2, np.inf]}, got {ord}"
            )
        if ord == 2:
            raise NotImplementedError("the 2-norm of matrices needs singular values, which are not there yet")
    elif ord not in ("euclidean", 1, 2, np.inf) and not (
        not isinstance(ord, str) and np.isreal(ord) and ord > 0
    ):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    axes = axis if axis is None or matrix else [axis[0] if isinstance(axis, (tuple, list)) else axis]
    tf = NAMES
    with name_scope(name, "norm", [tensor]):
        tensor = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean") or (ord == 2 and not matrix):
            squares = tensor * tf["math.conj"](tensor)
            result = tf["sqrt"](tf["reduce_sum"](squares, axes, keepdims=True))
        else:
            result = tf["abs"](tensor)
            first = None if axis is None else axis[0] if matrix else axis
            if ord == 1:
                result = tf["reduce_sum"](result, first, keepdims=True)
                if matrix:
                    result = tf["reduce_max"](result, axis[1], keepdims=True)
            elif ord == np.inf:
                if matrix:
                    result = tf["reduce_sum"](result, axis[1], keepdims=True)
                result = tf["reduce_max"](result, first, keepdims=True)
            else:
                powers = tf["reduce_sum"](tf["pow"](result, ord), axes, keepdims=True)
                result = tf["pow"](powers, 1.0 / ord)
        return result if keepdims else tf["squeeze"](result, axis)
