"""The transposed convolution layers, which go from the output's shape of a convolution to its input's."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.layers.convolutional import Convolution
from headrace.layers.input_spec import InputSpec
from headrace.tensor_shape import TensorShape, as_shape
from headrace.variables.initializers.basic import Zeros

_DOC = """Spreads images or volumes with filters: the gradient of a convolution as a layer.

    Args:
      filters: The number of filters, and of the output's channels.
      kernel_size: Their size: one number, or one for each axis.
      strides: Their steps, given in the same way.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      activation: A function to apply, None for none.
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


def _length(size: Any, kernel: int, stride: int, padding: str) -> Any:
    """Returns the output's size along an axis, a number or a tensor as `size` is."""
    if size is None:
        return None
    size = size * stride
    # Nothing is added where the windows do not overlap.
    return size + max(kernel - stride, 0) if padding == "valid" and kernel > stride else size


class _Transposed(Convolution):
    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        if shape.ndims != self.rank + 2:
            raise ValueError(f"Inputs should have rank {self.rank + 2}. Received input shape: {shape}")
        channels = self._channels(shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.kernel = self._add_kernel("kernel", (*self.kernel_size, self.filters, channels))
        self._add_bias()
        self.built = True

    def _spatial(self) -> range:
        return range(2, self.rank + 2) if self.data_format == "channels_first" else range(1, self.rank + 1)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        dims = as_shape(input_shape).as_list()
        dims[self._channel_axis] = self.filters
        for axis, kernel, stride in zip(self._spatial(), self.kernel_size, self.strides, strict=True):
            dims[axis] = _length(dims[axis], kernel, stride, self.padding)
        return TensorShape(dims)

    def _output_shape(self, inputs: Any) -> Any:
        shape = NAMES["shape"](inputs)
        batch = shape[0]
        sizes = [shape[axis] for axis in self._spatial()]
        sizes = [
            _length(size, kernel, stride, self.padding)
            for size, kernel, stride in zip(sizes, self.kernel_size, self.strides, strict=True)
        ]
        if self.data_format == "channels_first":
            return NAMES["stack"]([batch, self.filters, *sizes])
        return NAMES["stack"]([batch, *sizes, self.filters])

    def _spread(self, inputs: Any, shape: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        outputs = self._spread(inputs, self._output_shape(inputs))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        if self.use_bias:
            layout = "NCHW" if self.data_format == "channels_first" else "NHWC"
            outputs = NAMES["nn.bias_add"](outputs, self.bias, data_format=layout)
        return outputs if self.activation is None else self.activation(outputs)


@export("layers.Conv2DTranspose")
class Conv2DTranspose(_Transposed):
    __doc__ = _DOC.replace("images or volumes", "images")

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str = "channels_last",
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
            2, filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable, name, **kwargs
        )  # fmt: skip

    def _spread(self, inputs: Any, shape: Any) -> Any:
        first = self.data_format == "channels_first"
        if first:
            # The kernel for the CPU wants channels last.
            inputs = NAMES["transpose"](inputs, (0, 2, 3, 1))
            shape = NAMES["stack"]([shape[0], shape[2], shape[3], shape[1]])
        else:
            _ = shape[0]
        outputs = NAMES["nn.conv2d_transpose"](
            inputs,
            self.kernel,
            shape,
            [1, *self.strides, 1],
            padding=self.padding.upper(),
            data_format="NHWC",
        )
        return NAMES["transpose"](outputs, (0, 3, 1, 2)) if first else outputs


@export("layers.Conv3DTranspose")
class Conv3DTranspose(_Transposed):
    __doc__ = _DOC.replace("images or volumes", "volumes")

    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = "valid",
        data_format: str = "channels_last",
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
            3, filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable, name, **kwargs
        )  # fmt: skip

    def _spread(self, inputs: Any, shape: Any) -> Any:
        first = self.data_format == "channels_first"
        return NAMES["nn.conv3d_transpose"](
            inputs,
            self.kernel,
            shape,
            [1, 1, *self.strides] if first else [1, *self.strides, 1],
            padding=self.padding.upper(),
            data_format=self._layout,
        )


def _function(kind: Any, name: str, what: str, one: Any) -> Any:
    def conv(
        inputs: Any,
        filters: Any,
        kernel_size: Any,
        strides: Any = one,
        padding: Any = "valid",
        data_format: str = "channels_last",
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
            filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable, name, _reuse=reuse, _scope=name
        )  # fmt: skip
        return layer.apply(inputs)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"Makes a layer that spreads {what} with filters and applies it; see `{kind.__name__}`."
    return export("layers." + name)(conv)


conv2d_transpose = _function(Conv2DTranspose, "conv2d_transpose", "images", (1, 1))
conv3d_transpose = _function(Conv3DTranspose, "conv3d_transpose", "volumes", (1, 1, 1))
