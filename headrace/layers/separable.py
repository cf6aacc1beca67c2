"""The separable convolution layers: filters for each channel alone, then a mix of the channels."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.layers.convolutional import Convolution
from headrace.layers.input_spec import InputSpec
from headrace.variables.initializers.basic import Zeros

_DOC = """Correlates each channel of {what} with filters of its own, then mixes the channels.

    Args:
      filters: The number of the output's channels.
      kernel_size: The size of the channels' filters: one number, or one for each axis.
      strides: Their steps, given in the same way.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: The steps inside a filter, given like its size.
      depth_multiplier: The number of filters for each channel.
      activation: A function to apply, None for none.
      use_bias: Whether there is a bias.
      depthwise_initializer: The initializer of the channels' filters.
      pointwise_initializer: The initializer of the mix.
      bias_initializer: The bias's initializer.
      depthwise_regularizer: A function from the channels' filters to a loss.
      pointwise_regularizer: A function from the mix to a loss.
      bias_regularizer: A function from the bias to a loss.
      activity_regularizer: A function from the output to a loss, which is divided by the size of the batch.
      depthwise_constraint: A function that optimizers apply to the channels' filters after each update.
      pointwise_constraint: A function that optimizers apply to the mix after each update.
      bias_constraint: A function that optimizers apply to the bias after each update.
      trainable: Whether the variables are trained.
      name: The layer's name.
      **kwargs: What `Layer` takes.
    """


def _of_rank(rank: int, one: Any) -> Any:
    """Returns a class for a number of axes; `one` is what 1 along each is written as in its signature."""

    class Separable(Convolution):
        def __init__(
            self,
            filters: Any,
            kernel_size: Any,
            strides: Any = one,
            padding: Any = "valid",
            data_format: str = "channels_last",
            dilation_rate: Any = one,
            depth_multiplier: int = 1,
            activation: Any = None,
            use_bias: bool = True,
            depthwise_initializer: Any = None,
            pointwise_initializer: Any = None,
            bias_initializer: Any = Zeros(),  # noqa: B008
            depthwise_regularizer: Any = None,
            pointwise_regularizer: Any = None,
            bias_regularizer: Any = None,
            activity_regularizer: Any = None,
            depthwise_constraint: Any = None,
            pointwise_constraint: Any = None,
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
                bias_initializer=bias_initializer,
                bias_regularizer=bias_regularizer,
                activity_regularizer=activity_regularizer,
                bias_constraint=bias_constraint,
                trainable=trainable,
                name=name,
                **kwargs,
            )
            self.depth_multiplier = depth_multiplier
            self.depthwise_initializer = depthwise_initializer
            self.pointwise_initializer = pointwise_initializer
            self.depthwise_regularizer = depthwise_regularizer
            self.pointwise_regularizer = pointwise_regularizer
            self.depthwise_constraint = depthwise_constraint
            self.pointwise_constraint = pointwise_constraint

        def build(self, input_shape: Any) -> None:
            channels = self._channels(input_shape)
            self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
            mixed = (1,) * self.rank + (self.depth_multiplier * channels, self.filters)
            self.depthwise_kernel = self._add_kernel(
                "depthwise_kernel", (*self.kernel_size, channels, self.depth_multiplier), "depthwise"
            )
            self.pointwise_kernel = self._add_kernel("pointwise_kernel", mixed, "pointwise")
            self._add_bias()
            self.built = True

    return Separable


@export("layers.SeparableConv2D")
class SeparableConv2D(_of_rank(2, (1, 1))):  # type: ignore[misc]
    __doc__ = _DOC.format(what="images")

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        outputs = NAMES["nn.separable_conv2d"](
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            strides=[1, 1, *self.strides] if first else [1, *self.strides, 1],
            padding=self.padding.upper(),
            rate=self.dilation_rate,
            data_format=self._layout,
        )
        outputs = self._with_bias(outputs)
        return outputs if self.activation is None else self.activation(outputs)


@export("layers.SeparableConv1D")
class SeparableConv1D(_of_rank(1, 1)):  # type: ignore[misc]
    __doc__ = _DOC.format(what="sequences")

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        # As images of height 1.
        height = 2 if first else 1
        expand = NAMES["expand_dims"]
        strides = self.strides * 2
        inputs = expand(inputs, height)
        depthwise = expand(self.depthwise_kernel, 0)
        pointwise = expand(self.pointwise_kernel, 0)
        outputs = NAMES["nn.separable_conv2d"](
            inputs,
            depthwise,
            pointwise,
            strides=[1, 1, *strides] if first else [1, *strides, 1],
            padding=self.padding.upper(),
            rate=(1, *self.dilation_rate),
            data_format="NCHW" if first else "NHWC",
        )
        if self.use_bias:
            outputs = NAMES["nn.bias_add"](outputs, self.bias, data_format="NCHW" if first else "NHWC")
        outputs = NAMES["squeeze"](outputs, [height])
        return outputs if self.activation is None else self.activation(outputs)


def _function(kind: Any, name: str, what: str, one: Any) -> Any:
    def conv(
        inputs: Any,
        filters: Any,
        kernel_size: Any,
        strides: Any = one,
        padding: Any = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = one,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        reuse: Any = None,
    ) -> Any:
        layer = kind(
            filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation, use_bias,
            depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
            pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
            bias_constraint, trainable, name, _reuse=reuse, _scope=name
        )  # fmt: skip
        return layer.apply(inputs)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"Makes a separable layer over {what} and applies it; see `{kind.__name__}`."
    return export("layers." + name)(conv)


separable_conv1d = _function(SeparableConv1D, "separable_conv1d", "sequences", 1)
separable_conv2d = _function(SeparableConv2D, "separable_conv2d", "images", (1, 1))
