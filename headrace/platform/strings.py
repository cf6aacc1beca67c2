"""tf.compat: text against bytes, kinds of numbers, and the date of the ops (Dimension's part is in tensor_shape.py)."""

from __future__ import annotations

import contextlib
import datetime
import numbers
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.export import export, export_value

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)
for _name in ("integral_types", "real_types", "complex_types", "bytes_or_text_types"):
    export_value("compat." + _name, globals()[_name])


@export("compat.as_bytes")
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Returns bytes: text is encoded, bytes stay.

    Raises:
      TypeError: The value is neither.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Returns text: bytes are decoded, text stays.

    Raises:
      TypeError: The value is neither.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


@export("compat.as_str_any")
def as_str_any(value: Any) -> str:
    """Returns any value as text: bytes decoded, others by `str`."""
    return as_text(value) if isinstance(value, bytes) else str(value)


@export("compat.path_to_str")
def path_to_str(path: Any) -> Any:
    """Returns a path object as text, and anything else as it is."""
    return as_str_any(path.__fspath__()) if isinstance(path, os.PathLike) else path


_HORIZON = datetime.date(2019, 8, 21)
_horizon = _HORIZON


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Says whether ops introduced on a date may be used: those of before 21 August 2019 may, in TensorFlow 1.15."""
    return _horizon > datetime.date(year, month, day)


@export("compat.forward_compatibility_horizon")
@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Moves the date of `forward_compatible` within a `with` block."""
    global _horizon
    before = _horizon
    _horizon = datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon = before
