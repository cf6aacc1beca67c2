"""The Philox 4x32-10 counter-based generator, keyed and counted the way TensorFlow's random ops do it.

Philox (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011) maps a 64-bit key
and a 128-bit counter to a block of four 32-bit words. A random op owns one key and one counter; an execution
reads blocks from the counter onwards, and afterwards the counter moves on by the number of blocks that the
execution reserves, which is usually far more than it reads.

Every function takes the array namespace `xp` (`numpy` or `jax.numpy`), so the interpreter and a traced
program share one implementation. Keys are uint32[2] and counters uint32[4], least significant word first;
both may be tracers. Under JAX 64-bit types must be enabled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lazy import lax
from headrace.native import random as native
from headrace.native import xla
from headrace.shapes import to_text

BLOCK_WORDS = 4

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = 0xFFFFFFFF
_KEY_SCHEDULE = np.array([[i * step & _LOW for step in _KEY_STEPS] for i in range(_ROUNDS)], np.uint64)

# The key with which the stateless ops turn a two-element seed, taken as a counter, into their own state.
_SCRAMBLE_KEY = (0x3EC8F720, 0x02461E29)

# Fewer blocks in a compiled program are not worth a call of the native library.
_WORTH_A_CALL = 64

# NumPy works through the stream in pieces whose temporaries stay in the level-two cache.
_NUMPY_PIECE = 8192


def state_from_seeds(seed: int, seed2: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the key and the first counter of a stateful op with the given attributes.

    Args:
      seed: The `seed` attribute, any integer (taken modulo 2**64); it becomes the key.
      seed2: The `seed2` attribute, likewise; it becomes the upper half of the counter.

    Returns:
      A uint32[2] key and a uint32[4] counter. Both seeds being zero is an ordinary stream here; that an op so
      declared must draw its seeds from the system is for the caller to arrange, with `fresh_seeds`.
    """
    seed, seed2 = int(seed), int(seed2)
    key = np.array([seed & _LOW, (seed >> 32) & _LOW], np.uint32)
    counter = np.array([0, 0, seed2 & _LOW, (seed2 >> 32) & _LOW], np.uint32)
    return key, counter


def fresh_seeds() -> tuple[int, int]:
    """Returns two unpredictable 64-bit seeds, for ops whose seeds are both zero."""
    # Imported here because programs that seed everything never need it.
    import secrets

    return secrets.randbits(64), secrets.randbits(64)


def state_from_stateless_seed(seed: Any, xp: Any = np) -> tuple[Any, Any]:
    """Returns the key and counter that a stateless op derives from its seed operand.

    Args:
      seed: An int32[2] or int64[2] array, which may be traced.
      xp: The array namespace.

    Returns:
      A uint32[2] key and a uint32[4] counter: one Philox block of the seed, so that similar seeds give
      unrelated streams.

    Raises:
      ValueError: The seed is of another shape.
    """
    if tuple(seed.shape) != (2,):
        raise ValueError(f"seed must have shape [2], not {to_text(tuple(seed.shape))}")
    halves = xp.asarray(seed).astype(np.int64).astype(np.uint64)
    low, high = (halves & np.uint64(_LOW)).astype(np.uint32), (halves >> np.uint64(32)).astype(np.uint32)
    mixed = blocks(np.array(_SCRAMBLE_KEY, np.uint32), xp.stack([low, high], axis=-1).reshape(4), 1, xp)[0]
    zeros = xp.zeros(2, np.uint32)
    return mixed[:2], xp.concatenate([zeros, mixed[2:]])


def advance(counter: np.ndarray, count: int) -> np.ndarray:
    """Returns the counter `count` blocks further on, modulo 2**128; for the host, with plain integers.

    Args:
      counter: A uint32[4] counter.
      count: How many blocks to skip, not negative.
    """
    value = sum(int(word) << (32 * i) for i, word in enumerate(counter)) + int(count)
    return np.array([(value >> (32 * i)) & _LOW for i in range(4)], np.uint32)


def blocks(key: Any, counter: Any, count: int, xp: Any = np, stride: int = 1) -> Any:
    """Returns `count` blocks of the stream as uint32[count, 4].

    Args:
      key: A uint32[2] key.
      counter: The uint32[4] counter of the first block.
      count: How many blocks to make; static.
      xp: The array namespace.
      stride: How far the counter moves from one returned block to the next.
    """
    if xp is not np:
        if count >= _WORTH_A_CALL and xla.library() is not None:
            stream = xp.asarray(key), xp.asarray(counter)
            return xla.call(
                "headrace_philox_blocks", (count, BLOCK_WORDS), np.uint32, *stream, stride=np.int64(stride)
            )
        return blocks_at(key, counter, xp.arange(count, dtype=np.uint64) * np.uint64(stride), xp)
    made = native.philox_blocks(key, counter, count, stride)
    if made is not None:
        return made
    out = np.empty((count, BLOCK_WORDS), np.uint32)
    for start in range(0, count, _NUMPY_PIECE):
        stop = min(start + _NUMPY_PIECE, count)
        offsets = np.arange(start * stride, stop * stride, stride, dtype=np.uint64)
        _numpy_blocks(key, counter, offsets, out[start:stop])
    return out


