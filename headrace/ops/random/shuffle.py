"""RandomShuffle, and the permutation that it applies to the rows of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.seeds import get_seed
from headrace.lazy import jnp, lax
from headrace.opdef import export, op
from headrace.ops.random import philox
from headrace.shapes import unchanged


def shuffle_blocks(count: int) -> int:
    """Returns how many blocks one shuffle of `count` rows reserves."""
    return -(-max(count - 1, 0) // philox.BLOCK_WORDS)


def permutation(key: Any, counter: Any, count: int, xp: Any = np) -> Any:
    """Returns int64[count]: the row of the operand that comes to stand at each place.

    A forward Fisher-Yates shuffle: place `i` trades with the one `word % (count - i)` further on.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      count: The number of rows; static.
      xp: The array namespace.
    """
    if count < 2:
        return xp.arange(count, dtype=np.int64)
    words = philox.words(key, counter, count - 1, xp)
    places = np.arange(count - 1, dtype=np.uint32)
    partners = (words % (np.uint32(count) - places) + places).astype(np.int64)
    if xp is np:
        rows = list(range(count))  # trading in a list is several times faster than in an array
        for place, partner in enumerate(partners.tolist()):
            rows[place], rows[partner] = rows[partner], rows[place]
        return np.array(rows, np.int64)

    def trade(place: Any, rows: Any) -> Any:
        # One gather and one scatter of both places; separate ones make XLA copy all rows on every trip.
        both = xp.stack([partners[place], place])
        return rows.at[both].set(rows[both[::-1]])

    return lax.fori_loop(np.int64(0), np.int64(count - 1), trade, xp.arange(count, dtype=np.int64))


RandomShuffle = op("""
    RandomShuffle(value: T) -> (output: T)
      seed: int = 0
      seed2: int = 0
      T: type
      stateful

    The operand with its rows, the slices along its first axis, in random order.
""", shape=unchanged)  # fmt: skip


@RandomShuffle.host
def random_shuffle_host(value, *, ctx):
    return _shuffled(value, ctx, np)


@RandomShuffle.lower
def random_shuffle_lower(value, *, ctx):
    return _shuffled(value, ctx, jnp)


def _shuffled(value, ctx, xp):
    if value.ndim == 0:
        return value
    key, counter = ctx.random(shuffle_blocks(value.shape[0]))
    return value[permutation(key, counter, value.shape[0], xp)]


@RandomShuffle.cases
def random_shuffle_cases(case):
    case(np.arange(5, dtype=np.int32), seed=1, seed2=2, gives=np.array([4, 0, 2, 1, 3], np.int32))
    case(case.normal(7, 2), seed=1, seed2=2)
    case(np.float32(3.0), gives=np.float32(3.0))
    case(np.zeros((0, 2), np.float32), gives=np.zeros((0, 2), np.float32))
    case.shapes("[?,3]", "[?,3]")


@export("random.shuffle", "random_shuffle")
def random_shuffle(value, seed=None, name=None):
    """Returns a tensor with its rows, the slices along its first axis, in random order.

    Args:
      value: The tensor.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.
    """
    seed, seed2 = get_seed(seed)
    return RandomShuffle(value, seed=seed, seed2=seed2, name=name)
