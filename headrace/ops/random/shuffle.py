"""RandomShuffle, and the permutation that it applies to the rows of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.seeds import get_seed
from headrace.lazy import jnp, lax
from headrace.opdef import export, op
from headrace.ops.random import philox
from headrace.shapes import unchanged

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


def shuffle_blocks(count: int) -> int:
    """Returns how many blocks one shuffle of `count` rows reserves."""
    return -(-max(count - 1, 0) // philox.BLOCK_WORDS)


def permutation(key: Any, counter: Any, count: int, xp: Any = np) -> Any:
    """Returns int64[count]: the row of the operand that comes to stand at each place.

    The permutation is that of a forward Fisher-Yates shuffle: each place i in turn trades with the place
    `partner[i]`, which is the word `word[i] % (count - i)` further on. The trades are not made one after the
    other, since no place has to know all earlier ones. A place trades away the row that the last earlier place
    with it as its partner brought there, or its own; and it gets what the last earlier place with the same
    partner brought to that partner, or the partner's own. The first of these is a short chain, which is followed
    from all places at once, two links, four, eight at a time.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      count: The number of rows; static.
      xp: The array namespace.
    """
    if count < 2:
        return xp.arange(count, dtype=np.int64)
    places = np.arange(count - 1, dtype=np.uint32)
    words = philox.words(key, counter, count - 1, xp)
    partners = words % (np.uint32(count) - places) + places
    # Sorted by partner, then by place: places with one partner are neighbours, the earlier one first.
    both = xp.sort(partners.astype(np.uint64) << _HALF | places.astype(np.uint64))
    partner, place = (both >> _HALF).astype(np.int32), (both & _LOW).astype(np.int32)
    differs = partner[1:] != partner[:-1]
    no, yes = xp.zeros(1, bool), xp.ones(1, bool)
    has_earlier = xp.concatenate([no, ~differs])
    is_last = xp.concatenate([differs, yes])
    earlier = xp.concatenate([place[:1], place[:-1]])

    # Who brought a place what it trades away: not the place itself, which may be the last with it as its partner.
    bringer = xp.where(place < partner, place, xp.where(has_earlier, earlier, partner))
    own = xp.arange(count, dtype=np.int32)
    first = _put(xp, own, xp.where(is_last, partner, count), bringer)
    traded = _ends(xp, first)
    rows = _put(xp, own, place, xp.where(has_earlier, traded[earlier], partner))
    rows = _put(xp, rows, np.array([count - 1]), traded[count - 1 :])  # the last place only gives and takes
    return rows.astype(np.int64)


def _put(xp: Any, values: Any, places: Any, new: Any) -> Any:
    """Returns an array with new values at some places, those beyond its end left out."""
    if xp is not np:
        return values.at[places].set(new, mode="drop")
    out = values.copy()
    inside = places < len(values)
    out[places[inside]] = new[inside]
    return out


def _ends(xp: Any, following: Any) -> Any:
    """Returns where chains end, `following[i]` being the next link of i and an end its own."""
    if xp is not np:
        pair = (following, following[following])
        return lax.while_loop(lambda p: (p[0] != p[1]).any(), lambda p: (p[1], p[1][p[1]]), pair)[0]
    while True:
        further = following[following]
        if (further == following).all():
            return following
        following = further


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
