"""Draws from categorical distributions given by logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lazy import lax
from headrace.ops.random import philox
from headrace.ops.random.distributions import RESERVE, doubles_from_words

_WORDS_PER_SAMPLE = 2


def multinomial_blocks(batch: int, samples: int) -> int:
    """Returns how many blocks one execution reserves: it counts samples in fours and words in pairs."""
    return batch * (-(-samples // 4) * 4) * _WORDS_PER_SAMPLE * RESERVE


def multinomial(key: Any, counter: Any, logits: Any, samples: int, dtype: Any, xp: Any = np) -> Any:
    """Returns [batch, samples] class indices, drawn by inverting the cumulative distribution.

    Logits that are not finite have no mass. A row without mass gives the number of classes.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      logits: Unnormalised log probabilities, [batch, classes], of any real type.
      samples: How many indices to draw for each row; static.
      dtype: int32 or int64.
      xp: The array namespace.
    """
    logits = xp.asarray(logits).astype(np.float64)
    batch, classes = logits.shape
    if not batch or not samples:
        return xp.zeros((batch, samples), dtype)
    pairs = philox.words(key, counter, batch * samples * _WORDS_PER_SAMPLE, xp).reshape(-1, 2)
    uniforms = doubles_from_words(pairs[:, 0], pairs[:, 1]).reshape(batch, samples)

    finite = xp.isfinite(logits)
    peak = xp.max(xp.where(finite, logits, -np.inf), axis=1, keepdims=True)
    mass = xp.where(finite, xp.exp(xp.where(finite, logits - xp.where(xp.isfinite(peak), peak, 0), 0)), 0)
    cumulative = xp.cumsum(mass, axis=1)
    wanted = uniforms * cumulative[:, -1:]
    if xp is np:
        rows = [np.searchsorted(c, w, side="right") for c, w in zip(cumulative, wanted, strict=True)]
        return np.stack(rows).astype(dtype)

    def halve(_: Any, bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) // 2
        at_or_below = xp.take_along_axis(cumulative, xp.minimum(middle, classes - 1), axis=1) <= wanted
        open_ = low < high
        return xp.where(open_ & at_or_below, middle + 1, low), xp.where(open_ & ~at_or_below, middle, high)

    bounds = xp.zeros((batch, samples), np.int32), xp.full((batch, samples), classes, np.int32)
    return lax.fori_loop(0, classes.bit_length(), halve, bounds)[0].astype(dtype)
