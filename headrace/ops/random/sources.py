"""Random numbers of a given shape from an op's own stream: uniform, integer, normal and truncated normal."""

from __future__ import annotations

import math

import numpy as np

from headrace.dtypes import as_dtype, float32
from headrace.graph.default import name_scope
from headrace.graph.seeds import get_seed
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op
from headrace.ops.random.distributions import normal, reserved_blocks, truncated_normal, uniform, uniform_int
from headrace.ops.random.operands import (
    FLOATS,
    INDEX,
    check_range,
    shape_rule,
    shape_tensor,
    shifted,
    static_dims,
    stretched,
    upper_end,
)
from headrace.shapes import with_rank


def _source(name, generate, doc, first):
    """Declares an op that makes floats with `generate`; `first` is what the seeds 1 and 2 begin with."""
    made = op(f"""
    {name}(shape: T) -> (output: dtype)
      seed: int = 0
      seed2: int = 0
      dtype: {FLOATS}
      T: {INDEX}
      stateful

    {doc}
    """, shape=shape_rule, grad=None)  # fmt: skip

    def run(xp, shape, dtype, ctx):
        dims = static_dims(shape)
        key, counter = ctx.random(reserved_blocks(math.prod(dims)))
        return generate(key, counter, dims, dtype.storage, xp)

    made.host(lambda shape, *, dtype, ctx: run(np, shape, dtype, ctx))
    made.lower(lambda shape, *, dtype, ctx: run(jnp, shape, dtype, ctx), static="shape")

    @made.cases
    def cases(case):
        case(np.array([1, 3], np.int32), dtype="float", seed=1, seed2=2, gives=[first])
        case(np.array([2, 0], np.int64), dtype="double", seed=1, seed2=2, gives=np.zeros((2, 0)))
        case.shapes("[2]", "[?,?]", dtype="half")
        case.shapes("[2]", "[4,?]", dtype="half", values={"shape": np.array([4, -1], np.int32)})
        case.fails("[1,1]", match="must be rank 1", dtype="float")
        case.fails((np.array([-1], np.int32),), match="Dimension -1 must be >= 0", dtype="float")

    return made


RandomUniform = _source(
    "RandomUniform",
    uniform,
    "Numbers uniformly distributed over [0, 1).",
    [0.40639675, 0.8575996, 0.05539584],
)
RandomStandardNormal = _source(
    "RandomStandardNormal",
    normal,
    "Normal numbers of mean 0 and deviation 1.",
    [-1.0467793, 0.8397046, 1.2358364],
)
TruncatedNormal = _source(
    "TruncatedNormal",
    truncated_normal,
    "Standard normal numbers; those of magnitude two or more are drawn again.",
    [-1.0467793, 0.8397046, 1.2358364],
)

RandomUniformInt = op(f"""
    RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)
      seed: int = 0
      seed2: int = 0
      Tout: {INDEX}
      T: {INDEX}
      stateful

    Integers from `minval` up to but not including `maxval`. They are remainders of random words, so the
    lower ones are very slightly likelier unless the range is a power of two.
""")  # fmt: skip


@RandomUniformInt.shape
def random_uniform_int_shape(shape, minval, maxval, *, ctx):
    with_rank(minval, 0)
    with_rank(maxval, 0)
    return shape_rule(shape, ctx=ctx)


@RandomUniformInt.host
def random_uniform_int_host(shape, minval, maxval, *, ctx):
    return _integers(np, shape, minval, maxval, ctx)


@RandomUniformInt.lower(static="shape")
def random_uniform_int_lower(shape, minval, maxval, *, ctx):
    return _integers(jnp, shape, minval, maxval, ctx)


def _integers(xp, shape, low, high, ctx):
    dims = static_dims(shape)
    count = math.prod(dims)
    check_range(low, high, count)
    if count:
        ctx.check(low < high, "Need minval < maxval")
    key, counter = ctx.random(reserved_blocks(count))
    return uniform_int(key, counter, dims, low, high, low.dtype, xp)


@RandomUniformInt.cases
def random_uniform_int_cases(case):
    shape = np.array([4], np.int32)
    case(shape, np.int32(0), np.int32(10), seed=1, seed2=2, gives=np.array([9, 5, 2, 9], np.int32))
    case(shape, np.int64(-5), np.int64(2**40), seed=1, seed2=2)
    case.shapes("[2];[];[]", "[?,?]")
    case.fails("[1];[1];[]", match="must be rank 0")
    case.fails((shape, np.int32(5), np.int32(5)), match="Need minval < maxval, got 5 >= 5")


@export("random.uniform", "random_uniform")
def random_uniform(shape, minval=0, maxval=None, dtype=float32, seed=None, name=None):
    """Returns numbers uniformly distributed over [minval, maxval).

    Args:
      shape: The shape of the result.
      minval: The lower end, included.
      maxval: The upper end, excluded; 1 if None, which only floats allow.
      dtype: float16, bfloat16, float32, float64, int32 or int64.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.

    Raises:
      ValueError: `dtype` is another type, or an integer type without `maxval`.
    """
    dtype = as_dtype(dtype)
    maxval = upper_end(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as name:
        shape = shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype, name="max")
        seed, seed2 = get_seed(seed)
        if dtype.is_integer:
            return RandomUniformInt(shape, minval, maxval, seed=seed, seed2=seed2, name=name)
        numbers = RandomUniform(shape, dtype=dtype, seed=seed, seed2=seed2)
        return stretched(numbers, minval, maxval, name)


@export("random.normal", "random_normal")
def random_normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Returns normally distributed numbers.

    Args:
      shape: The shape of the result.
      mean: The mean; it broadcasts against `shape`.
      stddev: The standard deviation, likewise.
      dtype: float16, bfloat16, float32 or float64.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.
    """
    return _shifted(RandomStandardNormal, "random_normal", shape, mean, stddev, dtype, seed, name)


@export("random.truncated_normal", "truncated_normal")
def truncated_normal_numbers(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Returns normally distributed numbers within two standard deviations of the mean.

    Args:
      shape: The shape of the result.
      mean: The mean of the normal distribution before it is cut off.
      stddev: Its standard deviation.
      dtype: float16, bfloat16, float32 or float64.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.
    """
    return _shifted(TruncatedNormal, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _shifted(source, default_name, shape, mean, stddev, dtype, seed, name):
    with name_scope(name, default_name, [shape, mean, stddev]) as name:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        seed, seed2 = get_seed(seed)
        numbers = source(shape, dtype=dtype, seed=seed, seed2=seed2)
        return shifted(numbers, mean, stddev, name)
