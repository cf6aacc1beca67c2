"""UGRNNCell and NASCell: cells with other gates."""

from __future__ import annotations

from typing import Any

from headrace.contrib.rnn.linear import Linear
from headrace.export import NAMES, export
from headrace.layers.input_spec import InputSpec
from headrace.rnn.cells import LayerRNNCell, RNNCell
from headrace.rnn.lstm import LSTMStateTuple
from headrace.tensor_shape import as_shape
from headrace.variables.initializers.basic import Zeros
from headrace.variables.scope import get_variable_scope, variable_scope


@export("contrib.rnn.UGRNNCell")
class UGRNNCell(RNNCell):
    """A cell with one gate, between a plain cell and a GRU.

    Args:
      num_units: The size of the state and the output.
      initializer: The initializer of the variables.
      forget_bias: What is added to the gate.
      activation: The function, by default tanh.
      reuse: Whether variables that exist are used.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: Any = None,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation or NAMES["math.tanh"]
        self._reuse = reuse
        self._linear: Any = None

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        if inputs.shape.with_rank(2)[1].value is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            both = NAMES["concat"]([inputs, state], 1)
            if self._linear is None:
                self._linear = Linear(both, 2 * self._num_units, True)
            gate, candidate = NAMES["split"](axis=1, num_or_size_splits=2, value=self._linear(both))
            candidate = self._activation(candidate)
            gate = NAMES["sigmoid"](gate + self._forget_bias)
            new_state = gate * state + (1.0 - gate) * candidate
        return new_state, new_state


@export("contrib.rnn.NASCell")
class NASCell(LayerRNNCell):
    """The cell that a search over architectures found.

    Args:
      num_units: The number of cells.
      num_proj: The size of the output, if that is a projection.
      use_bias: Whether there is a bias.
      reuse: Whether variables that exist are used.
      **kwargs: What `Layer` takes.
    """

    _NAS_BASE = 8

    def __init__(
        self, num_units: int, num_proj: Any = None, use_bias: bool = False, reuse: Any = None, **kwargs: Any
    ):
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias
        self._reuse = reuse
        self.input_spec = InputSpec(ndim=2)

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        return self._num_units if self._num_proj is None else self._num_proj

    def build(self, inputs_shape: Any) -> None:
        depth = as_shape(inputs_shape)[1].value
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        width = self._NAS_BASE * self._num_units
        self._recurrent_kernel = self.add_variable("recurrent_kernel", [self.output_size, width])
        self._kernel = self.add_variable("kernel", [depth, width])
        if self._use_bias:
            self._bias = self.add_variable("bias", [width], initializer=Zeros())
        if self._num_proj is not None:
            self._projection = self.add_variable("projection_weights", [self._num_units, self._num_proj])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        sigmoid, tanh, relu = NAMES["sigmoid"], NAMES["tanh"], NAMES["nn.relu"]
        matmul, split = NAMES["matmul"], NAMES["split"]
        c_prev, m_prev = state
        from_output = matmul(m_prev, self._recurrent_kernel)
        from_input = matmul(inputs, self._kernel)
        if self._use_bias:
            from_output = NAMES["nn.bias_add"](from_output, self._bias)
        m = split(axis=1, num_or_size_splits=self._NAS_BASE, value=from_output)
        x = split(axis=1, num_or_size_splits=self._NAS_BASE, value=from_input)
        first = [
            sigmoid(x[0] + m[0]),
            relu(x[1] + m[1]),
            sigmoid(x[2] + m[2]),
            relu(x[3] * m[3]),
            tanh(x[4] + m[4]),
            sigmoid(x[5] + m[5]),
            tanh(x[6] + m[6]),
            sigmoid(x[7] + m[7]),
        ]
        second = [
            tanh(first[0] * first[1]),
            tanh(first[2] + first[3]),
            tanh(first[4] * first[5]),
            sigmoid(first[6] + first[7]),
        ]
        new_c = tanh(second[0] + c_prev) * second[1]
        new_m = tanh(new_c * tanh(second[2] + second[3]))
        if self._num_proj is not None:
            new_m = matmul(new_m, self._projection)
        return new_m, LSTMStateTuple(new_c, new_m)
