"""Binomial numbers: by counting geometric gaps, or by Hörmann's transformed rejection (BTRS) where many succeed.

Hörmann, "The generation of binomial random variates", 1993. All elements read one stream one after the other, each
as much as it takes, so they are made one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.ops.random import philox
from headrace.ops.random.distributions import RESERVE, doubles_from_words

_REJECTION_FROM = 10  # expected successes from which on rejection is used
_TOGETHER = 100  # elements that count as one batch where all have the same parameters
_BLOCKS_PER_FOUR = 200

# log(k!) less the two leading terms of Stirling's formula, for k = 0 ... 9.
_TAILS = [
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    for k in range(10)
]


class _Blocks:
    """The blocks of a stream, as pairs of uniform numbers; the second one of a block is used first."""

    def __init__(self, key: Any, counter: Any):
        self._key, self._counter = key, counter
        self._pairs: Iterator[list[float]] = iter(())
        self._made, self._next = 0, 64

    def pair(self) -> list[float]:
        for pair in self._pairs:
            return pair
        counter = philox.advance(self._counter, self._made)
        words = philox.blocks(self._key, counter, self._next)
        self._pairs = iter(doubles_from_words(words[:, 0::2], words[:, 1::2]).tolist())
        self._made += self._next
        self._next = min(2 * self._next, 65536)
        return next(self._pairs)


def _batches(dims: Sequence[int], counts: Any, probs: Any) -> tuple[int, int]:
    """Returns the number of parameter pairs and how many elements each has."""
    size = math.prod(dims)
    if counts.size == 1 and probs.size == 1:
        return -(-size // _TOGETHER), _TOGETHER
    return dims[0], size // dims[0] if dims[0] else 0


def reserved_by_binomial(dims: Sequence[int], counts: Any, probs: Any) -> int:
    """Returns how far an execution moves the counter, in blocks."""
    batches, each = _batches(dims, counts, probs)
    return batches * _BLOCKS_PER_FOUR * (each + 3) // 4 * RESERVE


def binomial(key: Any, counter: Any, dims: Sequence[int], counts: Any, probs: Any) -> np.ndarray:
    """Returns binomial numbers as float64 of shape `dims`.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      dims: The shape.
      counts: Numbers of trials, one or one for each slice along the first axis.
      probs: Probabilities of success, likewise.
    """
    size = math.prod(dims)
    if not size:
        return np.zeros(dims)
    single = counts.size == 1 and probs.size == 1
    batches = 1 if single else dims[0]
    n = np.broadcast_to(counts.astype(np.float64).reshape(-1), [batches]).tolist()
    p = np.broadcast_to(probs.astype(np.float64).reshape(-1), [batches]).tolist()
    blocks = _Blocks(key, counter)
    out: list[float] = []
    for count, probability in zip(n, p, strict=True):
        out += _batch(blocks, count, probability, size // batches)
    return np.array(out).reshape(dims)


def _batch(blocks: _Blocks, count: float, probability: float, size: int) -> list[float]:
    if math.isnan(probability) or not math.isfinite(count):
        return [math.nan] * size
    if probability <= 0:
        return [0.0] * size
    if probability >= 1:
        return [count] * size
    rarer = min(probability, 1 - probability)
    make = _by_rejection if count * rarer >= _REJECTION_FROM else _by_gaps
    drawn = [float(make(blocks, count, rarer)) for _ in range(size)]
    return drawn if probability <= 0.5 else [count - k for k in drawn]


def _by_gaps(blocks: _Blocks, count: float, p: float) -> int:
    """Adds up the gaps between successes until they exceed the number of trials."""
    scale = math.log1p(-p)
    total, successes = 0.0, 0
    while True:
        first, second = blocks.pair()
        for u in (second, first):
            total += math.ceil(math.log(u) / scale) if u else math.inf
            if total > count:
                return successes
            successes += 1


def _tail(k: float) -> float:
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) ** 2
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _by_rejection(blocks: _Blocks, count: float, p: float) -> int:
    deviation = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    surely_below = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * p)
    while True:
        v, u = blocks.pair()
        u -= 0.5
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else -1
        if us >= 0.07 and v <= surely_below:
            return k
        if k < 0 or k > count:
            continue
        v = math.log(v * alpha / (a / (us * us) + b)) if v else -math.inf
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _tail(mode)
            + _tail(count - mode)
            - _tail(k)
            - _tail(count - k)
        )
        if v <= bound:
            return k
