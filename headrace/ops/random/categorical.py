"""Draws from categorical distributions given by logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import int64
from headrace.graph.default import name_scope
from headrace.graph.seeds import get_seed
from headrace.lazy import jnp, lax
from headrace.opdef import convert_to_tensor, export, op
from headrace.ops.random import philox
from headrace.ops.random.distributions import RESERVE, doubles_from_words
from headrace.ops.random.operands import check_seed_shape
from headrace.shapes import with_rank

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


Multinomial = op("""
    Multinomial(logits: T, num_samples: int32) -> (output: output_dtype)
      seed: int = 0
      seed2: int = 0
      T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
      output_dtype: {int32, int64} = int64
      stateful

    Draws class indices, `num_samples` for each row of unnormalised log probabilities.
""", grad=None)  # fmt: skip


@Multinomial.shape
def multinomial_shape(logits, num_samples, *, ctx):
    with_rank(num_samples, 0)
    samples = ctx.constant("num_samples")
    if samples is not None and samples < 0:
        raise ValueError(
            f"Dimension size, given by scalar input 1, must be non-negative but is {int(samples)}"
        )
    return with_rank(logits, 2)[0], None if samples is None else int(samples)


@Multinomial.host
def multinomial_host(logits, num_samples, *, output_dtype, ctx):
    return _stateful(np, logits, num_samples, output_dtype, ctx)


@Multinomial.lower(static="num_samples")
def multinomial_lower(logits, num_samples, *, output_dtype, ctx):
    return _stateful(jnp, logits, num_samples, output_dtype, ctx)


def _stateful(xp, logits, num_samples, output_dtype, ctx):
    samples = _checked(logits, num_samples)
    key, counter = ctx.random(multinomial_blocks(logits.shape[0], samples))
    return multinomial(key, counter, logits, samples, output_dtype.storage, xp)


def _checked(logits, num_samples):
    if logits.ndim != 2:
        raise ValueError(f"logits should be a matrix, got shape {list(logits.shape)}")
    samples = int(num_samples)
    if samples < 0:
        raise ValueError(f"num_samples should be nonnegative, got {samples}")
    if logits.shape[1] == 0 and samples:
        raise ValueError("num_classes should be positive, got 0")
    return samples


@Multinomial.cases
def multinomial_cases(case):
    logits = np.array([[0.0, -np.inf, 0.0], [-np.inf] * 3, [np.nan, 0.0, 1.0]], np.float32)
    case(
        logits,
        np.int32(5),
        seed=1,
        seed2=2,
        output_dtype="int32",
        gives=np.array([[0, 0, 0, 0, 2], [3, 3, 3, 3, 3], [1, 2, 2, 2, 2]], np.int32),
    )
    case.shapes("[2,?];[]", "[2,?]")
    case.shapes("[?,3];[]", "[?,7]", values={"num_samples": np.int32(7)})
    case.fails("[3];[]", match="must be rank 2")
    case.fails((np.zeros((2, 0), np.float32), np.int32(3)), match="num_classes should be positive, got 0")


StatelessMultinomial = op("""
    StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)
      T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
      Tseed: {int32, int64} = int64
      output_dtype: {int32, int64} = int64

    Draws class indices, `num_samples` for each row of unnormalised log probabilities, determined by `seed`.
""", grad=None)  # fmt: skip


@StatelessMultinomial.shape
def stateless_multinomial_shape(logits, num_samples, seed, *, ctx):
    check_seed_shape(seed)
    return multinomial_shape(logits, num_samples, ctx=ctx)


@StatelessMultinomial.host
def stateless_multinomial_host(logits, num_samples, seed, *, output_dtype):
    return _stateless(np, logits, num_samples, seed, output_dtype)


@StatelessMultinomial.lower(static="num_samples")
def stateless_multinomial_lower(logits, num_samples, seed, *, output_dtype):
    return _stateless(jnp, logits, num_samples, seed, output_dtype)


def _stateless(xp, logits, num_samples, seed, output_dtype):
    samples = _checked(logits, num_samples)
    key, counter = philox.state_from_stateless_seed(seed, xp)
    return multinomial(key, counter, logits, samples, output_dtype.storage, xp)


@StatelessMultinomial.cases
def stateless_multinomial_cases(case):
    seed = np.array([1, 2], np.int64)
    logits = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]], np.float32)
    case(
        logits,
        np.int32(5),
        seed,
        output_dtype="int32",
        gives=np.array([[1, 2, 0, 2, 1], [0, 1, 0, 1, 1]], np.int32),
    )
    case.shapes("[2,?];[];[2]", "[2,?]")
    case.fails("[2,3];[];[3]", match="Dimension must be 2 but is 3")


@export("multinomial", "random.multinomial")
def multinomial_indices(logits, num_samples, seed=None, name=None, output_dtype=None):
    """Draws class indices from rows of unnormalised log probabilities; `tf.random.categorical` is the same.

    Args:
      logits: [batch, classes].
      num_samples: How many indices to draw for each row.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.
      output_dtype: int32 or int64 (the default).

    Returns:
      A tensor [batch, num_samples].
    """
    with name_scope(name, "multinomial", [logits]):
        return _drawn(logits, num_samples, output_dtype, seed)


@export("random.categorical")
def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Draws class indices from rows of unnormalised log probabilities.

    Args:
      logits: [batch, classes].
      num_samples: How many indices to draw for each row.
      dtype: int32 or int64 (the default).
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.

    Returns:
      A tensor [batch, num_samples].
    """
    with name_scope(name, "categorical", [logits]):
        return _drawn(logits, num_samples, dtype, seed)


def _drawn(logits, num_samples, dtype, seed):
    logits = convert_to_tensor(logits, name="logits")
    seed, seed2 = get_seed(seed)
    return Multinomial(logits, num_samples, seed=seed, seed2=seed2, output_dtype=dtype)


@export("random.stateless_categorical")
def stateless_categorical(logits, num_samples, seed, dtype=int64, name=None):
    """Draws class indices from rows of unnormalised log probabilities, depending only on the seed.

    Args:
      logits: [batch, classes].
      num_samples: How many indices to draw for each row.
      seed: Two integers, or a tensor of two.
      dtype: int32 or int64.
      name: A name for the operation.

    Returns:
      A tensor [batch, num_samples].
    """
    with name_scope(name, "stateless_categorical", [logits, seed]):
        logits = convert_to_tensor(logits, name="logits")
        return StatelessMultinomial(logits, num_samples, seed, output_dtype=dtype)


@export("random.stateless_multinomial")
def stateless_multinomial(logits, num_samples, seed, output_dtype=int64, name=None):
    """Does what `tf.random.stateless_categorical` does, under its former name.

    Args:
      logits: [batch, classes].
      num_samples: How many indices to draw for each row.
      seed: Two integers, or a tensor of two.
      output_dtype: int32 or int64.
      name: A name for the operation.

    Returns:
      A tensor [batch, num_samples].
    """
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        logits = convert_to_tensor(logits, name="logits")
        return StatelessMultinomial(logits, num_samples, seed, output_dtype=output_dtype)
