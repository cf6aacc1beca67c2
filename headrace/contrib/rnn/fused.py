"""Nets that take all steps at once: an LSTM of one op, a cell made such a net, and one against time."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.layers.base import Layer
from headrace.layers.input_spec import InputSpec
from headrace.opdef import convert_to_tensor, raw
from headrace.rnn.dynamic import dynamic_rnn
from headrace.rnn.lstm import LSTMStateTuple
from headrace.rnn.static import static_rnn
from headrace.tensor_shape import as_shape
from headrace.variables.initializers.basic import Constant


@export("contrib.rnn.FusedRNNCell")
class FusedRNNCell:
    """A net over all steps: `outputs, state = net(inputs, initial_state, dtype, sequence_length, scope)`."""

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        raise NotImplementedError


@export("contrib.rnn.FusedRNNCellAdaptor")
class FusedRNNCellAdaptor(FusedRNNCell):
    """A net that calls a cell for each step.

    Args:
      cell: The cell.
      use_dynamic_rnn: Whether it does so in a loop.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False):
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """Runs the net over inputs [time, batch, depth] or a list of [batch, depth]."""
        is_list = isinstance(inputs, list)
        options = {
            "sequence_length": sequence_length,
            "initial_state": initial_state,
            "dtype": dtype,
            "scope": scope,
        }
        if self._use_dynamic_rnn:
            whole = NAMES["stack"](inputs) if is_list else inputs
            outputs, state = dynamic_rnn(self._cell, whole, time_major=True, **options)
            if is_list:
                outputs = NAMES["unstack"](outputs)
        else:
            parts = inputs if is_list else NAMES["unstack"](inputs)
            outputs, state = static_rnn(self._cell, parts, **options)
            if not is_list:
                outputs = NAMES["stack"](outputs)
        return outputs, state


@export("contrib.rnn.TimeReversedFusedRNN")
class TimeReversedFusedRNN(FusedRNNCell):
    """A net that starts with the last step.

    Args:
      cell: The net that is run on the turned inputs.
    """

    def __init__(self, cell: Any):
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """Runs the net; see `FusedRNNCell`."""

        def turned(x: Any) -> Any:
            if isinstance(x, list):
                return [turned(each) for each in reversed(x)]
            if sequence_length is None:
                return NAMES["reverse"](x, [0])
            return NAMES["reverse_sequence"](x, sequence_length, 0, 1)

        outputs, state = self._cell(
            turned(inputs),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return turned(outputs), state


class LSTMBlockWrapper(Layer):
    """A net over all steps with an LSTM's state."""

    @property
    def num_units(self) -> Any:
        """The number of cells."""
        raise NotImplementedError

    def _call_cell(self, inputs: Any, cells: Any, output: Any, dtype: Any, sequence_length: Any) -> Any:
        raise NotImplementedError

    def call(  # type: ignore[override]
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None
    ) -> Any:
        """Runs the net over inputs [time, batch, depth] or a list of [batch, depth].

        Returns:
          The outputs, as the inputs are, and the last state.
        """
        is_list = isinstance(inputs, list)
        if is_list:
            inputs = NAMES["stack"](inputs)
        shape = inputs.shape.with_rank(3)
        if not shape[2].value:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {shape}")
        batch_size, time = shape[1].value, shape[0].value
        if batch_size is None:
            batch_size = NAMES["shape"](inputs)[1]
        if time is None:
            time = NAMES["shape"](inputs)[0]
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            zeros = NAMES["zeros"](NAMES["stack"]([batch_size, self.num_units]), dtype=dtype)
            initial_state = zeros, zeros
        else:
            if len(initial_state) != 2:
                raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
            if dtype is None:
                dtype = initial_state[0].dtype
        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length)
        cells_0, output_0 = initial_state
        cells, outputs = self._call_cell(inputs, cells_0, output_0, dtype, sequence_length)
        if sequence_length is not None:
            mask = NAMES["transpose"](NAMES["sequence_mask"](sequence_length, time, dtype=dtype), [1, 0])
            outputs *= NAMES["tile"](NAMES["expand_dims"](mask, [-1]), [1, 1, self.num_units])
            # The state after no step at all is the first one.
            all_cells = NAMES["concat"]([NAMES["expand_dims"](cells_0, [0]), cells], 0)
            all_outputs = NAMES["concat"]([NAMES["expand_dims"](output_0, [0]), outputs], 0)
            last = [_rows(each, sequence_length, batch_size) for each in (all_cells, all_outputs)]
        else:
            last = [cells[-1], outputs[-1]]
        if is_list:
            outputs = NAMES["unstack"](outputs)
        return outputs, LSTMStateTuple(*last)


def _rows(data: Any, indices: Any, batch_size: Any) -> Any:
    """Returns what each sequence of the batch has at its own step."""
    where = NAMES["stack"]([indices, NAMES["range"](batch_size)], axis=1)
    return NAMES["gather_nd"](data, where)


export("contrib.rnn.LSTMBlockWrapper")(LSTMBlockWrapper)


@export("contrib.rnn.LSTMBlockFusedCell")
class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM over all steps as one op.

    Args:
      num_units: The number of cells.
      forget_bias: What is added to the forget gate.
      cell_clip: The cells are held between minus this and this.
      use_peephole: Whether the gates see the cells.
      reuse: Whether variables that exist are used.
      dtype: The type of the variables.
      name: The net's name.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: Any = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: str | None = "lstm_fused_cell",
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = cell_clip if cell_clip is not None else -1
        self._use_peephole = use_peephole
        self.input_spec = InputSpec(ndim=3)

    @property
    def num_units(self) -> Any:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        depth = as_shape(input_shape)[2].value
        units = self._num_units
        self._kernel = self.add_variable("kernel", [depth + units, units * 4])
        self._bias = self.add_variable("bias", [units * 4], initializer=Constant(0.0))
        if self._use_peephole:
            self._w_i_diag, self._w_f_diag, self._w_o_diag = (
                self.add_variable(f"w_{gate}_diag", [units]) for gate in "ifo"
            )
        self.built = True

    def _call_cell(self, inputs: Any, cells: Any, output: Any, dtype: Any, sequence_length: Any) -> Any:
        steps = inputs.shape[0].value
        if steps is None:
            steps = NAMES["shape"](inputs)[0]
        if self._use_peephole:
            wci, wcf, wco = self._w_i_diag, self._w_f_diag, self._w_o_diag
        else:
            wci = wcf = wco = NAMES["zeros"]([self._num_units], dtype=dtype)
        most = steps if sequence_length is None else NAMES["reduce_max"](sequence_length)
        made = raw.BlockLSTM(
            seq_len_max=NAMES["cast"](most, dtypes.int64),
            x=inputs,
            cs_prev=cells,
            h_prev=output,
            w=self._kernel,
            wci=wci,
            wcf=wcf,
            wco=wco,
            b=self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        )
        return made.cs, made.h
