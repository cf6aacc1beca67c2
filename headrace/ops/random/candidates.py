"""Samplers of candidate classes: a few classes out of many, with how often each was to be expected.

A sampler draws single random words from its stream, as many as it needs, and reserves far more than that. The
sampled classes depend on all the draws before, so the samplers run on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import errors
from headrace.native import sampling as native
from headrace.ops.random import philox
from headrace.ops.random.distributions import doubles_from_words

_BLOCKS_PER_SAMPLE = 512  # 2,048 words
_PIECE = 256
_AT_LEAST = 64  # samples that are drawn at a time, if all have to be different
_FRACTION = 23  # bits in a float32's fraction


class Draws:
    """Random words one after another, as unsigned integers below a bound, floats or doubles."""

    def __init__(self, key, counter):
        self._key, self._counter = key, counter
        self._words: list[int] = []
        self._next = 0
        self._taken = 0

    def word(self) -> int:
        if self._next == len(self._words):
            self._words = self.ahead(_PIECE).tolist()
            self._next = 0
        self._next += 1
        self._taken += 1
        return self._words[self._next - 1]

    def ahead(self, count: int) -> np.ndarray:
        """Returns the words that come next, as uint32, without taking them."""
        blocks, more = divmod(self._taken, philox.BLOCK_WORDS)
        counter = philox.advance(self._counter, blocks) if blocks else self._counter
        return philox.words(self._key, counter, more + count)[more:]

    def skip(self, count: int) -> None:
        """Takes words without looking at them."""
        self._taken += count
        self._next = min(self._next + count, len(self._words))

    def long(self) -> int:
        return self.word() | self.word() << 32

    def below(self, bound: int, draw=None, bits: int = 32) -> int:
        """Returns an integer in [0, bound); words that would favour small numbers are drawn again."""
        draw = draw or self.word
        if bound & (bound - 1) == 0:
            return draw() & (bound - 1)
        surplus = (2**bits - 1) % bound + 1
        while (value := draw()) < surplus:
            pass
        return value % bound

    def long_below(self, bound: int) -> int:
        return self.below(bound, self.long, 64)

    def float(self) -> float:
        return (self.word() & (2**_FRACTION - 1)) * 2.0**-_FRACTION

    def double(self) -> float:
        first, second = np.uint32(self.word()), np.uint32(self.word())
        return float(doubles_from_words(first, second))


class Uniform:
    """Every class is as likely as the others."""

    learns = False
    width = 2  # how many words a draw takes, if none is refused

    def __init__(self, count: int):
        self.count = count

    def sample(self, draws: Draws) -> int:
        return draws.long_below(self.count)

    def classes(self, words: np.ndarray) -> np.ndarray | None:
        """Returns what draws of these words give, each a row; None if one of them would have been drawn again."""
        return _below(words[:, 0] | words[:, 1].astype(np.uint64) << np.uint64(32), self.count, 64)

    def probability(self, classes: np.ndarray) -> np.ndarray:
        return np.full(classes.shape, np.float32(1.0 / self.count))


class LogUniform(Uniform):
    """The likelihood of a class falls as its number grows, as of words sorted by frequency (Zipf's law)."""

    def __init__(self, count: int):
        super().__init__(count)
        self._log_range = np.log1p(count)

    def sample(self, draws: Draws) -> int:
        value = int(np.exp(draws.double() * self._log_range)) - 1
        return value % self.count  # rounding can lead to `count` itself

    def classes(self, words: np.ndarray) -> np.ndarray | None:
        doubles = doubles_from_words(words[:, 0], words[:, 1])
        return (np.exp(doubles * self._log_range).astype(np.int64) - 1) % self.count

    def natively(self, true_classes: np.ndarray, count: int, unique: bool, key, counter) -> Any:
        """Returns what `sampled` does by the native library, None without it."""
        if unique and count > self.count:
            return None
        found = native.log_uniform(key, counter, self.count, self._log_range, count, unique)
        if found is None:
            return None
        classes, tries = found
        expected = (
            native.log_uniform_expected(c, self._log_range, count, tries) for c in (true_classes, classes)
        )
        return [classes, *expected]

    def probability(self, classes: np.ndarray) -> np.ndarray:
        values = classes.astype(np.float64)
        with np.errstate(all="ignore"):
            return (np.log((values + 2.0) / (values + 1.0)) / self._log_range).astype(np.float32)


class Learned(Uniform):
    """The likelihood of a class grows with how often it was a true class so far."""

    learns = True
    width = 1

    def __init__(self, count: int):
        super().__init__(count)
        self._weights = np.ones(count, np.int32)

    def classes(self, words: np.ndarray) -> np.ndarray | None:
        ends = np.cumsum(self._weights)
        places = _below(words[:, 0], int(ends[-1]), 32)
        return None if places is None else np.searchsorted(ends, places, side="right")

    def sample(self, draws: Draws) -> int:
        ends = np.cumsum(self._weights)
        return int(np.searchsorted(ends, draws.below(int(ends[-1])), side="right"))

    def probability(self, classes: np.ndarray) -> np.ndarray:
        outside = classes[(classes < 0) | (classes >= self.count)]
        if outside.size:
            raise errors.InvalidArgumentError(
                None, None, f"The class {outside[0]} is not in [0, {self.count})"
            )
        return self._weights[classes].astype(np.float32) / np.float32(self._weights.sum())

    def learn(self, classes: np.ndarray) -> None:
        np.add.at(self._weights, classes.ravel(), 1)


class Fixed(Uniform):
    """The likelihoods are proportional to given weights; drawn by Walker's alias method.

    Args:
      weights: One float32 a class of this shard.
      total: The sum of the weights of all shards.
    """

    def __init__(self, weights: np.ndarray, total: np.float32):
        super().__init__(len(weights))
        self._weights, self._total = weights, total
        self._keep, self._alias = _aliases(weights)

    def sample(self, draws: Draws) -> int:
        fraction, column = draws.float(), draws.below(self.count)
        return column if fraction < self._keep[column] else int(self._alias[column])

    def classes(self, words: np.ndarray) -> np.ndarray | None:
        columns = _below(words[:, 1], self.count, 32)
        if columns is None:
            return None
        fractions = (words[:, 0] & np.uint32(2**_FRACTION - 1)).astype(np.float64) * 2.0**-_FRACTION
        return np.where(fractions < self._keep[columns], columns, self._alias[columns])

    def probability(self, classes: np.ndarray) -> np.ndarray:
        inside = (classes >= 0) & (classes < self.count)
        return np.where(inside, self._weights[np.where(inside, classes, 0)] / self._total, np.float32(0))


def _aliases(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns how much of each column is its own class and which class has the rest of it."""
    count = len(weights)
    total = np.float32(0)
    for weight in weights:
        total += weight
    heights = (weights * np.float32(count) / total).astype(np.float32)
    keep, alias = np.ones(count, np.float32), np.arange(count)
    low = [i for i in range(count) if heights[i] < 1]
    high = [i for i in range(count) if heights[i] >= 1]
    while low and high:
        short, tall = low.pop(), high.pop()
        keep[short], alias[short] = heights[short], tall
        heights[tall] = heights[tall] + heights[short] - np.float32(1)
        (low if heights[tall] < 1 else high).append(tall)
    return keep, alias


def _below(words: np.ndarray, bound: int, bits: int) -> np.ndarray | None:
    """Returns what `Draws.below` makes of these words, None if it would refuse one of them."""
    if bound & (bound - 1) and bool((words < (2**bits - 1) % bound + 1).any()):
        return None
    return (words % words.dtype.type(bound)).astype(np.int64)


def _several(sampler, draws: Draws, count: int) -> np.ndarray:
    """Returns the next classes that are drawn."""
    width = sampler.width
    found = sampler.classes(draws.ahead(count * width).reshape(count, width))
    if found is None:
        return np.array([sampler.sample(draws) for _ in range(count)], np.int64)
    draws.skip(count * width)
    return found


def draw(sampler, count: int, unique: bool, draws: Draws) -> tuple[np.ndarray, int]:
    """Returns `count` classes and how many draws it took.

    Raises:
      errors.InvalidArgumentError: So many different classes do not exist.
    """
    if not unique:
        return _several(sampler, draws, count), count
    if count > sampler.count:
        raise errors.InvalidArgumentError(None, None, "Sampler's range is too small.")
    chosen: dict[int, None] = {}
    tries = 0
    while len(chosen) < count:
        for found in _several(sampler, draws, max(count, _AT_LEAST)).tolist():
            tries += 1
            chosen[found] = None
            if len(chosen) == count:
                break
    return np.fromiter(chosen, np.int64, count), tries


def expected_counts(probability: np.ndarray, count: int, tries: int) -> np.ndarray:
    """Returns how many of the drawn classes were to be expected to be those of the given probabilities."""
    if tries == count:
        return (probability * np.float32(count)).astype(np.float32)
    with np.errstate(all="ignore"):
        missed = np.float32(tries) * np.log1p(-probability.astype(np.float64)).astype(np.float32)
        return -np.expm1(missed.astype(np.float64)).astype(np.float32)


def sampled(sampler, true_classes: np.ndarray, count: int, unique: bool, random) -> list[np.ndarray]:
    """Returns the sampled classes, the expected counts of the true ones and those of the sampled ones.

    Args:
      sampler: What the classes are drawn from; one that learns is told the true classes afterwards.
      true_classes: An int64 matrix.
      count: How many to sample.
      unique: Whether the sampled ones are all different.
      random: Takes a number of blocks and returns the key and the counter of that many.
    """
    key, counter = random(_BLOCKS_PER_SAMPLE * count)
    if type(sampler) is LogUniform:
        found = sampler.natively(true_classes, count, unique, key, counter)
        if found is not None:
            return found
    classes, tries = draw(sampler, count, unique, Draws(key, counter))
    true, expected = (expected_counts(sampler.probability(c), count, tries) for c in (true_classes, classes))
    if sampler.learns:
        sampler.learn(true_classes)
    return [classes, true, expected]
