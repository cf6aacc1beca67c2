"""The permutation that RandomShuffle applies to the rows of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lazy import lax
from headrace.ops.random import philox


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
