"""Windows that fade a stretch of a signal in and out."""

from __future__ import annotations

import math
from typing import Any

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.export import NAMES
from headrace.graph.default import name_scope
from headrace.opdef import constant_node, constant_value, convert_to_tensor, export, raw
from headrace.opdef.nodes import ones


def check_scalar(tensor: Any, name: str) -> None:
    """Checks that a tensor may be a scalar.

    Raises:
      ValueError: It is known to be none.
    """
    if tensor._dims:
        raise ValueError(f"Shape {tensor.shape} must have rank 0")


def _raised_cosine(
    name: Any, default_name: str, window_length: Any, periodic: Any, dtype: Any, a: float, b: float
) -> Any:
    """Returns a - b * cos(2 pi i / n), where n is the period."""
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with name_scope(name, default_name, [window_length, periodic]):
        window_length = convert_to_tensor(window_length, dtypes.int32, name="window_length")
        check_scalar(window_length, "window_length")
        known = constant_value(window_length)
        if known is not None and known == 1:
            return ones([1], dtype=dtype)
        periodic = raw.Cast(convert_to_tensor(periodic, dtypes.bool, name="periodic"), DstT=dtypes.int32)
        even = 1 - raw.FloorMod(window_length, 2)
        period = raw.Cast(window_length + periodic * even - 1, DstT=dtype)
        count = raw.Cast(NAMES["range"](window_length), DstT=dtype)
        angle = constant_node(2 * math.pi, dtype) * count / period
        if known is not None:
            return a - b * raw.Cos(angle)
        # A window of one sample has no period.
        return NAMES["cond"](
            raw.Equal(window_length, 1), lambda: ones([1], dtype=dtype), lambda: a - b * raw.Cos(angle)
        )


@export("signal.hann_window")
def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Returns a Hann window.

    Args:
      window_length: The number of samples, a scalar.
      periodic: Whether the window is one period of a signal, for spectra, rather than symmetric, for filters.
      dtype: A floating type.
      name: The scope of the nodes.

    Raises:
      ValueError: `dtype` is not floating.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


@export("signal.hamming_window")
def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Returns a Hamming window.

    Args:
      window_length: The number of samples, a scalar.
      periodic: Whether the window is one period of a signal, for spectra, rather than symmetric, for filters.
      dtype: A floating type.
      name: The scope of the nodes.

    Raises:
      ValueError: `dtype` is not floating.
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)
