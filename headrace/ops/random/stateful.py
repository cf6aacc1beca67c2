"""Random numbers from a generator whose state is a resource variable that the program sees.

The state is a vector of int64: the two halves of the counter and the key (an older op has the algorithm's number in
front). An execution moves the counter on by `RESERVE` blocks for each element.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.random import distributions
from headrace.ops.random.binomial import binomial, reserved_by_binomial
from headrace.ops.random.operands import INDEX
from headrace.shapes import with_rank

PHILOX = 1
"""The number of the only algorithm that there is."""

_STATE_SIZE = 3


def _shape(resource, algorithm, shape, *others, ctx):
    with_rank(algorithm, 0)
    for bound in others:
        with_rank(bound, 0)
    with_rank(shape, 1)
    return ctx.as_shape("shape")


def _dims(shape):
    dims = tuple(int(d) for d in shape.reshape(-1))
    for d in dims:
        if d < 0:
            raise InvalidArgumentError(None, None, f"Dimension {d} must be >= 0")
    return dims


def check_algorithm(algorithm: Any) -> None:
    """Checks the number of an algorithm.

    Raises:
      InvalidArgumentError: It is not Philox's.
    """
    if int(algorithm) != PHILOX:
        raise InvalidArgumentError(None, None, f"Unsupported algorithm id: {int(algorithm)}")


def _state_of(ctx: Any, resource: Any, first: int = 0) -> Any:
    """Returns the variable's value.

    Raises:
      InvalidArgumentError: It is no state of this algorithm.
    """
    state = ctx.read(resource)
    if state.dtype != np.int64:
        name = resource.dtype.wire_name.removeprefix("DT_").lower()
        raise InvalidArgumentError(None, None, f"dtype of RNG state variable must be int64, not {name}")
    if state.ndim != 1:
        raise InvalidArgumentError(
            None, None, f"RNG state must have one and only one dimension, not {state.ndim}"
        )
    if state.size < _STATE_SIZE + first:
        raise InvalidArgumentError(
            None,
            None,
            f"For the Philox algorithm, the size of state must be at least {_STATE_SIZE + first}; got {state.size}",
        )
    return state


def _stream(xp: Any, state: Any, first: int = 0) -> tuple[Any, Any]:
    """Returns the key and the counter that a state holds."""
    whole = state[first : first + _STATE_SIZE].astype(np.uint64)
    low, high = (whole & np.uint64(2**32 - 1)).astype(np.uint32), (whole >> np.uint64(32)).astype(np.uint32)
    words = xp.stack([low, high], axis=-1).reshape(-1)
    return words[4:6], words[:4]


def _moved(xp: Any, state: Any, blocks: int, first: int = 0) -> Any:
    """Returns the state after so many blocks, a number of 64 bits."""
    step = np.uint64(blocks % 2**64)
    counter = state[first : first + 2].astype(np.uint64)
    lower = counter[:1] + step
    upper = counter[1:] + (lower < step).astype(np.uint64)
    moved = xp.concatenate([lower, upper]).astype(np.int64)
    return xp.concatenate([state[:first], moved, state[first + 2 :]])


def _drawn(xp: Any, ctx: Any, resource: Any, shape: Any, generate: Any, first: int = 0) -> Any:
    dims = _dims(shape)
    state = _state_of(ctx, resource, first)
    key, counter = _stream(xp, state, first)
    out = generate(key, counter, dims)
    ctx.write(resource, _moved(xp, state, math.prod(dims) * distributions.RESERVE, first))
    return out


def _program(op_name, gives, after, **operands):
    """Returns cases in which an op draws from the state [3, 1, 9]."""
    from headrace.opdef import raw

    def cases(case):
        @case.program
        def draws_and_moves_on(step):
            v = raw.VarHandleOp(shape=[3], dtype="int64")
            step(raw.AssignVariableOp(v, np.int64([3, 1, 9])))
            step(
                getattr(raw, op_name)(v, np.int64(PHILOX), *operands["more"], **operands["attrs"]),
                gives=gives,
            )
            step(raw.ReadVariableOp(v, dtype="int64"), gives=np.int64([after, 1, 9]))

        @case.program
        def refuses_another_algorithm(step):
            v = raw.VarHandleOp(shape=[3], dtype="int64")
            step(raw.AssignVariableOp(v, np.int64([3, 1, 9])))
            node = getattr(raw, op_name)(v, np.int64(2), *operands["more"], **operands["attrs"])
            step(node, fails=InvalidArgumentError, match="Unsupported algorithm id: 2")

    return cases


def _source(name, generate, doc, gives):
    """Declares an op that makes floats with `generate`; `gives` is what the state [3, 1, 9] begins with."""
    made = op(f"""
    {name}(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)
      dtype: type = DT_FLOAT
      shape_dtype: type = DT_INT64
      stateful

    {doc}
    """, shape=_shape)  # fmt: skip

    def run(xp, resource, algorithm, shape, dtype, ctx):
        check_algorithm(algorithm)
        return _drawn(xp, ctx, resource, shape, lambda k, c, dims: generate(k, c, dims, dtype.storage, xp))

    made.host(
        lambda resource, algorithm, shape, *, dtype, ctx: run(np, resource, algorithm, shape, dtype, ctx)
    )
    made.lower(
        lambda resource, algorithm, shape, *, dtype, ctx: run(jnp, resource, algorithm, shape, dtype, ctx),
        static="algorithm shape",
    )
    after = 3 + len(gives) * distributions.RESERVE
    made.cases(_program(name, gives, after, more=[np.int64([len(gives)])], attrs={}))
    return made


StatefulUniform = _source(
    "StatefulUniform",
    distributions.uniform,
    "Numbers uniformly distributed over [0, 1).",
    np.float32([0.203269, 0.78745782, 0.73393583]),
)
StatefulStandardNormalV2 = _source(
    "StatefulStandardNormalV2",
    distributions.normal,
    "Normal numbers of mean 0 and deviation 1.",
    [-1.735852, 0.41625467, -0.7842784, -0.05978955, -1.0938298],
)
StatefulTruncatedNormal = _source(
    "StatefulTruncatedNormal",
    distributions.truncated_normal,
    "Standard normal numbers; those of magnitude two or more are drawn again.",
    [-1.735852, 0.41625467, -0.7842784],
)

StatefulStandardNormal = op("""
    StatefulStandardNormal(resource: resource, shape: shape_dtype) -> (output: dtype)
      dtype: type = DT_FLOAT
      shape_dtype: type = DT_INT64
      stateful
      deprecated 29

    Normal numbers; the first version, whose state begins with the algorithm's number.
