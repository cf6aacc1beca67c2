"""Dense, Dropout and Flatten."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.layers.base import Layer, activation_of, smart_cond
from headrace.layers.input_spec import InputSpec
from headrace.opdef import convert_to_tensor, raw
from headrace.tensor_shape import TensorShape, as_shape
from headrace.variables.initializers.basic import Zeros


@export("layers.Dense")
class Dense(Layer):
    """Multiplies the last axis with a matrix, adds a bias and applies a function.

    Args:
      units: The size of the output's last axis.
      activation: The function, None for none.
      use_bias: Whether there is a bias.
      kernel_initializer: The matrix's initializer.
      bias_initializer: The bias's initializer.
      kernel_regularizer: A function from the matrix to a loss.
      bias_regularizer: A function from the bias to a loss.
      activity_regularizer: A function from the output to a loss, which is divided by the size of the batch.
      kernel_constraint: A function that optimizers apply to the matrix after each update.
      bias_constraint: A function that optimizers apply to the bias after each update.
      trainable: Whether the variables are trained.
      name: The layer's name.
      **kwargs: What `Layer` takes.
    """

    def __init__(
        self,
        units: Any,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 - as in the public signature; it has no state
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        shape = as_shape(input_shape)
        size = shape[-1].value
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            shape=[size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            trainable=True,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                trainable=True,
            )
        self.built = True

    def call(self, inputs: Any) -> Any:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank > 2:
            outputs = NAMES["tensordot"](inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        else:
            outputs = raw.MatMul(NAMES["cast"](inputs, self.dtype), self.kernel)
        if self.use_bias:
            outputs = NAMES["nn.bias_add"](outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = as_shape(input_shape).with_rank_at_least(2)
        if shape[-1].value is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {shape.as_list()}"
            )
        return shape[:-1].concatenate(self.units)


@export("layers.Dropout")
class Dropout(Layer):
    """Sets a random part of its input to zero in training, and scales up the rest.

    Args:
      rate: The part to drop.
      noise_shape: The shape of the random choice, with None where it is that of the input.
      seed: The op-level seed.
      name: The layer's name.
      **kwargs: What `Layer` takes.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def _noise_shape(self, inputs: Any) -> Any:
        if self.noise_shape is None:
            return None
        shape = NAMES["shape"](inputs)
        return convert_to_tensor([shape[i] if d is None else d for i, d in enumerate(self.noise_shape)])

    def call(self, inputs: Any, training: Any = False) -> Any:
        def dropped() -> Any:
            return NAMES["nn.dropout"](
                inputs, noise_shape=self._noise_shape(inputs), seed=self.seed, rate=self.rate
            )

        return smart_cond(training, dropped, lambda: raw.Identity(inputs))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)


@export("layers.Flatten")
class Flatten(Layer):
    """Makes one axis of all axes but the batch's.

    Args:
      data_format: "channels_last", or "channels_first": then the channels are moved to the end first.
      **kwargs: What `Layer` takes.
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.data_format = layout(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = NAMES["transpose"](inputs, perm=[0, *range(2, rank), 1])
        batch = inputs.shape[0].value
        outputs = NAMES["reshape"](inputs, (batch or NAMES["shape"](inputs)[0], -1))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = as_shape(input_shape).with_rank_at_least(1)
        inner = shape[1:]
        size = inner.num_elements() if inner.is_fully_defined() else None
        return TensorShape([shape[0].value, size])


def layout(data_format: str | None) -> str:
    """Returns a layout in lower case.

    Raises:
      ValueError: It is neither "channels_first" nor "channels_last".
    """
    found = (data_format or "channels_last").lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {data_format}'
        )
    return found


@export("layers.dense")
def dense(
    inputs: Any,
    units: Any,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = Zeros(),  # noqa: B008
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Any:
    """Makes a `Dense` layer and applies it; see there.

    Args:
      inputs: The input.
      units: The size of the output's last axis.
      activation: The function to apply, None for none.
      use_bias: Whether there is a bias.
      kernel_initializer: The matrix's initializer.
      bias_initializer: The bias's initializer.
      kernel_regularizer: A function from the matrix to a loss.
      bias_regularizer: A function from the bias to a loss.
      activity_regularizer: A function from the output to a loss.
      kernel_constraint: A function that optimizers apply to the matrix after each update.
      bias_constraint: A function that optimizers apply to the bias after each update.
      trainable: Whether the variables are trained.
      name: The layer's name, and that of its variable scope.
      reuse: Whether its variables are there already.
    """
    layer = Dense(
        units,
        activation=activation,
        use_bias=use_bias,
        kernel_initializer=kernel_initializer,
        bias_initializer=bias_initializer,
        kernel_regularizer=kernel_regularizer,
        bias_regularizer=bias_regularizer,
        activity_regularizer=activity_regularizer,
        kernel_constraint=kernel_constraint,
        bias_constraint=bias_constraint,
        trainable=trainable,
        name=name,
        dtype=inputs.dtype.base_dtype,
        _scope=name,
        _reuse=reuse,
    )
    return layer.apply(inputs)


@export("layers.dropout")
def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: Any = None,
    training: Any = False,
    name: str | None = None,
) -> Any:
    """Sets a random part of a tensor to zero in training, and scales up the rest.

    Args:
      inputs: The tensor.
      rate: The part to drop.
      noise_shape: The shape of the random choice, with None where it is that of the input.
      seed: The op-level seed.
      training: Whether this is training; else nothing changes.
      name: The layer's name.
    """
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(inputs, training=training)


@export("layers.flatten")
def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Makes one axis of all axes but the batch's.

    Args:
      inputs: A tensor.
      name: The layer's name.
      data_format: "channels_last", or "channels_first": then the channels are moved to the end first.
    """
    return Flatten(name=name, data_format=data_format).apply(inputs)
