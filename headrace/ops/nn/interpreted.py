"""Convolution, pooling and normalization in NumPy: quicker than waiting for XLA to compile a program an op.

Convolutions are matrix products of the filter with the windows of the padded input, laid side by side for a few images
at a time. For pooling a window is a list of shifted slices of the input. Functions return NotImplemented where XLA's
program is the better choice: very many multiplications, types that need care, channels that are not last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from headrace.blas import multiply
from headrace.native import host_products

_MOST_PRODUCTS = 40_000_000_000
_MOST_ELEMENTS = 1 << 27
_FEWEST_CHANNELS = 4
_PIECE = 1 << 24  # bytes of windows that are laid out at a time


def _suits(conv: Any, *arrays: Any) -> bool:
    if conv.layout[-1] != "C" or any(a.dtype not in (np.float32, np.float64) for a in arrays):
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
        return np.ascontiguousarray(x)
    return np.pad(x, ((0, 0), *conv.pads, (0, 0)), constant_values=value)


def _images_at_a_time(conv: Any, itemsize: int) -> int:
    window = math.prod(conv.filter_shape[:-1]) * math.prod(conv.outputs) * itemsize
    return max(1, _PIECE // max(1, window))


def _windows(conv: Any, padded: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns what the filter meets at each place of some images, as [places, elements of a window]."""
    image, *steps, item = padded.strides
    places = [s * step for s, step in zip(conv.strides, steps, strict=True)]
    within = [d * step for d, step in zip(conv.dilations, steps, strict=True)]
    view = as_strided(
        padded,
        (padded.shape[0], *conv.outputs, *conv.kernel, padded.shape[-1]),
        (image, *places, *within, item),
        writeable=False,
    )
    return view.reshape(padded.shape[0] * math.prod(conv.outputs), -1)


def _native(
    which: str,
    conv: Any,
    shape: Any,
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    depthwise: bool = False,
) -> Any:
    """Returns a convolution or one of its gradients by the native library, None if that can't be had."""
    return (host_products.depthwise if depthwise else host_products.convolution)(
        which,
        shape,
        a,
        b,
        strides=conv.strides,
        dilations=conv.dilations,
        before=[before for before, _ in conv.pads],
    )


