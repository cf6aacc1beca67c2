"""TensorProto <-> NumPy: the values of constants on the wire.

A value that repeats one element is kept as a broadcast array (all strides 0): a graph that says "a million zeros" in
ten bytes costs ten bytes here too, and is written back the way it was read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace import dtypes, proto
from headrace.dtypes import DType, as_dtype
from headrace.export import export
from headrace.opdef.convert import constant_node  # noqa: F401  (loads the literal rules with the layer below)
from headrace.opdef.infer import constant_as_shape, constant_value
from headrace.opdef.literals import to_array
from headrace.tensor_shape import to_tuple

Array = np.ndarray[Any, Any]

# The repeated field that holds a type's values where `tensor_content` does not.
_FIELDS: dict[DType, str] = {
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.int64: "int64_val",
    dtypes.bool: "bool_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
    dtypes.string: "string_val",
    dtypes.resource: "resource_handle_val",
    dtypes.variant: "variant_val",
} | {
    d: "int_val"
    for d in (
        dtypes.int32, dtypes.uint8, dtypes.int16, dtypes.int8, dtypes.uint16,
        dtypes.qint8, dtypes.quint8, dtypes.qint16, dtypes.quint16, dtypes.qint32,
    )
}  # fmt: skip

# TensorFlow's Python code writes these element by element whatever their number; the others as `tensor_content`.
_NEVER_CONTENT = (
    frozenset(
        (dtypes.bool, dtypes.float16, dtypes.bfloat16, dtypes.string, dtypes.complex64, dtypes.complex128)
    )
    | dtypes.QUANTIZED_DTYPES
)
_HAS_CONTENT = frozenset(
    (
        dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8, dtypes.int16, dtypes.int8, dtypes.int64,
        dtypes.uint16, dtypes.uint32, dtypes.uint64, dtypes.qint8, dtypes.quint8, dtypes.qint32,
        dtypes.complex64, dtypes.complex128,
    )
)  # fmt: skip
_CONTENT = _HAS_CONTENT - _NEVER_CONTENT

_MAX_ELEMENTS = 2**62
# A list that is shorter than its tensor is filled up with its last value, in real memory; no file may ask for more.
_MAX_FILLED_BYTES = 2**31


def is_splat(array: Array) -> bool:
    """Whether an array is one element repeated (all strides 0)."""
    return array.size > 1 and not any(array.strides)


def splat(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Returns an array that repeats one element without holding it more than once."""
    one = np.empty((), dtype)
    one[()] = value
    return np.broadcast_to(one, shape)


def shape_from_proto(message: Any) -> tuple[int | None, ...] | None:
    """Returns the shape tuple of a TensorShapeProto, None for unknown rank.

    Raises:
      ValueError: A dimension is below -1.
    """
    if message.unknown_rank:
        return None
    dims = tuple([d.size for d in message.dim])
    for d in dims:
        if d < 0:
            if d < -1:
                raise ValueError(f"Shape {list(dims)} has dimensions that are less than -1")
            return tuple(None if d == -1 else d for d in dims)
    return dims


def shape_into_proto(shape: Any, message: Any) -> None:
    """Writes a shape tuple (None for unknown rank) into a TensorShapeProto."""
    if shape is None:
        message.unknown_rank = True
        return
    add = message.dim.add
    for d in shape:
        add(size=-1 if d is None else d)


# -- reading -------------------------------------------------------------------------------------------------


def array_from_proto(message: Any) -> Array:
    """Returns the value of a TensorProto in its type's storage; strings are objects of bytes.

    Raises:
      ValueError: The message contradicts itself, or would need memory out of proportion to its size.
    """
    try:
        dtype = as_dtype(message.dtype)
    except TypeError:
        raise ValueError(f"Cannot parse tensor from proto: there is no type number {message.dtype}") from None
    if dtype.is_ref or dtype not in _FIELDS:
        raise ValueError(f"Cannot parse tensor from proto: {dtype.name} has no values on the wire")
    shape = shape_from_proto(message.tensor_shape)
    if shape is None or None in shape:
        raise ValueError("Cannot parse tensor from proto: its shape is not fully known")
    size = math.prod(shape)  # type: ignore[arg-type]
    if size > _MAX_ELEMENTS or len(shape) > 64:
        raise ValueError(f"Cannot parse tensor from proto: shape {list(shape)} is too large")
    full: tuple[int, ...] = shape  # type: ignore[assignment]
    if message.tensor_content:
        return _from_content(message.tensor_content, dtype, full, size)
    return _from_list(getattr(message, _FIELDS[dtype]), dtype, full, size)


