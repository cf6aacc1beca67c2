"""Where the pixels of a resized image come from, along one axis; in float32, rounded as TensorFlow rounds.

Positions and weights depend on sizes alone, so they are NumPy tables even in a traced program.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.lazy import jnp, lax

Array = np.ndarray[Any, Any]

_HALF = np.float32(0.5)
_CUBIC_STEPS = 1024
_MOST_UNROLLED = 24


class Between(NamedTuple):
    """Two neighbours of each output pixel, and how far it lies from the first to the second."""

    lower: Array
    upper: Array
    fraction: Array


class Taps(NamedTuple):
    """Weighted sums along an axis: output i is the sum of input[index[i, k]] * weight[i, k] where `used[i, k]`."""

    index: Array
    weight: Array
    used: Array


def ratio(size: int, out: int, align_corners: bool) -> np.float32:
    """Returns how many input pixels lie between two output pixels."""
    if align_corners and out > 1:
        return np.float32(size - 1) / np.float32(out - 1)
    return np.float32(size) / np.float32(out)


def positions(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Array:
    """Returns the place in the input of every output pixel, the first input pixel being at 0."""
    places = np.arange(out, dtype=np.float32)
    step = ratio(size, out, align_corners)
    if half_pixel_centers:
        return (places + _HALF) * step - _HALF
    return places * step


def between(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Between:
    """Returns the neighbours for linear interpolation."""
    at = positions(size, out, align_corners, half_pixel_centers)
    floor = np.floor(at)
    lower = np.clip(floor.astype(np.int64), 0, size - 1)
    upper = np.clip(np.ceil(at).astype(np.int64), 0, size - 1)
    return Between(lower, upper, at - floor)


def nearest(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Array:
    """Returns the nearest input pixel of every output pixel."""
    places = np.arange(out, dtype=np.float32)
    step = ratio(size, out, align_corners)
    at = (places + _HALF) * step if half_pixel_centers else places * step
    if align_corners:
        # Halves go up, unlike in np.rint; adding a half in float64 is exact.
        at = np.floor(at.astype(np.float64) + 0.5)
    return np.clip(np.floor(at).astype(np.int64), 0, size - 1)


def _cubic_table(a: float) -> Array:
    """Returns the cubic convolution kernel at steps from 0 to 1, and from 1 to 2, as rows of two."""
    x = np.arange(_CUBIC_STEPS + 1) / _CUBIC_STEPS
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.stack([near, far], axis=1).astype(np.float32)


def cubic(size: int, out: int, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Returns the four neighbours for bicubic interpolation, whose weights are looked up in a table.

    With half pixel centers the kernel is Keys' (a = -0.5) and neighbours beyond the edge drop out; otherwise a is -0.75
    and the edge stands for them.
    """
    at = positions(size, out, align_corners, half_pixel_centers)
    floor = np.floor(at)
    step = np.rint((at - floor) * np.float32(_CUBIC_STEPS)).astype(np.int64)
    table = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    back = _CUBIC_STEPS - step
    weight = np.stack([table[step, 1], table[step, 0], table[back, 0], table[back, 1]], axis=1)
    index = floor.astype(np.int64)[:, None] + np.arange(-1, 3)
    inside = np.clip(index, 0, size - 1)
    if half_pixel_centers:
        weight = np.where(inside == index, weight, np.float32(0))
        total = ((weight[:, 0] + weight[:, 1]) + weight[:, 2]) + weight[:, 3]
        tiny = np.float32(1000) * np.finfo(np.float32).tiny
        scale = np.where(np.abs(total) >= tiny, np.float32(1) / total, np.float32(1))
        weight = weight * scale[:, None]
    return Taps(inside, weight, np.ones(index.shape, bool))


def area(size: int, out: int, align_corners: bool) -> Taps:
    """Returns which input pixels each output pixel covers, and how much of each (the whole is not scaled to 1)."""
    step = ratio(size, out, align_corners)
    start = np.arange(out, dtype=np.float32) * step
    stop = np.arange(1, out + 1, dtype=np.float32) * step
    first, last = np.floor(start).astype(np.int64), np.ceil(stop).astype(np.int64)
    index = first[:, None] + np.arange(int((last - first).max()))
    used = index < last[:, None]
    left = index.astype(np.float32)
    right = left + np.float32(1)
    start, stop = start[:, None], stop[:, None]
    starts_inside, ends_inside = left < start, right > stop
    weight = np.where(
        starts_inside,
        np.where(ends_inside, step, right - start),
        np.where(ends_inside, stop - left, np.float32(1)),
    )
    return Taps(np.clip(index, 0, size - 1), np.where(used, weight, np.float32(0)).astype(np.float32), used)


