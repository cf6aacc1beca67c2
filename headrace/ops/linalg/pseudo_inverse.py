"""`tf.linalg.pinv` and `matrix_rank`, by singular values."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import control_dependencies, name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.linalg.parts import product


def _matrices(a, validate_args):
    """Makes a tensor of matrices, checked as far as their rank is known, or while running if asked for."""
    a = convert_to_tensor(a, name="a")
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    message = "Input `a` must have at least 2 dimensions"
    if a._dims is not None:
        if len(a._dims) < 2:
            raise ValueError(f"{message} (saw: {len(a._dims)}).")
    elif validate_args:
        with control_dependencies(
            [NAMES["debugging.assert_rank_at_least"](a, rank=2, message=f"{message}.")]
        ):
            return NAMES["identity"](a)
    return a


def _size(a, axis):
    known = None if a._dims is None else a._dims[axis]
    return NAMES["shape"](a)[axis] if known is None else known


@export("linalg.pinv")
def pinv(a, rcond=None, validate_args=False, name=None):
    """Returns the Moore-Penrose pseudo-inverses of matrices.

    Args:
      a: Matrices of floats, in the last two dimensions.
      rcond: Singular values up to this part of the largest count as zero; by default 10 times the larger dimension
        times the type's precision.
      validate_args: Whether to check the rank while running, if it is not known before.
      name: The scope's name.

    Raises:
      TypeError: `a` does not hold floats.
      ValueError: `a` has fewer than two dimensions.
    """
    tf = NAMES
    with name_scope(name, "pinv", [a, rcond]):
        a = _matrices(a, validate_args)
        if rcond is None:
            rows, columns = _size(a, -2), _size(a, -1)
            if isinstance(rows, int) and isinstance(columns, int):
                larger = float(max(rows, columns))
            else:
                larger = tf["cast"](tf["maximum"](rows, columns), a.dtype)
            rcond = 10.0 * larger * np.finfo(a.dtype.storage).eps
        rcond = convert_to_tensor(rcond, dtype=a.dtype, name="rcond")
        s, u, v = tf["svd"](a, full_matrices=False, compute_uv=True)
        least = rcond * tf["reduce_max"](s, axis=-1)
        infinity = np.array(np.inf, a.dtype.storage)
        s = raw.SelectV2(tf["greater"](s, tf["expand_dims"](least, -1)), s, infinity)
        inverse = product(v / tf["expand_dims"](s, -2), u, adjoint_b=True)
        if a._dims is not None:
            inverse.set_shape((*a._dims[:-2], a._dims[-1], a._dims[-2]))
        return inverse


@export("linalg.matrix_rank")
def matrix_rank(a, tol=None, validate_args=False, name=None):
    """Returns the ranks of matrices: how many of their singular values count.

    Args:
      a: Matrices of floats, in the last two dimensions.
      tol: Up to which singular values count as zero; by default the largest times the larger dimension times the
        type's precision.
      validate_args: Whether to check the rank of the tensor while running, if it is not known before.
      name: The scope's name.

    Raises:
      TypeError: `a` does not hold floats.
      ValueError: `a` has fewer than two dimensions.
    """
    tf = NAMES
    with name_scope(name, "matrix_rank", [a, tol]):
        a = _matrices(a, validate_args)
        s = tf["svd"](a, compute_uv=False)
        if tol is None:
            if a._dims is not None and None not in a._dims[-2:]:
                larger = np.int64(max(a._dims[-2:]))
            else:
                larger = tf["reduce_max"](tf["shape"](a)[-2:])
            eps = np.finfo(a.dtype.storage).eps
            tol = eps * tf["cast"](larger, a.dtype) * tf["reduce_max"](s, axis=-1, keepdims=True)
        return tf["reduce_sum"](tf["cast"](tf["greater"](s, tol), dtypes.int32), axis=-1)
