"""RNNCell and the plain cells: a step of a recurrent net as a function of an input and a state."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export, export_value
from headrace.graph import GraphKeys, Tensor, get_default_graph, name_scope
from headrace.layers.base import Layer, activation_of
from headrace.layers.input_spec import InputSpec
from headrace.opdef import constant_value, convert_to_tensor
from headrace.rnn.zero_states import zero_states
from headrace.tensor_shape import as_shape
from headrace.variables.initializers.basic import Constant, Zeros
from headrace.variables.partitions import PartitionedVariable
from headrace.variables.scope import get_variable_scope, variable_scope

KERNEL, BIAS = "kernel", "bias"


@export("nn.rnn_cell.RNNCell")
class RNNCell(Layer):
    """A step of a recurrent net: `output, next_state = cell(inputs, state)`.

    A subclass says the sizes of its output and state and does its work in `call(inputs, state)`, or in `__call__`.
    What `call` takes with `tf.get_variable` becomes the cell's.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Does one step.

        Args:
          inputs: A tensor, or a structure of tensors, with the batch as their first dimension.
          state: The state before: tensors in the structure of `state_size`.
          scope: The variable scope or its name, by default made of the class's name.

        Returns:
          The output and the state after.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._rnn_get_variable) as opened:
                return super().__call__(inputs, state, scope=opened)
        # The variables are where the first call was, wherever later ones are.
        outer = self.__dict__.get("_outer_scope")
        if outer is None:
            outer = variable_scope(get_variable_scope(), custom_getter=self._rnn_get_variable)
            self._outer_scope = outer
        with outer:
            return super().__call__(inputs, state)

    def _rnn_get_variable(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        part = next(iter(variable)) if isinstance(variable, PartitionedVariable) else variable
        trained = get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
        mine = self._trainable_weights if any(v is part for v in trained) else self._non_trainable_weights
        if not any(v is variable for v in mine):
            mine.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The sizes of the states: an int, a TensorShape without the batch, or a structure of those."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output: an int, a TensorShape without the batch, or a structure of those."""
        raise NotImplementedError("Abstract method")

    def build(self, _: Any) -> None:
        """Does nothing: `call` makes the variables."""
        self.built = True

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Returns a state of zeros.

        Args:
          inputs: An input that says the batch and the type.
          batch_size: The batch, an int or a scalar tensor.
          dtype: The type.

        Raises:
          ValueError: Batch and type are not known, or the input contradicts them.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            found = inputs.shape[0].value
            if batch_size is not None:
                static = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
                if found != static:
                    raise ValueError(
                        "batch size from input tensor is different from the input param. Input tensor batch: "
                        f"{found}, batch_size: {batch_size}"
                    )
            if dtype is not None and inputs.dtype != dtype:
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype}, dtype: {dtypes.as_dtype(dtype)}"
                )
            batch_size = NAMES["shape"](inputs)[0] if found is None else found
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                f"batch_size and dtype cannot be None while constructing initial state: batch_size={batch_size}, "
                f"dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros.

        Args:
          batch_size: The batch, an int or a scalar tensor.
          dtype: The type.
        """
        with zero_state_scope(self, batch_size):
            return zero_states(self.state_size, batch_size, dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that make such a cell again."""
        return {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Makes a cell of what `get_config` returned."""
        return cls(**config)


def zero_state_scope(cell: Any, batch_size: Any) -> Any:
    """Opens the name scope of a cell's zero state."""
    values = [batch_size] if isinstance(batch_size, Tensor) else []
    return name_scope(type(cell).__name__ + "ZeroState", values=values)


@export("contrib.rnn.LayerRNNCell")
class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`, as layers do."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Does one step; see `RNNCell.__call__`."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)


for _module in ("rnn_cell_impl", "rnn_cell"):
    export_value(f"python.ops.{_module}.LayerRNNCell", LayerRNNCell)


def input_depth(shape: Any) -> int:
    """Returns the size of an input's last dimension.

    Raises:
      ValueError: It is not known.
    """
    depth = as_shape(shape)[-1].value
    if depth is None:
        raise ValueError(
            f"Expected inputs.shape[-1] to be known, saw shape: {tuple(as_shape(shape).as_list())}"
        )
    return int(depth)


def check_floating(inputs: Any) -> None:
    """Refuses what is neither floating point nor complex.

    Raises:
      ValueError: A tensor is of another type.
    """
    for each in inputs if isinstance(inputs, (list, tuple)) else [inputs]:
        check_supported(each.dtype)


def check_supported(dtype: Any) -> None:
    """Refuses types that cells do not work on.

    Raises:
      ValueError: It is such a type.
    """
    if dtype is None:
        return
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {dtype}")


def activation_named(activation: Any, default: str = "tanh") -> Any:
    """Returns the function that an activation stands for, that of a name, or the default."""
    if activation is None or (not isinstance(activation, str) and not activation):
        return NAMES["math.tanh"] if default == "tanh" else NAMES["nn." + default]
    if isinstance(activation, str):
        try:
            found = activation_of(activation)
        except KeyError:
            raise ValueError(f"Unknown activation function:{activation}") from None
        return found if found is not None else lambda x: x
    if not callable(activation):
        raise TypeError(f"Could not interpret activation function identifier: {activation!r}")
    return activation


def activation_name(activation: Any) -> Any:
    """Returns the name of an activation, for configurations."""
    return getattr(activation, "__name__", activation)


def affine(parts: Any, kernel: Any, bias: Any) -> Any:
    """Joins tensors side by side, multiplies with a matrix and adds a bias."""
    return NAMES["nn.bias_add"](NAMES["matmul"](NAMES["concat"](parts, 1), kernel), bias)


@export("nn.rnn_cell.BasicRNNCell")
class BasicRNNCell(LayerRNNCell):
    """The simplest cell: its output, and its next state, is `activation([inputs, state] W + b)`.

    Args:
      num_units: The size of the state and the output.
      activation: The function or its name, by default tanh.
      reuse: Whether variables that exist are used.
      name: The cell's name.
      dtype: The type of the variables, by default that of the first input.
      **kwargs: What `Layer` takes.
    """

    def __init__(
        self,
        num_units: Any,
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
        self._activation = activation_named(activation)

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape)
        check_supported(self.dtype)
        self._kernel = self.add_variable(KERNEL, shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_variable(
            BIAS, shape=[self._num_units], initializer=Zeros(dtype=dtypes.as_dtype(self.dtype))
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_floating([inputs, state])
        output = self._activation(affine([inputs, state], self._kernel, self._bias))
        return output, output

    def get_config(self) -> dict[str, Any]:
        own = {
            "num_units": self._num_units,
            "activation": activation_name(self._activation),
            "reuse": self._reuse,
        }
        return {**super().get_config(), **own}


@export("nn.rnn_cell.GRUCell")
class GRUCell(LayerRNNCell):
    """A gated recurrent unit.

    Args:
      num_units: The size of the state and the output.
      activation: The candidate's function or its name, by default tanh.
      reuse: Whether variables that exist are used.
      kernel_initializer: The matrices' initializer.
      bias_initializer: The biases' initializer; by default the gates' are ones and the candidate's zeros.
      name: The cell's name.
      dtype: The type of the variables, by default that of the first input.
      **kwargs: What `Layer` takes.
    """

    def __init__(
        self,
        num_units: Any,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_named(activation)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = input_depth(inputs_shape)
        check_supported(self.dtype)
        units = self._num_units
        dtype = dtypes.as_dtype(self.dtype)
        gate_bias, candidate_bias = self._bias_initializer, self._bias_initializer
        if gate_bias is None:
            gate_bias, candidate_bias = Constant(1.0, dtype=dtype), Zeros(dtype=dtype)
        kernel = self._kernel_initializer
        self._gate_kernel = self.add_variable(
            "gates/" + KERNEL, shape=[depth + units, 2 * units], initializer=kernel
        )
        self._gate_bias = self.add_variable("gates/" + BIAS, shape=[2 * units], initializer=gate_bias)
        self._candidate_kernel = self.add_variable(
            "candidate/" + KERNEL, shape=[depth + units, units], initializer=kernel
        )
        self._candidate_bias = self.add_variable(
            "candidate/" + BIAS, shape=[units], initializer=candidate_bias
        )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:  # type: ignore[override]
        check_floating([inputs, state])
        gates = NAMES["sigmoid"](affine([inputs, state], self._gate_kernel, self._gate_bias))
        reset, update = NAMES["split"](value=gates, num_or_size_splits=2, axis=1)
        candidate = self._activation(
            affine([inputs, reset * state], self._candidate_kernel, self._candidate_bias)
        )
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state

    def get_config(self) -> dict[str, Any]:
        own = {
            "num_units": self._num_units,
            "kernel_initializer": self._kernel_initializer,
            "bias_initializer": self._bias_initializer,
            "activation": activation_name(self._activation),
            "reuse": self._reuse,
        }
        return {**super().get_config(), **own}
