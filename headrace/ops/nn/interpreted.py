"""Convolution and pooling in NumPy, for first steps: quicker than waiting for XLA to compile a program an op.

A window is a list of shifted slices of the padded input. Each slice takes part in one matrix product, or in one
maximum. Functions return NotImplemented where XLA's program is the better choice: many multiplications, types that
need care, channels that are not last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

_MOST_PRODUCTS = 2_000_000_000
_MOST_ELEMENTS = 1 << 25


def _suits(conv: Any, *arrays: Any) -> bool:
    if (
        conv.groups != 1
        or conv.layout[-1] != "C"
        or any(a.dtype not in (np.float32, np.float64) for a in arrays)
    ):
        return False
    products = math.prod(conv.output_shape) * math.prod(conv.filter_shape[:-1])
    return 0 < products <= _MOST_PRODUCTS


def _offsets(conv: Any) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Yields each place in the kernel and the slices of the padded input that it meets."""
    for place in itertools.product(*(range(k) for k in conv.kernel)):
        cut = [
            slice(p * d, p * d + (m - 1) * s + 1, s)
            for p, d, m, s in zip(place, conv.dilations, conv.outputs, conv.strides, strict=True)
        ]
        yield place, (slice(None), *cut)


def _padded(x: np.ndarray[Any, Any], conv: Any, value: float = 0.0) -> np.ndarray[Any, Any]:
    if not any(map(any, conv.pads)):
        return x
    return np.pad(x, ((0, 0), *conv.pads, (0, 0)), constant_values=value)


def convolve(conv: Any, x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> Any:
    """Returns the convolution of `x` with `w`."""
    if not _suits(conv, x, w):
        return NotImplemented
    padded = _padded(x, conv)
    depth = conv.filter_shape[-2]
    out: Any = 0
    for place, cut in _offsets(conv):
        out = out + padded[cut].reshape(-1, depth) @ w[place]
    return out.reshape(conv.output_shape)


def input_gradient(conv: Any, w: np.ndarray[Any, Any], dy: np.ndarray[Any, Any]) -> Any:
    """Returns the gradient of a convolution with respect to its input."""
    if not _suits(conv, w, dy):
        return NotImplemented
    shape = [conv.input_shape[0], *(n + a + b for n, (a, b) in zip(conv.sizes, conv.pads, strict=True))]
    padded = np.zeros((*shape, conv.input_shape[-1]), dy.dtype)
    flat = dy.reshape(-1, dy.shape[-1])
    for place, cut in _offsets(conv):
        padded[cut] += (flat @ w[place].T).reshape(*dy.shape[:-1], -1)
    inner = [slice(a, a + n) for n, (a, _) in zip(conv.sizes, conv.pads, strict=True)]
    return np.ascontiguousarray(padded[(slice(None), *inner)])


def filter_gradient(conv: Any, x: np.ndarray[Any, Any], dy: np.ndarray[Any, Any]) -> Any:
    """Returns the gradient of a convolution with respect to its filter."""
    if not _suits(conv, x, dy):
        return NotImplemented
    padded = _padded(x, conv)
    flat = dy.reshape(-1, dy.shape[-1])
    out = np.zeros(conv.filter_shape, dy.dtype)
    for place, cut in _offsets(conv):
        out[place] = padded[cut].reshape(-1, x.shape[-1]).T @ flat
    return out


def _slices(windows: Any) -> Iterator[tuple[slice, ...]]:
    """Yields what each element of the windows is, in the order of the scan, as slices of the padded input."""
    for _, offset in windows.offsets():
        yield tuple(
            slice(o, o + (m - 1) * s + 1, s)
            for o, m, s in zip(offset, windows.outputs, windows.strides, strict=True)
        )


def _pool_suits(windows: Any, x: np.ndarray[Any, Any]) -> bool:
    elements = math.prod(windows.outputs) * math.prod(windows.ksize)
    return x.dtype in (np.float32, np.float64) and 0 < elements <= _MOST_ELEMENTS


def _spread(windows: Any, value: float, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.pad(x, windows.pads, constant_values=value) if any(map(any, windows.pads)) else x


def _cropped(windows: Any, padded: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    cut = tuple(slice(a, a + n) for n, (a, _) in zip(windows.shape, windows.pads, strict=True))
    return np.ascontiguousarray(padded[cut])


def max_pool(windows: Any, x: np.ndarray[Any, Any]) -> Any:
    """Returns the greatest element of every window; NaN never is."""
    if not _pool_suits(windows, x):
        return NotImplemented
    low = np.finfo(x.dtype).min
    padded = _spread(windows, low, x)
    best = np.full(windows.outputs, low, x.dtype)
    for cut in _slices(windows):
        np.fmax(best, padded[cut], out=best)
    return best


def max_pool_gradient(windows: Any, x: np.ndarray[Any, Any], dy: np.ndarray[Any, Any]) -> Any:
    """Sends each gradient back to the first greatest element of its window."""
    best = max_pool(windows, x)
    if best is NotImplemented or np.isnan(x).any() or (best == np.finfo(x.dtype).min).any():
        return NotImplemented
    padded = _spread(windows, -np.inf, x)
    out = np.zeros(padded.shape, dy.dtype)
    left = np.ones(windows.outputs, bool)
    for cut in _slices(windows):
        here = left & (padded[cut] == best)
        out[cut] += np.where(here, dy, dy.dtype.type(0))
        left &= ~here
    return _cropped(windows, out)


def avg_pool(windows: Any, x: np.ndarray[Any, Any]) -> Any:
    """Returns the mean of every window, padding not counted."""
    if not _pool_suits(windows, x):
        return NotImplemented
    padded = _spread(windows, 0.0, x)
    total = np.zeros(windows.outputs, x.dtype)
    for cut in _slices(windows):
        total += padded[cut]
    return total / windows.counts().astype(x.dtype)


def avg_pool_gradient(windows: Any, dy: np.ndarray[Any, Any]) -> Any:
    """Sends each gradient back to its window in equal parts."""
    if not _pool_suits(windows, dy):
        return NotImplemented
    part = dy / windows.counts().astype(dy.dtype)
    out = np.zeros([n + a + b for n, (a, b) in zip(windows.shape, windows.pads, strict=True)], dy.dtype)
    for cut in _slices(windows):
        out[cut] += part
    return _cropped(windows, out)