""")  # fmt: skip


@StatefulStandardNormal.shape
def stateful_standard_normal_shape(resource, shape, *, ctx):
    with_rank(shape, 1)
    return ctx.as_shape("shape")


@StatefulStandardNormal.host
def stateful_standard_normal_host(resource, shape, *, dtype, ctx):
    state = ctx.read(resource)
    if not state.size:
        raise InvalidArgumentError(None, None, "Size of tensor must be at least 1")
    check_algorithm(state.reshape(-1)[0])

    def generate(key, counter, dims):
        return distributions.normal(key, counter, dims, dtype.storage)

    return _drawn(np, ctx, resource, shape, generate, first=1)


@StatefulStandardNormal.cases
def stateful_standard_normal_cases(case):
    from headrace.opdef import raw

    @case.program
    def draws_and_moves_on(step):
        v = raw.VarHandleOp(shape=[4], dtype="int64")
        step(raw.AssignVariableOp(v, np.int64([1, 3, 1, 9])))
        step(raw.StatefulStandardNormal(v, np.int64([2])), gives=[-1.735852, 0.41625467])
        step(raw.ReadVariableOp(v, dtype="int64"), gives=np.int64([1, 515, 1, 9]))


StatefulUniformInt = op("""
    StatefulUniformInt(
        resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype) -> (output: dtype)
      dtype: type = DT_INT64
      shape_dtype: type = DT_INT64
      stateful

    Integers from `minval` up to but not including `maxval`.
