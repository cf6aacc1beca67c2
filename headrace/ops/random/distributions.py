"""Uniform, integer, normal and truncated normal numbers from a Philox stream, as TensorFlow makes them.

Elements come in groups, one group from one block of four words: four elements each, but two of float64 and
int64, which take two words apiece. Truncated normals reject, so each of their groups owns a run of blocks.

Each generator has the form `f(key, counter, shape, ..., dtype, xp)` with a static shape and dtype, and
serves both NumPy and JAX. Integers and uniforms are the same on either. With NumPy and glibc, normals are
TensorFlow's but for one in some hundreds, which is off by a unit or two in the last place (the logarithm's);
JAX's are within two units as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.lazy import lax
from headrace.native import random as native
from headrace.ops.random import philox

RESERVE = 256
"""Blocks that the counter moves on for each output element of an execution."""

_TRUNCATED_RESERVE = 64  # blocks between the starts of successive truncated normals, a group taking several
TRUNCATED_AT = 2.0

# Bits of randomness in a uniform number: the width of the type's fraction.
_FRACTION_BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
_SMALLEST_UNIFORM = 1.0e-7  # keeps the logarithm finite


def reserved_blocks(count: int) -> int:
    """Returns how far one execution that makes `count` elements moves the op's counter, in blocks."""
    return count * RESERVE


def uniform(key: Any, counter: Any, shape: Sequence[int], dtype: Any, xp: Any = np) -> Any:
    """Returns numbers uniformly distributed over [0, 1), in a grid as fine as the type's fraction.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      shape: The static shape of the result.
      dtype: The result's type: float16, bfloat16, float32 or float64.
      xp: The array namespace.
    """
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    per_block = 2 if dtype == np.float64 else 4
    if xp is np:
        made = native.uniform(key, counter, count, _FRACTION_BITS[dtype.name])
        if made is not None:
            return made.astype(dtype, copy=False).reshape(tuple(shape))
    words = philox.words(key, counter, count if per_block == 4 else 2 * count, xp)
    if per_block == 2:
        words = words.reshape(-1, 2)
        return _double(words[:, 0], words[:, 1]).reshape(tuple(shape))
    return _narrow_uniform(words, dtype).astype(dtype).reshape(tuple(shape))


def uniform_int(
    key: Any, counter: Any, shape: Sequence[int], low: Any, high: Any, dtype: Any, xp: Any = np
) -> Any:
    """Returns integers in [low, high), as the remainder of random words (so with TensorFlow's slight bias).

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      shape: The static shape of the result.
      low: The least value, a scalar of the result's type.
      high: One more than the greatest value; the caller has checked that it exceeds `low`.
      dtype: int32 or int64.
      xp: The array namespace.
    """
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    # One-element arrays, because these differences and sums wrap around.
    low = xp.asarray(low).astype(dtype).astype(unsigned).reshape(1)
    high = xp.asarray(high).astype(dtype).astype(unsigned).reshape(1)
    bits = _bits(key, counter, count, dtype, xp)
    return (bits % (high - low) + low).astype(dtype).reshape(tuple(shape))


def full_int(key: Any, counter: Any, shape: Sequence[int], dtype: Any, xp: Any = np) -> Any:
    """Returns integers of which every bit is random.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      shape: The static shape of the result.
      dtype: int32, uint32, int64 or uint64.
      xp: The array namespace.
    """
    dtype = np.dtype(dtype)
    return _bits(key, counter, math.prod(shape), dtype, xp).astype(dtype).reshape(tuple(shape))


def _bits(key: Any, counter: Any, count: int, dtype: np.dtype, xp: Any) -> Any:
    """Returns unsigned random integers as wide as `dtype`."""
    if dtype.itemsize == 4:
        return philox.words(key, counter, count, xp)
    pairs = philox.words(key, counter, 2 * count, xp).reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0] | (pairs[:, 1] << np.uint64(32))


