"""AttrValue <-> the plain values that nodes hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import proto
from headrace.dtypes import DType, as_dtype, from_numpy
from headrace.graph import hooks
from headrace.graphdef.tensor_proto import (
    array_from_proto,
    proto_from_array,
    shape_from_proto,
    shape_into_proto,
)
from headrace.opdef.attrs import FuncRef
from headrace.opdef.signature import Attr


class MarkShape(tuple[Any, ...]):
    """A shape in an attr that no signature declares; a plain tuple there is a list of numbers."""


class _Unset:
    """An AttrValue that holds nothing; functions have such attrs."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()

_dtypes: dict[int, DType] = {}


def dtype_from_proto(number: int) -> DType:
    """Returns the DType of a wire number.

    Raises:
      ValueError: There is no such type.
    """
    found = _dtypes.get(number)
    if found is None:
        try:
            found = _dtypes[number] = as_dtype(number)
        except TypeError:
            raise ValueError(f"There is no type with the number {number}") from None
    return found


def text_from_bytes(value: bytes) -> str:
    """Returns a string attr's text; bytes that are not UTF-8 travel as surrogates."""
    return value.decode("utf-8", "surrogateescape")


def bytes_from_text(value: Any) -> bytes:
    """Returns the bytes of a string attr's text."""
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def _func_from_proto(message: Any) -> FuncRef:
    return FuncRef(message.name, {k: attr_from_proto(v) for k, v in message.attr.items()})


DECODERS: dict[str, Any] = {
    "s": text_from_bytes,
    "i": int,
    "f": float,
    "b": bool,
    "type": dtype_from_proto,
    "shape": shape_from_proto,
    "tensor": array_from_proto,
    "func": _func_from_proto,
}
# How OpDef and AttrValue call the same kinds.
FIELD_OF = {
    "string": "s",
    "int": "i",
    "float": "f",
    "bool": "b",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
KIND_OF = {field: kind for kind, field in FIELD_OF.items()}


def attr_from_proto(value: Any) -> Any:
    """Returns the plain value of an AttrValue.

    Raises:
      ValueError: It holds a malformed tensor, shape or type.
    """
    if not hasattr(value, "WhichOneof"):
        return value
    field = value.WhichOneof("value")
    if field == "list":
        for each, decode in DECODERS.items():
            items = getattr(value.list, each)
            if items:
                return tuple([decode(item) for item in items])
        return ()
    if field is None:
        return UNSET
    if field == "placeholder":
        raise ValueError(f"an attr's value is the placeholder {value.placeholder!r}")
    if field == "shape":
        dims = shape_from_proto(value.shape)
        return None if dims is None else MarkShape(dims)
    return DECODERS[field](getattr(value, field))


def attr_into_proto(value: Any, kind: str | None, message: Any) -> None:
    """Writes a plain value into an AttrValue.

    Args:
      value: The value.
      kind: Its type in OpDef's words, None for an attr that no signature declares.
      message: The AttrValue.
    """
    if kind is None:
        kind = _kind_of(value)
        if kind is None:
            return
    if kind.startswith("list("):
        inner = kind[5:-1]
        target = message.list
        target.SetInParent()
        _extend(target, inner, value)
        return
    if kind == "type":
        message.type = value.as_datatype_enum
    elif kind == "int":
        message.i = value
    elif kind == "bool":
        message.b = value
    elif kind == "float":
        message.f = value
    elif kind == "string":
        message.s = bytes_from_text(value)
    elif kind == "shape":
        message.shape.SetInParent()
        shape_into_proto(value, message.shape)
    elif kind == "tensor":
        proto_from_array(value, from_numpy(value.dtype), message.tensor)
    else:
        func_into_proto(value, message.func)


def func_into_proto(value: FuncRef | None, message: Any) -> None:
    """Writes a function's name and attrs into a NameAttrList."""
    message.SetInParent()
    if value is None:
        return
    message.name = value.name
    for key, each in value.attrs.items():
        attr_into_proto(each, None, message.attr[key])


def _extend(target: Any, inner: str, values: Any) -> None:
    if inner == "type":
        target.type.extend([v.as_datatype_enum for v in values])
    elif inner == "int":
        target.i.extend(values)
    elif inner == "bool":
        target.b.extend(values)
    elif inner == "float":
        target.f.extend(values)
    elif inner == "string":
        target.s.extend([bytes_from_text(v) for v in values])
    elif inner == "shape":
        for v in values:
            shape_into_proto(v, target.shape.add())
    elif inner == "tensor":
        for v in values:
            proto_from_array(v, from_numpy(v.dtype), target.tensor.add())
    else:
        for v in values:
            func_into_proto(v, target.func.add())


def _kind_of(value: Any) -> str | None:
    """Returns the kind of an undeclared attr's value, None for one that holds nothing."""
    if value is UNSET:
        return None
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int"
    if isinstance(value, (float, np.floating)):
        return "float"
    if isinstance(value, (str, bytes)):
        return "string"
    if isinstance(value, DType):
        return "type"
    if value is None or isinstance(value, MarkShape):
        return "shape"
    if isinstance(value, np.ndarray):
        return "tensor"
    if isinstance(value, FuncRef):
        return "func"
    if isinstance(value, (tuple, list)):
        if not value:
            return "list(string)"
        if value[0] is None or isinstance(value[0], (tuple, list)):
            return "list(shape)"
        return f"list({_kind_of(value[0])})"
    raise TypeError(f"no attr can hold {value!r}")


def kind_of_attr(attr: Attr | None) -> str | None:
    return None if attr is None else attr.type


def attr_to_public(op: Any, name: str) -> Any:
    """Returns what `Operation.get_attr` does: DTypes, bytes, numbers, messages, or lists of them.

    Raises:
      ValueError: The operation has no such attr.
    """
    if name not in op.attrs:
        raise ValueError(f"Operation '{op.name}' has no attr named '{name}'.")
    value = op.attrs[name]
    message = proto.AttrValue()
    attr_into_proto_of_node(op, name, value, message)
    field = message.WhichOneof("value")
    if field is None:
        return message
    if field == "list":
        kind = kind_of_attr(op.kind.signature.attrs.get(name)) or _kind_of(value) or ""
        inner = kind[5:-1]
        if inner == "type":
            return list(value)
        return list(getattr(message.list, FIELD_OF[inner]))
    return value if field == "type" else getattr(message, field)


def attr_into_proto_of_node(op: Any, name: str, value: Any, message: Any) -> None:
    """Writes one attr of an Operation into an AttrValue."""
    attr = op.kind.signature.attrs.get(name)
    if attr is not None and attr.type == "tensor":
        # Quantized values are stored as their integers: the node's own dtype says what they are.
        dtype = op.attrs.get("dtype")
        array = np.asarray(value)
        if not isinstance(dtype, DType) or dtype.storage != array.dtype:
            dtype = from_numpy(array.dtype)
        proto_from_array(array, dtype, message.tensor)
    else:
        attr_into_proto(value, None if attr is None else attr.type, message)


hooks.attr_from_proto = attr_from_proto
hooks.attr_to_public = attr_to_public
