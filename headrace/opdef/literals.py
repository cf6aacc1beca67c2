"""Python literals as arrays, by TensorFlow's rules: which type a value gets, and what it may not become."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.dtypes import DType, as_dtype, from_numpy
from headrace.tensor_shape import Dimension, TensorShape, to_tuple


def to_array(
    value: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False
) -> tuple[np.ndarray[Any, Any], DType]:
    """Returns a value as an array in the type's storage, and the type.

    Args:
      value: A NumPy array, a number, a string, or nested lists of those.
      dtype: The type it must become; by default floats are float32 and ints int32, arrays keep theirs.
      shape: A shape to reshape to; a shorter value's last element is repeated.
      verify_shape: Refuses a value whose shape is not `shape`.

    Raises:
      TypeError: The value can't have the type.
      ValueError: The value can't have the shape, or is None.
    """
    if dtype is not None:
        dtype = as_dtype(dtype).base_dtype
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if dtype is None or dtype is dtypes.string:
            got = from_numpy(array.dtype)
            if dtype is dtypes.string and got is not dtypes.string:
                raise TypeError(f"Expected string, got {value!r} of type '{type(value).__name__}' instead.")
            dtype = got
        array = _strings(array) if dtype is dtypes.string else _to_storage(array, dtype)
    else:
        array, dtype = _from_python(value, dtype)
    if shape is not None:
        array = _reshape(array, to_tuple(shape), verify_shape, value)
    return array, dtype


def _to_storage(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    if dtype.is_quantized and array.dtype.fields:
        return array[array.dtype.names[0]]  # type: ignore[no-any-return]
    return array.astype(dtype.storage, copy=False)


def _strings(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an object array of bytes."""
    out = np.empty(array.shape, object)
    flat = out.reshape(-1)
    for i, v in enumerate(array.reshape(-1).tolist()):
        if isinstance(v, str):
            v = v.encode()
        elif not isinstance(v, bytes):
            raise TypeError(f"Expected binary or unicode string, got {v!r}")
        flat[i] = v
    return out


def _from_python(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, (Dimension, TensorShape)):
        value = value.value if isinstance(value, Dimension) else value.as_list()
    if dtype is None:
        array = _natural(value)
        found = from_numpy(array.dtype)
        return (_strings(array) if found is dtypes.string else array), found
    for v in _flatten(value):
        if not _takes(dtype, v):
            raise TypeError(f"Expected {dtype.name}, got {v!r} of type '{type(v).__name__}' instead.")
    if dtype is dtypes.string:
        return _strings(_dense(value, object)), dtype
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.is_integer:
            # Integers that are too large wrap around.
            return _wrapped(_dense(value, object), dtype), dtype
        return _dense(value, None if dtype.is_quantized else dtype.storage).astype(
            dtype.storage, copy=False
        ), dtype


def _natural(value: Any) -> np.ndarray[Any, Any]:
    """Returns literals as the type they have by themselves: float32 and int32 where NumPy says 64 bits."""
    array = _dense(value, None)
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    strings = array.dtype.kind in "SU"
    if array.dtype == object or (strings and not all(isinstance(v, (str, bytes)) for v in _flatten(value))):
        if not (
            array.dtype == object and array.size and all(isinstance(v, (str, bytes)) for v in _flatten(value))
        ):
            raise TypeError(
                f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. Consider casting "
                "elements to a supported type."
            )
    # NumPy's own string types cut trailing zero bytes off.
    return _dense(value, object) if strings else array


def _dense(value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Returns nested lists as an array; lists of unequal length are refused."""
    if _ragged(value):
        raise ValueError(
            f"Argument must be a dense tensor: {value} - got shape [{len(value)}], but wanted {_wanted_shape(value)}."
        )
    try:
        return np.array(value, dtype=dtype)
    except (TypeError, OverflowError) as e:
        raise TypeError(
            f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. Consider casting elements "
            "to a supported type."
        ) from e


def _wrapped(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    bits = dtype.size * 8
    try:
        wide = array.astype(np.int64)
    except (OverflowError, TypeError):
        flat = [int(v) % (1 << bits) for v in array.ravel().tolist()]
        wide = np.array(flat, np.uint64).reshape(array.shape)
    return wide.astype(dtype.storage)


def _flatten(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from _flatten(v)
    elif isinstance(value, Dimension):
        yield value.value
    else:
        yield value


def _takes(dtype: DType, v: Any) -> bool:
    """Whether a literal may become an element of a type: TensorFlow never rounds or parses silently."""
    if isinstance(v, np.ndarray):
        return True
    if isinstance(v, np.generic):
        v = v.item()
    if dtype is dtypes.string:
        return isinstance(v, (str, bytes))
    if dtype.is_bool:
        return isinstance(v, bool)
    if dtype.is_integer or dtype.is_quantized:
        return isinstance(v, int)
    if dtype.is_floating:
        return isinstance(v, (int, float))
    return isinstance(v, (int, float, complex))


def _ragged(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or not value:
        return False
    if not any(isinstance(v, (list, tuple)) for v in value):
        return False
    lengths = {len(v) if isinstance(v, (list, tuple)) or np.ndim(v) else None for v in value}
    return len(lengths) > 1 or any(_ragged(v) for v in value)


def _wanted_shape(value: Any) -> list[int]:
    shape = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _reshape(array: np.ndarray[Any, Any], shape: Any, verify: bool, value: Any) -> np.ndarray[Any, Any]:
    if shape is None or None in shape:
        raise TypeError(f"a constant's shape must be fully known, not {shape}")
    if array.shape == shape:
        return array
    if verify:
        raise TypeError(f"Expected Tensor's shape: {shape}, got {array.shape}.")
    size = math.prod(shape)
    if array.size == size:
        return array.reshape(shape)
    if array.size > size:
        raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    if array.size == 1:
        # One element in memory however large the constant; graphs are written from this form as TensorFlow's are.
        return np.broadcast_to(array.reshape(()), shape)
    # The last element fills what is missing.
    out = np.full(size, array.reshape(-1)[-1], array.dtype)
    out[: array.size] = array.reshape(-1)
    return out.reshape(shape)
