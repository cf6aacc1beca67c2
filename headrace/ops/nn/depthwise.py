"""Convolution of every channel with filters of its own, and its gradients."""

from __future__ import annotations

import math

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.native import products as native
from headrace.opdef import op, raw
from headrace.ops.nn import interpreted
from headrace.ops.nn.conv2d import check_backprop
from headrace.ops.nn.conv_lowering import Convolution, check_sizes, in_float32, sizes_shape
from headrace.ops.nn.names import public
from headrace.ops.nn.pool_lowering import Windows
from headrace.ops.nn.windows import channel_axis, check_unit, windowed_shape
from headrace.shapes import merge_dim, with_rank

_MOST_SLICES = 64  # a longer list of slices compiles slowly and gains nothing
_ATTRS = """
      T: {half, bfloat16, float, double}
      strides: list(int)
      padding: {"SAME", "VALID"}
      data_format: {"NHWC", "NCHW"} = "NHWC"
      dilations: list(int) = [1, 1, 1, 1]
"""


def _attrs(op):
    return {name: op.attrs[name] for name in ("strides", "padding", "data_format", "dilations")}


class DepthwiseConvolution(Convolution):
    """A convolution in as many groups as there are channels; the filter is [height, width, in, multiplier].

    XLA's convolutions in groups are many times slower on a CPU than the same sums written element by element, one
    shifted slice for each place of the filter. So they are left for dilated and very large filters.
    """

    def __init__(self, input_shape, filter_shape, *, strides, padding, data_format, dilations, label=""):
        *kernel, channels, multiplier = (int(d) for d in filter_shape)
        depth = int(input_shape[channel_axis(data_format)])
        if depth != channels:
            text = f"input and filter must have the same depth: {depth} vs {channels}"
            if label:
                text = f"{label}: input and filter must have the same in_depth"
            raise InvalidArgumentError(None, None, text)
        check_unit(strides, data_format, "strides")
        self.depthwise_shape = (*kernel, channels, multiplier)
        super().__init__(
            input_shape,
            (*kernel, 1, channels * multiplier),
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
        )
        n = self.input_shape[0]
        self.is_sliced = (
            set(self.dilations) == {1} and math.prod(kernel) <= _MOST_SLICES and 0 not in self.output_shape
        )
        self.windows = Windows((n, *self.sizes, depth), (1, *kernel, 1), (1, *self.strides, 1), padding)

    def _is_native(self, x):
        dtype = x.dtype if x.dtype.itemsize >= 4 else np.float32
        return 0 not in (
            *self.input_shape,
            *self.output_shape,
            *self.filter_shape,
        ) and native.takes_depthwise(dtype, self.depthwise_shape[3])

    def _native_depthwise(self, which, shape, a, b):
        """Calls the native library, which takes and gives channels last."""

        def compute(a, b):
            return native.depthwise(
                which,
                shape,
                a,
                b,
                strides=self.strides,
                dilations=self.dilations,
                before=[before for before, _ in self.pads],
            )

        return in_float32(compute, a, b)

    def forward(self, x, w):
        """Returns the convolution."""
        if self._is_native(x):
            x, w = self._channels_last(x), w.reshape(self.depthwise_shape[:3])
            return self._back(self._native_depthwise("", self._last(self.output_shape), x, w))
        if not self.is_sliced:
            return self.apply(x, w.reshape(self.filter_shape))
        return self._back(in_float32(self._forward, self._channels_last(x), w))

    def _forward(self, x, w):
        padded = self.windows.padded(x, 0)
        taps = w.reshape(w.shape[0] * w.shape[1], *self.depthwise_shape[2:])
        y = sum(
            self.windows.shifted(padded, offset)[..., None] * taps[k] for k, offset in self.windows.offsets()
        )
        return y.reshape(*y.shape[:3], y.shape[3] * y.shape[4])

    def backprop_input(self, w, dy):
        """Returns the gradient with respect to the input."""
        if self._is_native(dy):
            dy, w = self._channels_last(dy), w.reshape(self.depthwise_shape[:3])
            return self._back(self._native_depthwise("_input_gradient", self._last(self.input_shape), dy, w))
        if not self.is_sliced or self.depthwise_shape[3] > 1:
            return self.input_gradient(w.reshape(self.filter_shape), dy)
        return self._back(in_float32(self._backprop_input, w, self._channels_last(dy)))

    def _backprop_input(self, w, dy):
        taps = w.reshape(-1, self.depthwise_shape[2])
        return self.windows.spread(lambda k: dy * taps[k], dy.dtype)

    def backprop_filter(self, x, dy):
        """Returns the gradient with respect to the filter."""
        if self._is_native(x):
            x, dy = self._channels_last(x), self._channels_last(dy)
            dw = self._native_depthwise("_filter_gradient", self.depthwise_shape[:3], x, dy)
            return dw.reshape(self.depthwise_shape)
        if not self.is_sliced:
            return self.filter_gradient(x, dy).reshape(self.depthwise_shape)
        return in_float32(self._backprop_filter, self._channels_last(x), self._channels_last(dy))

    def _backprop_filter(self, x, dy):
        padded = self.windows.padded(x, 0)
        dy = dy.reshape(*dy.shape[:3], *self.depthwise_shape[2:])
        sums = [
            jnp.sum(self.windows.shifted(padded, offset)[..., None] * dy, axis=(0, 1, 2))
            for _, offset in self.windows.offsets()
        ]
        return jnp.stack(sums).reshape(self.depthwise_shape)


