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
    """
    if keep_dims is not None:
        if keepdims is not None:
            raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'")
        keepdims = keep_dims
    keepdims = bool(keepdims)
    matrix = isinstance(axis, (tuple, list))
    if matrix:
        axis = tuple(axis)
    if not (axis is None or _is_number(axis) or (matrix and _are_two_axes(axis))):
        raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
    if matrix:
        if ord not in ("euclidean", "fro", 1, 2, np.inf):
            raise ValueError(
                f"'ord' must be a supported matrix norm in {['euclidean', 'fro', 1, 2, np.inf]}, got {ord}"
            )
    elif ord not in ("euclidean", 1, 2, np.inf) and not (
        not isinstance(ord, str) and np.isreal(ord) and ord > 0
    ):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    axes = axis if axis is None or matrix else [axis]
    tf = NAMES
    with name_scope(name, "norm", [tensor]):
        tensor = convert_to_tensor(tensor)
        if ord in ("fro", "euclidean") or (ord == 2 and not matrix):
            squares = tensor * tf["math.conj"](tensor)
            result = tf["sqrt"](tf["reduce_sum"](squares, axes, keepdims=True))
        elif ord == 2:
            result = _largest_singular_value(tensor, axis)
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


def _is_number(axis):
    return isinstance(axis, (int, np.integer))


def _are_two_axes(axis):
    return len(axis) == 2 and all(map(_is_number, axis)) and axis[0] != axis[1]


def _largest_singular_value(tensor, axis):
    """Makes the greatest singular values of the matrices along two axes.

    The orders of the axes are found by loops in the graph, as in TensorFlow: they are known while building only where
    the rank is.
    """
    tf = NAMES
    rank = tf["rank"](tensor)

    def from_the_start(i):
        return tf["cond"](i >= 0, lambda: i, lambda: i + rank)

    last = tf["map_fn"](from_the_start, convert_to_tensor(axis))
    axes = tf["range"](rank)
    order = tf["concat"]([tf["setdiff1d"](axes, last)[0], last], 0)

    def place(i):
        return tf["cast"](tf["squeeze"](tf["where"](tf["equal"](order, i))), "int32")

    back = tf["map_fn"](place, axes)
    values = tf["abs"](tf["svd"](tf["transpose"](tensor, perm=order), compute_uv=False))
    largest = tf["reduce_max"](values, axis=-1, keepdims=True)
    return tf["transpose"](tf["expand_dims"](largest, -1), perm=back)


@export("linalg.normalize")
def normalize(tensor, ord="euclidean", axis=None, name=None):
    """Returns a tensor divided by its norm, and the norm.

    Args:
      tensor: A float or complex tensor.
      ord: Which norm, as in `norm`.
      axis: The axes of the vectors or matrices, as in `norm`.
      name: A name scope for the nodes.

    Returns:
      The normalized tensor and the norms, whose reduced axes have length 1.
    """
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        size = NAMES["cast"](norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / size, size
