"""Python literals as arrays, by TensorFlow's rules: which type a value gets, and what it may not become."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.dtypes import DType, as_dtype, from_numpy
from headrace.tensor_shape import Dimension, TensorShape, to_tuple


def to_array(value: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False) -> tuple[np.ndarray[Any, Any], DType]:
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
        return array[array.dtype.names[0]]  # type: ignore[index]
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
    flat = list(_flatten(value))
    if any(v is None for v in flat):
        if dtype is not None and not isinstance(value, (list, tuple)):
            raise ValueError("None values not supported.")
        raise TypeError(f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. Consider "
                        "casting elements to a supported type.")  # fmt: skip
    kind = _kind(flat)
    if dtype is not None:
        _check(flat, kind, dtype)
    elif kind is None:
        raise TypeError(f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. Consider "
                        "casting elements to a supported type.")  # fmt: skip
    target = dtype or {
        "bool": dtypes.bool,
        "int": dtypes.int32,
        "float": dtypes.float32,
        "complex": dtypes.complex128,
        "string": dtypes.string,
        "empty": dtypes.float32,
    }.get(kind or "", None)
    if target is None:  # arrays inside lists keep their type
        array = np.array(value)
        return _to_storage(array, from_numpy(array.dtype)), from_numpy(array.dtype)
    try:
        if target is dtypes.string:
            return _strings(_object_array(value)), target
        with np.errstate(over="ignore", invalid="ignore"):
            if kind == "int" and target.is_integer:
                wide = np.array(value, dtype=object)
                if wide.size and isinstance(wide.ravel()[0], (list, tuple)):
                    raise ValueError
                array = np.array(value, dtype=np.int64 if not target.is_unsigned else np.uint64)
                info = np.iinfo(target.storage)
                if array.size and (array.min() < info.min or array.max() > info.max):
                    if dtype is None:
                        raise OverflowError
                    array = array.astype(target.storage)
                    if target in (dtypes.int32, dtypes.int64):
                        raise OverflowError
                array = array.astype(target.storage)
            else:
                array = np.array(value, dtype=target.storage if not target.is_quantized else None)
                array = array.astype(target.storage, copy=False)
    except OverflowError:
        raise ValueError(f"Value out of range for {target.name}: {value!r}") from None
    except ValueError:
        if _ragged(value):
            raise ValueError(
                f"Argument must be a dense tensor: {value} - got shape {_outer_shape(value)}, but wanted "
                f"{_wanted_shape(value)}."
            ) from None
        raise
    return array, target


def _flatten(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from _flatten(v)
    elif isinstance(value, np.ndarray):
        yield value if value.ndim else value[()]
    elif isinstance(value, Dimension):
        yield value.value
    else:
        yield value


def _kind(flat: list[Any]) -> str | None:
    """Returns what the first elements decide: the kind of literal that the list holds."""
    if not flat:
        return "empty"
    kinds = {_kind_of(v) for v in flat}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {"int", "float"}:
        return "float"
    if kinds <= {"int", "float", "complex"}:
        return "complex"
    if any(k == "array" for k in kinds) and kinds <= {"array", "int", "float", "bool"}:
        return "array"
    if kinds <= {"bool", "int", "float", "complex", "string"}:
        first = _kind_of(flat[0])
        bad = next(v for v in flat if _kind_of(v) != first)
        raise TypeError(_mismatch(first or "", bad))
    return None


def _kind_of(v: Any) -> str | None:
    if isinstance(v, (np.ndarray, np.generic)):
        return "array"
    if isinstance(v, bool):
        return "bool"
    if isinstance(v, int):
        return "int"
    if isinstance(v, float):
        return "float"
    if isinstance(v, complex):
        return "complex"
    if isinstance(v, (str, bytes)):
        return "string"
    return None


def _mismatch(wanted: str, value: Any) -> str:
    return f"Expected {wanted}, got {value!r} of type '{type(value).__name__}' instead."


def _check(flat: list[Any], kind: str | None, dtype: DType) -> None:
    """Refuses literals that a type does not take: TensorFlow never rounds or parses them silently."""
    for v in flat:
        k = _kind_of(v)
        if k == "array":
            continue
        ok = (
            (dtype.is_bool and k == "bool")
            or ((dtype.is_integer or dtype.is_quantized) and k == "int")
            or (dtype.is_floating and k in ("int", "float"))
            or (dtype.is_complex and k in ("int", "float", "complex"))
            or (dtype is dtypes.string and k == "string")
        )
        if not ok:
            raise TypeError(_mismatch(dtype.name, v))
        if dtype is dtypes.float16 and k == "float" and math.isfinite(v) and abs(v) > 65504:
            continue


def _object_array(value: Any) -> np.ndarray[Any, Any]:
    array = np.array(value, dtype=object)
    return array


def _ragged(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    lengths = {len(v) if isinstance(v, (list, tuple)) else None for v in value}
    return len(lengths) > 1 or any(_ragged(v) for v in value)


def _outer_shape(value: Any) -> list[int]:
    return [len(value)]


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
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {array.size}"
        )
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    if array.size == 1:
        # One element in memory however large the constant; graphs are written from this form as TensorFlow's are.
        return np.broadcast_to(array.reshape(()), shape)
    # The last element fills what is missing.
    out = np.full(size, array.reshape(-1)[-1], array.dtype)
    out[: array.size] = array.reshape(-1)
    return out.reshape(shape)
