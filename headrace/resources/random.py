"""The stream of one random op in one session: its key and how far it has been read."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.lazy import jnp

_MASK = 0xFFFFFFFF


class RandomState:
    """A counter-based stream: 128 bits of counter under a 64-bit key (Philox 4x32-10).

    Args:
      seed: The graph-level seed of the op.
      seed2: The op-level seed; both 0 mean seeds from the operating system.
    """

    __slots__ = ("counter", "key")

    def __init__(self, seed: int, seed2: int):
        if seed == 0 and seed2 == 0:
            seed, seed2 = secrets.randbits(64), secrets.randbits(64)
        low, high = seed & (2**64 - 1), seed2 & (2**64 - 1)
        # seed is the key; seed2 starts the upper half of the counter.
        self.key = np.array([low & _MASK, low >> 32], np.uint32)
        self.counter = high << 64

    def lanes(self) -> np.ndarray[Any, Any]:
        """Returns the counter as four uint32 lanes, lowest first."""
        c = self.counter
        return np.array([c & _MASK, (c >> 32) & _MASK, (c >> 64) & _MASK, (c >> 96) & _MASK], np.uint32)

    def state(self) -> np.ndarray[Any, Any]:
        """Returns counter and key as six uint32 words: what a compiled step is given of the stream."""
        c = self.counter
        low, high = self.key.tolist()
        return np.array(
            [c & _MASK, (c >> 32) & _MASK, (c >> 64) & _MASK, (c >> 96) & _MASK, low, high], np.uint32
        )

    def skip(self, blocks: int) -> None:
        """Moves on by a number of 128-bit blocks."""
        self.counter = (self.counter + blocks) & (2**128 - 1)


def advanced(lanes: Any, blocks: Any) -> Any:
    """Returns a traced counter (four uint32 lanes, lowest first) moved on by a number of blocks below 2**63."""
    n = jnp.asarray(blocks, np.uint64)
    low = jnp.asarray(lanes, np.uint32).astype(np.uint64)
    out, carry = [], jnp.zeros((), np.uint64)
    for i, add in enumerate((n & _MASK, n >> np.uint64(32), 0, 0)):
        total = low[i] + add + carry
        out.append((total & _MASK).astype(np.uint32))
        carry = total >> np.uint64(32)
    return jnp.stack(out)


def words(seed: int, seed2: int) -> Iterator[int]:
    """Yields the 32-bit words of a stream one by one, for host code that needs a few at a time.

    Args:
      seed: The graph-level seed.
      seed2: The op-level seed; both 0 mean seeds from the operating system.
    """
    state = RandomState(seed, seed2)
    while True:
        a, b, c, d = state.lanes().tolist()
        low, high = state.key.tolist()
        for _ in range(10):
            first, second = a * 0xD2511F53, c * 0xCD9E8D57
            a, b, c, d = (second >> 32) ^ b ^ low, second & _MASK, (first >> 32) ^ d ^ high, first & _MASK
            low, high = (low + 0x9E3779B9) & _MASK, (high + 0xBB67AE85) & _MASK
        yield from (a, b, c, d)
        state.skip(1)