def taps_between(table: Between) -> Taps:
    """Returns linear interpolation as weighted sums."""
    weight = np.stack([np.float32(1) - table.fraction, table.fraction], axis=1)
    index = np.stack([table.lower, table.upper], axis=1)
    return Taps(index, weight, np.ones(index.shape, bool))


def transposed(taps: Taps, size: int) -> Taps:
    """Returns the sums of the gradient: what each of `size` input pixels went into, with the same weights."""
    out, k = np.nonzero(taps.used)
    into = taps.index[out, k]
    order = np.argsort(into, kind="stable")
    into, out, weight = into[order], out[order], taps.weight[out, k][order]
    count = np.bincount(into, minlength=size)
    start = np.cumsum(count) - count
    column = np.arange(max(1, int(count.max(initial=0))))
    used = column < count[:, None]
    if not into.size:
        return Taps(np.zeros(used.shape, np.int64), np.zeros(used.shape, np.float32), used)
    at = np.minimum(start[:, None] + column, into.size - 1)
    return Taps(np.where(used, out[at], 0), np.where(used, weight[at], taps.weight.dtype.type(0)), used)


def summed(x: Array, axis: int, taps: Taps) -> Array:
    """Returns the weighted sums of an array along an axis, in the order of the taps."""
    shape = [1] * x.ndim
    shape[axis] = -1
    total: Any = None
    for k in range(taps.index.shape[1]):
        part = np.take(x, taps.index[:, k], axis) * taps.weight[:, k].astype(x.dtype).reshape(shape)
        if not taps.used[:, k].all():
            part = np.where(taps.used[:, k].reshape(shape), part, x.dtype.type(0))
        total = part if total is None else total + part
    return total  # type: ignore[no-any-return]


def apart(x: Any) -> Any:
    """Returns a traced array that XLA doesn't fuse with what comes next.

    Sums of gathered slices are quick as a loop of their own, and many times slower inside a reduction or another sum.
    """
    return lax.optimization_barrier(x)


def lerped(x: Any, axis: int, table: Between) -> Any:
    """Returns a traced array interpolated linearly along an axis: equal neighbours give just that.

    Differences are taken first, so that two arrays are gathered once each: what is gathered twice isn't fused.
    """
    n = x.shape[axis]
    shape = [1] * x.ndim
    shape[axis] = -1
    steps = lax.slice_in_dim(x, 1, n, axis=axis) - lax.slice_in_dim(x, 0, n - 1, axis=axis)
    margin = [(0, 0, 0)] * x.ndim
    margin[axis] = (0, 1, 0)
    steps = lax.pad(steps, jnp.zeros((), x.dtype), margin)
    step = np.where(table.upper > table.lower, table.lower, n - 1)
    moved = jnp.take(steps, step, axis=axis, mode="clip") * table.fraction.astype(x.dtype).reshape(shape)
    return jnp.take(x, table.lower, axis=axis, mode="clip") + moved


def lowered(x: Any, axis: int, taps: Taps) -> Any:
    """Returns the weighted sums of a traced array along an axis.

    They are sums of gathered slices: XLA scatters one element after the other, and a product with the matrix of the
    weights would take longer and make NaN of 0 times infinity.
    """
    index, weight, used = taps
    shape = [1] * x.ndim
    shape[axis] = -1
    columns = index.shape[1]
    if columns > _MOST_UNROLLED:
        picked = jnp.take(x, index, axis=axis, mode="clip")
        shape = [1] * picked.ndim
        shape[axis : axis + 2] = index.shape
        product = jnp.where(used.reshape(shape), picked * weight.astype(x.dtype).reshape(shape), 0)
        return product.sum(axis=axis + 1, dtype=x.dtype)
    total = None
    for k in range(columns):
        part = jnp.take(x, index[:, k], axis=axis, mode="clip") * weight[:, k].astype(x.dtype).reshape(shape)
        if not used[:, k].all():
            part = jnp.where(used[:, k].reshape(shape), part, jnp.zeros((), x.dtype))
        total = part if total is None else total + part
    return total
