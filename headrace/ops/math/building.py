"""What gradients and wrappers of this topic build over and over, folded as TensorFlow folds it.

TensorFlow writes a constant in place of a Shape, Size or Rank node whose value is known while building; graphs agree
node for node only if we do too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import as_dtype
from headrace.graph.default import control_dependencies, name_scope
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.tensor import Tensor
from headrace.opdef import constant_node, raw
from headrace.opdef.nodes import ones_like, rank_of, shape_of, size_of, zeros, zeros_like

__all__ = [
    "after",
    "cast_to",
    "conjugate",
    "int32",
    "ones_like",
    "range_to",
    "rank_of",
    "scalar",
    "shape_of",
    "size_of",
    "zeros",
    "zeros_like",
]


def int32(values: Any) -> np.ndarray[Any, Any]:
    """Returns an operand that becomes an int32 constant, even when empty."""
    return np.array(values, np.int32)


def cast_to(x: Any, dtype: Any, name: str = "Cast") -> Any:
    """Returns `x` as a tensor of this type; nothing is added for a tensor that has it."""
    dtype = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype is dtype:
        return x
    with name_scope(name) as scope:
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast_to(x.values, dtype, scope), x.indices, x.dense_shape)
        if not isinstance(x, Tensor):
            from headrace.opdef import convert_to_tensor

            x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype is not dtype:
            x = raw.Cast(x, DstT=dtype, name=scope)
        return x


def scalar(value: Any, like: Tensor, name: str = "Const") -> Tensor:
    """Returns a constant of the type of `like`."""
    return constant_node(value, like.dtype.base_dtype, name=name)


def conjugate(x: Tensor) -> Tensor:
    """Returns the complex conjugate: `x` itself if it is real."""
    return raw.Conj(x) if x.dtype.is_complex else x


def after(dy: Any) -> Any:
    """Returns a context in which new nodes wait for the gradient that flows in, as TensorFlow has it for some ops."""
    return control_dependencies([dy.values if isinstance(dy, IndexedSlices) else dy])


def range_to(limit: Any) -> Tensor:
    """Returns 0 .. limit-1 as `tf.range(0, limit)` builds it."""
    with name_scope("range") as scope:
        start = constant_node(int32(0), name="start")
        delta = constant_node(int32(1), name="delta")
        return raw.Range(start, limit, delta, name=scope)
