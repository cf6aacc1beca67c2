"""ParameterizedTruncatedNormal: normal numbers between bounds of one's own.

Robert, "Simulation of truncated normal variables", 1995: candidates come from the normal distribution itself where
much of it lies between the bounds, else from a uniform or a shifted exponential one, whichever is refused less. All
elements read one stream one after the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.errors import InternalError, InvalidArgumentError
from headrace.opdef import op
from headrace.ops.random import philox
from headrace.ops.random.distributions import normals_from_blocks, uniforms_from_blocks
from headrace.ops.random.operands import FLOATS, INDEX, static_dims
from headrace.shapes import with_rank

_NORMAL_WITHIN = 1.3  # deviations: with a bound this far out, normal candidates are good enough
_MOST_REFUSALS = 1000  # one after the other
_TOGETHER = 100  # elements that count as one batch where all have the same parameters
_PARAMETERS = ("means", "stdevs", "minvals", "maxvals")

ParameterizedTruncatedNormal = op(f"""
    ParameterizedTruncatedNormal(
        shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> (output: dtype)
      seed: int = 0
      seed2: int = 0
      dtype: {FLOATS}
      T: {INDEX}
      stateful

    Normal numbers between `minvals` and `maxvals`; each parameter is one for all or one for each slice along the
    first axis.
""", grad=None)  # fmt: skip


@ParameterizedTruncatedNormal.shape
def parameterized_truncated_normal_shape(shape, means, stdevs, minvals, maxvals, *, ctx):
    with_rank(shape, 1)
    for parameter in (means, stdevs, minvals, maxvals):
        if parameter is not None and len(parameter) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(parameter)}")
    return ctx.as_shape("shape")


@ParameterizedTruncatedNormal.host
def parameterized_truncated_normal_host(shape, means, stdevs, minvals, maxvals, *, dtype, ctx):
    dims = static_dims(shape)
    if not dims:
        raise InvalidArgumentError(None, None, "Shape tensor must not be empty, got []")
    parameters = (means, stdevs, minvals, maxvals)
    for name, parameter in zip(_PARAMETERS, parameters, strict=True):
        if parameter.ndim > 1 or parameter.size not in (1, dims[0]):
            shown = ",".join(map(str, parameter.shape))
            raise InvalidArgumentError(
                None, None, f"Input {name} should have length 1 or shape[0], got shape: [{shown}]"
            )
    size = math.prod(dims)
    if not size:
        return np.zeros(dims, dtype.storage)
    # Bounds that are vectors, of one number even, ask for a stream for each row.
    single = all(p.size == 1 for p in parameters) and not minvals.ndim and not maxvals.ndim
    batches, each = (-(-size // _TOGETHER), _TOGETHER) if single else (dims[0], size // dims[0])
    key, counter = ctx.random(batches * 2 * _MOST_REFUSALS * (each + 3) // 4)
    stream = _Stream(key, counter, np.dtype(dtype.storage))
    rows = zip(*(np.broadcast_to(p.reshape(-1), [batches]) for p in parameters), strict=True)
    out = [_batch(stream, min(each, size - i * each), *row) for i, row in enumerate(rows)]
    return np.concatenate(out).reshape(dims)


class _Stream:
    """A stream of blocks that is read in groups, each of which is used up when one of its numbers is."""

    def __init__(self, key: Any, counter: Any, dtype: np.dtype):
        self._key, self._counter = key, counter
        self.dtype = dtype

    def take(self, count: int, blocks: int, candidates: Any) -> np.ndarray:
        """Returns the first `count` accepted candidates.

        Args:
          count: How many.
          blocks: How many blocks make a group.
          candidates: Returns the candidates of groups of blocks, uint32[groups, blocks, 4], and which are
            accepted, both [groups, n].

        Raises:
          InternalError: Too many are refused one after the other.
        """
        taken: list[np.ndarray] = []
        lacking, groups = count, max(16, count)
        refused = 0  # since the last accepted one
        while lacking:
            words = philox.blocks(self._key, self._counter, groups * blocks).reshape(groups, blocks, 4)
            values, good = candidates(words)
            places = np.flatnonzero(good)[:lacking]
            # How far each accepted one is from the one before; the last gap has no end yet.
            ends = places if places.size == lacking else np.append(places, good.size)
            gaps = np.diff(ends, prepend=-1 - refused) - 1
            if gaps.max() > _MOST_REFUSALS:
                raise _Refused
            refused = int(gaps[-1])
            taken.append(values.reshape(-1)[places])
            lacking -= places.size
            used = groups if lacking else int(places[-1]) // good.shape[1] + 1
            self._counter = philox.advance(self._counter, used * blocks)
        return np.concatenate(taken)


class _Refused(Exception):
    """No candidate was accepted for too long."""


def _batch(stream: _Stream, count: int, mean: Any, deviation: Any, low: Any, high: Any) -> np.ndarray:
    """Returns numbers of one set of parameters.

    Raises:
      InvalidArgumentError: The parameters are none of such a distribution.
      InternalError: No candidate is accepted.
    """
    kind = stream.dtype.type
    if not deviation > 0 or not low < high or not (np.isfinite(low) or np.isfinite(high)):
        raise InvalidArgumentError(None, None, "Invalid parameters")
    with np.errstate(all="ignore"):
        if low == -np.inf or high < mean:
            # The bound that counts, or the nearer one, becomes the lower.
            low, high, deviation = high, low, -deviation
        first, last = kind((low - mean) / deviation), kind((high - mean) / deviation)
        root = kind(np.sqrt(first * first + kind(4)))
        cutoff = kind(2) * np.exp(kind(0.5) + first * (first - root) / kind(4)) / (first + root)
        if (first < -_NORMAL_WITHIN and last >= 0) or (last > _NORMAL_WITHIN and first <= 0):
            name, blocks, candidates = "randn", 1, _normal_candidates(stream.dtype, first, last)
        elif last - first < cutoff:
            name, blocks, candidates = "uniform", 2, _uniform_candidates(stream.dtype, first, last)
        else:
            name, blocks, candidates = (
                "exponential distribution",
                1,
                _exponential_candidates(stream.dtype, first, last, root),
            )
        try:
            numbers = stream.take(count, blocks, candidates)
        except _Refused:
            raise InternalError(
                None, None, f"TruncatedNormal {name} rejection sampler failed to accept a sample."
            ) from None
        return numbers * deviation + mean


def _normal_candidates(dtype: np.dtype, first: Any, last: Any) -> Any:
    def candidates(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = normals_from_blocks(words[:, 0], dtype).astype(dtype)
        return x, (x >= first) & (x <= last)

    return candidates


def _uniform_candidates(dtype: np.dtype, first: Any, last: Any) -> Any:
    most = dtype.type(0) if first < 0 else first * first

    def candidates(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = uniforms_from_blocks(words[:, 0], dtype) * (last - first) + first
        return z, uniforms_from_blocks(words[:, 1], dtype) <= np.exp((most - z * z) / dtype.type(2))

    return candidates


def _exponential_candidates(dtype: np.dtype, first: Any, last: Any, root: Any) -> Any:
    two = dtype.type(2)
    rate = (first + root) / two

    def candidates(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = uniforms_from_blocks(words[:, 0], dtype)
        # NumPy's own float32 logarithm is two units off at times.
        z = -np.log(u[:, 0::2].astype(np.float64)).astype(dtype) / rate + first
        x = rate - z if first < rate else np.broadcast_to(first - rate, z.shape)
        return z, (u[:, 1::2] <= np.exp(-x * x / two)) & (z < last)

    return candidates


@ParameterizedTruncatedNormal.cases
def parameterized_truncated_normal_cases(case):
    shape = np.array([3], np.int32)
    one = np.float32(1.0)
    case(shape, 0 * one, one, -one, one, seed=1, seed2=2, gives=[-0.1872065, 0.71519923, -0.8892083])
    case(
        shape,
        0 * one,
        one,
        2 * one,
        np.float32(np.inf),
        seed=1,
        seed2=2,
        gives=[2.3729684, 3.1984236, 2.367142],
    )
    case(
        shape,
        0 * one,
        one,
        0 * one,
        np.float32(np.inf),
        seed=1,
        seed2=2,
        gives=[0.8397046, 1.2358364, 2.0637853],
    )
    case(np.array([2, 0], np.int32), 0 * one, one, -one, one, gives=np.zeros([2, 0], np.float32))
    case.shapes("[2];[];[];[?];[]", "[3,5]", values={"shape": np.array([3, 5], np.int32)})
    case.fails("[1];[1,1];[];[];[]", match="Shape must be at most rank 1 but is rank 2")
    case.fails((shape, 0 * one, -one, -one, one), match="Invalid parameters")
    case.fails((shape, np.float32([0, 1]), one, -one, one), match=r"means should have length 1 or shape\[0\]")
    case.fails(
        (shape, np.float32(np.nan), one, one, 2 * one),
        match="failed to accept a sample",
        raises=InternalError,
    )
