"""What quantized numbers stand for, as TensorFlow's kernels compute it.

A range [low, high] is cut into as many levels as the type has values; the lowest value stands for `low`. Kernels go
from floats to numbers and back in two ways that round differently: `*_exact` in double precision, number by number,
and `*_fast` in single precision, for whole arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_F = np.float32

QUANTIZED = "quantizedtype"


def bounds(dtype: Any) -> tuple[int, int]:
    """Returns the lowest and the highest number of an integer type."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def levels(dtype: Any) -> int:
    """Returns how many numbers an integer type has."""
    return 1 << (8 * np.dtype(dtype).itemsize)


def rounded(x: Any) -> Any:
    """Rounds to the nearest whole number, halves away from zero, in the type of `x`."""
    # A float just below a half must not be carried over it by adding a half.
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= x.dtype.type(0.5)).astype(x.dtype), x)


def _width(low: Any, high: Any, count: int) -> float:
    return float(_F(high) - _F(low)) * (count / (count - 1.0))


def floats_exact(q: Any, low: Any, high: Any, dtype: Any) -> Any:
    """Returns the floats that numbers stand for."""
    low, high = _F(low), _F(high)
    if low == high:
        return np.full(np.shape(q), low, _F)[()]
    count = levels(dtype)
    step = _width(low, high, count) / count
    narrow = _F(step)
    base = float(rounded(_F(low / narrow)) * narrow)
    return _F(base + (np.asarray(q, np.float64) - bounds(dtype)[0]) * step)


def numbers_unclamped(x: Any, low: Any, high: Any, dtype: Any) -> Any:
    """Returns the numbers, of any size, that stand for floats."""
    low, high = _F(low), _F(high)
    if low == high:
        return np.zeros(np.shape(x), np.int64)[()]
    count = levels(dtype)
    scale = count / _width(low, high, count)
    with np.errstate(invalid="ignore", over="ignore"):
        found = rounded(np.asarray(x, np.float64) * scale) - rounded(np.float64(low) * scale)
        return found.astype(np.int64)[()] + bounds(dtype)[0]


def numbers_exact(x: Any, low: Any, high: Any, dtype: Any) -> Any:
    """Returns the numbers of a type that stand for floats."""
    return np.clip(numbers_unclamped(x, low, high, dtype), *bounds(dtype)).astype(dtype)


def floats_fast(q: Array, low: Any, high: Any) -> Array:
    """Returns the floats that an array of numbers stands for."""
    low, high = _F(low), _F(high)
    lowest = _F(bounds(q.dtype)[0])
    step = _F(float(high - low) / (levels(q.dtype) - 1.0))
    base = low if low == high else rounded(_F(low / step)) * step
    return (base - lowest * step) + q.astype(_F) * step


def numbers_fast(x: Array, low: Any, high: Any, dtype: Any) -> Array:
    """Returns the numbers of a type that stand for an array of floats."""
    low, high = _F(low), _F(high)
    lowest, highest = bounds(dtype)
    scale = _F(0) if low == high else _F((levels(dtype) - 1.0) / float(high - low))
    base = rounded(_F(low * scale))
    top = _F(highest)
    if int(top) > highest:
        top = np.nextafter(top, _F(0))
    with np.errstate(invalid="ignore", over="ignore"):
        found = rounded(x.astype(_F) * scale) - (base - _F(lowest))
        return np.minimum(np.maximum(found, _F(lowest)), top).astype(np.int32).astype(dtype)


def requantized(q: Array, low: Any, high: Any, new_low: Any, new_high: Any, dtype: Any) -> Array:
    """Returns numbers of one range as numbers of another."""
    if q.dtype == np.int32 and np.dtype(dtype) == np.uint8:
        return _narrowed(q, *(_F(v) for v in (low, high, new_low, new_high)))
    return numbers_fast(floats_fast(q, low, high), new_low, new_high, dtype)


_PLACES = 16  # binary places of the fixed point in which TensorFlow narrows 32 bits to 8


def _narrowed(q: Array, low: Any, high: Any, new_low: Any, new_high: Any) -> Array:
    span = new_high - new_low
    one = 1 << _PLACES
    scale = shift = base = 0
    if span != 0:
        scale = int(255.0 * one * float(high - low) / float(span))
        middle = _F(float(low + high) / 2.0)
        shift = int(_F(_F(middle * _F(255.0 / float(span))) * _F(one)))
        base = int(one * (float(new_low) * 255.0) / float(span))
    with np.errstate(over="ignore"):
        found = ((q.astype(np.int64) * scale) >> 32) + (shift - base + one // 2)
    return np.clip(found >> _PLACES, 0, 255).astype(np.uint8)


def level(low: Any, high: Any, dtype: Any) -> Any:
    """Returns the distance of two neighbouring numbers."""
    lowest, highest = bounds(dtype)
    return _F((_F(high) - _F(low)) / _F(highest - lowest))


def product_range(a: Any, b: Any) -> tuple[Any, Any]:
    """Returns the range of 32-bit products of numbers of two (low, high, dtype)."""
    step = level(*a) * level(*b)
    lowest, highest = bounds(np.int32)
    return _F(step * _F(lowest)), _F(step * _F(highest))


def sum_range(*ranges: Any, room: int = 1 << 14) -> tuple[Any, Any]:
    """Returns the range of 32-bit sums of numbers of some (low, high): `room` times the largest float."""
    largest = max(abs(_F(v)) for pair in ranges for v in pair)
    return -largest * _F(room), largest * _F(room)
