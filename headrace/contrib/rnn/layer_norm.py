"""An LSTM whose gates are normalized, with dropout in the recurrence."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.rnn.cells import RNNCell
from headrace.rnn.lstm import LSTMStateTuple
from headrace.variables.initializers.basic import Constant
from headrace.variables.scope import get_variable, variable_scope


def normalized(x: Any, scope: str, gain: float, shift: float) -> Any:
    """Brings rows to mean 0 and deviation 1, and applies a trained factor and offset.

    Args:
      x: A matrix.
      scope: The variable scope's name.
      gain: What the factor starts with.
      shift: What the offset starts with.
    """
    shape, dtype = x.shape[-1:], x.dtype
    with variable_scope(scope):
        gamma = get_variable("gamma", shape=shape, initializer=Constant(gain), dtype=dtype)
        beta = get_variable("beta", shape=shape, initializer=Constant(shift), dtype=dtype)
    with variable_scope(scope, reuse=True):
        mean, variance = NAMES["nn.moments"](x, [1], keep_dims=True)
        epsilon = 1e-3 if dtype.name == "float16" else 1e-12
        result = NAMES["nn.batch_normalization"](
            x, mean, variance, offset=beta, scale=gamma, variance_epsilon=epsilon
        )
        result.set_shape(x.shape)
        return result


@export("contrib.rnn.LayerNormBasicLSTMCell")
class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM with layer normalization and recurrent dropout.

    Args:
      num_units: The number of cells.
      forget_bias: What is added to the forget gate.
      input_size: Not used.
      activation: The function, by default tanh.
      layer_norm: Whether gates and cells are normalized.
      norm_gain: What the factors of the normalization start with.
      norm_shift: What their offsets start with.
      dropout_keep_prob: The probability that an element of the new cells' input is kept, a number or a tensor.
      dropout_prob_seed: The seed of that choice.
      reuse: Whether variables that exist are used.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = None,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: Any = None,
        reuse: Any = None,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._activation = activation or NAMES["math.tanh"]
        self._forget_bias = forget_bias
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift
        self._reuse = reuse

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def _norm(self, x: Any, scope: str) -> Any:
        return normalized(x, scope, self._norm_gain, self._norm_shift) if self._layer_norm else x

    def _gates(self, args: Any) -> Any:
        out = 4 * self._num_units
        weights = get_variable("kernel", [args.shape[-1], out], dtype=args.dtype)
        result = NAMES["matmul"](args, weights)
        if not self._layer_norm:
            bias = get_variable("bias", [out], dtype=args.dtype)
            result = NAMES["nn.bias_add"](result, bias)
        return result

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        c, h = state
        sigmoid = NAMES["sigmoid"]
        gates = self._gates(NAMES["concat"]([inputs, h], 1))
        i, j, f, o = NAMES["split"](value=gates, num_or_size_splits=4, axis=1)
        i, j = self._norm(i, "input"), self._norm(j, "transform")
        f, o = self._norm(f, "forget"), self._norm(o, "output")
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = NAMES["nn.dropout"](g, self._keep_prob, seed=self._seed)
        new_c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * g
        new_c = self._norm(new_c, "state")
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)
