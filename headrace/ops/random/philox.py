"""The Philox 4x32-10 counter-based generator, keyed and counted the way TensorFlow's random ops do it.

Philox (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011) maps a 64-bit key and
a 128-bit counter to a block of four 32-bit words. A random op owns one key and one counter; an execution reads
blocks from the counter onwards, and afterwards the counter moves on by the number of blocks that the execution
reserves, which is usually far more than it reads.

Every function takes the array namespace `xp` (`numpy` or `jax.numpy`), so the interpreter and a traced program
share one implementation. Keys are uint32[2] and counters uint32[4], least significant word first; both may be
tracers. Under JAX 64-bit types must be enabled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lazy import lax

BLOCK_WORDS = 4

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = 0xFFFFFFFF

# The key and the counter layout with which the stateless ops turn a two-element seed into a state of their own.
_SCRAMBLE_KEY = (0x3EC8F720, 0x02461E29)

# NumPy works through the stream in pieces whose temporaries stay in the level-two cache.
_NUMPY_PIECE = 4096


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
      A uint32[2] key and a uint32[4] counter: one Philox block of the seed, so that similar seeds give unrelated
      streams.
    """
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
        return blocks_at(key, counter, xp.arange(count, dtype=np.uint64) * np.uint64(stride), xp)
    out = np.empty((count, BLOCK_WORDS), np.uint32)
    for start in range(0, count, _NUMPY_PIECE):
        stop = min(start + _NUMPY_PIECE, count)
        offsets = np.arange(start, stop, dtype=np.uint64)
        if stride != 1:
            offsets *= np.uint64(stride)
        for lane, words in enumerate(_lanes(key, counter, offsets, np)):
            out[start:stop, lane] = words
    return out


def blocks_at(key: Any, counter: Any, offsets: Any, xp: Any = np) -> Any:
    """Returns the blocks that lie `offsets` after the counter, as uint32[..., 4].

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      offsets: A uint64 array of distances from the counter, in blocks.
      xp: The array namespace.
    """
    lanes = _lanes(key, counter, offsets, xp)
    return xp.stack([lane.astype(np.uint32) for lane in lanes], axis=-1)


def words(key: Any, counter: Any, count: int, xp: Any = np) -> Any:
    """Returns the first `count` words of the stream as uint32[count].

    Args:
      key: A uint32[2] key.
      counter: The uint32[4] counter of the first block.
      count: How many words to return; static.
      xp: The array namespace.
    """
    return blocks(key, counter, -(-count // BLOCK_WORDS), xp).reshape(-1)[:count]


def _lanes(key: Any, counter: Any, offsets: Any, xp: Any) -> tuple[Any, ...]:
    """Returns the four words of the blocks at `offsets`, as uint64 arrays below 2**32 (NumPy) or uint32 (JAX)."""
    mask, half = np.uint64(_LOW), np.uint64(32)
    c = xp.asarray(counter).astype(np.uint64)
    start, upper = c[0] | (c[1] << half), c[2] | (c[3] << half)
    # Wrapping is meant; arrays wrap silently where NumPy scalars would warn.
    lower = offsets + start
    upper = (lower < start).astype(np.uint64) + upper
    state = (lower & mask, lower >> half, upper & mask, upper >> half)
    key = xp.asarray(key)
    if xp is np:
        return _rounds(state, (np.uint64(key[0]), np.uint64(key[1])), _ROUNDS)

    # XLA would compute all rounds afresh for each of the four words. The words that a loop carries are computed
    # once, which makes this several times faster; two trips of five rounds need little memory traffic.
    def five_rounds(_: Any, carried: Any) -> Any:
        words, k0, k1 = carried
        wide = tuple(word.astype(np.uint64) for word in words)
        words = _rounds(wide, (k0.astype(np.uint64), k1.astype(np.uint64)), 5)
        steps = [np.uint32(5 * step & _LOW) for step in _KEY_STEPS]
        return tuple(word.astype(np.uint32) for word in words), k0 + steps[0], k1 + steps[1]

    narrow = tuple(word.astype(np.uint32) for word in state)
    return lax.fori_loop(0, _ROUNDS // 5, five_rounds, (narrow, key[0], key[1]))[0]


def _rounds(state: tuple[Any, ...], key: tuple[Any, Any], count: int) -> tuple[Any, ...]:
    """Returns the state after `count` rounds.

    Words are held in 64 bits: the products need them, and compilers turn a multiplication of two such words into
    the single instruction for 32 x 32 -> 64 bits.
    """
    mask, half = np.uint64(_LOW), np.uint64(32)
    c0, c1, c2, c3 = state
    k0, k1 = key
    for i in range(count):
        if i:
            k0, k1 = (k0 + np.uint64(_KEY_STEPS[0])) & mask, (k1 + np.uint64(_KEY_STEPS[1])) & mask
        p0, p1 = c0 * np.uint64(_MULTIPLIERS[0]), c2 * np.uint64(_MULTIPLIERS[1])
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ k0, p1 & mask, (p0 >> half) ^ c3 ^ k1, p0 & mask
    return c0, c1, c2, c3