def blocks_at(key: Any, counter: Any, offsets: Any, xp: Any = np) -> Any:
    """Returns the blocks that lie `offsets` after the counter, as uint32[..., 4].

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      offsets: A uint64 array of distances from the counter, in blocks.
      xp: The array namespace.
    """
    if xp is not np:
        return _traced_blocks(key, counter, offsets, xp)
    out = np.empty((*offsets.shape, BLOCK_WORDS), np.uint32)
    _numpy_blocks(key, counter, offsets.reshape(-1), out.reshape(-1, BLOCK_WORDS))
    return out


def words(key: Any, counter: Any, count: int, xp: Any = np) -> Any:
    """Returns the first `count` words of the stream as uint32[count].

    Args:
      key: A uint32[2] key.
      counter: The uint32[4] counter of the first block.
      count: How many words to return; static.
      xp: The array namespace.
    """
    return blocks(key, counter, -(-count // BLOCK_WORDS), xp).reshape(-1)[:count]


def _numpy_blocks(key: np.ndarray, counter: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Writes the blocks at `offsets` (uint64[n]) into `out` (uint32[n, 4]).

    Words are held in 64 bits because the products need them. Words 0 and 2, which get multiplied, form one
    array and words 1 and 3 another, so that a round is five NumPy calls: small ops spend their time in
    calls.
    """
    half, mask = np.uint64(32), np.uint64(_LOW)
    value = sum(int(word) << (32 * i) for i, word in enumerate(counter))
    start, upper = np.uint64(value & (2**64 - 1)), value >> 64
    lower = offsets + start
    heads, tails = np.empty((2, offsets.size), np.uint64), np.empty((2, offsets.size), np.uint64)
    np.bitwise_and(lower, mask, out=heads[0])
    np.right_shift(lower, half, out=tails[0])
    heads[1], tails[1] = upper & _LOW, upper >> 32
    carried = lower < start
    if carried.any():
        upper = (upper + 1) & (2**64 - 1)
        heads[1, carried], tails[1, carried] = upper & _LOW, upper >> 32

    multipliers = np.array(_MULTIPLIERS, np.uint64)[:, None]
    keys = (np.asarray(key, np.uint64) + _KEY_SCHEDULE)[:, :, None] & mask
    products = np.empty_like(heads)
    for round_key in keys:
        np.multiply(heads, multipliers, out=products)
        np.bitwise_xor(tails, round_key, out=tails)
        # Each product feeds the other half of the block.
        np.right_shift(products[::-1], half, out=heads)
        np.bitwise_xor(heads, tails, out=heads)
        np.bitwise_and(products[::-1], mask, out=tails)
    out[:, 0::2] = heads.T
    out[:, 1::2] = tails.T


def _traced_blocks(key: Any, counter: Any, offsets: Any, xp: Any) -> Any:
    """Returns the blocks at `offsets` as uint32[..., 4].

    XLA would compute all rounds afresh for each of the four words of a block. Words that a loop carries are
    computed once, which is several times faster; two trips of five rounds need little memory traffic. A
    multiplication of two widened words becomes the single instruction for 32 x 32 -> 64 bits.
    """
    half = np.uint64(32)
    c = xp.asarray(counter).astype(np.uint64)
    key = xp.asarray(key)
    start = c[0] | (c[1] << half)
    lower = offsets + start
    upper = (c[2] | (c[3] << half)) + (lower < start).astype(np.uint64)
    words = [word.astype(np.uint32) for word in (lower, lower >> half, upper, upper >> half)]

    def five_rounds(_: Any, state: Any) -> Any:
        (c0, c1, c2, c3), k0, k1 = state
        for _ in range(5):
            p0 = c0.astype(np.uint64) * np.uint64(_MULTIPLIERS[0])
            p1 = c2.astype(np.uint64) * np.uint64(_MULTIPLIERS[1])
            c0, c1 = (p1 >> half).astype(np.uint32) ^ c1 ^ k0, p1.astype(np.uint32)
            c2, c3 = (p0 >> half).astype(np.uint32) ^ c3 ^ k1, p0.astype(np.uint32)
            k0, k1 = k0 + np.uint32(_KEY_STEPS[0]), k1 + np.uint32(_KEY_STEPS[1])
        return (c0, c1, c2, c3), k0, k1

    return xp.stack(lax.fori_loop(0, _ROUNDS // 5, five_rounds, (tuple(words), key[0], key[1]))[0], axis=-1)
