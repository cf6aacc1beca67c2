"""Two-dimensional convolution and its gradients, with TensorFlow's wrappers."""

# ruff: noqa: B006  (the defaults are the public signature)

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.nn import interpreted
from headrace.ops.nn.conv_lowering import Convolution, check_sizes, sizes_shape
from headrace.ops.nn.names import public, renamed
from headrace.ops.nn.windows import channel_axis, check_explicit, check_unit, spatial_axes, windowed_shape
from headrace.shapes import to_text, with_rank

_ATTRS = """
      T: {half, bfloat16, float, double}
      strides: list(int)
      use_cudnn_on_gpu: bool = true
      padding: {"SAME", "VALID", "EXPLICIT"}
      explicit_paddings: list(int) = []
      data_format: {"NHWC", "NCHW"} = "NHWC"
      dilations: list(int) = [1, 1, 1, 1]
"""
_NAMES = ("strides", "use_cudnn_on_gpu", "padding", "explicit_paddings", "data_format", "dilations")

Conv2D = op(f"""
    Conv2D(input: T, filter: T) -> (output: T){_ATTRS}
    Correlates `input` with `filter` of shape [height, width, in / groups, out].
""")  # fmt: skip


def conv_attrs(op):
    """Returns the attrs that a gradient op of a convolution shares with it."""
    return {name: op.attrs[name] for name in _NAMES}