DepthwiseConv2dNative = op(f"""
    DepthwiseConv2dNative(input: T, filter: T) -> (output: T){_ATTRS}
    Correlates each channel of `input` with its own filters, of shape [height, width, in, multiplier].
""")  # fmt: skip


@DepthwiseConv2dNative.shape
def depthwise_shape(input, filter, *, strides, padding, data_format, dilations):
    x = with_rank(input, 4)
    *kernel, cin, multiplier = with_rank(filter, 4)
    if len(strides) != 4:
        raise ValueError(
            f"DepthwiseConv2D requires the stride attribute to contain 4 values, but got: {len(strides)}"
        )
    c = channel_axis(data_format)
    depth = merge_dim(x[c], cin)
    out = list(windowed_shape(x, kernel, strides, padding, data_format, dilations))
    out[c] = None if depth is None or multiplier is None else depth * multiplier
    return tuple(out)


@DepthwiseConv2dNative.host(small=True)
def depthwise_host(input, filter, **conv):
    return interpreted.convolve_depthwise(
        DepthwiseConvolution(input.shape, filter.shape, **conv), input, filter
    )


@DepthwiseConv2dNative.lower
def depthwise_lower(input, filter, **conv):
    return DepthwiseConvolution(input.shape, filter.shape, **conv).forward(input, filter)


@DepthwiseConv2dNative.grad
def depthwise_grad(op, dy):
    x, w = op.inputs
    attrs = _attrs(op)
    return (
        raw.DepthwiseConv2dNativeBackpropInput(public.shape(x), w, dy, **attrs),
        raw.DepthwiseConv2dNativeBackpropFilter(x, public.shape(w), dy, **attrs),
    )


_SAME = {"strides": [1, 1, 1, 1], "padding": "SAME"}
_STEP = {"strides": [1, 2, 2, 1], "padding": "SAME"}


@DepthwiseConv2dNative.cases
def depthwise_cases(case):
    case([[[[1.0, 2.0]]]], [[[[3.0, 4.0], [5.0, 6.0]]]], gives=[[[[3.0, 4.0, 10.0, 12.0]]]], **_SAME)
    case(case.normal(2, 5, 6, 3), case.normal(3, 2, 3, 2), **_STEP)
    case(
        case.normal(1, 2, 5, 6),
        case.normal(3, 3, 2, 1),
        strides=[1, 1, 1, 1],
        padding="VALID",
        data_format="NCHW",
    )
    case(case.normal(1, 7, 7, 2), case.normal(3, 3, 2, 2), dilations=[1, 2, 2, 1], **_SAME)
    case.shapes("[?,8,8,3];[3,3,?,2]", "[?,4,4,6]", **_STEP)
    case.fails("[1,8,8,3];[3,3,4,2]", match="must be equal, but are 3 and 4", **_SAME)
    case.fails("[8,8,3];[3,3,3,2]", match="must be rank 4 but is rank 3", **_SAME)


DepthwiseConv2dNativeBackpropInput = op(f"""
    DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T){_ATTRS}
    The gradient of DepthwiseConv2dNative with respect to its input.
""")  # fmt: skip


@DepthwiseConv2dNativeBackpropInput.shape
def depthwise_backprop_input_shape(input_sizes, filter, out_backprop, *, ctx):
    return sizes_shape(input_sizes, 4, "input_sizes", ctx)


def _of_input(input_sizes, filter, out_backprop, conv):
    check_sizes("DepthwiseConv2DBackpropInput", "input_sizes", input_sizes, 4)
    if filter.ndim != 4:
        raise InvalidArgumentError(None, None, "DepthwiseConv2DBackpropInput: filter must be 4-dimensional")
    return _checked("DepthwiseConv2DBackpropInput", input_sizes, filter.shape, out_backprop, conv)


def _checked(label, input_shape, filter_shape, out_backprop, conv):
    made = DepthwiseConvolution(input_shape, filter_shape, label=label, **conv)
    given, axis = out_backprop.shape, channel_axis(conv["data_format"])
    if len(given) == 4 and given[0] == made.input_shape[0] and given[axis] != made.filter_shape[-1]:
        raise InvalidArgumentError(None, None, f"{label}: depth_multiplier * in_depth not equal to out_depth")
    check_backprop(label, made, out_backprop)
    return made


