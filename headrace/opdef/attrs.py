"""Attr values: from what programs write to the plain values that nodes hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.dtypes import as_dtype
from headrace.graph import hooks
from headrace.opdef.signature import Attr
from headrace.tensor_shape import to_tuple


@dataclass(frozen=True)
class FuncRef:
    """The value of a `func` attr: a function's name and the attrs it is instantiated with."""

    name: str
    attrs: dict[str, Any] = field(default_factory=dict, hash=False)


def snake_case(op_name: str) -> str:
    """Returns an op's name as its function in TensorFlow is called: ConcatV2 -> concat_v2, Conv2D -> conv2d."""
    out = ""
    for i, c in enumerate(op_name):
        if i and c.isupper() and (op_name[i - 1].islower() or op_name[i + 1 : i + 2].islower()):
            out += "_"
        out += c.lower()
    return out


def _int(value: Any, name: str) -> int:
    if isinstance(value, str):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
    try:
        return int(value)
    except (ValueError, TypeError):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.") from None


def _float(value: Any, name: str) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"Expected float for argument '{name}' not {value!r}.")
    # Attrs are single precision on the wire; keeping more would make a loaded graph differ from the built one.
    return float(np.float32(value))


def _bool(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
    return bool(value)


def _string(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        # Any bytes may stand in a string attr; surrogates carry those that are not UTF-8.
        return value.decode("utf-8", "surrogateescape")
    raise TypeError(f"Expected string for argument '{name}' not {value!r}.")


def _type(value: Any, name: str) -> Any:
    try:
        return as_dtype(value).base_dtype
    except TypeError as e:
        raise TypeError(f"Expected DataType for argument '{name}' not {value!r}.") from e


def _shape(value: Any, name: str) -> Any:
    try:
        return to_tuple(value)
    except (TypeError, ValueError) as e:
        raise type(e)(f"Error converting {value!r} (argument {name!r}) to a TensorShape: {e}") from e


def _tensor(value: Any, name: str) -> Any:
    return value if isinstance(value, np.ndarray) else hooks.attr_from_proto(value)


def _func(value: Any, name: str) -> Any:
    if value is None or isinstance(value, FuncRef):
        return value
    if isinstance(value, str):
        return FuncRef(value)
    function_name = getattr(value, "name", None)
    if not isinstance(function_name, str):
        raise TypeError(f"Expected a function for argument '{name}' not {value!r}.")
    add = getattr(value, "add_to_graph", None)
    if add is not None:
        from headrace.graph import get_default_graph

        add(get_default_graph())
    return FuncRef(function_name)


CONVERTERS: dict[str, Callable[[Any, str], Any]] = {
    "type": _type,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "string": _string,
    "shape": _shape,
    "tensor": _tensor,
    "func": _func,
}


def convert(attr: Attr, value: Any, op_name: str) -> Any:
    """Returns the plain value of an attr.

    Raises:
      TypeError: The value is of another type.
      ValueError: It is not among those allowed, or too small.
    """
    kind = attr.type
    if kind.startswith("list("):
        inner = kind[5:-1]
        if not isinstance(value, (list, tuple)) and not (inner == "int" and hasattr(value, "__iter__")):
            raise TypeError(
                f"Expected list for '{attr.name}' argument to '{snake_case(op_name)}' Op, not {value!r}."
            )
        result: Any = tuple([CONVERTERS[inner](v, attr.name) for v in value])
        if attr.minimum is not None and len(result) < attr.minimum:
            raise ValueError(
                f"Attr '{attr.name}' of '{op_name}' Op passed list of length {len(result)} less than minimum "
                f"{attr.minimum}."
            )
        if attr.allowed is not None:
            for item in result:
                _check_allowed(attr, item, op_name)
        return result
    result = CONVERTERS[kind](value, attr.name)
    if attr.minimum is not None and kind == "int" and result < attr.minimum:
        raise ValueError(
            f"Attr '{attr.name}' of '{op_name}' Op passed {result} less than minimum {attr.minimum}."
        )
    if attr.allowed is not None:
        _check_allowed(attr, result, op_name)
    return result


def _check_allowed(attr: Attr, value: Any, op_name: str) -> None:
    assert attr.allowed is not None
    if value in attr.allowed:
        return
    if attr.type.endswith("type)") or attr.type == "type":
        names = ", ".join(d.name for d in attr.allowed)
        raise TypeError(
            f"Value passed to parameter '{attr.name}' has DataType {value.name} not in list of allowed values: {names}"
        )
    listed = '", "'.join(attr.allowed)
    raise ValueError(f"Attr '{attr.name}' of '{op_name}' Op passed string '{value}' not in: \"{listed}\".")
