"""Three-dimensional convolution and its gradients, with TensorFlow's wrappers."""

# ruff: noqa: B006  (the defaults are the public signature)

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.nn.conv2d import check_backprop, one_an_axis
from headrace.ops.nn.conv_lowering import Convolution, check_sizes, sizes_shape
from headrace.ops.nn.names import public, renamed
from headrace.ops.nn.windows import channel_axis, check_unit, windowed_shape
from headrace.shapes import with_rank

_ATTRS = """
      T: {half, bfloat16, float, double}
      strides: list(int) >= 5
      padding: {"SAME", "VALID"}
      data_format: {"NDHWC", "NCDHW"} = "NDHWC"
      dilations: list(int) = [1, 1, 1, 1, 1]
"""


def _attrs(op):
    return {name: op.attrs[name] for name in ("strides", "padding", "data_format", "dilations")}


def _geometry(input_shape, filter_shape, **conv):
    check_unit(conv["strides"], conv["data_format"], "strides")
    check_unit(conv["dilations"], conv["data_format"], "dilations")
    for name, dims in (("input", input_shape), ("filter", filter_shape)):
        if len(dims) != 5:
            raise InvalidArgumentError(None, None, f"{name} must be 5-dimensional")
    depth = int(input_shape[channel_axis(conv["data_format"])])
    if filter_shape[3] == 0 or depth % int(filter_shape[3]):
        raise InvalidArgumentError(
            None,
            None,
            f"Input depth must be evenly divisible by filter depth: {depth} vs {int(filter_shape[3])}",
        )
    return Convolution(input_shape, filter_shape, **conv)


Conv3D = op(f"""
    Conv3D(input: T, filter: T) -> (output: T){_ATTRS}
    Correlates `input` with `filter` of shape [depth, height, width, in, out].
""")  # fmt: skip


@Conv3D.shape
def conv3d_shape(input, filter, *, strides, padding, data_format, dilations):
    x = with_rank(input, 5)
    *kernel, cin, cout = with_rank(filter, 5)
    c = channel_axis(data_format)
    if x[c] is not None and cin is not None and (cin == 0 or x[c] % cin):
        raise ValueError(f"Depth of input ({x[c]}) is not a multiple of input depth of filter ({cin})")
    out = list(windowed_shape(x, kernel, strides, padding, data_format, dilations))
    out[c] = cout
    return tuple(out)


@Conv3D.lower
def conv3d_lower(input, filter, **conv):
    return _geometry(input.shape, filter.shape, **conv).apply(input, filter)


@Conv3D.grad
def conv3d_grad(op, dy):
    x, w = op.inputs
    attrs = _attrs(op)
    return (
        raw.Conv3DBackpropInputV2(public.shape(x), w, dy, **attrs),
        raw.Conv3DBackpropFilterV2(x, public.shape(w), dy, **attrs),
    )


_SAME = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
_STEP = {"strides": [1, 2, 1, 2, 1], "padding": "SAME"}


@Conv3D.cases
def conv3d_cases(case):
    case([[[[[1.0], [2.0]]]]], [[[[[3.0]]]]], gives=[[[[[3.0], [6.0]]]]], **_SAME)
    case(case.normal(1, 3, 4, 5, 2), case.normal(2, 3, 2, 2, 3), **_STEP)
    case(case.normal(1, 3, 4, 5, 2), case.normal(1, 1, 1, 2, 3), **_STEP)
    case(case.normal(1, 2, 3, 4, 5), case.normal(2, 2, 2, 2, 1), strides=[1, 1, 1, 1, 1], padding="VALID",
         data_format="NCDHW")  # fmt: skip
    case.shapes("[?,8,8,8,3];[3,3,3,3,2]", "[?,4,8,4,2]", **_STEP)
    case.fails("[8,8,8,3];[3,3,3,3,2]", match="must be rank 5 but is rank 4", **_SAME)


Conv3DBackpropInputV2 = op(f"""
    Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T) -> (output: T){_ATTRS}\
      Tshape: {{int32, int64}} = int32

    The gradient of Conv3D with respect to its input.
""")  # fmt: skip


@Conv3DBackpropInputV2.shape
def conv3d_backprop_input_shape(input_sizes, filter, out_backprop, *, ctx):
    return sizes_shape(input_sizes, 5, "input_sizes", ctx)


@Conv3DBackpropInputV2.lower(static="input_sizes")
def conv3d_backprop_input_lower(
    input_sizes, filter, out_backprop, *, strides, padding, data_format, dilations
):
    check_sizes("Conv3DBackpropInputOp", "input_sizes", input_sizes, 5)
    made = _geometry(
        input_sizes,
        filter.shape,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
    )
    check_backprop("Conv3DBackpropInputOp", made, out_backprop)
    return made.input_gradient(filter, out_backprop)


@Conv3DBackpropInputV2.grad
def conv3d_backprop_input_grad(op, ddx):
    w, dy = op.inputs[1], op.inputs[2]
    attrs = _attrs(op)
    return [
        None,
        raw.Conv3DBackpropFilterV2(ddx, public.shape(w), dy, **attrs),
        raw.Conv3D(ddx, w, **attrs),
    ]