""", shape=_shape)  # fmt: skip


def _integers(xp, resource, algorithm, shape, minval, maxval, dtype, ctx):
    check_algorithm(algorithm)

    def generate(key, counter, dims):
        if math.prod(dims):
            _check_range(ctx, minval, maxval)
        return distributions.uniform_int(key, counter, dims, minval, maxval, dtype.storage, xp)

    return _drawn(xp, ctx, resource, shape, generate)


def _check_range(ctx, low, high):
    if (
        isinstance(low, (np.ndarray, np.generic))
        and isinstance(high, (np.ndarray, np.generic))
        and low >= high
    ):
        raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
    ctx.check(low < high, "Need minval < maxval")


@StatefulUniformInt.host
def stateful_uniform_int_host(resource, algorithm, shape, minval, maxval, *, dtype, ctx):
    return _integers(np, resource, algorithm, shape, minval, maxval, dtype, ctx)


@StatefulUniformInt.lower(static="algorithm shape")
def stateful_uniform_int_lower(resource, algorithm, shape, minval, maxval, *, dtype, ctx):
    return _integers(jnp, resource, algorithm, shape, minval, maxval, dtype, ctx)


StatefulUniformInt.cases(
    _program(
        "StatefulUniformInt",
        np.int64([0, 8, 6]),
        771,
        more=[np.int64([3]), np.int64(0), np.int64(10)],
        attrs={},
    )
)

StatefulUniformFullInt = op("""
    StatefulUniformFullInt(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)
      dtype: type = DT_UINT64
      shape_dtype: type = DT_INT64
      stateful

    Integers of all bits.
""", shape=_shape)  # fmt: skip


def _full_integers(xp, resource, algorithm, shape, dtype, ctx):
    check_algorithm(algorithm)
    return _drawn(
        xp, ctx, resource, shape, lambda k, c, dims: distributions.full_int(k, c, dims, dtype.storage, xp)
    )


@StatefulUniformFullInt.host
def stateful_uniform_full_int_host(resource, algorithm, shape, *, dtype, ctx):
    return _full_integers(np, resource, algorithm, shape, dtype, ctx)


@StatefulUniformFullInt.lower(static="algorithm shape")
def stateful_uniform_full_int_lower(resource, algorithm, shape, *, dtype, ctx):
    return _full_integers(jnp, resource, algorithm, shape, dtype, ctx)


StatefulUniformFullInt.cases(
    _program(
        "StatefulUniformFullInt",
        np.int64([712918305129235640, 639074849483780508, -8729729314351592230]),
        771,
        more=[np.int64([3])],
        attrs={"dtype": "int64"},
    )
)

StatefulRandomBinomial = op(f"""
    StatefulRandomBinomial(
        resource: resource, algorithm: int64, shape: S, counts: T, probs: T) -> (output: dtype)
      S: {INDEX}
      T: {{half, float, double, int32, int64}} = DT_DOUBLE
      dtype: {{half, float, double, int32, int64}} = DT_INT64
      stateful

    How many of `counts` trials succeed, each with probability `probs`.
