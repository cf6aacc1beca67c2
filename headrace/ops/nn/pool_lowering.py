"""How pooling and its gradients are written for XLA.

XLA's own gradient of a maximum over windows (select and scatter) is serial on a CPU. Here a window is a list of
shifted slices instead: all steps are element by element and fuse, and the gradient is gathered, not scattered.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError, UnimplementedError
from headrace.lazy import jax, jnp, lax
from headrace.native import xla as native
from headrace.ops.nn.windows import kernel_places, paddings


class Windows:
    """Windows sliding over an array: sizes, steps and padding along every axis, for a known shape."""

    def __init__(self, shape: Any, ksize: Any, strides: Any, padding: str):
        self.shape = tuple(int(n) for n in shape)
        self.ksize = tuple(int(k) for k in ksize)
        self.strides = tuple(int(s) for s in strides)
        if len(self.shape) != len(self.ksize) or len(self.shape) != len(self.strides):
            raise InvalidArgumentError(
                None,
                None,
                f"tensor_in must be {len(self.ksize)}-dimensional, but got {len(self.shape)} dimensions",
            )
        self.pads = paddings(self.shape, self.ksize, self.strides, (1,) * len(shape), padding)
        self.outputs = kernel_places(self.shape, self.ksize, self.strides, self.pads)

    def check(self, data_format: str) -> None:
        """Checks that neither the batch nor, beside the space, the depth is pooled.

        Raises:
          UnimplementedError: It is.
        """
        n, c = data_format.index("N"), data_format.index("C")
        if self.ksize[n] != 1 or self.strides[n] != 1:
            raise UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
        if len(self.ksize) == 5 and (self.ksize[c] != 1 or self.strides[c] != 1):
            raise UnimplementedError(None, None, "Pooling is not yet supported on the depth dimension.")
        if self.ksize[c] != 1 and any(k != 1 for i, k in enumerate(self.ksize) if i != c):
            raise UnimplementedError(
                None,
                None,
                "MaxPooling supports exactly one of pooling across depth or pooling across width/height.",
            )

        if self.ksize[c] != 1:
            for number, what in ((self.shape[c] % self.ksize[c], "evenly divide the input depth"),
                                 (self.ksize[c] - self.strides[c], "equal the depth stride")):  # fmt: skip
                if number:
                    raise UnimplementedError(
                        None, None, f"Depthwise max pooling requires the depth window to {what}."
                    )

    def offsets(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yields the number and the place of every element of a window, in the order of the scan."""
        return enumerate(itertools.product(*(range(k) for k in self.ksize)))

    def padded(self, x: Any, value: Any) -> Any:
        """Returns `x` with the padding filled in, and without the rest that no window reaches."""
        config = [
            (a, (m - 1) * s + k - n - a, 0)
            for n, k, s, m, (a, _) in zip(
                self.shape, self.ksize, self.strides, self.outputs, self.pads, strict=True
            )
        ]
        return lax.pad(x, jnp.asarray(value, x.dtype), config)

    def shifted(self, padded: Any, offset: tuple[int, ...]) -> Any:
        """Returns one element of every window."""
        stops = [o + (m - 1) * s + 1 for o, m, s in zip(offset, self.outputs, self.strides, strict=True)]
        return lax.slice(padded, offset, stops, self.strides)

    def counts(self) -> np.ndarray[Any, Any]:
        """Returns how many elements of each window lie inside the array."""
        out = np.ones((1,) * len(self.shape))
        for i, (n, k, s, m, (a, _)) in enumerate(
            zip(self.shape, self.ksize, self.strides, self.outputs, self.pads, strict=True)
        ):
            start = np.arange(m) * s - a
            inside = np.minimum(start + k, n) - np.maximum(start, 0)
            out = out * inside.reshape((-1,) + (1,) * (len(self.shape) - 1 - i))
        return out

    def has_overlong(self) -> bool:
        """Whether a window is longer than the array and begins before it."""
        return any(k > n and a > 0 for n, k, (a, _) in zip(self.shape, self.ksize, self.pads, strict=True))

    def shares(self) -> list[np.ndarray[Any, Any]]:
        """Returns for each axis what a window's mean owes to each element, [windows, elements], as TensorFlow has it.

        There a window that is longer than the array and begins before it stands for the whole of it.
        """
        out = []
        for n, k, s, m, (a, _) in zip(
            self.shape, self.ksize, self.strides, self.outputs, self.pads, strict=True
        ):
            start = np.arange(m)[:, None] * s - a
            first = np.maximum(start, 0)
            length = np.minimum(np.where((start < 0) & (k > n), n, k + np.minimum(start, 0)), n - first)
            places = np.arange(n)[None, :]
            out.append(((places >= first) & (places < first + length)) / length)
        return out

    def spread(self, term: Callable[[int], Any], dtype: Any) -> Any:
        """Sums what each window sends back to its elements: `term(k)` for the k-th element of every window.

        Elements whose places leave the same rest when divided by the steps hear from the same offsets, so each rest
        is a plane of its own, and the planes are interleaved.
        """
        if 0 in self.outputs or 0 in self.shape:
            return jnp.zeros(self.shape, dtype)
        numbers = {offset: k for k, offset in self.offsets()}
        places = [m + -(-k // s) - 1 for m, k, s in zip(self.outputs, self.ksize, self.strides, strict=True)]
        planes = []
        for rest in itertools.product(*(range(s) for s in self.strides)):
            total = None
            for shift in itertools.product(
                *(range(-(-k // s)) for k, s in zip(self.ksize, self.strides, strict=True))
            ):
                offset = tuple(r + s * q for r, s, q in zip(rest, self.strides, shift, strict=True))
                if offset not in numbers:
                    continue
                config = [(q, p - m - q, 0) for q, p, m in zip(shift, places, self.outputs, strict=True)]
                part = lax.pad(term(numbers[offset]), jnp.zeros((), dtype), config)
                total = part if total is None else total + part
            planes.append(jnp.zeros(places, dtype) if total is None else total)
        return self._interleaved(planes, places)

    def _interleaved(self, planes: list[Any], places: list[int]) -> Any:
        rank = len(self.shape)
        stacked = jnp.stack(planes).reshape(*self.strides, *places)
        order = [j for i in range(rank) for j in (rank + i, i)]
        full = stacked.transpose(order).reshape([p * s for p, s in zip(places, self.strides, strict=True)])
        config = [
            (-a, n + a - p * s, 0)
            for n, a, p, s in zip(self.shape, (a for a, _ in self.pads), places, self.strides, strict=True)
        ]
        return lax.pad(full, jnp.zeros((), full.dtype), config)


_CLOSE = np.float32(1e-5)  # to the greatest element, for the gradient over volumes
_MOST_SLICES = 64  # a longer list of slices compiles slowly and gains nothing


def _is_short(windows: Windows) -> bool:
    return math.prod(windows.ksize) <= _MOST_SLICES


def _is_whole(windows: Windows) -> bool:
    """Whether there is one window along each axis, and it takes the axis in or is one element."""
    return all(
        (k == n and m == 1) or (k == 1 and s == 1)
        for n, k, s, m in zip(windows.shape, windows.ksize, windows.strides, windows.outputs, strict=True)
    ) and not any(map(any, windows.pads))


def _pooled_axes(windows: Windows) -> tuple[int, ...]:
    return tuple(i for i, k in enumerate(windows.ksize) if k > 1)


def lowest(dtype: Any) -> Any:
    """Returns the least finite number of a type."""
    dtype = np.dtype(dtype)
    return jnp.iinfo(dtype).min if dtype.kind in "iu" else jnp.finfo(dtype).min


def _least(dtype: Any) -> Any:
    """Returns what nothing is less than."""
    return lowest(dtype) if np.dtype(dtype).kind in "iu" else -np.inf


def max_pool(x: Any, windows: Windows, low: Any = None) -> Any:
    """Returns the greatest element of every window; NaN never is.

    Args:
      x: What the windows slide over.
      windows: The windows.
      low: What no result is less than; the least finite number by default, which stands in the padding, too.
    """
    if low is None:
        low = lowest(x.dtype)
    best = jnp.full(windows.outputs, low, x.dtype)
    if 0 in windows.outputs:
        return best
    if not _is_short(windows):
        return _long_max_pool(jnp.where(x > low, x, jnp.asarray(low, x.dtype)), windows)
    padded = windows.padded(x, lowest(x.dtype))
    for _, offset in windows.offsets():
        each = windows.shifted(padded, offset)
        best = jnp.where(each > best, each, best)
    return best


def _long_max_pool(x: Any, windows: Windows) -> Any:
    # JAX knows the gradient only where the start is the identity of the maximum.
    low = np.asarray(_least(x.dtype), x.dtype)[()]
    return lax.reduce_window(x, low, lax.max, windows.ksize, windows.strides, windows.pads)


def first_maximum(x: Any, windows: Windows) -> tuple[Any, Any]:
    """Returns the greatest element of every window, and which of the window's elements is the first such.

    The window's first element stands until another is greater: NaN there stays, and elsewhere is passed over.
    """
    if 0 in windows.outputs:
        return jnp.zeros(windows.outputs, x.dtype), jnp.zeros(windows.outputs, jnp.int32)
    low = _least(x.dtype)
    padded = windows.padded(x, low)
    best = jnp.full(windows.outputs, low, x.dtype)
    # The first element that is no padding.
    start = at = jnp.asarray(np.broadcast_to(_first_inside(windows), windows.outputs))
    for k, offset in windows.offsets():
        each = windows.shifted(padded, offset)
        better = each > best
        best = jnp.where(better, each, best)
        at = jnp.where(better, np.int32(k), at)
    if np.dtype(x.dtype).kind in "iu":
        return best, at
    before = [(a, 0) for a, _ in windows.pads]
    first = jnp.pad(x, before, mode="edge") if any(map(any, before)) else x
    first = windows.shifted(first, (0,) * len(before))
    stays = first != first
    return jnp.where(stays, first, best), jnp.where(stays, start, at)


def _first_inside(windows: Windows) -> np.ndarray[Any, Any]:
    rank = len(windows.shape)
    total = np.zeros((1,) * rank, np.int32)
    scale = 1
    for i in range(rank - 1, -1, -1):
        start = np.arange(windows.outputs[i]) * windows.strides[i] - windows.pads[i][0]
        skip = np.maximum(-start, 0).astype(np.int32)
        total = total + scale * skip.reshape((-1,) + (1,) * (rank - 1 - i))
        scale *= windows.ksize[i]
    return total.astype(np.int32)


def _is_native(x: Any, windows: Windows) -> bool:
    """Whether the native library has the gradient, and pays: float32, channels last, over height and width.

    Windows that lie side by side are as quick without; where they overlap, or some elements are in none, XLA takes
    up to fourteen times as long.
    """
    side_by_side = windows.ksize == windows.strides and not any(
        n % k for n, k in zip(windows.shape, windows.ksize, strict=True)
    )
    return (
        not side_by_side
        and len(windows.shape) == 4
        and np.dtype(x.dtype) == np.float32
        and windows.ksize[0] == windows.ksize[3] == windows.strides[0] == windows.strides[3] == 1
        and 0 not in windows.outputs
        and 0 not in windows.shape
        and windows.shape[1] * windows.shape[2] < 2**31
        and native.library() is not None
    )


def _geometry(windows: Windows) -> np.ndarray[Any, Any]:
    (_, h, w, _), (_, row, column, _), (_, (top, _), (left, _), _) = (
        windows.ksize,
        windows.strides,
        windows.pads,
    )
    return np.array([h, w, row, column, top, left], np.int64)


def max_pool_gradient(x: Any, dy: Any, windows: Windows) -> Any:
    """Sends each gradient back to the first greatest element of its window."""
    if _is_native(x, windows) and dy.dtype == x.dtype:
        geometry = _geometry(windows)
        return native.call("headrace_max_pool_gradient", x.shape, x.dtype, x, dy, geometry=geometry)
    if not _is_short(windows):
        return jax.vjp(lambda x: _long_max_pool(x, windows), x)[1](dy)[0]
    _, at = first_maximum(x, windows)
    zero = jnp.zeros((), dy.dtype)
    return windows.spread(lambda k: jnp.where(at == k, dy, zero), dy.dtype)


def max_pool_gradient_to_all(x: Any, y: Any, dy: Any, windows: Windows) -> Any:
    """Sends each gradient back to every element of its window that is close to the greatest, if that is finite."""
    padded = windows.padded(x, lowest(x.dtype))
    offsets = dict(windows.offsets())
    zero = jnp.zeros((), dy.dtype)

    def sent(k: int) -> Any:
        return jnp.where(jnp.abs(windows.shifted(padded, offsets[k]) - y) < _CLOSE, dy, zero)

    return windows.spread(sent, dy.dtype)


def max_pool_gradient_gradient(x: Any, y: Any, ddx: Any, windows: Windows) -> Any:
    """Takes from each window what lies where its first element is that equals the greatest, zero if none does."""
    out = jnp.zeros(windows.outputs, ddx.dtype)
    if 0 in windows.outputs:
        return out
    values = windows.padded(x, lowest(x.dtype) if np.dtype(x.dtype).kind in "iu" else np.nan)
    padded = windows.padded(ddx, 0)
    left = jnp.ones(windows.outputs, bool)
    for _, offset in windows.offsets():
        here = left & (windows.shifted(values, offset) == y)
        out = jnp.where(here, windows.shifted(padded, offset), out)
        left &= ~here
    return out


def avg_pool(x: Any, windows: Windows) -> Any:
    """Returns the mean of the elements of each window that lie inside."""
    if 0 in windows.outputs:
        return jnp.zeros(windows.outputs, x.dtype)
    wide = x.astype(jnp.float32) if x.dtype.itemsize < 4 else x
    counts = windows.counts().astype(wide.dtype)
    return (_window_sum(wide, windows) / counts).astype(x.dtype)


def _window_sum(x: Any, windows: Windows) -> Any:
    if _is_whole(windows):
        return jnp.sum(x, axis=_pooled_axes(windows), keepdims=True)
    if not _is_short(windows):
        zero = np.zeros((), x.dtype)[()]
        return lax.reduce_window(x, zero, lax.add, windows.ksize, windows.strides, windows.pads)
    padded = windows.padded(x, 0)
    return sum(windows.shifted(padded, offset) for _, offset in windows.offsets())


def avg_pool_gradient(dy: Any, windows: Windows) -> Any:
    """Spreads each gradient evenly over the elements of its window that lie inside."""
    if 0 in windows.outputs or 0 in windows.shape:
        return jnp.zeros(windows.shape, dy.dtype)
    wide = dy.astype(jnp.float32) if dy.dtype.itemsize < 4 else dy
    share = wide / windows.counts().astype(wide.dtype)
    if _is_whole(windows):
        return jnp.broadcast_to(share, windows.shape).astype(dy.dtype)
    if _is_short(windows):
        return windows.spread(lambda _: share, wide.dtype).astype(dy.dtype)
    shape = jax.ShapeDtypeStruct(windows.shape, wide.dtype)
    return jax.linear_transpose(lambda x: _window_sum(x, windows), shape)(share)[0].astype(dy.dtype)
