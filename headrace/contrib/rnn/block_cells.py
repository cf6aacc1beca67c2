"""LSTM and GRU cells of one op."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.layers.input_spec import InputSpec
from headrace.opdef import raw
from headrace.rnn.cells import LayerRNNCell
from headrace.rnn.lstm import LSTMStateTuple
from headrace.tensor_shape import as_shape
from headrace.variables.initializers.basic import Constant


@export("contrib.rnn.LSTMBlockCell")
class LSTMBlockCell(LayerRNNCell):
    """An LSTM cell as one op.

    Args:
      num_units: The number of cells.
      forget_bias: What is added to the forget gate.
      cell_clip: The cells are held between minus this and this.
      use_peephole: Whether the gates see the cells.
      dtype: The type of the variables.
      reuse: Whether variables that exist are used.
      name: The cell's name.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: Any = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: str | None = "lstm_cell",
    ):
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._use_peephole = use_peephole
        self._cell_clip = cell_clip if cell_clip is not None else -1
        self.input_spec = InputSpec(ndim=2)

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = as_shape(inputs_shape)[1].value
        if not depth:
            raise ValueError(f"Expecting inputs_shape[1] to be set: {inputs_shape!s}")
        units = self._num_units
        self._kernel = self.add_variable("kernel", [depth + units, units * 4])
        self._bias = self.add_variable("bias", [units * 4], initializer=Constant(0.0))
        if self._use_peephole:
            self._w_i_diag, self._w_f_diag, self._w_o_diag = (
                self.add_variable(f"w_{gate}_diag", [units]) for gate in "ifo"
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        if inputs.shape.ndims != 2:
            raise ValueError(f"Expecting inputs to have dimension 2: {inputs.shape}")
        c, h = state
        if self._use_peephole:
            wci, wcf, wco = self._w_i_diag, self._w_f_diag, self._w_o_diag
        else:
            wci = wcf = wco = NAMES["zeros"]([self._num_units], dtype=self.dtype or dtypes.float32)
        made = raw.LSTMBlockCell(
            x=inputs,
            cs_prev=c,
            h_prev=h,
            w=self._kernel,
            wci=wci,
            wcf=wcf,
            wco=wco,
            b=self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )
        return made.h, LSTMStateTuple(made.cs, made.h)


@export("contrib.rnn.GRUBlockCell")
class GRUBlockCell(LayerRNNCell):
    """A GRU cell as one op.

    Args:
      num_units: The size of the state and the output.
      cell_size: The same, deprecated.
      reuse: Whether variables that exist are used.
      name: The cell's name.

    Raises:
      ValueError: There is no size.
    """

    _NAMES = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self,
        num_units: Any = None,
        cell_size: Any = None,
        reuse: Any = None,
        name: str | None = "gru_cell",
    ):
        super().__init__(_reuse=reuse, name=name)
        if cell_size is not None and num_units is not None:
            raise ValueError("Cannot specify both 'cell_size' and 'num_units'")
        size = cell_size if num_units is None else num_units
        if size is None:
            raise ValueError("num_units is required")
        self._cell_size = size
        self.input_spec = InputSpec(ndim=2)

    @property
    def state_size(self) -> Any:
        return self._cell_size

    @property
    def output_size(self) -> Any:
        return self._cell_size

    def build(self, input_shape: Any) -> None:
        depth = as_shape(input_shape)[1].value
        if depth is None:
            raise ValueError("Expecting input_size to be set.")
        units = self._cell_size
        gates, gates_bias, candidate, candidate_bias = self._NAMES
        self._gate_kernel = self.add_variable(gates, [depth + units, units * 2])
        self._gate_bias = self.add_variable(gates_bias, [units * 2], initializer=Constant(1.0))
        self._candidate_kernel = self.add_variable(candidate, [depth + units, units])
        self._candidate_bias = self.add_variable(candidate_bias, [units], initializer=Constant(0.0))
        self.built = True

    def call(self, inputs: Any, h_prev: Any) -> Any:  # type: ignore[override]
        made = raw.GRUBlockCell(
            x=inputs,
            h_prev=h_prev,
            w_ru=self._gate_kernel,
            w_c=self._candidate_kernel,
            b_ru=self._gate_bias,
            b_c=self._candidate_bias,
        )
        return made.h, made.h


@export("contrib.rnn.GRUBlockCellV2")
class GRUBlockCellV2(GRUBlockCell):
    """A GRU cell as one op with the variables' names of `GRUCell`."""

    _NAMES = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
