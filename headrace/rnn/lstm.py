"""Long short-term memory: BasicLSTMCell and LSTMCell."""

from __future__ import annotations

import collections
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export, export_value
from headrace.layers.input_spec import InputSpec
from headrace.opdef import raw
from headrace.rnn.cells import (
    BIAS,
    KERNEL,
    LayerRNNCell,
    activation_name,
    activation_named,
    affine,
    check_floating,
    check_supported,
    input_depth,
)
from headrace.variables.initializers.basic import Zeros

_Fields = collections.namedtuple("LSTMStateTuple", ("c", "h"))  # type: ignore[name-match]


@export("nn.rnn_cell.LSTMStateTuple")
class LSTMStateTuple(_Fields):
    """The state of an LSTM: the cells `c` and the output `h`."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The type of both.

        Raises:
          TypeError: They differ.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


export_value("python.ops.rnn_cell_impl._LSTMStateTuple", _Fields)


@export("nn.rnn_cell.BasicLSTMCell")
class BasicLSTMCell(LayerRNNCell):
    """An LSTM without peepholes, projection or clipping.

    Args:
      num_units: The number of cells, and the size of the output.
      forget_bias: What is added to the forget gate, so that nothing is forgotten at first.
      state_is_tuple: Whether the state is an LSTMStateTuple; else both parts are side by side in one tensor.
      activation: The function or its name, by default tanh.
      reuse: Whether variables that exist are used.
      name: The cell's name.
      dtype: The type of the variables, by default that of the first input.
      **kwargs: What `Layer` takes.
    """

    def __init__(
        self,
        num_units: Any,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_named(activation)

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape)
        check_supported(self.dtype)
        units = self._num_units
        self._kernel = self.add_variable(KERNEL, shape=[depth + units, 4 * units])
        self._bias = self.add_variable(
            BIAS, shape=[4 * units], initializer=Zeros(dtype=dtypes.as_dtype(self.dtype))
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_floating(inputs)
        sigmoid, split = NAMES["sigmoid"], NAMES["split"]
        one = NAMES["constant"](1, dtype=dtypes.int32)
        c, h = state if self._state_is_tuple else split(value=state, num_or_size_splits=2, axis=one)
        gates = affine([inputs, h], self._kernel, self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=one)
        bias = NAMES["constant"](self._forget_bias, dtype=f.dtype)
        kept = raw.Mul(c, sigmoid(raw.Add(f, bias)))
        new_c = raw.Add(kept, raw.Mul(sigmoid(i), self._activation(j)))
        new_h = raw.Mul(self._activation(new_c), sigmoid(o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, NAMES["concat"]([new_c, new_h], 1)

    def get_config(self) -> dict[str, Any]:
        own = {
            "num_units": self._num_units,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": activation_name(self._activation),
            "reuse": self._reuse,
        }
        return {**super().get_config(), **own}


@export("nn.rnn_cell.LSTMCell")
class LSTMCell(LayerRNNCell):
    """An LSTM with what papers added to it.

    Args:
      num_units: The number of cells.
      use_peepholes: Whether the gates see the cells.
      cell_clip: The cells are held between minus this and this.
      initializer: The initializer of the matrices and the peepholes.
      num_proj: The size of the output, if that is a projection of the cells' output.
      proj_clip: The projection is held between minus this and this.
      num_unit_shards: Into how many parts the matrix is cut; deprecated for a scope's partitioner.
      num_proj_shards: Likewise for the projection's matrix.
      forget_bias: What is added to the forget gate.
      state_is_tuple: Whether the state is an LSTMStateTuple; else both parts are side by side in one tensor.
      activation: The function or its name, by default tanh.
      reuse: Whether variables that exist are used.
      name: The cell's name.
      dtype: The type of the variables, by default that of the first input.
      **kwargs: What `Layer` takes.
    """

    def __init__(
        self,
        num_units: Any,
        use_peepholes: bool = False,
        cell_clip: Any = None,
        initializer: Any = None,
        num_proj: Any = None,
        proj_clip: Any = None,
        num_unit_shards: Any = None,
        num_proj_shards: Any = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_named(activation)

    @property
    def state_size(self) -> Any:
        units, out = self._num_units, self.output_size
        return LSTMStateTuple(units, out) if self._state_is_tuple else units + out

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape)
        check_supported(self.dtype)
        units, out = self._num_units, self.output_size
        self._kernel = self.add_variable(
            KERNEL,
            shape=[depth + out, 4 * units],
            initializer=self._initializer,
            partitioner=_cut_into(self._num_unit_shards),
        )
        dtype = dtypes.float32 if self.dtype is None else dtypes.as_dtype(self.dtype)
        self._bias = self.add_variable(BIAS, shape=[4 * units], initializer=Zeros(dtype=dtype))
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_variable(f"w_{gate}_diag", shape=[units], initializer=self._initializer)
                for gate in "fio"
            )
        if self._num_proj is not None:
            self._proj_kernel = self.add_variable(
                "projection/" + KERNEL,
                shape=[units, self._num_proj],
                initializer=self._initializer,
                partitioner=_cut_into(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_floating(inputs)
        sigmoid = NAMES["sigmoid"]
        if self._state_is_tuple:
            c_prev, m_prev = state
        else:
            units, out = self._num_units, self.output_size
            c_prev = NAMES["slice"](state, [0, 0], [-1, units])
            m_prev = NAMES["slice"](state, [0, units], [-1, out])
        if inputs.shape.with_rank(2)[1].value is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        gates = affine([inputs, m_prev], self._kernel, self._bias)
        i, j, f, o = NAMES["split"](value=gates, num_or_size_splits=4, axis=1)
        if self._use_peepholes:
            kept = sigmoid(f + self._forget_bias + self._w_f_diag * c_prev) * c_prev
            c = kept + sigmoid(i + self._w_i_diag * c_prev) * self._activation(j)
        else:
            c = sigmoid(f + self._forget_bias) * c_prev + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = NAMES["clip_by_value"](c, -self._cell_clip, self._cell_clip)
        gate = sigmoid(o + self._w_o_diag * c) if self._use_peepholes else sigmoid(o)
        m = gate * self._activation(c)
        if self._num_proj is not None:
            m = NAMES["matmul"](m, self._proj_kernel)
            if self._proj_clip is not None:
                m = NAMES["clip_by_value"](m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else NAMES["concat"]([c, m], 1)

    def get_config(self) -> dict[str, Any]:
        names = (
            "num_units use_peepholes cell_clip initializer num_proj proj_clip num_unit_shards num_proj_shards "
            "forget_bias state_is_tuple reuse"
        )
        own = {name: getattr(self, "_" + name) for name in names.split()}
        own["activation"] = activation_name(self._activation)
        return {**super().get_config(), **own}


def _cut_into(shards: Any) -> Any:
    return None if shards is None else NAMES["fixed_size_partitioner"](shards)
