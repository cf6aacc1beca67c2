"""The convolution layers over one, two or three axes."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.layers.base import Layer, activation_of
from headrace.layers.core import layout
from headrace.layers.input_spec import InputSpec
from headrace.opdef import convert_to_tensor, raw
from headrace.tensor_shape import as_shape
from headrace.variables.initializers.basic import Zeros


def one_an_axis(value: Any, n: int, name: str) -> tuple[int, ...]:
    """Returns n numbers for a number or n numbers.

    Raises:
      ValueError: It is neither.
    """
    if isinstance(value, int):
        return (value,) * n
    wrong = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        raise ValueError(wrong) from None
    if len(values) != n:
        raise ValueError(wrong)
    for each in values:
        try:
            int(each)
        except (ValueError, TypeError):
            raise ValueError(f"{wrong} including element {each} of type {type(each)}") from None
    return values


def padding_of(padding: Any) -> Any:
    """Returns a padding's name in lower case.

    Raises:
      ValueError: It is none.
    """
    if isinstance(padding, (list, tuple)):
        return padding
    found = padding.lower()
    if found not in ("valid", "same", "causal"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). '
            f"Received: {padding}"
        )
    return found


class Convolution(Layer):
    """Correlates sequences, images or volumes with filters, adds a bias and applies a function.

    Args:
      rank: The number of axes.
      filters: The number of filters.
      kernel_size: Their size: one number, or one for each axis.
      strides: Their steps, given in the same way.
      padding: "valid", "same" or, over sequences, "causal".
      data_format: "channels_last" or "channels_first".
      dilation_rate: The steps inside a filter, given like its size.
      activation: The function, None for none.
      use_bias: Whether there is a bias.
      kernel_initializer: The filters' initializer.
      bias_initializer: The bias's initializer.
      kernel_regularizer: A function from the filters to a loss.
      bias_regularizer: A function from the bias to a loss.
      activity_regularizer: A function from the output to a loss, which is divided by the size of the batch.
      kernel_constraint: A function that optimizers apply to the filters after each update.
      bias_constraint: A function that optimizers apply to the bias after each update.
      trainable: Whether the variables are trained.
      name: The layer's name.
      **kwargs: What `Layer` takes.
    """

    def __init__(
        self,
        rank: int,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
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
        **kwargs: Any,
    ):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.rank = rank
        self.filters = filters
        self.kernel_size = one_an_axis(kernel_size, rank, "kernel_size")
        self.strides = one_an_axis(strides, rank, "strides")
        self.padding = padding_of(padding)
        if self.padding == "causal" and not isinstance(self, Conv1D):
            raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
        self.data_format = layout(data_format)
        self.dilation_rate = one_an_axis(dilation_rate, rank, "dilation_rate")
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
        self.input_spec = InputSpec(ndim=rank + 2)

    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    @property
    def _layout(self) -> str:
        """TensorFlow's name of the layout."""
        spatial = {1: "W", 2: "HW", 3: "DHW"}[self.rank]
        return f"NC{spatial}" if self.data_format == "channels_first" else f"N{spatial}C"

    def _channels(self, input_shape: Any) -> int:
        found = as_shape(input_shape)[self._channel_axis].value
        if found is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        return found  # type: ignore[no-any-return]

    def _add_kernel(self, name: str, shape: tuple[int, ...], which: str = "kernel") -> Any:
        return self.add_weight(
            name,
            shape=shape,
            initializer=getattr(self, which + "_initializer"),
            regularizer=getattr(self, which + "_regularizer"),
            constraint=getattr(self, which + "_constraint"),
            trainable=True,
        )

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self._add_kernel("bias", (self.filters,), "bias")

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self._add_kernel("kernel", (*self.kernel_size, channels, self.filters))
        self._add_bias()
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self._rate = convert_to_tensor(self.dilation_rate, "int32", name="dilation_rate")
        self.built = True

    def _convolve(self, inputs: Any, padding: str) -> Any:
        def plain(x: Any, _: Any, effective: str) -> Any:
            strides = list(self.strides)
            data_format = self._layout
            if self.rank == 1:
                return NAMES["nn.conv1d"](x, self.kernel, strides[0], effective, data_format=data_format)
            full = [1, 1, *strides] if data_format.startswith("NC") else [1, *strides, 1]
            op = raw.Conv2D if self.rank == 2 else raw.Conv3D
            return op(x, self.kernel, strides=full, padding=effective, data_format=data_format)

        if any(s > 1 for s in self.strides) and any(d > 1 for d in self.dilation_rate):
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        first = self.data_format == "channels_first"
        filter_shape = None
        if any(d > 1 for d in self.dilation_rate) and padding == "SAME":
            shape = [*self.kernel_size, *self.kernel.shape.as_list()[-2:]]
            filter_shape = convert_to_tensor(shape, "int32", name="filter_shape")
        return NAMES["nn.with_space_to_batch"](
            inputs,
            self._rate,
            padding,
            plain,
            filter_shape=filter_shape,
            spatial_dims=range(2, self.rank + 2) if first else range(1, self.rank + 1),
            data_format=self._layout,
        )

    def call(self, inputs: Any) -> Any:
        padding = self.padding.upper()
        if padding == "CAUSAL":
            left = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            widths = [[0, 0], [left, 0], [0, 0]]
            if self.data_format == "channels_first":
                widths = [[0, 0], [0, 0], [left, 0]]
            inputs = NAMES["pad"](inputs, widths)
            padding = "VALID"
        outputs = self._with_bias(self._convolve(inputs, padding))
        return outputs if self.activation is None else self.activation(outputs)

    def _with_bias(self, outputs: Any) -> Any:
        if not self.use_bias:
            return outputs
        if self.data_format == "channels_first":
            if self.rank == 1:
                return outputs + NAMES["reshape"](self.bias, (1, self.filters, 1))
            return NAMES["nn.bias_add"](outputs, self.bias, data_format="NCHW")
        return NAMES["nn.bias_add"](outputs, self.bias, data_format="NHWC")


