"""Convolution of every channel with filters of its own, and its gradients."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.nn.conv2d import check_backprop
from headrace.ops.nn.conv_lowering import Convolution
from headrace.ops.nn.names import public
from headrace.ops.nn.windows import channel_axis, check_unit, windowed_shape
from headrace.shapes import merge_dim, with_rank

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
    """A convolution in as many groups as there are channels; the filter is [height, width, in, multiplier]."""

    def __init__(self, input_shape, filter_shape, *, strides, padding, data_format, dilations):
        *kernel, channels, multiplier = (int(d) for d in filter_shape)
        depth = int(input_shape[channel_axis(data_format)])
        if depth != channels:
            raise InvalidArgumentError(
                None, None, f"input and filter must have the same depth: {depth} vs {channels}"
            )
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

    def grouped(self, w):
        """Returns a depthwise filter as that of a convolution in groups."""
        return w.reshape(self.filter_shape)

    def forward(self, x, w):
        """Returns the convolution: shifted slices times vectors where there are few, else XLA's own."""
        return self.apply(x, self.grouped(w))


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
    return with_rank(ctx.as_shape("input_sizes"), 4)


@DepthwiseConv2dNativeBackpropInput.lower(static="input_sizes")
def depthwise_backprop_input_lower(input_sizes, filter, out_backprop, **conv):
    made = DepthwiseConvolution(input_sizes, filter.shape, **conv)
    check_backprop("DepthwiseConv2DBackpropInput", made, out_backprop)
    return made.input_gradient(made.grouped(filter), out_backprop)


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
    return with_rank(ctx.as_shape("filter_sizes"), 4)


@DepthwiseConv2dNativeBackpropFilter.lower(static="filter_sizes")
def depthwise_backprop_filter_lower(input, filter_sizes, out_backprop, **conv):
    made = DepthwiseConvolution(input.shape, filter_sizes, **conv)
    check_backprop("DepthwiseConv2DBackpropFilter", made, out_backprop)
    return jnp.reshape(made.filter_gradient(input, out_backprop), made.depthwise_shape)


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