def normal(key: Any, counter: Any, shape: Sequence[int], dtype: Any, xp: Any = np) -> Any:
    """Returns standard normal numbers, made two at a time by the Box-Muller transform.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      shape: The static shape of the result.
      dtype: The result's type: float16, bfloat16, float32 or float64.
      xp: The array namespace.
    """
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    per_block = 2 if dtype == np.float64 else 4
    if xp is np and per_block == 4:
        made = native.normal(key, counter, count)
        if made is not None:
            return made.astype(dtype, copy=False).reshape(tuple(shape))
    blocks = philox.blocks(key, counter, -(-count // per_block), xp)
    return _normals(blocks, dtype, xp).reshape(-1)[:count].astype(dtype).reshape(tuple(shape))


def truncated_normal(key: Any, counter: Any, shape: Sequence[int], dtype: Any, xp: Any = np) -> Any:
    """Returns standard normal numbers of magnitude below two, drawing again for those beyond.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      shape: The static shape of the result.
      dtype: The result's type: float16, bfloat16, float32 or float64.
      xp: The array namespace.
    """
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    size = 2 if dtype == np.float64 else 4
    if xp is np and size == 4:
        made = native.truncated_normal(key, counter, count)
        if made is not None:
            return made.astype(dtype, copy=False).reshape(tuple(shape))
    fill = _truncated_numpy if xp is np else _truncated_traced
    groups = fill(key, counter, -(-count // size), dtype, xp)
    return groups.reshape(-1)[:count].astype(dtype).reshape(tuple(shape))


def normals_from_blocks(blocks: Any, dtype: Any, xp: Any = np) -> Any:
    """Returns the normal numbers of blocks, uint32[..., 4], along the last axis: four, or two of float64."""
    return _normals(blocks, np.dtype(dtype), xp)


def uniforms_from_blocks(blocks: Any, dtype: Any) -> Any:
    """Returns the uniform numbers of blocks, uint32[..., 4], along the last axis: four, or two of float64."""
    dtype = np.dtype(dtype)
    if dtype == np.float64:
        return _double(blocks[..., 0::2], blocks[..., 1::2])
    return _narrow_uniform(blocks, dtype).astype(dtype)


def doubles_from_words(first: Any, second: Any) -> Any:
    """Returns the float64 numbers in [0, 1) that pairs of uint32 words stand for."""
    return _double(first, second)


def _narrow_uniform(words: Any, dtype: np.dtype) -> Any:
    bits = _FRACTION_BITS[dtype.name]
    # Exact: the integer has no more bits than a float32 holds.
    return (words & np.uint32((1 << bits) - 1)).astype(np.float32) * np.float32(2.0**-bits)


def _double(first: Any, second: Any) -> Any:
    upper = (first & np.uint32(0xFFFFF)).astype(np.uint64) << np.uint64(32)
    return (upper | second.astype(np.uint64)).astype(np.float64) * np.float64(2.0**-52)


def _normals(blocks: Any, dtype: np.dtype, xp: Any) -> Any:
    """Returns float64[..., 2] or float32[..., 4] normal numbers, one group for each block."""
    if dtype == np.float64:
        radius_uniform = _double(blocks[..., 0:1], blocks[..., 1:2])
        angle_uniform = _double(blocks[..., 2:3], blocks[..., 3:4])
    else:
        uniforms = _narrow_uniform(blocks, np.dtype(np.float32))
        radius_uniform, angle_uniform = uniforms[..., 0::2], uniforms[..., 1::2]
    kind = radius_uniform.dtype.type
    radius_uniform = xp.maximum(radius_uniform, kind(_SMALLEST_UNIFORM))
    # The circle constant is a double in the product even for float32.
    angle = (angle_uniform.astype(np.float64) * (2 * np.pi)).astype(kind)
    radius = xp.sqrt(kind(-2) * _log(radius_uniform, xp))
    sine, cosine = _sine_and_cosine(angle, xp)
    pair = xp.stack([sine * radius, cosine * radius], axis=-1)
    return pair.reshape((*blocks.shape[:-1], 2 if dtype == np.float64 else 4))


def _log(x: Any, xp: Any) -> Any:
    # NumPy's own float32 logarithm is two units off at times; a libm's is nearly always the rounded double.
    return (
        np.log(x.astype(np.float64)).astype(np.float32) if xp is np and x.dtype == np.float32 else xp.log(x)
    )


def _sine_and_cosine(angle: Any, xp: Any) -> tuple[Any, Any]:
    if xp is not np:
        return xp.sin(angle), xp.cos(angle)
    # NumPy's sin and cos are its own, but its complex exponential calls the C library, whose sine and cosine are
    # the ones TensorFlow uses.
    turning = np.zeros(angle.shape, np.result_type(angle.dtype, np.complex64))
    turning.imag = angle
    turned = np.exp(turning)
    return turned.imag, turned.real


def _truncated_numpy(key: Any, counter: Any, groups: int, dtype: np.dtype, xp: Any) -> np.ndarray:
    size = 2 if dtype == np.float64 else 4
    stride = size * _TRUNCATED_RESERVE
    out = _normals(philox.blocks(key, counter, groups, np, stride), dtype, np)
    pending = np.flatnonzero((np.abs(out) >= TRUNCATED_AT).any(axis=1))
    tries = 4  # blocks; one group in some 10**13 needs more
    while pending.size:
        offsets = (pending * stride)[:, None] + np.arange(tries)
        drawn = _normals(philox.blocks_at(key, counter, offsets.astype(np.uint64)), dtype, np)
        drawn = drawn.reshape(len(pending), -1)
        # A stable sort on rejection moves the accepted ones to the front in the order they were drawn.
        order = np.argsort(np.abs(drawn) >= TRUNCATED_AT, axis=1, kind="stable")[:, :size]
        chosen = np.take_along_axis(drawn, order, axis=1)
        out[pending] = chosen
        pending = pending[(np.abs(chosen) >= TRUNCATED_AT).any(axis=1)]
        tries *= 4
    return out


def _truncated_traced(key: Any, counter: Any, groups: int, dtype: np.dtype, xp: Any) -> Any:
    """Fills all groups a block at a time until none lacks an element: two or three trips in practice."""
    size = 2 if dtype == np.float64 else 4
    starts = xp.arange(groups, dtype=np.uint64) * np.uint64(size * _TRUNCATED_RESERVE)
    slots = xp.arange(size)

    def lacking(state: Any) -> Any:
        return xp.any(state[1] < size)

    def one_block(state: Any) -> Any:
        out, filled, trip = state
        drawn = _normals(philox.blocks_at(key, counter, starts + trip, xp), dtype, xp)
        good = xp.abs(drawn) < TRUNCATED_AT
        rank = filled[:, None] + xp.cumsum(good, axis=1) - 1
        lands = good[:, :, None] & (rank[:, :, None] == slots)
        out = out + xp.sum(xp.where(lands, drawn[:, :, None], 0), axis=1, dtype=drawn.dtype)
        return out, filled + xp.sum(good, axis=1), trip + np.uint64(1)

    kind = np.float64 if size == 2 else np.float32
    start = (xp.zeros((groups, size), kind), xp.zeros(groups, np.int64), xp.asarray(np.uint64(0)))
    return lax.while_loop(lacking, one_block, start)[0]