@DepthwiseConv2dNativeBackpropInput.host(small=True)
def depthwise_backprop_input_host(input_sizes, filter, out_backprop, **conv):
    made = _of_input(input_sizes, filter, out_backprop, conv)
    return interpreted.depthwise_input_gradient(made, filter, out_backprop)


@DepthwiseConv2dNativeBackpropInput.lower(static="input_sizes")
def depthwise_backprop_input_lower(input_sizes, filter, out_backprop, **conv):
    return _of_input(input_sizes, filter, out_backprop, conv).backprop_input(filter, out_backprop)


@DepthwiseConv2dNativeBackpropInput.grad
def depthwise_backprop_input_grad(op, ddx):
    w, dy = op.inputs[1], op.inputs[2]
    attrs = _attrs(op)
    return [
        None,
        raw.DepthwiseConv2dNativeBackpropFilter(ddx, public.shape(w), dy, **attrs),
        raw.DepthwiseConv2dNative(ddx, w, **attrs),
    ]


@DepthwiseConv2dNativeBackpropInput.cases
def depthwise_backprop_input_cases(case):
    sizes = np.array([2, 5, 6, 3], np.int32)
    case(np.array([1, 1, 1, 2], np.int32), [[[[3.0, 4.0], [5.0, 6.0]]]], [[[[1.0, 1.0, 1.0, 2.0]]]],
         gives=[[[[7.0, 17.0]]]], **_SAME)  # fmt: skip
    case(sizes, case.normal(3, 2, 3, 2), case.normal(2, 3, 3, 6), **_STEP)
    case.shapes("[4];[3,2,3,2];?", "[2,5,6,3]", values={"input_sizes": sizes}, **_STEP)


DepthwiseConv2dNativeBackpropFilter = op(f"""
    DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T){_ATTRS}
    The gradient of DepthwiseConv2dNative with respect to its filter.
""")  # fmt: skip


@DepthwiseConv2dNativeBackpropFilter.shape
def depthwise_backprop_filter_shape(input, filter_sizes, out_backprop, *, ctx):
    return sizes_shape(filter_sizes, 4, "filter_sizes", ctx)


def _of_filter(input, filter_sizes, out_backprop, conv):
    """Returns the convolution whose gradient is asked for, None if its filter has no elements."""
    check_sizes("DepthwiseConv2DBackpropFilter", "filter_sizes", filter_sizes, 4)
    if input.ndim != 4:
        raise InvalidArgumentError(None, None, "DepthwiseConv2DBackpropFilter: input must be 4-dimensional")
    depth = input.shape[channel_axis(conv["data_format"])]
    if 0 in tuple(filter_sizes[:2]) and depth == filter_sizes[2]:
        return None
    return _checked("DepthwiseConv2DBackpropFilter", input.shape, filter_sizes, out_backprop, conv)


@DepthwiseConv2dNativeBackpropFilter.host(small=True)
def depthwise_backprop_filter_host(input, filter_sizes, out_backprop, **conv):
    made = _of_filter(input, filter_sizes, out_backprop, conv)
    if made is None:
        return np.zeros(tuple(filter_sizes), input.dtype)
    return interpreted.depthwise_filter_gradient(made, input, out_backprop)


@DepthwiseConv2dNativeBackpropFilter.lower(static="filter_sizes")
def depthwise_backprop_filter_lower(input, filter_sizes, out_backprop, **conv):
    made = _of_filter(input, filter_sizes, out_backprop, conv)
    if made is None:
        return jnp.zeros(tuple(filter_sizes), input.dtype)
    return made.backprop_filter(input, out_backprop)


@DepthwiseConv2dNativeBackpropFilter.grad
def depthwise_backprop_filter_grad(op, ddw):
    x, dy = op.inputs[0], op.inputs[2]
    attrs = _attrs(op)
    return [
        raw.DepthwiseConv2dNativeBackpropInput(public.shape(x), ddw, dy, **attrs),
        None,
        raw.DepthwiseConv2dNative(x, ddw, **attrs),
    ]


@DepthwiseConv2dNativeBackpropFilter.cases
def depthwise_backprop_filter_cases(case):
    sizes = np.array([3, 2, 3, 2], np.int32)
    case([[[[1.0, 2.0]]]], np.array([1, 1, 2, 2], np.int32), [[[[1.0, 1.0, 1.0, 2.0]]]],
         gives=[[[[1.0, 1.0], [2.0, 4.0]]]], **_SAME)  # fmt: skip
    case(case.normal(2, 5, 6, 3), sizes, case.normal(2, 3, 3, 6), **_STEP)
    case.shapes("?;[4];?", "[3,2,3,2]", values={"filter_sizes": sizes}, **_STEP)
