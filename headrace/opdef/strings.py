"""Working through tensors of strings element by element."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from headrace import errors


def invalid(message: str) -> NoReturn:
    """Raises an InvalidArgumentError; the runtime adds the node."""
    raise errors.InvalidArgumentError(None, None, message)


def flat(array: Any) -> list[bytes]:
    """Returns the elements of a tensor of strings in order."""
    return np.asarray(array, object).ravel().tolist()


def strings(values: Iterable[bytes], shape: Any) -> np.ndarray[Any, Any]:
    """Returns a tensor of strings of a shape."""
    listed = list(values)
    out = np.empty(len(listed), object)
    out[:] = listed
    return out.reshape(shape)


def each(function: Callable[[bytes], bytes], array: Any) -> np.ndarray[Any, Any]:
    """Returns the strings that a function makes of those of a tensor."""
    return strings([function(s) for s in flat(array)], np.shape(array))


def text(array: Any) -> str:
    """Returns the string that a scalar tensor holds."""
    value = np.asarray(array, object).item()
    return value.decode() if isinstance(value, bytes) else str(value)


_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def escaped(data: bytes) -> str:
    """Returns bytes as text in which what is not printable is written as in C."""
    return "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data)


def attr_bytes(value: Any) -> bytes:
    """Returns a string attr as bytes."""
    return value.encode() if isinstance(value, str) else bytes(value)


def attr_text(value: Any) -> str:
    """Returns a string attr as text."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


_FLOAT = re.compile(rb"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)\s*", re.I)
_HEX = re.compile(rb"\s*[+-]?0x[0-9a-f]+(\.[0-9a-f]*)?(p[+-]?\d+)?\s*", re.I)
_INT = re.compile(rb"\s*[+-]?\d+\s*")


def parse_number(s: bytes, dtype: Any) -> Any:
    """Returns the number that a string spells, or None if it spells none of that type."""
    kind = dtype.storage
    if kind.kind == "f":
        if _FLOAT.fullmatch(s):
            with np.errstate(over="ignore"):
                return kind.type(float(s))
        if _HEX.fullmatch(s):
            return kind.type(float.fromhex(s.decode().strip()))
        return None
    if not _INT.fullmatch(s):
        return None
    value = int(s)
    info = np.iinfo(kind)
    return kind.type(value) if info.min <= value <= info.max else None
