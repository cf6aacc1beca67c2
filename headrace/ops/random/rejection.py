"""Gamma and Poisson numbers, which take as many random words as rejection asks for; on the host only.

Each output element owns a run of `RESERVE` blocks, from which it draws uniform and normal float64 numbers as
it goes. All elements are worked on at once, those still without a value again and again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.ops.random import philox
from headrace.ops.random.distributions import RESERVE, doubles_from_words, normals_from_blocks

_KNUTH_BELOW = 10  # Poisson rates from here on use the transformed rejection method


class _Draws:
    """The numbers that many elements draw, each from its own run of blocks.

    A block gives two uniform or two normal numbers. The second one is used first, and the other is kept for
    the next draw of the same kind.
    """

    def __init__(self, key: Any, counter: Any, count: int):
        self._key, self._counter = key, counter
        self._next = np.arange(count, dtype=np.uint64) * np.uint64(RESERVE)
        self._kept: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def uniform(self, elements: np.ndarray) -> np.ndarray:
        """Returns one uniform number in [0, 1) for each of the elements (their indices)."""
        return self._draw("uniform", elements, lambda b: doubles_from_words(b[:, 0::2], b[:, 1::2]))

    def normal(self, elements: np.ndarray) -> np.ndarray:
        """Returns one standard normal number for each of the elements (their indices)."""
        return self._draw("normal", elements, lambda b: normals_from_blocks(b, np.float64))

    def _draw(self, kind: str, elements: np.ndarray, pair: Any) -> np.ndarray:
        if kind not in self._kept:
            self._kept[kind] = np.zeros(len(self._next)), np.zeros(len(self._next), bool)
        kept, has = self._kept[kind]
        out = kept[elements]
        need = ~has[elements]
        fresh = elements[need]
        if fresh.size:
            numbers = pair(philox.blocks_at(self._key, self._counter, self._next[fresh]))
            self._next[fresh] += np.uint64(1)
            out[need], kept[fresh] = numbers[:, 1], numbers[:, 0]
        has[elements] = need
        return out


def gamma(key: Any, counter: Any, samples: int, alpha: np.ndarray) -> np.ndarray:
    """Returns gamma numbers of unit scale, [samples, alphas], by Marsaglia and Tsang's method.

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      samples: How many numbers to make for each alpha.
      alpha: The shape parameters, a vector of float16, float32 or float64, which is also the result's type.
    """
    count = samples * alpha.size
    a = np.repeat(
        alpha.astype(np.float64), samples
    )  # elements that share an alpha are neighbours in the stream
    out = np.zeros(count)
    draws = _Draws(key, counter, count)
    is_exponential = a == 1.0
    elements = np.flatnonzero(is_exponential)
    out[elements] = -np.log1p(-draws.uniform(elements))

    small = a < 1.0
    d = a + np.where(small, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / np.sqrt(np.abs(d))
    valid = a >= 0
    out[~valid] = np.nan
    pending = np.flatnonzero(~is_exponential & valid)
    while pending.size:
        x = draws.normal(pending)
        v = 1.0 + c[pending] * x
        fits = v > 0
        trying, x = pending[fits], x[fits]
        v = v[fits] ** 3
        u = draws.uniform(trying)
        dt = d[trying]
        with np.errstate(divide="ignore"):
            taken = (u < 1 - 0.0331 * (x * x) * (x * x)) | (
                np.log(u) < 0.5 * x * x + dt * (1 - v + np.log(v))
            )
        done = trying[taken]
        value = dt[taken] * v[taken]
        shrink = small[done]
        lesser = done[shrink]
        with np.errstate(divide="ignore"):  # alpha zero: the power is infinite, the value zero
            value[shrink] *= draws.uniform(lesser) ** (1 / a[lesser])
        out[done] = value
        pending = np.setdiff1d(pending, done, assume_unique=True)
    return out.reshape(alpha.size, samples).T.astype(alpha.dtype)


def poisson(key: Any, counter: Any, samples: int, rate: np.ndarray) -> np.ndarray:
    """Returns Poisson numbers as float64[samples, rates], still to be cast to the output type.

    Rates below ten use Knuth's product of uniforms, others Hörmann's transformed rejection (PTRS).

    Args:
      key: A uint32[2] key.
      counter: A uint32[4] counter.
      samples: How many numbers to make for each rate.
      rate: The rates, a vector.
    """
    count = samples * rate.size
    rates = np.repeat(rate.astype(np.float64), samples)
    out = np.zeros(count)
    draws = _Draws(key, counter, count)
    _small_rates(draws, rates, out)
    _large_rates(draws, rates, out)
    out[~np.isfinite(rates) | (rates < 0)] = np.nan
    return out.reshape(rate.size, samples).T


def _small_rates(draws: _Draws, rates: np.ndarray, out: np.ndarray) -> None:
    pending = np.flatnonzero((rates >= 0) & (rates < _KNUTH_BELOW))
    product = np.ones(len(rates))
    least = np.exp(-rates)
    while pending.size:
        product[pending] *= draws.uniform(pending)
        pending = pending[product[pending] > least[pending]]
        out[pending] += 1


def _large_rates(draws: _Draws, rates: np.ndarray, out: np.ndarray) -> None:
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    pending = np.flatnonzero((rates >= _KNUTH_BELOW) & np.isfinite(rates))
    log_rates = np.log(np.maximum(rates, 1))
    b = 0.931 + 2.53 * np.sqrt(np.maximum(rates, 0))
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    while pending.size:
        u = draws.uniform(pending) - 0.5
        v = draws.uniform(pending)
        pa, pb, pr = a[pending], b[pending], rates[pending]
        us = 0.5 - np.abs(u)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor((2 * pa / us + pb) * u + pr + 0.43)
            quick = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (pb - 2))
            retry = (k < 0) | ((us < 0.013) & (v > us))
            s = np.log(v * inverse_alpha[pending] / (pa / (us * us) + pb))
        slow = np.flatnonzero(~quick & ~retry)
        taken = quick.copy()
        taken[slow] = s[slow] <= -pr[slow] + k[slow] * log_rates[pending[slow]] - lgamma(k[slow] + 1)
        out[pending[taken]] = k[taken]
        pending = pending[~taken]