_DOC = (Convolution.__doc__ or "").replace("      rank: The number of axes.\n", "")
_FIRST = "Correlates sequences, images or volumes with filters"


def _signature_class(rank: int, base: type[Convolution], one: Any) -> Any:
    """Returns a class of a fixed rank, whose constructor begins with the filters."""

    class Fixed(base):  # type: ignore[valid-type, misc]
        def __init__(
            self,
            filters: Any,
            kernel_size: Any,
            strides: Any = one,
            padding: Any = "valid",
            data_format: str = "channels_last",
            dilation_rate: Any = one,
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
            **kwargs: Any,
        ):
            super().__init__(
                rank,
                filters,
                kernel_size,
                strides=strides,
                padding=padding,
                data_format=data_format,
                dilation_rate=dilation_rate,
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
                **kwargs,
            )

    return Fixed


@export("layers.Conv1D")
class Conv1D(_signature_class(1, Convolution, 1)):  # type: ignore[misc]
    __doc__ = _DOC.replace(_FIRST, "Correlates sequences with filters")


@export("layers.Conv2D")
class Conv2D(_signature_class(2, Convolution, (1, 1))):  # type: ignore[misc]
    __doc__ = _DOC.replace(_FIRST, "Correlates images with filters")


@export("layers.Conv3D")
class Conv3D(_signature_class(3, Convolution, (1, 1, 1))):  # type: ignore[misc]
    __doc__ = _DOC.replace(_FIRST, "Correlates volumes with filters")


def _function(kind: Any, name: str, what: str, one: Any) -> Any:
    def conv(
        inputs: Any,
        filters: Any,
        kernel_size: Any,
        strides: Any = one,
        padding: Any = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = one,
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
        layer = kind(
            filters,
            kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
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
            _scope=name,
            _reuse=reuse,
        )
        return layer.apply(inputs)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"Makes a layer that correlates {what} with filters and applies it; see `{kind.__name__}`."
    return export("layers." + name)(conv)


conv1d = _function(Conv1D, "conv1d", "sequences", 1)
conv2d = _function(Conv2D, "conv2d", "images", (1, 1))
conv3d = _function(Conv3D, "conv3d", "volumes", (1, 1, 1))
