"""Products of matrices and convolutions that compiled programs have the native library compute.

Each function returns None where the library has nothing for the operands: whoever calls it has XLA's way.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.native import finish, xla

# Multiplications; XLA writes the loops of fewer into the code around them.
_LEAST = 4096
_MOST_PHASES = 64  # of a convolution's steps; more are left to XLA
_FEWEST_IN_GROUP = 8  # channels, or filters


def code() -> str:
    """Returns what multiplies: "avx512", "avx2" or "plain"; empty if there is no library."""
    library = xla.library()
    if library is None:
        return ""
    library.headrace_product_code.restype = ctypes.c_char_p
    name: bytes = library.headrace_product_code()
    return name.decode()


def is_there() -> bool:
    """Whether the library has code for products that is made for this CPU, or is told to use what it has."""
    return code() not in ("", "plain") or (bool(code()) and bool(os.environ.get("HEADRACE_PRODUCTS")))


def product(a: Any, b: Any, turn_a: bool = False, turn_b: bool = False) -> Any:
    """Returns the products of matrices in the last two axes, in a trace.

    Args:
      a: Left matrices.
      b: Right matrices; as many.
      turn_a: Whether the left matrices lie transposed.
      turn_b: Whether the right ones do.
    """
    if not _are_single(a, b) or a.ndim != b.ndim or a.ndim < 2 or a.shape[:-2] != b.shape[:-2]:
        return None
    m, k = a.shape[-1:-3:-1] if turn_a else a.shape[-2:]
    n = b.shape[-2] if turn_b else b.shape[-1]
    if k != (b.shape[-1] if turn_b else b.shape[-2]) or m * n * k < _LEAST or not is_there():
        return None
    batch = a.shape[:-2]
    if math.prod(batch) == 0:
        return None
    return finish.made(
        lambda of: xla.call(
            "headrace_product",
            (*batch, m, n),
            np.float32,
            a,
            b,
            *of.operands,
            turn_a=np.bool_(turn_a),
            turn_b=np.bool_(turn_b),
            finish=of.code,
        )
    )


def takes_convolution(dtype: Any, kernel: Sequence[int], channels: int, filters: int, groups: int) -> bool:
    """Whether the library has convolutions of float32, channels last, with such a filter, and they pay.

    Args:
      dtype: What the numbers are.
      kernel: The filter's size along each axis.
      channels: The input's channels.
      filters: The output's.
      groups: In how many groups they fall.
    """
    return (
        np.dtype(dtype) == np.float32
        and 1 <= len(kernel) <= 3
        and groups >= 1
        and filters % groups == 0
        and (groups == 1 or min(channels, filters) // groups >= _FEWEST_IN_GROUP)
        and is_there()
    )


def takes_steps(strides: Sequence[int]) -> bool:
    """Whether the library has the gradient of the input of a convolution with such steps."""
    return math.prod(strides) <= _MOST_PHASES


def convolution(
    which: str,
    shape: Sequence[int],
    a: Any,
    b: Any,
    *,
    groups: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
) -> Any:
    """Returns a convolution or one of its gradients, in a trace.

    Args:
      which: "", "_input_gradient" or "_filter_gradient".
      shape: The result's shape; images and their gradients are [images, ..., channels], filters
        [..., channels / groups, filters].
      a: The first operand: of a convolution the images, of its gradients the other operand.
      b: The filter, or the gradient of the output.
      groups: In how many groups the channels fall.
      strides: The steps along each axis.
      dilations: The dilations.
      before: The padding before the first element.
    """
    missing = 3 - len(strides)
    geometry = [groups, *([1] * missing), *strides, *([1] * missing), *dilations, *([0] * missing), *before]
    numbers = np.array(geometry, np.int64)
    return _finished("headrace_convolution" + which, shape, a, b, is_forward=not which, geometry=numbers)


def takes_depthwise(dtype: Any, multiplier: int) -> bool:
    """Whether the library has convolutions of float32, channels last, of every channel with so many filters."""
    return np.dtype(dtype) == np.float32 and multiplier == 1 and xla.library() is not None


def depthwise(
    which: str,
    shape: Sequence[int],
    a: Any,
    b: Any,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
) -> Any:
    """Returns a convolution of every channel with a filter of its own, or one of its gradients, in a trace.

    Args:
      which: "", "_input_gradient" or "_filter_gradient".
      shape: The result's shape; images are [images, height, width, channels], filters [height, width, channels].
      a: The images, or for the gradient of the input that of the output.
      b: The filter, or for its gradient that of the output.
      strides: The steps along height and width.
      dilations: The dilations.
      before: The padding before the first element.
    """
    geometry = np.array([*strides, *dilations, *before], np.int64)
    return _finished("headrace_depthwise" + which, shape, a, b, is_forward=not which, geometry=geometry)


def _finished(target: str, shape: Sequence[int], a: Any, b: Any, is_forward: bool, **attrs: Any) -> Any:
    if not is_forward:
        return xla.call(target, tuple(shape), np.float32, a, b, **attrs)
    return finish.made(
        lambda of: xla.call(target, tuple(shape), np.float32, a, b, *of.operands, **attrs, finish=of.code)
    )


def _are_single(*operands: Any) -> bool:
    return all(np.dtype(x.dtype) == np.float32 for x in operands)
