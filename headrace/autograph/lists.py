"""What converted code calls in place of lists' methods, where AutoGraph was asked for lists (Feature.LISTS)."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.autograph.operators import is_tensor
from headrace.export import NAMES
from headrace.graph import Tensor
from headrace.opdef import constant_node, convert_to_tensor, raw

__all__ = ["get_item", "list_append", "list_pop", "list_stack", "new_list", "set_item"]


def _is_tensor_list(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.base_dtype is dtypes.variant


def new_list(iterable: Any = None) -> Any:
    """Is a list's display: a list of tensors that a loop can append to, a Python list if it holds other things."""
    elements = tuple(iterable) if iterable else ()
    if not elements:
        made = raw.EmptyTensorList(
            constant_node(-1, dtypes.int32), -1, element_dtype=dtypes.variant, name="EmptyTensorList"
        )
        made._element_dtype = None
        return made
    if all(is_tensor(e) for e in elements):
        tensors = [convert_to_tensor(e) for e in elements]
        made = raw.TensorListFromTensor(NAMES["stack"](tensors), constant_node(-1, dtypes.int32))
        made._element_dtype = tensors[0].dtype.base_dtype
        return made
    return list(elements)


def list_append(list_: Any, x: Any) -> Any:
    """Is `list_.append(x)`; returns the list."""
    if _is_tensor_list(list_):
        x = convert_to_tensor(x)
        made = raw.TensorListPushBack(list_, x)
        made._element_dtype = x.dtype.base_dtype
        return made
    if type(list_).__name__ == "TensorArray":
        return list_.write(list_.size(), x)
    list_.append(x)
    return list_


def _dtype(list_: Any, opts: Any) -> Any:
    dtype = getattr(opts, "element_dtype", None) or getattr(list_, "_element_dtype", None)
    if dtype is None:
        raise ValueError(
            "cannot stack a list without knowing its element type; use set_element_type to annotate it"
        )
    return dtype


def list_pop(list_: Any, i: Any, opts: Any) -> Any:
    """Is `list_.pop(i)`; returns the list and the element."""
    if _is_tensor_list(list_):
        if i is not None:
            raise NotImplementedError("tensor lists only support removing from the end")
        dtype = _dtype(list_, opts)
        return raw.TensorListPopBack(list_, constant_node(-1, dtypes.int32), element_dtype=dtype)
    x = list_.pop() if i is None else list_.pop(i)
    return list_, x


def list_stack(list_: Any, opts: Any) -> Any:
    """Is a call that makes one tensor of a list's elements."""
    if _is_tensor_list(list_):
        return raw.TensorListStack(list_, constant_node(-1, dtypes.int32), element_dtype=_dtype(list_, opts))
    if type(list_).__name__ == "TensorArray":
        return list_.stack()
    return opts.original_call(list_)


def get_item(target: Any, i: Any, opts: Any) -> Any:
    """Is `target[i]`."""
    if _is_tensor_list(target):
        shape = constant_node(-1, dtypes.int32)
        return raw.TensorListGetItem(target, i, shape, element_dtype=_dtype(target, opts))
    if type(target).__name__ == "TensorArray":
        return target.read(i)
    return target[i]


def set_item(target: Any, i: Any, x: Any) -> Any:
    """Is `target[i] = x`; returns the target."""
    if _is_tensor_list(target):
        return raw.TensorListSetItem(target, i, convert_to_tensor(x))
    if type(target).__name__ == "TensorArray":
        return target.write(i, x)
    target[i] = x
    return target