@Conv2D.shape
def conv2d_shape(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    x = with_rank(input, 4)
    *kernel, cin, cout = with_rank(filter, 4)
    for what, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != 4:
            raise ValueError(
                f"Conv2D requires the {what[:-1]} attribute to contain 4 values, but got: {len(values)}"
            )
    check_explicit(padding, explicit_paddings, data_format)
    c = channel_axis(data_format)
    if x[c] is not None and cin is not None and (cin == 0 or x[c] % cin):
        raise ValueError(f"Depth of input ({x[c]}) is not a multiple of input depth of filter ({cin})")
    out = list(windowed_shape(x, kernel, strides, padding, data_format, dilations, explicit_paddings))
    out[c] = cout
    return tuple(out)


def geometry(
    input_shape, filter_shape, strides, padding, explicit_paddings, data_format, dilations, label=""
):
    """Returns the Convolution for known shapes; `label` is what the kernel of a gradient calls itself.

    Raises:
      InvalidArgumentError: They do not fit.
    """
    check_unit(strides, data_format, "strides")
    check_unit(dilations, data_format, "dilations")
    for what, shape in (("input", input_shape), ("filter", filter_shape)):
        if label and len(shape) != 4:
            raise InvalidArgumentError(None, None, f"{label}: {what} must be 4-dimensional")
    if len(input_shape) != 4:
        raise InvalidArgumentError(None, None, f"input must be 4-dimensional{to_text(tuple(input_shape))}")
    if len(filter_shape) != 4:
        raise InvalidArgumentError(
            None, None, f"filter must be 4-dimensional: {to_text(tuple(filter_shape))}"
        )
    depth, filter_depth = int(input_shape[channel_axis(data_format)]), int(filter_shape[2])
    if filter_depth == 0 or depth % filter_depth:
        if label:
            text = f"{label}: input depth must be evenly divisible by filter depth"
            raise InvalidArgumentError(None, None, text)
        raise InvalidArgumentError(
            None, None, f"input depth must be evenly divisible by filter depth: {depth} vs {filter_depth}"
        )
    return Convolution(
        input_shape,
        filter_shape,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        explicit_paddings=explicit_paddings,
    )


@Conv2D.host(small=True)
def conv2d_host(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    conv = geometry(input.shape, filter.shape, strides, padding, explicit_paddings, data_format, dilations)
    return interpreted.convolve(conv, input, filter)


@Conv2D.lower
def conv2d_lower(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    conv = geometry(input.shape, filter.shape, strides, padding, explicit_paddings, data_format, dilations)
    return conv.apply(input, filter)


@Conv2D.grad
def conv2d_grad(op, dy):
    x, w = op.inputs
    x_shape, w_shape = raw.ShapeN([x, w])
    attrs = conv_attrs(op)
    return raw.Conv2DBackpropInput(x_shape, w, dy, **attrs), raw.Conv2DBackpropFilter(x, w_shape, dy, **attrs)


@Conv2D.cases
def conv2d_cases(case):
    same = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    case([[[[1.0], [2.0]]]], [[[[3.0]]]], gives=[[[[3.0], [6.0]]]], **same)
    case(case.normal(1, 5, 5, 2), case.normal(2, 2, 2, 3), strides=[1, 2, 2, 1], padding="VALID")
    case(case.normal(2, 5, 6, 2), case.normal(3, 2, 2, 3), strides=[1, 2, 1, 1], padding="SAME")
    case(case.normal(2, 5, 6, 2), case.normal(1, 1, 2, 3), strides=[1, 2, 3, 1], padding="SAME")
    case(case.normal(2, 3, 3, 2), case.normal(3, 3, 2, 4), strides=[1, 1, 1, 1], padding="VALID")
    case(
        case.normal(1, 4, 5, 2),
        case.normal(2, 3, 2, 1),
        strides=[1, 1, 2, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0],
    )
    case(
        case.normal(1, 6, 6, 1),
        case.normal(2, 2, 1, 2),
        strides=[1, 1, 1, 1],
        padding="SAME",
        dilations=[1, 2, 2, 1],
    )
    case(
        case.normal(1, 2, 4, 5),
        case.normal(2, 2, 2, 3),
        strides=[1, 1, 1, 1],
        padding="SAME",
        data_format="NCHW",
    )
    # Windows larger than the image.
    case(case.normal(2, 3, 1, 2), case.normal(5, 5, 2, 3), strides=[1, 1, 1, 1], padding="SAME")
    case(
        case.normal(2, 2, 3, 4),
        case.normal(5, 2, 2, 3),
        strides=[1, 1, 2, 2],
        padding="SAME",
        data_format="NCHW",
    )
    case(
        case.normal(1, 2, 4, 5),
        case.normal(1, 1, 2, 3),
        strides=[1, 1, 2, 2],
        padding="SAME",
        data_format="NCHW",
    )
    case(case.normal(0, 4, 4, 2), case.normal(2, 2, 2, 3), grad=False, **same)
    case.shapes("[1,?,4,1];[2,1,1,3]", "[1,?,4,3]", **same)
    case.shapes("?;?", "[?,?,?,?]", **same)
    case.shapes("[8,16,16,3];[3,3,3,7]", "[8,7,7,7]", strides=[1, 2, 2, 1], padding="VALID")
    case.fails("[4,4];[2,1,1,1]", match="must be rank 4 but is rank 2", **same)
    case.fails(
        "[1,8,8,3];[3,3,5,4]",
        match=r"Depth of input \(3\) is not a multiple of input depth of filter \(5\)",
        **same,
    )
    case.fails("[1,2,8,3];[3,3,3,4]", match="Negative dimension size caused by subtracting 3 from 2",
               strides=[1, 1, 1, 1], padding="VALID")  # fmt: skip


Conv2DBackpropInput = op(f"""
    Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T){_ATTRS}
    The gradient of Conv2D with respect to its input.
""")  # fmt: skip


@Conv2DBackpropInput.shape
def conv2d_backprop_input_shape(input_sizes, filter, out_backprop, *, ctx):
    return sizes_shape(input_sizes, 4, "input_sizes", ctx)


@Conv2DBackpropInput.host(small=True)
def conv2d_backprop_input_host(
    input_sizes, filter, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    check_sizes("Conv2DCustomBackpropInput", "input_sizes", input_sizes, 4)
    attrs = strides, padding, explicit_paddings, data_format, dilations
    conv = geometry(input_sizes, filter.shape, *attrs, label="Conv2DCustomBackpropInput")
    check_backprop("Conv2DCustomBackpropInput", conv, out_backprop)
    return interpreted.input_gradient(conv, filter, out_backprop)


@Conv2DBackpropInput.lower(static="input_sizes")
def conv2d_backprop_input_lower(
    input_sizes, filter, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    check_sizes("Conv2DCustomBackpropInput", "input_sizes", input_sizes, 4)
    attrs = strides, padding, explicit_paddings, data_format, dilations
    conv = geometry(input_sizes, filter.shape, *attrs, label="Conv2DCustomBackpropInput")
    check_backprop("Conv2DCustomBackpropInput", conv, out_backprop)
    return conv.input_gradient(filter, out_backprop)


def check_backprop(label, conv, out_backprop):
    """Checks that a gradient has the shape of the convolution's output.

    Raises:
      InvalidArgumentError: It has not.
    """
    if out_backprop.ndim != len(conv.output_shape):
        raise InvalidArgumentError(
            None, None, f"{label}: out_backprop must be {len(conv.output_shape)}-dimensional"
        )
    if conv.groups and conv.filter_shape[-1] % conv.groups:
        raise InvalidArgumentError(
            None, None, f"{label}: {conv.filter_shape[-1]} filters are no multiple of {conv.groups} groups"
        )
    for i, (got, want) in enumerate(zip(out_backprop.shape, conv.output_shape, strict=False)):
        if got != want:
            if i in spatial_axes(conv.layout):
                j = spatial_axes(conv.layout).index(i)
                text = (
                    f"{label}: Size of out_backprop doesn't match computed: actual = {got}, computed = {want} "
                    f"spatial_dim: {i} input: {conv.sizes[j]} filter: {conv.kernel[j]} output: {got} stride: "
                    f"{conv.strides[j]} dilation: {conv.dilations[j]}"
                )
            elif i == channel_axis(conv.layout):
                text = f"{label}: filter and out_backprop must have the same out_depth"
            else:
                text = f"{label}: input and out_backprop must have the same batch size"
            raise InvalidArgumentError(None, None, text)


@Conv2DBackpropInput.grad
def conv2d_backprop_input_grad(op, ddx):
    attrs = conv_attrs(op)
    w, dy = op.inputs[1], op.inputs[2]
    return [
        None,
        raw.Conv2DBackpropFilter(ddx, public.shape(w), dy, **attrs),
        raw.Conv2D(ddx, w, **attrs),
    ]


def _sizes(*dims):
    return np.array(dims, np.int32)


@Conv2DBackpropInput.cases
def conv2d_backprop_input_cases(case):
    case(_sizes(1, 1, 2, 1), [[[[3.0]]]], [[[[1.0], [2.0]]]], strides=[1, 1, 1, 1], padding="SAME",
         gives=[[[[3.0], [6.0]]]])  # fmt: skip
    case(
        _sizes(2, 5, 6, 2),
        case.normal(3, 2, 2, 3),
        case.normal(2, 3, 6, 3),
        strides=[1, 2, 1, 1],
        padding="SAME",
    )
    case(
        _sizes(2, 5, 6, 2),
        case.normal(1, 1, 2, 3),
        case.normal(2, 3, 2, 3),
        strides=[1, 2, 3, 1],
        padding="SAME",
    )
    # Windows larger than what they are slid over, along one axis, along both, and as wide as the image.
    case(
        _sizes(2, 4, 4, 2),
        case.normal(5, 5, 2, 3),
        case.normal(2, 2, 2, 3),
        strides=[1, 2, 2, 1],
        padding="SAME",
    )
    case(
        _sizes(2, 6, 5, 1),
        case.normal(3, 5, 1, 2),
        case.normal(2, 4, 1, 2),
        strides=[1, 1, 1, 1],
        padding="VALID",
    )
    case.shapes("[4];[3,3,2,5];[?,4,4,5]", "[1,8,8,2]", values={"input_sizes": _sizes(1, 8, 8, 2)},
                strides=[1, 2, 2, 1], padding="SAME")  # fmt: skip
    case.shapes("[4];[3,3,2,5];[?,4,4,5]", "[?,?,?,?]", strides=[1, 2, 2, 1], padding="SAME")


Conv2DBackpropFilter = op(f"""
    Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T){_ATTRS}
    The gradient of Conv2D with respect to its filter.
""")  # fmt: skip


@Conv2DBackpropFilter.shape
def conv2d_backprop_filter_shape(input, filter_sizes, out_backprop, *, ctx):
    return sizes_shape(filter_sizes, 4, "filter_sizes", ctx)


@Conv2DBackpropFilter.host(small=True)
def conv2d_backprop_filter_host(
    input, filter_sizes, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    check_sizes("Conv2DCustomBackpropFilter", "filter_sizes", filter_sizes, 4)
    if 0 in tuple(filter_sizes[:2]):
        return np.zeros(tuple(filter_sizes), input.dtype)
    attrs = strides, padding, explicit_paddings, data_format, dilations
    conv = geometry(input.shape, filter_sizes, *attrs, label="Conv2DCustomBackpropFilter")
    check_backprop("Conv2DCustomBackpropFilter", conv, out_backprop)
    return interpreted.filter_gradient(conv, input, out_backprop)


@Conv2DBackpropFilter.lower(static="filter_sizes")
def conv2d_backprop_filter_lower(
    input, filter_sizes, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    check_sizes("Conv2DCustomBackpropFilter", "filter_sizes", filter_sizes, 4)
    if 0 in tuple(filter_sizes[:2]):
        return jnp.zeros(tuple(filter_sizes), input.dtype)
    attrs = strides, padding, explicit_paddings, data_format, dilations
    conv = geometry(input.shape, filter_sizes, *attrs, label="Conv2DCustomBackpropFilter")
    check_backprop("Conv2DCustomBackpropFilter", conv, out_backprop)
    return conv.filter_gradient(input, out_backprop)


@Conv2DBackpropFilter.grad
def conv2d_backprop_filter_grad(op, ddw):
    attrs = conv_attrs(op)
    x, dy = op.inputs[0], op.inputs[2]
    return [
        raw.Conv2DBackpropInput(public.shape(x), ddw, dy, **attrs),
        None,
        raw.Conv2D(x, ddw, **attrs),
    ]


@Conv2DBackpropFilter.cases
def conv2d_backprop_filter_cases(case):
    case([[[[1.0], [2.0]]]], _sizes(1, 1, 1, 1), [[[[3.0], [4.0]]]], strides=[1, 1, 1, 1], padding="SAME",
         gives=[[[[11.0]]]])  # fmt: skip
    case(
        case.normal(2, 5, 6, 2),
        _sizes(3, 2, 2, 3),
        case.normal(2, 3, 6, 3),
        strides=[1, 2, 1, 1],
        padding="SAME",
    )
    case(
        case.normal(2, 5, 6, 2),
        _sizes(1, 1, 2, 3),
        case.normal(2, 3, 2, 3),
        strides=[1, 2, 3, 1],
        padding="SAME",
    )
    case.shapes("[?,8,8,2];[4];[?,4,4,5]", "[3,3,2,5]", values={"filter_sizes": _sizes(3, 3, 2, 5)},
                strides=[1, 2, 2, 1], padding="SAME")  # fmt: skip


# -- public functions ---------------------------------------------------------------------------------------


def one_an_axis(value, n, channel_index, name):
    """Returns a stride, window or dilation argument as one number an axis of the layout.

    Args:
      value: A number for all spatial axes, one for each, or one for each axis.
      n: How many spatial axes there are.
      channel_index: The channels' axis.
      name: The argument's name, for the message.

    Raises:
      ValueError: There are too many or too few numbers.
    """
    if value is None:
        value = [1]
    elif not isinstance(value, (list, tuple)) and not hasattr(value, "__len__"):
        value = [value]
    value = list(value)
    if len(value) == 1:
        value = value * n
    elif len(value) == n + 2:
        return value
    elif len(value) != n:
        raise ValueError(f"{name} should be of length 1, {n} or {n + 2} but was {len(value)}")
    return [1, 1, *value] if channel_index == 1 else [1, *value, 1]


def split_padding(padding):
    """Returns the padding attr and the flat explicit paddings that a padding argument means.

    Raises:
      ValueError: It is a list that is not of four pairs.
    """
    if not isinstance(padding, (list, tuple)):
        if padding == "EXPLICIT":
            raise ValueError(
                '"EXPLICIT" is not a valid value for the padding parameter. To use explicit padding, the padding '
                "parameter must be a list."
            )
        return padding, []
    for i, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)):
            raise ValueError(
                "When padding is a list, each element of padding must be a list/tuple of size 2. Element with index "
                f"{i} of padding is not a list or tuple"
            )
        if len(pair) != 2:
            raise ValueError(
                "When padding is a list, each element of padding must be a list/tuple of size 2. Element with index "
                f"{i} of padding has size {len(pair)}"
            )
    if len(padding) != 4:
        raise ValueError(f"When padding is a list, it must be of size 4. Got padding of size: {len(padding)}")
    return "EXPLICIT", [dim for pair in padding for dim in pair]


@export("nn.conv2d")
def conv2d(
    input,
    filter=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
    filters=None,
):
    """Returns the two-dimensional correlation of images with a filter.

    Args:
      input: Images, [batch, height, width, channels] or, with "NCHW", [batch, channels, height, width].
      filter: A filter, [height, width, in channels, out channels].
      strides: The window's steps: one number, one for each spatial axis, or one for each axis.
      padding: "SAME", "VALID", or a list of four (before, after) pairs.
      use_cudnn_on_gpu: Kept for compatibility.
      data_format: "NHWC" or "NCHW".
      dilations: The steps inside the window, given like `strides`.
      name: A name for the operation.
      filters: Another name of `filter`.

    Raises:
      ValueError: An argument has a wrong length.
    """
    filter = renamed("filter", filter, "filters", filters)
    padding, explicit = split_padding(padding)
    data_format = data_format or "NHWC"
    c = 1 if data_format.startswith("NC") else 3
    return raw.Conv2D(
        input,
        filter,
        strides=one_an_axis(strides, 2, c, "strides"),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=one_an_axis(dilations, 2, c, "dilations"),
        name=name,
    )


@export("nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes,
    filter=None,
    out_backprop=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
    filters=None,
):
    """Returns the gradient of `conv2d` with respect to its input.

    Args:
      input_sizes: The input's shape.
      filter: The filter.
      out_backprop: The gradient with respect to the output.
      strides: The window's steps, one an axis.
      padding: "SAME", "VALID", or a list of four (before, after) pairs.
      use_cudnn_on_gpu: Kept for compatibility.
      data_format: "NHWC" or "NCHW".
      dilations: The steps inside the window, one an axis.
      name: A name for the operation.
      filters: Another name of `filter`.
    """
    filter = renamed("filter", filter, "filters", filters)
    padding, explicit = split_padding(padding)
    return raw.Conv2DBackpropInput(
        input_sizes,
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
):
    """Returns the gradient of `conv2d` with respect to its filter.

    Args:
      input: The images.
      filter_sizes: The filter's shape.
      out_backprop: The gradient with respect to the output.
      strides: The window's steps, one an axis.
      padding: "SAME", "VALID", or a list of four (before, after) pairs.
      use_cudnn_on_gpu: Kept for compatibility.
      data_format: "NHWC" or "NCHW".
      dilations: The steps inside the window, one an axis.
      name: A name for the operation.
    """
    padding, explicit = split_padding(padding)
    return raw.Conv2DBackpropFilter(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.conv2d_transpose")
def conv2d_transpose(
    value=None,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """Returns the transpose of a convolution: what its gradient would send back to its input.

    Args:
      value: Images, laid out as `data_format` says.
      filter: A filter, [height, width, out channels, in channels].
      output_shape: The shape of the result.
      strides: The window's steps: one number, one for each spatial axis, or one for each axis.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      name: A name for the operation.
      input: Another name of `value`.
      filters: Another name of `filter`.
      dilations: The steps inside the window, given like `strides`.
    """
    value = renamed("input", input, "value", value)
    filter = renamed("filters", filters, "filter", filter)
    with public.name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NHWC"
        c = 1 if data_format.startswith("NC") else 3
        return raw.Conv2DBackpropInput(
            output_shape,
            filter,
            value,
            strides=one_an_axis(strides, 2, c, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=one_an_axis(dilations, 2, c, "dilations"),
            name=scope,
        )