""")  # fmt: skip


@StatefulRandomBinomial.shape
def stateful_random_binomial_shape(resource, algorithm, shape, counts, probs, *, ctx):
    with_rank(algorithm, 0)
    with_rank(shape, 1)
    for parameter in (counts, probs):
        if parameter is not None and len(parameter) > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {len(parameter)}")
    return ctx.as_shape("shape")


@StatefulRandomBinomial.host
def stateful_random_binomial_host(resource, algorithm, shape, counts, probs, *, dtype, ctx):
    check_algorithm(algorithm)
    dims = _dims(shape)
    for name, parameter in (("counts", counts), ("probs", probs)):
        if parameter.ndim > 1:
            raise InvalidArgumentError(None, None, f"Input {name} should be a scalar or a vector")
        if parameter.size not in (1, dims[0] if dims else 1):
            raise InvalidArgumentError(
                None,
                None,
                f"Input {name} should have length 1 or shape[0], got shape: [{parameter.size}]",
            )
    state = _state_of(ctx, resource)
    key, counter = _stream(np, state)
    out = binomial(key, counter, dims, counts, probs)
    ctx.write(resource, _moved(np, state, reserved_by_binomial(dims, counts, probs)))
    with np.errstate(invalid="ignore"):  # NaN becomes whatever integer the machine makes of it
        return out.astype(dtype.storage)


StatefulRandomBinomial.cases(
    _program(
        "StatefulRandomBinomial",
        np.int64([3, 4, 15]),
        153603,
        more=[np.int64([3]), np.float64([10, 20, 30]), np.float64([0.3, 0.4, 0.5])],
        attrs={},
    )
)

RngSkip = op("""
    RngSkip(resource: resource, algorithm: int64, delta: int64) -> ()
      stateful

    Moves a generator on, as drawing `delta` elements would.
""")  # fmt: skip


@RngSkip.shape
def rng_skip_shape(resource, algorithm, delta):
    with_rank(algorithm, 0)
    with_rank(delta, 0)
    return []


@RngSkip.host
def rng_skip_host(resource, algorithm, delta, *, ctx):
    check_algorithm(algorithm)
    state = _state_of(ctx, resource)
    ctx.write(resource, _moved(np, state, int(delta) * distributions.RESERVE))
    return []


@RngSkip.cases
def rng_skip_cases(case):
    from headrace.opdef import raw

    @case.program
    def moves_on_and_back(step):
        v = raw.VarHandleOp(shape=[3], dtype="int64")
        step(raw.AssignVariableOp(v, np.int64([3, 1, 9])))
        step(raw.RngSkip(v, np.int64(1), np.int64(5)))
        step(raw.ReadVariableOp(v, dtype="int64"), gives=np.int64([1283, 1, 9]))
        step(raw.RngSkip(v, np.int64(1), np.int64(-6)))
        step(raw.ReadVariableOp(v, dtype="int64"), gives=np.int64([-253, 1, 9]))


NonDeterministicInts = op("""
    NonDeterministicInts(shape: shape_dtype) -> (output: dtype)
      dtype: type = DT_INT64
      shape_dtype: type = DT_INT64
      stateful

    Integers of all bits that nobody can foretell.
""")  # fmt: skip


@NonDeterministicInts.shape
def non_deterministic_ints_shape(shape, *, ctx):
    with_rank(shape, 1)
    return ctx.as_shape("shape")


@NonDeterministicInts.host
def non_deterministic_ints_host(shape, *, dtype):
    dims = _dims(shape)
    storage = np.dtype(dtype.storage)
    return (
        np.frombuffer(secrets.token_bytes(math.prod(dims) * storage.itemsize), storage).reshape(dims).copy()
    )


@NonDeterministicInts.cases
def non_deterministic_ints_cases(case):
    from headrace.opdef import raw

    @case.program
    def never_the_same(step):
        drawn = raw.NonDeterministicInts(np.int64([2, 3]))
        step(raw.Shape(drawn), gives=np.int32([2, 3]))
        again = raw.NonDeterministicInts(np.int64([2, 3]))
        step(raw.All(raw.NotEqual(drawn, again), np.int32([0, 1])), gives=True)

    case.shapes("[2]", "[2,3]", values={"shape": np.int64([2, 3])})
    case.fails(
        (np.int64([-1]),), match="Dimension -1 must be >= 0|Invalid value in tensor used for shape: -1"
    )
