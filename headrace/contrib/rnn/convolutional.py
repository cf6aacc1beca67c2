"""LSTMs over images: convolutions in place of products with matrices."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.rnn.cells import RNNCell
from headrace.rnn.lstm import LSTMStateTuple
from headrace.tensor_shape import TensorShape
from headrace.variables.initializers.basic import Constant
from headrace.variables.scope import get_variable


@export("contrib.rnn.ConvLSTMCell")
class ConvLSTMCell(RNNCell):
    """An LSTM whose state is an image.

    Args:
      conv_ndims: Over how many dimensions it convolves: 1, 2 or 3.
      input_shape: The shape of an input without the batch.
      output_channels: How many channels the output has.
      kernel_shape: The window.
      use_bias: Whether there is a bias.
      skip_connection: Whether the input's channels come after the output's, in the state too, as in TensorFlow.
      forget_bias: What is added to the forget gate.
      initializers: Not used.
      name: The cell's name.

    Raises:
      ValueError: `input_shape` has another rank.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str | None = "conv_lstm_cell",
    ):
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims = conv_ndims
        self._input_shape = input_shape
        self._output_channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._forget_bias = forget_bias
        self._skip_connection = skip_connection
        outside = list(input_shape[:-1])
        state = TensorShape([*outside, output_channels])
        self._state_size = LSTMStateTuple(state, state)
        channels = output_channels + (input_shape[-1] if skip_connection else 0)
        self._output_size = TensorShape([*outside, channels])

    @property
    def output_size(self) -> Any:
        return self._output_size

    @property
    def state_size(self) -> Any:
        return self._state_size

    def call(self, inputs: Any, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        sigmoid, tanh = NAMES["sigmoid"], NAMES["tanh"]
        cell, hidden = state
        gates = _convolved([inputs, hidden], self._kernel_shape, 4 * self._output_channels, self._use_bias)
        i, j, f, o = NAMES["split"](value=gates, num_or_size_splits=4, axis=self._conv_ndims + 1)
        new_cell = sigmoid(f + self._forget_bias) * cell
        new_cell += sigmoid(i) * tanh(j)
        output = tanh(new_cell) * sigmoid(o)
        if self._skip_connection:
            output = NAMES["concat"]([output, inputs], axis=-1)
        return output, LSTMStateTuple(new_cell, output)


def _convolved(args: list[Any], window: list[int], channels: int, bias: bool) -> Any:
    """Convolves images put side by side, in the variable scope of the caller.

    Raises:
      ValueError: Their ranks differ or are not from 3 to 5, or a number of channels is not known.
    """
    shapes = [each.shape.as_list() for each in args]
    rank = len(shapes[0])
    depth = 0
    for shape in shapes:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"Conv Linear expects 3D, 4D or 5D arguments: {shapes!s}")
        if len(shape) != rank:
            raise ValueError(f"Conv Linear expects all args to be of same Dimension: {shapes!s}")
        depth += shape[-1]
    kernel = get_variable("kernel", [*window, depth, channels], dtype=args[0].dtype)
    whole = args[0] if len(args) == 1 else NAMES["concat"](axis=rank - 1, values=args)
    if rank == 3:
        result = NAMES["nn.conv1d"](whole, kernel, 1, padding="SAME")
    elif rank == 4:
        result = NAMES["nn.conv2d"](whole, kernel, [1] * 4, padding="SAME")
    else:
        result = NAMES["nn.conv3d"](whole, kernel, [1] * 5, padding="SAME")
    if not bias:
        return result
    return result + get_variable(
        "biases", [channels], dtype=args[0].dtype, initializer=Constant(0.0, dtype=args[0].dtype)
    )


@export("contrib.rnn.Conv1DLSTMCell")
class Conv1DLSTMCell(ConvLSTMCell):
    """An LSTM over rows; see `ConvLSTMCell`."""

    def __init__(self, name: str | None = "conv_1d_lstm_cell", **kwargs: Any):
        super().__init__(conv_ndims=1, name=name, **kwargs)


@export("contrib.rnn.Conv2DLSTMCell")
class Conv2DLSTMCell(ConvLSTMCell):
    """An LSTM over images; see `ConvLSTMCell`."""

    def __init__(self, name: str | None = "conv_2d_lstm_cell", **kwargs: Any):
        super().__init__(conv_ndims=2, name=name, **kwargs)


@export("contrib.rnn.Conv3DLSTMCell")
class Conv3DLSTMCell(ConvLSTMCell):
    """An LSTM over volumes; see `ConvLSTMCell`."""

    def __init__(self, name: str | None = "conv_3d_lstm_cell", **kwargs: Any):
        super().__init__(conv_ndims=3, name=name, **kwargs)
