"""Nodes that wrappers and gradients of all topics add: shapes, sizes, zeros and ones.

What is known while the graph is built becomes a constant, as in TensorFlow; the node names are TensorFlow's too.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.graph.default import name_scope
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.tensor import Tensor
from headrace.opdef.convert import constant_node, convert_to_tensor
from headrace.opdef.registry import raw
from headrace.shapes import is_full, num_elements
from headrace.tensor_shape import TensorShape

_SMALL = 1000  # elements from which on zeros and ones are filled at run time instead of stored in the graph


def _is_sparse(value: Any) -> bool:
    return (
        hasattr(value, "dense_shape") and hasattr(value, "indices") and not isinstance(value, IndexedSlices)
    )


def shape_of(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Tensor:
    """Returns the shape of a tensor: a constant where it is fully known and `optimize` is set."""
    with name_scope(name, "Shape", [input]) as name:
        if _is_sparse(input):
            return _cast(input.dense_shape, out_type)
        tensor = convert_to_tensor(input)
        if optimize and is_full(tensor._dims):
            return constant_node(np.array(tensor._dims, as_dtype(out_type).storage), out_type, name=name)
        return raw.Shape(tensor, out_type=out_type, name=name)  # type: ignore[no-any-return]


def size_of(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32
) -> Tensor:
    """Returns the number of elements of a tensor: a constant where it is known and `optimize` is set."""
    with name_scope(name, "Size", [input]) as name:
        if _is_sparse(input):
            return raw.Prod(_cast(input.dense_shape, out_type), 0, name=name)  # type: ignore[no-any-return]
        tensor = convert_to_tensor(input)
        if optimize and is_full(tensor._dims):
            return constant_node(num_elements(tensor._dims), out_type, name=name)
        return raw.Size(tensor, out_type=out_type, name=name)  # type: ignore[no-any-return]


def rank_of(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """Returns the rank of a tensor: a constant where it is known and `optimize` is set."""
    with name_scope(name, "Rank", [input]) as name:
        if _is_sparse(input):
            return raw.Size(input.dense_shape, name=name)  # type: ignore[no-any-return]
        tensor = convert_to_tensor(input)
        if optimize and tensor._dims is not None:
            return constant_node(len(tensor._dims), dtypes.int32, name=name)
        return raw.Rank(tensor, name=name)  # type: ignore[no-any-return]


def _cast(tensor: Any, dtype: Any) -> Tensor:
    dtype = as_dtype(dtype)
    return tensor if tensor.dtype.base_dtype is dtype else raw.Cast(tensor, DstT=dtype, name="Cast")  # type: ignore[no-any-return]


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns zeros; False and empty strings for those types."""
    dtype = as_dtype(dtype).base_dtype
    with name_scope(name, "zeros", [shape]) as name:
        zero: Any = False if dtype is dtypes.bool else "" if dtype is dtypes.string else 0
        return _filled(zero, shape, dtype, name)


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns ones; True for booleans."""
    dtype = as_dtype(dtype).base_dtype
    with name_scope(name, "ones", [shape]) as name:
        return _filled(True if dtype is dtypes.bool else 1, shape, dtype, name)


def _filled(value: Any, shape: Any, dtype: Any, name: str) -> Tensor:
    if not isinstance(shape, Tensor):
        small = _small_constant(value, shape, dtype, name)
        if small is not None:
            return small
        shape = _shape_tensor(shape)
    if shape._dims is not None and len(shape._dims) != 1:
        shape = raw.Reshape(shape, [-1])
    return raw.Fill(shape, constant_node(value, dtype), name=name)  # type: ignore[no-any-return]


def _small_constant(value: Any, shape: Any, dtype: Any, name: str) -> Tensor | None:
    """Returns a constant if `shape` is known and small, else None."""
    if isinstance(shape, TensorShape):
        dims: Any = list(shape) if shape.ndims is not None else None
    elif isinstance(shape, (list, tuple)):
        dims = list(shape)
    elif isinstance(shape, np.ndarray) and shape.ndim == 1:
        dims = shape.tolist()
    else:
        return None
    if not dims:
        size: Any = None if dims is None else 1
    else:
        try:
            # Multiplying tensors among the dimensions adds nodes that nothing uses. TensorFlow adds them as well.
            size = functools.reduce(operator.mul, dims)
            if not size < _SMALL:
                return None
        except TypeError:
            return None
    if size is None:
        return None
    known = [int(getattr(d, "value", d)) for d in dims]
    if any(d < 0 for d in known):
        return None
    return constant_node(
        _repeated(value.encode() if isinstance(value, str) else value, known, dtype.storage), dtype, name=name
    )


def _shape_tensor(shape: Any) -> Tensor:
    dims = shape
    if not isinstance(shape, TensorShape):
        dims = None
        known = np.ndarray if isinstance(shape, np.ndarray) else None
        values = [shape] if known is None and not isinstance(shape, (list, tuple)) else list(shape)
        if not any(isinstance(v, Tensor) or hasattr(v, "_as_graph_element") or v is None for v in values):
            try:
                dims = TensorShape(values)
            except (TypeError, ValueError):
                dims = None
    if dims is not None:
        return convert_to_tensor(
            dims, dtypes.int32, name="shape_as_tensor" if dims.ndims is not None else None
        )
    return convert_to_tensor(shape, dtype=dtypes.int32)


def _repeated(value: Any, shape: Any, storage: Any) -> Any:
    """Returns one element repeated, held once; graphs are written from this form as TensorFlow's are."""
    one = np.empty((), storage)
    one[()] = value
    return np.broadcast_to(one, shape)


def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Returns zeros of the shape, and by default of the type, of a tensor."""
    with name_scope(name, "zeros_like", [tensor]) as name:
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype)
        if optimize and is_full(tensor._dims) and wanted is not dtypes.variant:
            return zeros(TensorShape.of(tensor._dims), dtype=wanted, name=name)
        if wanted is not tensor.dtype.base_dtype and wanted is not dtypes.variant:
            return zeros(shape_of(tensor, optimize=optimize), dtype=wanted, name=name)
        return raw.ZerosLike(tensor, name=name)  # type: ignore[no-any-return]


def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Returns ones of the shape, and by default of the type, of a tensor."""
    with name_scope(name, "ones_like", [tensor]) as name:
        tensor = convert_to_tensor(tensor, name="tensor")
        shape = shape_of(tensor, optimize=optimize)
        result = ones(shape, dtype=tensor.dtype if dtype is None else dtype, name=name)
        result.set_shape(tensor.shape)
        return result
