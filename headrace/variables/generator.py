"""tf.random.experimental.Generator: random numbers whose state is a variable that the program can set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.export import NAMES, export
from headrace.graph.default import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.random.operands import shape_tensor
from headrace.variables.resource import ResourceVariable

PHILOX = 1
"""The algorithm of all generators unless they are told another."""

_STATE_SIZES = {1: 3, 2: 2}  # words of 64 bits
_WORD = 2**64


def _size(algorithm: Any) -> int:
    size = _STATE_SIZES.get(algorithm) if isinstance(algorithm, (int, np.integer)) else None
    if size is None:
        raise ValueError(f"Unsupported algorithm id: {algorithm}")
    return size


def _signed(word: int) -> int:
    return word - _WORD if word >= _WORD // 2 else word


@export("random.experimental.create_rng_state")
def create_rng_state(seed, algorithm):
    """Returns the state that a seed gives, as an int64 vector.

    Args:
      seed: An integer, of which the lowest words are taken, or a list of 64-bit integers, before
        which zeros are filled in.
      algorithm: The algorithm's number: 1, Philox.

    Raises:
      ValueError: There is no such algorithm.
    """
    size = _size(algorithm)
    if isinstance(seed, Iterable):
        given = [int(word) for word in seed][:size]
        words = [0] * (size - len(given)) + given
    else:
        words = [(int(seed) >> (64 * i)) % _WORD for i in range(size)]
    return np.array([_signed(word % _WORD) for word in words], np.int64)


def _checked_state(state: Any, algorithm: Any) -> Any:
    state = convert_to_tensor(state, dtype=dtypes.int64)
    state.shape.assert_is_compatible_with([_size(algorithm)])
    return state


def _state_of(key: Any, counter: Any, algorithm: Any) -> Any:
    """Returns the state of a key and a counter."""
    if _size(algorithm) != _STATE_SIZES[PHILOX]:
        raise ValueError(f"Unsupported algorithm id: {algorithm}")
    counter = convert_to_tensor(counter, dtype=dtypes.int64)
    key = convert_to_tensor(key, dtype=dtypes.int64)
    counter.shape.assert_is_compatible_with([2])
    key.shape.assert_is_compatible_with([])
    return NAMES["concat"]([counter, raw.Reshape(key, [1])], 0)


@export("random.experimental.Generator")
class Generator:
    """A source of random numbers with a state of its own.

    The state is a resource variable, so it is saved with a model, and each run of an op that draws moves it on.

    Args:
      copy_from: A generator to start where it is now.
      state: The state, an int64 vector: counter and key.
      alg: The algorithm's number: 1, Philox.
    """

    def __init__(self, copy_from=None, state=None, alg=None):
        if copy_from is not None:
            # The copy's state starts from the value that the other's has then.
            self._state_var = ResourceVariable(copy_from.state, dtype=dtypes.int64, trainable=False)
            self._alg = copy_from.algorithm
            return
        assert alg is not None and state is not None
        self._state_var = ResourceVariable(_checked_state(state, alg), dtype=dtypes.int64, trainable=False)
        self._alg = alg

    @classmethod
    def from_state(cls, state, alg):
        """Returns a generator with a state.

        Args:
          state: An int64 vector: counter and key.
          alg: The algorithm's number.
        """
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed, alg=None):
        """Returns a generator with the state that a seed gives.

        Args:
          seed: An integer or a list of them; see `create_rng_state`.
          alg: The algorithm's number, by default Philox's.
        """
        alg = PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        """Returns a generator with a state that nobody can foretell.

        Args:
          alg: The algorithm's number, by default Philox's.
        """
        alg = PHILOX if alg is None else alg
        shape = convert_to_tensor([_size(alg)], dtypes.int64, name="NonDeterministicInts/shape")
        return cls(state=raw.NonDeterministicInts(shape, dtype=dtypes.int64), alg=alg)

    @classmethod
    def from_key_counter(cls, key, counter, alg):
        """Returns a generator with a key and a counter.

        Args:
          key: An integer of 64 bits.
          counter: Two of them, the lower half first.
          alg: The algorithm's number.
        """
        return cls(state=_state_of(key, counter, alg), alg=alg)

    @property
    def algorithm(self):
        """The algorithm's number."""
        return self._alg

    @property
    def state(self):
        """The variable that holds the state."""
        return self._state_var

    @property
    def key(self):
        """The key, a tensor."""
        if self._alg != PHILOX:
            raise ValueError(f"Unsupported algorithm id: {self._alg}")
        return self._state_var[-1]

    def reset(self, state):
        """Adds the operation that gives the generator another state.

        Args:
          state: An int64 vector: counter and key.
        """
        self._state_var.assign(_checked_state(state, self._alg))

    def reset_from_seed(self, seed):
        """Adds the operation that gives the generator the state of a seed.

        Args:
          seed: See `create_rng_state`.
        """
        self._state_var.assign(_checked_state(create_rng_state(seed, self._alg), self._alg))

    def reset_from_key_counter(self, key, counter):
        """Adds the operation that gives the generator a key and a counter.

        Args:
          key: An integer of 64 bits.
          counter: Two of them, the lower half first.
        """
        self._state_var.assign(_state_of(key, counter, self._alg))

    def skip(self, delta):
        """Adds the operation that moves the generator on as drawing `delta` numbers would.

        Args:
          delta: How many numbers.
        """
        raw.RngSkip(self._state_var.handle, self._alg, delta)

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Returns normally distributed numbers.

        Args:
          shape: The shape of the result.
          mean: The mean; it broadcasts against `shape`.
          stddev: The standard deviation, likewise.
          dtype: float16, bfloat16, float32 or float64.
          name: The node's name.
        """
        return self._shifted(
            raw.StatefulStandardNormalV2, "stateful_normal", shape, mean, stddev, dtype, name
        )

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Returns normally distributed numbers within two standard deviations of the mean.

        Args:
          shape: The shape of the result.
          mean: The mean of the normal distribution before it is cut off.
          stddev: Its standard deviation.
          dtype: float16, bfloat16, float32 or float64.
          name: The node's name.
        """
        return self._shifted(
            raw.StatefulTruncatedNormal, "truncated_normal", shape, mean, stddev, dtype, name
        )

    def _shifted(self, source, default_name, shape, mean, stddev, dtype, name):
        with name_scope(name, default_name, [shape, mean, stddev]) as name:
            shape = shape_tensor(shape)
            mean = convert_to_tensor(mean, dtype=dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
            numbers = source(self._state_var.handle, self._alg, shape, dtype=dtype)
            return raw.Add(raw.Mul(numbers, stddev, name="mul"), mean, name=name)

    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """Returns numbers uniformly distributed over [minval, maxval).

        Args:
          shape: The shape of the result.
          minval: The lower end, included.
          maxval: The upper end, excluded; 1 if None, which only floats allow.
          dtype: A floating type, int32 or int64.
          name: The node's name.

        Raises:
          ValueError: `dtype` is an integer type and `maxval` is None.
        """
        dtype = as_dtype(dtype)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        with name_scope(name, "stateful_uniform", [shape, minval, maxval]) as name:
            shape = shape_tensor(shape)
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
            if dtype.is_integer:
                return raw.StatefulUniformInt(
                    self._state_var.handle, self._alg, shape, minval, maxval, name=name
                )
            numbers = raw.StatefulUniform(self._state_var.handle, self._alg, shape, dtype=dtype)
            return raw.Add(
                raw.Mul(numbers, raw.Sub(maxval, minval, name="sub"), name="mul"), minval, name=name
            )

    def uniform_full_int(self, shape, dtype=dtypes.uint64, name=None):
        """Returns integers of which every bit is random.

        Args:
          shape: The shape of the result.
          dtype: int32, int64, uint32 or uint64.
          name: The node's name.
        """
        with name_scope(name, "stateful_uniform_full_int", [shape]) as name:
            shape = shape_tensor(shape)
            return raw.StatefulUniformFullInt(
                self._state_var.handle, self._alg, shape, dtype=as_dtype(dtype), name=name
            )

    def binomial(self, shape, counts, probs, dtype=dtypes.int32, name=None):
        """Returns how many of a number of trials succeed.

        Args:
          shape: The shape of the result.
          counts: The numbers of trials, one or one for each slice along the first axis.
          probs: The probabilities of success, likewise.
          dtype: The result's type.
          name: The node's name.
        """
        with name_scope(name, "binomial", [shape, counts, probs]) as name:
            counts = convert_to_tensor(counts, name="counts")
            probs = convert_to_tensor(probs, name="probs")
            shape = shape_tensor(shape)
            return raw.StatefulRandomBinomial(
                self._state_var.handle, self._alg, shape, counts, probs, dtype=as_dtype(dtype), name=name
            )

    def make_seeds(self, count=1):
        """Returns seeds for stateless random ops, int64[2, count].

        Args:
          count: How many.
        """
        keys = self.uniform_full_int([count], dtype=dtypes.int64)
        return NAMES["stack"]([keys, NAMES["zeros_like"](keys)])

    def split(self, count=1):
        """Returns generators that are independent of this one; values are needed, which only eager execution has.

        Args:
          count: How many.
        """
        keys = self.uniform_full_int([count], dtype=dtypes.int64)
        return [type(self).from_key_counter(key, [0, 0], self._alg) for key in keys.numpy()]


_global_generator: Any = None


@export("random.experimental.get_global_generator")
def get_global_generator():
    """Returns the generator that programs share, made the first time with a state that nobody can foretell."""
    global _global_generator
    if _global_generator is None:
        _global_generator = Generator.from_non_deterministic_state()
    return _global_generator


@export("random.experimental.set_global_generator")
def set_global_generator(generator):
    """Sets the generator that programs share.

    Args:
      generator: The generator.
    """
    global _global_generator
    _global_generator = generator
