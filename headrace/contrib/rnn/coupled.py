"""CoupledInputForgetGateLSTMCell: an LSTM that takes in as much as it forgets."""

from __future__ import annotations

from typing import Any

from headrace.contrib.rnn.layer_norm import normalized
from headrace.export import NAMES, export
from headrace.graph import GraphKeys
from headrace.rnn.cells import RNNCell
from headrace.rnn.lstm import LSTMStateTuple
from headrace.variables.initializers.basic import Zeros
from headrace.variables.scope import get_variable, get_variable_scope


def sharded(name: str, shape: list[int], dtype: Any, shards: int) -> list[Any]:
    """Makes a matrix's rows in several variables.

    Raises:
      ValueError: There are more parts than rows.
    """
    if shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={shards}")
    size, rest = divmod(shape[0], shards)
    return [
        get_variable(f"{name}_{i}", [size + (1 if i < rest else 0), *shape[1:]], dtype=dtype)
        for i in range(shards)
    ]


def joined(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """Makes a matrix of variables with its rows, and joins them once for the graph."""
    parts = sharded(name, shape, dtype, shards)
    if len(parts) == 1:
        return parts[0]
    full = f"{get_variable_scope().name}/{name}/concat:0"
    for value in NAMES["get_collection"](GraphKeys.CONCATENATED_VARIABLES):
        if value.name == full:
            return value
    whole = NAMES["concat"](parts, 0, name=f"{name}/concat")
    NAMES["add_to_collection"](GraphKeys.CONCATENATED_VARIABLES, whole)
    return whole


@export("contrib.rnn.CoupledInputForgetGateLSTMCell")
class CoupledInputForgetGateLSTMCell(RNNCell):
    """An LSTM whose input gate is one minus its forget gate.

    Args:
      num_units: The number of cells.
      use_peepholes: Whether the gates see the cells.
      initializer: Not used: variables have their scope's initializer.
      num_proj: The size of the output, if that is a projection of the cells' output.
      proj_clip: The projection is held between minus this and this.
      num_unit_shards: Into how many variables the matrix is cut.
      num_proj_shards: Likewise for the projection's matrix.
      forget_bias: What is added to the forget gate.
      state_is_tuple: Whether the state is an LSTMStateTuple; else both parts are side by side in one tensor.
      activation: The function, by default tanh.
      reuse: Whether variables that exist are used.
      layer_norm: Whether gates and cells are normalized.
      norm_gain: What the factors of the normalization start with.
      norm_shift: What their offsets start with.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: Any = None,
        proj_clip: Any = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation or NAMES["math.tanh"]
        self._reuse = reuse
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift

    @property
    def state_size(self) -> Any:
        units, out = self._num_units, self.output_size
        return LSTMStateTuple(units, out) if self._state_is_tuple else units + out

    @property
    def output_size(self) -> Any:
        return self._num_units if self._num_proj is None else self._num_proj

    def _norm(self, x: Any, scope: str) -> Any:
        return normalized(x, scope, self._norm_gain, self._norm_shift) if self._layer_norm else x

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        sigmoid, units, out = NAMES["sigmoid"], self._num_units, self.output_size
        if self._state_is_tuple:
            c_prev, m_prev = state
        else:
            c_prev = NAMES["slice"](state, [0, 0], [-1, units])
            m_prev = NAMES["slice"](state, [0, units], [-1, out])
        dtype = inputs.dtype
        depth = inputs.shape.with_rank(2)[1].value
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        weights = joined("W", [depth + out, 3 * units], dtype, self._num_unit_shards)
        bias = get_variable("B", shape=[3 * units], initializer=Zeros(), dtype=dtype)
        gates = NAMES["matmul"](NAMES["concat"]([inputs, m_prev], 1), weights)
        if not self._layer_norm:
            gates = NAMES["nn.bias_add"](gates, bias)
        j, f, o = NAMES["split"](value=gates, num_or_size_splits=3, axis=1)
        j, f, o = self._norm(j, "transform"), self._norm(f, "forget"), self._norm(o, "output")
        if self._use_peepholes:
            w_f = get_variable("W_F_diag", shape=[units], dtype=dtype)
            w_o = get_variable("W_O_diag", shape=[units], dtype=dtype)
            kept = sigmoid(f + self._forget_bias + w_f * c_prev)
        else:
            kept = sigmoid(f + self._forget_bias)
        c = kept * c_prev + (1 - kept) * self._activation(j)
        c = self._norm(c, "state")
        gate = sigmoid(o + w_o * c) if self._use_peepholes else sigmoid(o)
        m = gate * self._activation(c)
        if self._num_proj is not None:
            matrix = joined("W_P", [units, self._num_proj], dtype, self._num_proj_shards)
            m = NAMES["matmul"](m, matrix)
            if self._proj_clip is not None:
                m = NAMES["clip_by_value"](m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else NAMES["concat"]([c, m], 1)
