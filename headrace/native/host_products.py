"""Products of float32 matrices and convolutions for the interpreter, by the native library."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from ctypes import c_int64
from typing import Any

import numpy as np

from headrace.native import address, library, threads

_FOR_A_THREAD = 20_000_000  # multiplications; fewer are not worth a thread of their own
_MOST_PHASES = 64  # of a convolution's steps
_WHICH = {"": 0, "input_gradient": 1, "filter_gradient": 2}
_made_for_this_cpu: dict[Any, bool] = {}


def _library() -> Any:
    """Returns the library if it has code for products that is made for this CPU."""
    lib = library()
    if lib is None:
        return None
    known = _made_for_this_cpu.get(lib)
    if known is None:
        lib.headrace_host_product_code.restype = ctypes.c_char_p
        for function in (
            lib.headrace_host_product,
            lib.headrace_host_convolution,
            lib.headrace_host_depthwise,
        ):
            function.restype = c_int64
        known = _made_for_this_cpu[lib] = lib.headrace_host_product_code() != b"plain"
    return lib if known else None


def is_there() -> bool:
    """Whether there is a library with code for products that is made for this CPU."""
    return _library() is not None


def product(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Returns the product of two matrices; None without the library or for other types."""
    lib = _library()
    if lib is None or a.dtype != np.float32 or b.dtype != np.float32 or a.ndim != 2 or b.ndim != 2:
        return None
    (m, k), n = a.shape, b.shape[1]
    if b.shape[0] != k or not m * n * k:
        return None
    turn_a, turn_b = (not x.flags.c_contiguous and x.flags.f_contiguous for x in (a, b))
    a, b = a.T if turn_a else np.ascontiguousarray(a), b.T if turn_b else np.ascontiguousarray(b)
    c = np.empty((m, n), np.float32)
    failed = lib.headrace_host_product(
        address(a),
        c_int64(turn_a),
        address(b),
        c_int64(turn_b),
        address(c),
        c_int64(m),
        c_int64(n),
        c_int64(k),
        c_int64(_workers(m * n * k)),
    )
    return None if failed else c


def convolution(
    which: str,
    shape: Sequence[int],
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
) -> np.ndarray[Any, Any] | None:
    """Returns a convolution or one of its gradients; None without the library, or if it is not for it.

    Args:
      which: "", "input_gradient" or "filter_gradient".
      shape: The result's shape; images and their gradients are [images, ..., channels], filters
        [..., channels, filters].
      a: The first operand: of a convolution and of a filter's gradient the images, else the filter.
      b: The filter, or the gradient of the output.
      strides: The steps along each axis, of which there are at most three.
      dilations: The dilations.
      before: The padding before the first element.
    """
    lib = _library()
    axes = len(strides)
    if lib is None or a.dtype != np.float32 or b.dtype != np.float32 or not 1 <= axes <= 3:
        return None
    if which == "input_gradient" and math.prod(strides) > _MOST_PHASES:
        return None
    x, w, y = {
        "": (a.shape, b.shape, shape),
        "input_gradient": (shape, a.shape, b.shape),
        "filter_gradient": (a.shape, shape, b.shape),
    }[which]
    if x[-1] != w[-2] or w[-1] != y[-1] or x[0] != y[0]:
        return None
    geometry = [x[0], x[-1], w[-1], 1]
    rest = (x[1:-1], 1), (w[:-2], 1), (y[1:-1], 1), (strides, 1), (dilations, 1), (before, 0)
    for values, missing in rest:
        geometry += [*([missing] * (3 - axes)), *values]
    work = math.prod(y) * math.prod(w[:-1])
    return _computed(lib.headrace_host_convolution, which, geometry, shape, a, b, work)


def depthwise(
    which: str,
    shape: Sequence[int],
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
) -> np.ndarray[Any, Any] | None:
    """Returns a convolution of every channel with one filter of its own, or a gradient; see `convolution`.

    Filters are [height, width, channels, 1].
    """
    lib = _library()
    if lib is None or a.dtype != np.float32 or b.dtype != np.float32 or len(strides) != 2:
        return None
    x, w, y = {
        "": (a.shape, b.shape, shape),
        "input_gradient": (shape, a.shape, b.shape),
        "filter_gradient": (a.shape, shape, b.shape),
    }[which]
    if w[3] != 1 or not x[3] == w[2] == y[3] or x[0] != y[0]:
        return None
    geometry = [x[0], x[3], *x[1:3], *w[:2], *y[1:3], *strides, *dilations, *before]
    work = math.prod(y) * math.prod(w[:2])
    return _computed(lib.headrace_host_depthwise, which, geometry, shape, a, b, work)


def _computed(
    function: Any, which: str, geometry: list[int], shape: Sequence[int], a: Any, b: Any, work: int
) -> np.ndarray[Any, Any] | None:
    out = np.empty(tuple(shape), np.float32)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    failed = function(
        c_int64(_WHICH[which]),
        address(np.array(geometry, np.int64)),
        address(a),
        address(b),
        address(out),
        c_int64(_workers(work)),
    )
    return None if failed else out


def _workers(multiplications: int) -> int:
    return max(1, min(threads(), multiplications // _FOR_A_THREAD))