def convolve(conv: Any, x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> Any:
    """Returns the convolution of `x` with `w`."""
    if not _suits(conv, x, w) or conv.groups != 1:
        return NotImplemented
    found = _native("", conv, conv.output_shape, x, w)
    if found is not None:
        return found
    padded = _padded(x, conv)
    out = np.empty(conv.output_shape, x.dtype)
    flat = w.reshape(-1, w.shape[-1])
    n = _images_at_a_time(conv, x.itemsize)
    for i in range(0, len(x), n):
        piece = multiply(_windows(conv, padded[i : i + n]), flat)
        out[i : i + n] = piece.reshape(-1, *conv.output_shape[1:])
    return out


def input_gradient(conv: Any, w: np.ndarray[Any, Any], dy: np.ndarray[Any, Any]) -> Any:
    """Returns the gradient of a convolution with respect to its input."""
    if not _suits(conv, w, dy) or conv.groups != 1:
        return NotImplemented
    # The library multiplies filters with the zeros around an image, too, of which infinity makes NaN; and tiles of it
    # are wide.
    if conv.input_shape[-1] >= _FEWEST_CHANNELS and not conv.is_seldom_met and np.isfinite(w).all():
        found = _native("input_gradient", conv, conv.input_shape, w, dy)
        if found is not None:
            return found
    shape = [conv.input_shape[0], *(n + a + b for n, (a, b) in zip(conv.sizes, conv.pads, strict=True))]
    padded = np.zeros((*shape, conv.input_shape[-1]), dy.dtype)
    turned = w.reshape(-1, w.shape[-1]).T
    n = _images_at_a_time(conv, dy.itemsize)
    for i in range(0, len(dy), n):
        some = dy[i : i + n]
        parts = multiply(some.reshape(-1, dy.shape[-1]), turned).reshape(*some.shape[:-1], *w.shape[:-1])
        piece = padded[i : i + n]
        for place, cut in _offsets(conv):
            piece[cut] += parts[(..., *place, slice(None))]
    inner = [slice(a, a + n) for n, (a, _) in zip(conv.sizes, conv.pads, strict=True)]
    return np.ascontiguousarray(padded[(slice(None), *inner)])


def filter_gradient(conv: Any, x: np.ndarray[Any, Any], dy: np.ndarray[Any, Any]) -> Any:
    """Returns the gradient of a convolution with respect to its filter."""
    if not _suits(conv, x, dy) or conv.groups != 1:
        return NotImplemented
    found = _native("filter_gradient", conv, conv.filter_shape, x, dy)
    if found is not None:
        return found
    padded = _padded(x, conv)
    out: Any = 0
    n = _images_at_a_time(conv, x.itemsize)
    for i in range(0, len(x), n):
        out = out + multiply(_windows(conv, padded[i : i + n]).T, dy[i : i + n].reshape(-1, dy.shape[-1]))
    return out.reshape(conv.filter_shape)


# -- a filter for each channel --------------------------------------------------------------------------------


def convolve_depthwise(conv: Any, x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> Any:
    """Returns the convolution of each channel of `x` with its own filters, [*kernel, channels, multiplier]."""
    if not _suits(conv, x, w):
        return NotImplemented
    found = _native("", conv, conv.output_shape, x, w, depthwise=True)
    if found is not None:
        return found
    padded = _padded(x, conv)
    out = np.zeros((*conv.output_shape[:-1], *w.shape[-2:]), x.dtype)
    for place, cut in _offsets(conv):
        out += padded[cut][..., None] * w[place]
    return out.reshape(conv.output_shape)


def depthwise_input_gradient(conv: Any, w: np.ndarray[Any, Any], dy: np.ndarray[Any, Any]) -> Any:
    """Returns the gradient of `convolve_depthwise` with respect to its input."""
    if not _suits(conv, w, dy):
        return NotImplemented
    found = _native("input_gradient", conv, conv.input_shape, w, dy, depthwise=True)
    if found is not None:
        return found
    shape = [conv.input_shape[0], *(n + a + b for n, (a, b) in zip(conv.sizes, conv.pads, strict=True))]
    padded = np.zeros((*shape, conv.input_shape[-1]), dy.dtype)
    dy = dy.reshape(*dy.shape[:-1], *w.shape[-2:])
    for place, cut in _offsets(conv):
        padded[cut] += dy[..., 0] * w[place][:, 0] if w.shape[-1] == 1 else (dy * w[place]).sum(-1)
    inner = [slice(a, a + n) for n, (a, _) in zip(conv.sizes, conv.pads, strict=True)]
    return np.ascontiguousarray(padded[(slice(None), *inner)])


def depthwise_filter_gradient(conv: Any, x: np.ndarray[Any, Any], dy: np.ndarray[Any, Any]) -> Any:
    """Returns the gradient of `convolve_depthwise` with respect to its filters."""
    if not _suits(conv, x, dy):
        return NotImplemented
    found = _native("filter_gradient", conv, conv.depthwise_shape, x, dy, depthwise=True)
    if found is not None:
        return found
    padded = _padded(x, conv)
    out = np.zeros(conv.depthwise_shape, dy.dtype)
    dy = dy.reshape(*dy.shape[:-1], *conv.depthwise_shape[-2:])
    for place, cut in _offsets(conv):
        out[place] = column_sums((padded[cut][..., None] * dy).reshape(-1, math.prod(dy.shape[-2:]))).reshape(
            dy.shape[-2:]
        )
    return out


# -- normalization --------------------------------------------------------------------------------------------


def column_sums(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the sums of a matrix's columns; as a product it loses less than one addition after the other."""
    return multiply(np.ones((1, rows.shape[0]), rows.dtype), rows)[0]


def channel_sums(x: np.ndarray[Any, Any], axes: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Returns the sum over all axes but one, the last one if `axes` are the first ones."""
    if x.ndim - 1 in axes:
        return np.sum(x, axis=axes)
    return column_sums(x.reshape(-1, x.shape[-1]))


def over_neighbours(x: np.ndarray[Any, Any], radius: int) -> np.ndarray[Any, Any]:
    """Returns for each channel the sum over those within `radius` of it."""
    radius = min(int(radius), x.shape[-1])
    out = x.copy()
    for d in range(1, radius + 1):
        out[..., d:] += x[..., :-d]
        out[..., :-d] += x[..., d:]
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