@Conv3DBackpropInputV2.cases
def conv3d_backprop_input_cases(case):
    sizes = np.array([1, 3, 4, 5, 2], np.int32)
    case(
        np.array([1, 1, 1, 2, 1], np.int32),
        [[[[[3.0]]]]],
        [[[[[1.0], [2.0]]]]],
        gives=[[[[[3.0], [6.0]]]]],
        **_SAME,
    )
    case(sizes, case.normal(2, 3, 2, 2, 3), case.normal(1, 2, 4, 3, 3), **_STEP)
    case.shapes("[5];?;?", "[1,3,4,5,2]", values={"input_sizes": sizes}, **_STEP)


Conv3DBackpropFilterV2 = op(f"""
    Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T) -> (output: T){_ATTRS}
    The gradient of Conv3D with respect to its filter.
""")  # fmt: skip


@Conv3DBackpropFilterV2.shape
def conv3d_backprop_filter_shape(input, filter_sizes, out_backprop, *, ctx):
    return sizes_shape(filter_sizes, 5, "filter_sizes", ctx)


@Conv3DBackpropFilterV2.lower(static="filter_sizes")
def conv3d_backprop_filter_lower(input, filter_sizes, out_backprop, **conv):
    check_sizes("Conv3DBackpropFilterOp", "filter_sizes", filter_sizes, 5)
    if 0 in tuple(filter_sizes[:3]):
        return jnp.zeros(tuple(filter_sizes), input.dtype)
    made = _geometry(input.shape, filter_sizes, **conv)
    check_backprop("Conv3DBackpropFilterOp", made, out_backprop)
    return made.filter_gradient(input, out_backprop)


@Conv3DBackpropFilterV2.grad
def conv3d_backprop_filter_grad(op, ddw):
    x, dy = op.inputs[0], op.inputs[2]
    attrs = _attrs(op)
    return [
        raw.Conv3DBackpropInputV2(public.shape(x), ddw, dy, **attrs),
        None,
        raw.Conv3D(x, ddw, **attrs),
    ]


@Conv3DBackpropFilterV2.cases
def conv3d_backprop_filter_cases(case):
    sizes = np.array([2, 3, 2, 2, 3], np.int32)
    case(
        [[[[[1.0], [2.0]]]]],
        np.array([1, 1, 1, 1, 1], np.int32),
        [[[[[3.0], [4.0]]]]],
        gives=[[[[[11.0]]]]],
        **_SAME,
    )
    case(case.normal(1, 3, 4, 5, 2), sizes, case.normal(1, 2, 4, 3, 3), **_STEP)
    case.shapes("?;[5];?", "[2,3,2,2,3]", values={"filter_sizes": sizes}, **_STEP)


# -- public functions ---------------------------------------------------------------------------------------


@export("nn.conv3d")
def conv3d(
    input,
    filter=None,
    strides=None,
    padding=None,
    data_format="NDHWC",
    dilations=[1, 1, 1, 1, 1],
    name=None,
    filters=None,
):
    """Returns the three-dimensional correlation of volumes with a filter.

    Args:
      input: Volumes, laid out as `data_format` says.
      filter: A filter, [depth, height, width, in channels, out channels].
      strides: The window's steps, one an axis.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: The steps inside the window, one an axis.
      name: A name for the operation.
      filters: Another name of `filter`.
    """
    filter = renamed("filters", filters, "filter", filter)
    return raw.Conv3D(
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.conv3d_backprop_filter", "nn.conv3d_backprop_filter_v2")
def conv3d_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    data_format="NDHWC",
    dilations=[1, 1, 1, 1, 1],
    name=None,
):
    """Returns the gradient of `conv3d` with respect to its filter.

    Args:
      input: The volumes.
      filter_sizes: The filter's shape.
      out_backprop: The gradient with respect to the output.
      strides: The window's steps, one an axis.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: The steps inside the window, one an axis.
      name: A name for the operation.
    """
    return raw.Conv3DBackpropFilterV2(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.conv3d_transpose")
def conv3d_transpose(
    value,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NDHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """Returns the transpose of a convolution: what its gradient would send back to its input.

    Args:
      value: Volumes, laid out as `data_format` says.
      filter: A filter, [depth, height, width, out channels, in channels].
      output_shape: The shape of the result.
      strides: The window's steps: one number, one for each spatial axis, or one for each axis.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: A name for the operation.
      input: Another name of `value`.
      filters: Another name of `filter`.
      dilations: The steps inside the window, given like `strides`.
    """
    filter = renamed("filters", filters, "filter", filter)
    value = renamed("input", input, "value", value)
    with public.name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NDHWC"
        c = 1 if data_format.startswith("NC") else 4
        return raw.Conv3DBackpropInputV2(
            output_shape,
            filter,
            value,
            strides=one_an_axis(strides, 3, c, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=one_an_axis(dilations, 3, c, "dilations"),
            name=scope,
        )