def _from_content(content: bytes, dtype: DType, shape: tuple[int, ...], size: int) -> Array:
    if dtype.storage.hasobject:
        return _strings_from_content(content, dtype, shape, size)
    if len(content) != size * dtype.storage.itemsize:
        raise ValueError(
            f"Cannot parse tensor from proto: {len(content)} bytes of content for {size} elements of "
            f"{dtype.name} ({size * dtype.storage.itemsize} bytes)"
        )
    return (
        np.frombuffer(content, dtype.storage.newbyteorder("<"))
        .astype(dtype.storage, copy=False)
        .reshape(shape)
    )


def _strings_from_content(content: bytes, dtype: DType, shape: tuple[int, ...], size: int) -> Array:
    """Reads TensorFlow's encoding of strings in one block: all lengths as varints, then all bytes."""
    bad = ValueError(f"Cannot parse tensor from proto: malformed content of type {dtype.name}")
    if dtype is not dtypes.string or size > len(content):
        raise bad
    lengths, at = [], 0
    for _ in range(size):
        length = shift = 0
        while True:
            if at >= len(content) or shift > 63:
                raise bad
            byte = content[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise bad
    out = np.empty(size, object)
    for i, n in enumerate(lengths):
        out[i] = content[at : at + n]
        at += n
    return out.reshape(shape)


def _from_list(values: Any, dtype: DType, shape: tuple[int, ...], size: int) -> Array:
    n = len(values)
    if n and dtype.storage.kind == "c":
        if n % 2:
            raise ValueError("Cannot parse tensor from proto: an odd number of parts of complex numbers")
        n //= 2
    if n > size:
        raise ValueError(f"Cannot parse tensor from proto: {n} values for {size} elements")
    if n == 0:
        if size == 0:
            return np.empty(shape, dtype.storage)
        zero = b"" if dtype is dtypes.string else None if dtype.storage.hasobject else 0
        return splat(zero, shape, dtype.storage)
    flat = _flat_values(values, dtype)
    if n == size:
        return flat.reshape(shape)
    if n == 1:
        return splat(flat[0], shape, dtype.storage)
    if size * dtype.storage.itemsize > _MAX_FILLED_BYTES:
        raise ValueError(f"Cannot parse tensor from proto: {n} values for {size} elements")
    out = np.full(size, flat[-1], dtype.storage)
    out[:n] = flat
    return out.reshape(shape)


def _flat_values(values: Any, dtype: DType) -> Array:
    storage = dtype.storage
    values = list(values)  # NumPy reads lists much faster than repeated fields
    if storage.hasobject:
        flat = np.empty(len(values), object)
        for i, v in enumerate(values):
            flat[i] = v
        return flat
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return np.array(values, np.int64).astype(np.uint16).view(storage)
    if storage.kind == "c":
        part = np.float32 if dtype is dtypes.complex64 else np.float64
        return np.array(values, part).view(storage)
    if storage.kind in "iu" and storage.itemsize < 4:
        return np.array(values, np.int64).astype(storage)
    return np.array(values, storage)


# -- writing -------------------------------------------------------------------------------------------------


def proto_from_array(array: Array, dtype: DType, message: Any = None) -> Any:
    """Returns a TensorProto for an array in the type's storage, laid out as TensorFlow's Python code lays it out."""
    if message is None:
        message = proto.TensorProto()
    message.dtype = dtype.as_datatype_enum
    shape = message.tensor_shape
    shape.SetInParent()
    for d in array.shape:
        shape.dim.add(size=d)
    if array.size == 0:
        return message
    if is_splat(array):
        array = array[(0,) * array.ndim].reshape(1) if not array.dtype.hasobject else _one_object(array)
    if array.size > 1 and dtype in _CONTENT:
        message.tensor_content = _little(np.ascontiguousarray(array)).tobytes()
        return message
    _add_values(message, array, dtype)
    return message


def _one_object(array: Array) -> Array:
    out = np.empty(1, object)
    out[0] = array[(0,) * array.ndim]
    return out


def _little(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _add_values(message: Any, array: Array, dtype: DType) -> None:
    field = getattr(message, _FIELDS[dtype])
    flat = array.reshape(-1)
    if dtype in (dtypes.float16, dtypes.bfloat16):
        field.extend(np.ascontiguousarray(flat).view(np.uint16).tolist())
    elif array.dtype.kind == "c":
        part = np.float32 if dtype is dtypes.complex64 else np.float64
        field.extend(np.ascontiguousarray(flat).view(part).tolist())
    elif dtype is dtypes.resource or dtype is dtypes.variant:
        field.extend(v for v in flat.tolist() if v is not None)
    else:
        field.extend(flat.tolist())


# -- public --------------------------------------------------------------------------------------------------


@export("make_tensor_proto", "contrib.util.make_tensor_proto")
def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Returns a TensorProto that holds a value.

    Args:
      values: A number, a string, a NumPy array, or nested lists of those; a TensorProto is returned as it is.
      dtype: The type it must have.
      shape: Its shape; a value with fewer elements stands for one whose last element is repeated.
      verify_shape: Refuses a value of another shape.
      allow_broadcast: Takes a value of one element for any shape, and no other.

    Raises:
      TypeError: The value can't have the type, or the shape with `verify_shape` or `allow_broadcast`.
      ValueError: The value has too many elements for `shape`, or is None.
    """
    if hasattr(values, "tensor_content") and hasattr(values, "tensor_shape"):
        return values
    if dtype is not None:
        dtype = as_dtype(dtype)
        if dtype.base_dtype in dtypes.QUANTIZED_DTYPES and not isinstance(values, (np.ndarray, np.generic)):
            _check_quantized(values, dtype)
        if dtype.base_dtype.storage.hasobject and dtype.base_dtype is not dtypes.string:
            got = to_array(values)[1]
            raise TypeError(f"Incompatible types: {dtype} vs. {got.name}. Value is {values}")
    array, dtype = to_array(values, dtype)
    if shape is None:
        return proto_from_array(array, dtype)
    wanted = to_tuple(shape)
    if wanted is None or None in wanted:
        raise TypeError(f"a tensor's shape must be fully known, not {shape}")
    full: tuple[int, ...] = wanted  # type: ignore[assignment]
    size = math.prod(full)
    if (verify_shape and array.shape != full) or (
        allow_broadcast and array.shape != full and array.size != 1
    ):
        raise TypeError(f"Expected Tensor's shape: {full}, got {array.shape}.")
    if array.size > size and size:
        raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")
    if array.size == size and not (array.size == 1):
        return proto_from_array(array.reshape(full), dtype)
    message = proto.TensorProto(dtype=dtype.as_datatype_enum)
    message.tensor_shape.SetInParent()
    shape_into_proto(full, message.tensor_shape)
    if array.size and size:
        _add_values(message, array, dtype)
    return message


def _check_quantized(values: Any, dtype: DType) -> None:
    flat = list(np.array(values, dtype=object).reshape(-1)) if values is not None else []
    for v in flat:
        if not isinstance(v, tuple):
            raise TypeError(f"Expected {dtype.name}, got {v!r} of type '{type(v).__name__}' instead.")


@export("make_ndarray", "contrib.util.make_ndarray")
def make_ndarray(tensor: Any) -> Array:
    """Returns the value of a TensorProto as a NumPy array; strings are objects of bytes.

    Raises:
      TypeError: The tensor's type has no NumPy equivalent.
      ValueError: The message is malformed.
    """
    dtype = as_dtype(tensor.dtype)
    if dtype.base_dtype not in _FIELDS or dtype.base_dtype in (dtypes.resource, dtypes.variant):
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}")
    array = array_from_proto(tensor)
    if dtype.is_quantized:
        return np.array(array).view(dtype.as_numpy_dtype)
    return np.array(array)


@export("get_static_value", "contrib.util.constant_value")
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Returns the value of a tensor if it can be told without running the graph, else None.

    Args:
      tensor: A Tensor.
      partial: For a Pack of scalars, returns an object array with None where an element is not known.
    """
    value = constant_value(tensor)
    if value is not None:
        # A constant that was looked at by the program may not be fed, as in TensorFlow.
        tensor.graph.prevent_feeding(tensor)
        value = np.array(value)
        return value[()] if value.ndim == 0 and value.dtype.hasobject else value
    if partial and getattr(tensor, "op", None) is not None and tensor.op.type == "Pack":
        parts = [get_static_value(t) for t in tensor.op.inputs]
        if any(p is not None for p in parts) and all(p is None or np.ndim(p) == 0 for p in parts):
            return np.array([None if p is None else p.item() for p in parts], dtype=object)
    return None


@export("contrib.util.constant_value_as_shape")
def constant_value_as_shape(tensor: Any) -> Any:
    """Returns the TensorShape that a 1-D integer tensor holds, as far as it is known."""
    from headrace.tensor_shape import TensorShape

    return TensorShape.of(constant_as_shape(tensor))
