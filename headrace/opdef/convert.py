"""From Python values to tensors: `convert_to_tensor` and the conversions that types register."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace import dtypes
from headrace.dtypes import DType, as_dtype
from headrace.export import export
from headrace.graph import hooks
from headrace.graph.default import name_scope
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.operation import Operation
from headrace.graph.tensor import Tensor
from headrace.opdef.literals import to_array
from headrace.opdef.registry import raw
from headrace.tensor_shape import Dimension, TensorShape

_conversions: list[tuple[int, int, Any, Callable[..., Any]]] = []
_found: dict[type, list[Callable[..., Any]]] = {}


@export("register_tensor_conversion_function")
def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Says how values of a type become tensors.

    Args:
      base_type: A type, or a tuple of types.
      conversion_func: Called as `(value, dtype, name, as_ref)`; returns a Tensor or NotImplemented.
      priority: Lower ones are asked first; equal ones in the order of their registration.

    Raises:
      TypeError: An argument is of a wrong type.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(t, type) for t in types):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _conversions.append((priority, len(_conversions), base_type, conversion_func))
    _conversions.sort(key=lambda c: c[:2])
    _found.clear()


def _conversions_for(cls: type) -> list[Callable[..., Any]]:
    found = _found.get(cls)
    if found is None:
        found = _found[cls] = [f for _, _, base, f in _conversions if issubclass(cls, base)]
    return found


@export("convert_to_tensor")
def convert_to_tensor_v1(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Returns a tensor for a value: a tensor as it is, numbers, arrays and lists as a constant.

    Args:
      value: A Tensor, a Variable, a NumPy array, a number, a string, or nested lists of those.
      dtype: The type it must have.
      name: A name for a node that has to be made.
      preferred_dtype: The type to give it where it has none of its own and fits.
      dtype_hint: The same.

    Raises:
      TypeError: There is no conversion for the value's type, or not to `dtype`.
      ValueError: The value is a tensor of another type.
    """
    return convert_to_tensor(
        value, dtype, name, preferred_dtype=dtype_hint if preferred_dtype is None else preferred_dtype
    )


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False, preferred_dtype: Any = None
) -> Tensor:
    """Returns a tensor for a value; see `convert_to_tensor_v1`. `as_ref` asks for a reference."""
    if dtype is not None and type(dtype) is not DType:
        dtype = as_dtype(dtype)
    if type(value) is Tensor:
        if dtype is not None and not dtype.is_compatible_with(value._dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value._dtype.name}: "
                f"{value!r}"
            )
        return value
    functions = _conversions_for(type(value))
    for convert in functions:
        result: Any = NotImplemented
        if dtype is None and preferred_dtype is not None:
            try:
                result = convert(value, dtype=as_dtype(preferred_dtype), name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                result = NotImplemented
            else:
                if (
                    result is not NotImplemented
                    and result.dtype.base_dtype is not as_dtype(preferred_dtype).base_dtype
                ):
                    raise TypeError(
                        f"convert_to_tensor did not convert to the preferred dtype: {result.dtype.base_dtype.name} vs "
                        f"{as_dtype(preferred_dtype).base_dtype.name} "
                    )
        if result is NotImplemented:
            result = convert(value, dtype=dtype, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor):
            raise RuntimeError(
                f"{_prefix(name)}Conversion function {convert!r} for type {type(value)} returned non-Tensor: {result!r}"
            )
        if dtype is not None and not dtype.is_compatible_with(result.dtype):
            raise RuntimeError(
                f"{_prefix(name)}Conversion function {convert!r} for type {type(value)} returned incompatible dtype: "
                f"requested = {dtype.base_dtype.name}, actual = {result.dtype.base_dtype.name}"
            )
        return result
    raise TypeError(
        f"{_prefix(name)}Cannot convert {value!r} with type {type(value)} to Tensor: no conversion function registered."
    )


def _prefix(name: str | None) -> str:
    return f"{name}: " if name else ""


hooks.convert_to_tensor = convert_to_tensor


def constant_node(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """Adds a Const node; the rules of `tf.constant` for types and shapes apply."""
    array, dtype = to_array(value, dtype, shape)
    return raw.Const(value=array, dtype=dtype, name=name)  # type: ignore[no-any-return]


# -- the conversions that are always there -------------------------------------------------------------------


def _from_literal(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    return constant_node(value, dtype, name=name or "Const")


def _from_list(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    tensor_type = _type_of_tensors(value)
    if tensor_type is None:
        return NotImplemented
    if dtype is None:
        dtype = tensor_type
    elif dtype is not tensor_type:
        value = _cast_tensors(value, dtype)
    return _pack(value, dtype, name or "packed")


def _cast_tensors(value: Any, dtype: DType) -> Any:
    """Returns nested lists with their tensors cast to a type."""
    if isinstance(value, (list, tuple)):
        return [_cast_tensors(each, dtype) for each in value]
    if _is_tensor_like(value):
        each = convert_to_tensor(value)
        return each if each.dtype.base_dtype is dtype else raw.Cast(each, DstT=dtype, name="Cast")
    return value


def _is_tensor_like(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        or hasattr(value, "_as_graph_element")
        or hasattr(value, "_dense_var_to_tensor")
    )


def _type_of_tensors(value: Any) -> DType | None:
    """Returns the type of the first tensor in nested lists, None if there is none."""
    for each in value:
        if isinstance(each, (list, tuple)):
            found = _type_of_tensors(each)
            if found is not None:
                return found
        elif _is_tensor_like(each) and isinstance(getattr(each, "dtype", None), DType):
            return each.dtype.base_dtype  # type: ignore[no-any-return]
    return None


def _pack(value: Any, dtype: DType, name: str) -> Tensor:
    """Stacks lists that hold tensors among numbers into one tensor."""
    must_pack = False
    converted: list[Any] = []
    with name_scope(name) as scope:
        for i, each in enumerate(value):
            if _is_tensor_like(each):
                each_tensor = convert_to_tensor(each)
                if each_tensor.dtype.base_dtype is not dtype:
                    raise TypeError(
                        f"Cannot convert a list containing a tensor of dtype {each_tensor.dtype} to {dtype} "
                        f"(Tensor is: {each!r})"
                    )
                converted.append(each_tensor)
                must_pack = True
            elif isinstance(each, (list, tuple)):
                inner = _pack(each, dtype, str(i))
                if isinstance(inner, Tensor):
                    must_pack = True
                converted.append(inner)
            else:
                converted.append(each)
        if not must_pack:
            return converted  # type: ignore[return-value]  # plain lists are left for the constant around them
        tensors = [
            t if isinstance(t, Tensor) else constant_node(t, dtype, name=str(i))
            for i, t in enumerate(converted)
        ]
        return raw.Pack(tensors, name=scope)  # type: ignore[no-any-return]


def _from_shape(value: TensorShape, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    dims = value.as_list()
    if dtype is None:
        dtype = dtypes.int64 if any(d >= 2**31 for d in dims) else dtypes.int32  # type: ignore[operator]
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype {dtype.name}")
    return constant_node(dims, dtype, name=name or "shape_as_tensor")


def _from_dimension(
    value: Dimension, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype is None:
        dtype = dtypes.int64 if value.value >= 2**31 else dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype {dtype.name}")
    return constant_node(value.value, dtype, name=name or "shape_as_tensor")


def _from_slices(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    import warnings

    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(f"Tensor conversion requested for IndexedSlices without dense_shape: {value!s}")
    from headrace.opdef.infer import constant_as_shape, constant_value

    known = constant_value(value.dense_shape)
    dims = constant_as_shape(value.dense_shape) if known is None else tuple(known.tolist())
    size = math.prod(d or 0 for d in dims or ())
    if dims is None or None in dims:
        warnings.warn(
            "Converting sparse IndexedSlices to a dense Tensor of unknown shape. This may consume a large amount of "
            "memory.",
            stacklevel=2,
        )
    elif size >= 100_000_000:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {size} elements. This may consume a large "
            "amount of memory.",
            stacklevel=2,
        )
    return raw.UnsortedSegmentSum(value.values, value.indices, value.dense_shape[0], name=name)


def _refuse_operation(
    value: Operation, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    wanted = None if dtype is None else f"tf.{dtype.name}"
    raise TypeError(
        f"Can't convert Operation '{value.name}' to Tensor (target dtype={wanted}, name={name!r}, as_ref={as_ref})"
    )


def _from_graph_element(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    convert = getattr(value, "_dense_var_to_tensor", None)
    if convert is None:
        return NotImplemented
    return convert(dtype=dtype, name=name, as_ref=as_ref)


register_tensor_conversion_function((list, tuple), _from_list, 99)
register_tensor_conversion_function(TensorShape, _from_shape, 100)
register_tensor_conversion_function(Dimension, _from_dimension, 100)
register_tensor_conversion_function(IndexedSlices, _from_slices, 100)
register_tensor_conversion_function(Operation, _refuse_operation, 100)
register_tensor_conversion_function(object, _from_graph_element, 199)
register_tensor_conversion_function(object, _from_literal, 200)


@export("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns an IndexedSlices as it is, and a tensor for anything else.

    Raises:
      ValueError: `value` has another type than `dtype`.
    """
    if isinstance(value, IndexedSlices) or hasattr(value, "_is_composite_tensor"):
        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {value.dtype.name}: "
                f"{value!s}"
            )
        return value
    return convert_to_tensor(value, dtype, name)


def convert_n_to_tensor(
    values: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> list[Tensor]:
    """Returns a tensor for each of a list of values, named `name_0`, `name_1` ...

    Raises:
      TypeError: `values` is no list.
    """
    if not isinstance(values, (list, tuple)):
        raise TypeError("values must be a list.")
    return [
        convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}", preferred_dtype=preferred_dtype)
        for i, v in enumerate(values)
    ]


def convert_n_to_tensor_or_indexed_slices(
    values: Any, dtype: Any = None, name: str | None = None
) -> list[Any]:
    """Returns a tensor or IndexedSlices for each value that is not None."""
    return [
        v
        if v is None
        else convert_to_tensor_or_indexed_slices(v, dtype, None if name is None else f"{name}_{i}")
        for i, v in enumerate(values)
    ]
