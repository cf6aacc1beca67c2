"""Random numbers that depend on nothing but a seed operand."""

from __future__ import annotations

import math

import numpy as np

from headrace.dtypes import as_dtype, float32
from headrace.graph.default import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op
from headrace.ops.random import philox
from headrace.ops.random.distributions import normal, truncated_normal, uniform, uniform_int
from headrace.ops.random.operands import (
    FLOATS,
    INDEX,
    check_range,
    check_seed_shape,
    shape_rule,
    shape_tensor,
    shifted,
    static_dims,
    stretched,
    upper_end,
)
from headrace.shapes import with_rank


def _shape(shape, seed, *bounds, ctx):
    check_seed_shape(seed)
    for bound in bounds:
        with_rank(bound, 0)
    return shape_rule(shape, ctx=ctx)


def _source(name, generate, doc, first):
    """Declares an op that makes floats with `generate`; `first` is what the seed [1, 2] begins with."""
    made = op(f"""
    {name}(shape: T, seed: Tseed) -> (output: dtype)
      dtype: {FLOATS} = float
      T: {INDEX} = int32
      Tseed: {INDEX} = int64

    {doc}
    """, shape=_shape, grad=None)  # fmt: skip

    def run(xp, shape, seed, dtype):
        key, counter = philox.state_from_stateless_seed(seed, xp)
        return generate(key, counter, static_dims(shape), dtype.storage, xp)

    made.host(lambda shape, seed, *, dtype: run(np, shape, seed, dtype))
    made.lower(lambda shape, seed, *, dtype: run(jnp, shape, seed, dtype), static="shape")

    @made.cases
    def cases(case):
        seed = np.array([1, 2], np.int64)
        case(np.array([1, 3], np.int32), seed, dtype="float", gives=[first])
        case(np.array([1, 3], np.int32), seed.astype(np.int32), dtype="float", gives=[first])
        case.shapes("[2];[2]", "[?,?]", dtype="half")
        case.fails("[2];[3]", match="Dimension must be 2 but is 3", dtype="float")

    return made


StatelessRandomUniform = _source(
    "StatelessRandomUniform",
    uniform,
    "Numbers uniformly distributed over [0, 1), determined by `seed`.",
    [0.8440604, 0.19204533, 0.9962232],
)
StatelessRandomNormal = _source(
    "StatelessRandomNormal",
    normal,
    "Standard normal numbers, determined by `seed`.",
    [0.5441101, 0.20738031, 0.07356432],
)
StatelessTruncatedNormal = _source(
    "StatelessTruncatedNormal",
    truncated_normal,
    "Standard normal numbers of magnitude below two, determined by `seed`.",
    [0.5441101, 0.20738031, 0.07356432],
)

StatelessRandomUniformInt = op(f"""
    StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)
      dtype: {INDEX}
      T: {INDEX}
      Tseed: {INDEX} = int64

    Integers from `minval` up to but not including `maxval`, determined by `seed`.
""", shape=_shape, grad=None)  # fmt: skip


@StatelessRandomUniformInt.host
def stateless_uniform_int_host(shape, seed, minval, maxval):
    return _integers(np, shape, seed, minval, maxval)


@StatelessRandomUniformInt.lower(static="shape")
def stateless_uniform_int_lower(shape, seed, minval, maxval, *, ctx):
    if math.prod(static_dims(shape)):
        ctx.check(minval < maxval, "Need minval < maxval")
    return _integers(jnp, shape, seed, minval, maxval)


def _integers(xp, shape, seed, low, high):
    dims = static_dims(shape)
    check_range(low, high, math.prod(dims))
    key, counter = philox.state_from_stateless_seed(seed, xp)
    return uniform_int(key, counter, dims, low, high, low.dtype, xp)


@StatelessRandomUniformInt.cases
def stateless_uniform_int_cases(case):
    shape, seed = np.array([4], np.int32), np.array([1, 2], np.int64)
    case(shape, seed, np.int32(0), np.int32(10), gives=np.array([0, 9, 4, 9], np.int32))
    case.shapes("[2];[2];[];[]", "[?,?]")
    case.fails((shape, seed, np.int32(5), np.int32(5)), match="Need minval < maxval, got 5 >= 5")


@export("random.stateless_uniform")
def stateless_random_uniform(shape, seed, minval=0, maxval=None, dtype=float32, name=None):
    """Returns uniform numbers over [minval, maxval) that depend only on the seed.

    Args:
      shape: The shape of the result.
      seed: Two integers, or a tensor of two.
      minval: The lower end, included.
      maxval: The upper end, excluded; 1 if None, which only floats allow.
      dtype: float16, bfloat16, float32, float64, int32 or int64.
      name: A name for the operation.

    Raises:
      ValueError: `dtype` is another type, or an integer type without `maxval`.
    """
    dtype = as_dtype(dtype)
    maxval = upper_end(dtype, maxval)
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as name:
        shape = shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype, name="max")
        if dtype.is_integer:
            return StatelessRandomUniformInt(shape, seed, minval, maxval, name=name)
        return stretched(StatelessRandomUniform(shape, seed, dtype=dtype), minval, maxval, name)


@export("random.stateless_normal")
def stateless_random_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name=None):
    """Returns normal numbers that depend only on the seed.

    Args:
      shape: The shape of the result.
      seed: Two integers, or a tensor of two.
      mean: The mean; it broadcasts against `shape`.
      stddev: The standard deviation, likewise.
      dtype: float16, bfloat16, float32 or float64.
      name: A name for the operation.
    """
    return _shifted(StatelessRandomNormal, "stateless_random_normal", shape, seed, mean, stddev, dtype, name)


@export("random.stateless_truncated_normal")
def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name=None):
    """Returns normal numbers within two deviations of the mean that depend only on the seed.

    Args:
      shape: The shape of the result.
      seed: Two integers, or a tensor of two.
      mean: The mean of the normal distribution before it is cut off.
      stddev: Its standard deviation.
      dtype: float16, bfloat16, float32 or float64.
      name: A name for the operation.
    """
    source = StatelessTruncatedNormal
    return _shifted(source, "stateless_truncated_normal", shape, seed, mean, stddev, dtype, name)


def _shifted(source, default_name, shape, seed, mean, stddev, dtype, name):
    with name_scope(name, default_name, [shape, seed, mean, stddev]) as name:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        return shifted(source(shape, seed, dtype=dtype), mean, stddev, name)
