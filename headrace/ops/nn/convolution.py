"""Convolutions of any number of spatial axes, dilated ones by way of space-to-batch, and separable ones."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.export import export
from headrace.opdef import constant_value, convert_to_tensor, raw
from headrace.ops.nn.names import public, public_nn, renamed


@export("nn.with_space_to_batch")
def with_space_to_batch(
    input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None
):
    """Applies an operation with dilated windows: space is interleaved into the batch, and back after.

    Args:
      input: A tensor, batch first.
      dilation_rate: The dilation along each spatial axis.
      padding: "SAME" or "VALID".
      op: Called as `op(converted, num_spatial_dims, padding)`; applies the windows undilated.
      filter_shape: The windows' shape, spatial axes first; only "SAME" needs it.
      spatial_dims: The spatial axes, ascending; by default those after the batch.
      data_format: The layout; one that starts with "NC" has the spatial axes after the channels.

    Raises:
      ValueError: Shapes, axes or rates do not fit.
    """
    input = convert_to_tensor(input, name="input")
    rate = convert_to_tensor(dilation_rate, "int32", name="dilation_rate")
    rank_of_rate = rate._dims
    if rank_of_rate is not None and len(rank_of_rate) != 1:
        raise ValueError("rate must be rank 1")
    if rank_of_rate is None or rank_of_rate[0] is None:
        raise ValueError("rate must have known static shape")
    n = rank_of_rate[0]
    start = 2 if data_format is not None and data_format.startswith("NC") else 1
    spatial_dims = range(start, n + start) if spatial_dims is None else spatial_dims
    axes = list(spatial_dims)
    if any(b <= a for a, b in itertools.pairwise(axes)) or any(a < 1 for a in axes):
        raise ValueError("spatial_dims must be a monotonically increasing sequence of positive integers")
    last = axes[-1]
    needed = last + 1 if start == 2 else last + 2
    if input._dims is not None and len(input._dims) < needed - (0 if start == 2 else 1):
        raise ValueError(f"input tensor must have rank {last + 1} at least")
    known = constant_value(rate)
    if known is not None:
        if (known < 1).any():
            raise ValueError("dilation_rate must be positive")
        if (known == 1).all():
            return op(input, n, padding)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for SAME padding")
        base = _same_paddings(filter_shape, rate, known, n)
    elif padding == "VALID":
        base = np.zeros([n, 2], np.int32)
    else:
        raise ValueError(f"Invalid padding method {padding!r}")
    dims = input._dims
    sizes = None if dims is None else [dims[a] for a in axes]
    if sizes is None or None in sizes:
        shape = public.shape(input)
        sizes = public.stack([shape[a] for a in axes])
    paddings, crops = public.required_space_to_batch_paddings(
        input_shape=sizes, base_paddings=base, block_shape=rate
    )
    block = _at_axes(rate, axes, 1)
    paddings = _at_axes(paddings, axes, 0)
    crops = _at_axes(crops, axes, 0)
    interleaved = public.space_to_batch_nd(input=input, block_shape=block, paddings=paddings)
    result = op(interleaved, n, "VALID")
    result = public.batch_to_space_nd(input=result, block_shape=block, crops=crops)
    if dims is not None and result._dims is not None:
        merged = list(result._dims)
        merged[0] = dims[0] if merged[0] is None else merged[0]
        result.set_shape(merged)
    return result


def _same_paddings(filter_shape, rate, known, n):
    """Returns the padding, [n, 2], that makes dilated windows cover everything."""
    filter_shape = convert_to_tensor(filter_shape, name="filter_shape")
    sizes = constant_value(filter_shape)
    if sizes is not None:
        filter_shape = sizes
    spatial = filter_shape[:n]
    extra = (spatial - 1) * (rate if known is None else known)
    before = extra // 2
    after = extra - before
    return public.stack([[before[i], after[i]] for i in range(n)])


def _at_axes(values, axes, fill):
    """Spreads one row a spatial axis to one row an axis after the batch, with `fill` for the rest.

    What is known is laid out here; what is not becomes a concatenation.
    """
    known = constant_value(values)
    filler = np.full([1, *values._dims[1:]], fill, np.int32)
    parts = []
    at, taken = 1, 0
    while taken < len(axes):
        gap = axes[taken] - at
        if gap > 0:
            parts.append(np.repeat(filler, gap, axis=0))
        run = 1
        while taken + run < len(axes) and axes[taken + run] == axes[taken] + run:
            run += 1
        parts.append(known[taken : taken + run] if known is not None else values[taken : taken + run])
        at = axes[taken] + run
        taken += run
    if known is not None:
        return np.concatenate(parts)
    return public.concat(parts, 0)


@export("nn.convolution")
def convolution(
    input,
    filter,
    padding,
    strides=None,
    dilation_rate=None,
    name=None,
    data_format=None,
    filters=None,
    dilations=None,
):
    """Returns the correlation of sequences, images or volumes with a filter, strided or dilated.

    Args:
      input: A tensor of three, four or five axes.
      filter: A filter, its spatial axes first, then in and out channels.
      padding: "SAME" or "VALID".
      strides: The window's steps along each spatial axis.
      dilation_rate: The steps inside the window along each spatial axis.
      name: A name for the operation.
      data_format: The layout; by default channels last.
      filters: Another name of `filter`.
      dilations: Another name of `dilation_rate`.

    Raises:
      ValueError: Shapes, strides or dilations do not fit.
    """
    filter = renamed("filters", filters, "filter", filter)
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    with public.name_scope(name, "convolution", [input, filter]) as scope:
        input = convert_to_tensor(input, name="input")
        filter = convert_to_tensor(filter, name="filter")
        n = _spatial_rank(input, filter)
        channels_first = data_format is not None and data_format.startswith("NC")
        strides, dilation_rate = _steps(n, strides, dilation_rate)

        def apply(converted, _, effective_padding):
            return _plain(converted, filter, n, strides, effective_padding, data_format, scope)

        if all(d == 1 for d in dilation_rate):
            return apply(input, n, padding)
        return with_space_to_batch(
            input,
            dilation_rate,
            padding,
            apply,
            filter_shape=filter.shape
            if filter._dims is not None and None not in filter._dims
            else public.shape(filter),
            spatial_dims=range(2, n + 2) if channels_first else range(1, n + 1),
            data_format=data_format,
        )


def _spatial_rank(input, filter):
    rank = None if input._dims is None else len(input._dims)
    filter_rank = None if filter._dims is None else len(filter._dims)
    if rank is not None and filter_rank is not None and rank != filter_rank:
        raise ValueError(f"Shape {input.shape} must have rank {filter_rank}")
    known = rank if rank is not None else filter_rank
    if known is None:
        raise ValueError("rank of input or filter must be known")
    if known - 2 not in (1, 2, 3):
        raise ValueError(f"num_spatial_dims ({known - 2}) must be 1, 2, or 3")
    return known - 2


def _steps(n, strides, dilation_rate):
    if dilation_rate is None:
        dilation_rate = [1] * n
    elif len(dilation_rate) != n:
        raise ValueError(f"len(dilation_rate)={len(dilation_rate)} but should be {n}")
    if strides is None:
        strides = [1] * n
    elif len(strides) != n:
        raise ValueError(f"len(strides)={len(strides)} but should be {n}")
    if any(s < 1 for s in strides):
        raise ValueError("all values of strides must be positive")
    if any(d < 1 for d in dilation_rate):
        raise ValueError("all values of dilation_rate must be positive")
    if any(s > 1 for s in strides) and any(d > 1 for d in dilation_rate):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return list(strides), list(dilation_rate)


def _plain(input, filter, n, strides, padding, data_format, name):
    """Adds the undilated convolution of n spatial axes."""
    if n == 1:
        return conv1d(input, filter, strides[0], padding, data_format=data_format or "NWC", name=name)
    if n == 2:
        data_format = data_format or "NHWC"
        full = [1, *strides, 1] if data_format == "NHWC" else [1, 1, *strides]
        return raw.Conv2D(input, filter, strides=full, padding=padding, data_format=data_format, name=name)
    data_format = data_format or "NDHWC"
    full = [1, *strides, 1] if data_format == "NDHWC" else [1, 1, *strides]
    return raw.Conv3D(input, filter, strides=full, padding=padding, data_format=data_format, name=name)


@export("nn.atrous_conv2d")
def atrous_conv2d(value, filters, rate, padding, name=None):
    """Returns the correlation of images with a filter whose elements are `rate` pixels apart.

    Args:
      value: Images, channels last.
      filters: A filter, [height, width, in channels, out channels].
      rate: The dilation along both axes.
      padding: "SAME" or "VALID".
      name: A name for the operation.
    """
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


@export("nn.conv1d")
def conv1d(
    value=None,
    filters=None,
    stride=None,
    padding=None,
    use_cudnn_on_gpu=None,
    data_format=None,
    name=None,
    input=None,
    dilations=None,
):
    """Returns the one-dimensional correlation of sequences with a filter.

    Args:
      value: Sequences, [batch, width, channels] or, with "NCW", [batch, channels, width].
      filters: A filter, [width, in channels, out channels].
      stride: The window's step.
      padding: "SAME" or "VALID".
      use_cudnn_on_gpu: Kept for compatibility.
      data_format: "NWC" or "NCW", also spelled "NHWC" and "NCHW".
      name: A name for the operation.
      input: Another name of `value`.
      dilations: The step inside the window.

    Raises:
      ValueError: `data_format` is none of those.
    """
    value = renamed("input", input, "value", value)
    with public.name_scope(name, "conv1d", [value, filters]) as scope:
        layouts = {None: "NHWC", "NWC": "NHWC", "NHWC": "NHWC", "NCW": "NCHW", "NCHW": "NCHW"}
        if data_format not in layouts:
            raise ValueError('data_format must be "NWC" or "NCW".')
        layout = layouts[data_format]
        at, c = (1, 2) if layout == "NHWC" else (2, 1)
        steps = _one_dimensional(stride, c, at, "stride")
        dilation = _one_dimensional(dilations, c, at, "dilations")
        image = public.expand_dims(value, at)
        kernel = public.expand_dims(filters, 0)
        result = raw.Conv2D(
            image,
            kernel,
            strides=steps,
            padding=padding,
            use_cudnn_on_gpu=True if use_cudnn_on_gpu is None else use_cudnn_on_gpu,
            data_format=layout,
            dilations=dilation,
            name=scope,
        )
        return public.squeeze(result, [at])


def _one_dimensional(value, channel_index, at, name):
    """Returns a step along one axis as one number an axis of the image of height 1."""
    from headrace.ops.nn.conv2d import one_an_axis

    full = one_an_axis(value, 1, channel_index, name)
    return [*full[:at], 1, *full[at:]]


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None, name=None
):
    """Returns the transpose of a one-dimensional convolution.

    Args:
      input: Sequences, laid out as `data_format` says.
      filters: A filter, [width, out channels, in channels].
      output_shape: The shape of the result.
      strides: The window's step.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      dilations: The step inside the window.
      name: A name for the operation.

    Raises:
      ValueError: `data_format` is neither.
    """
    with public.name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        layouts = {None: "NHWC", "NWC": "NHWC", "NHWC": "NHWC", "NCW": "NCHW", "NCHW": "NCHW"}
        if data_format not in layouts:
            raise ValueError('data_format must be "NWC" or "NCW".')
        layout = layouts[data_format]
        at, c = (1, 2) if layout == "NHWC" else (2, 1)
        image = public.expand_dims(input, at)
        kernel = public.expand_dims(filters, 0)
        output_shape = list(output_shape) if not hasattr(output_shape, "op") else output_shape
        shape = public.concat([output_shape[:at], [1], output_shape[at:]], 0)
        result = raw.Conv2DBackpropInput(
            shape,
            kernel,
            image,
            strides=_one_dimensional(strides, c, at, "strides"),
            padding=padding,
            data_format=layout,
            dilations=_one_dimensional(dilations, c, at, "dilations"),
            name=scope,
        )
        return public.squeeze(result, at)


@export("nn.conv_transpose")
def conv_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None
):
    """Returns the transpose of a convolution of one, two or three spatial axes.

    Args:
      input: A tensor of three, four or five axes.
      filters: A filter, its spatial axes first, then out and in channels.
      output_shape: The shape of the result, which says how many axes there are.
      strides: The window's steps.
      padding: "SAME" or "VALID".
      data_format: The layout; by default channels last.
      dilations: The steps inside the window.
      name: A name for the operation.

    Raises:
      ValueError: The number of axes is another.
    """
    with public.name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        dims = getattr(output_shape, "_dims", None)
        n = (len(output_shape) if not hasattr(output_shape, "op") else dims[0]) - 2
        transposes = {
            1: (conv1d_transpose, "NWC"),
            2: (public_nn.conv2d_transpose, "NHWC"),
            3: (public_nn.conv3d_transpose, "NDHWC"),
        }
        if n not in transposes:
            raise ValueError("`output_shape` must be of length 3, 4 or 5 but was {}.".format(n + 2))  # noqa: UP032
        function, default = transposes[n]
        return function(
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=data_format or default,
            dilations=dilations,
            name=scope,
        )


@export("nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input, filter, strides, padding, data_format="NHWC", dilations=[1, 1, 1, 1], name=None  # noqa: B006
):  # fmt: skip
    """Returns the correlation of each channel with filters of its own.

    Args:
      input: Images, laid out as `data_format` says.
      filter: A filter, [height, width, in channels, multiplier].
      strides: The window's steps, one an axis.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: The steps inside the window, one an axis.
      name: A name for the operation.
    """
    return raw.DepthwiseConv2dNative(
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.depthwise_conv2d_backprop_input", "nn.depthwise_conv2d_native_backprop_input")
def depthwise_conv2d_backprop_input(
    input_sizes, filter, out_backprop, strides, padding, data_format="NHWC", dilations=[1, 1, 1, 1], name=None  # noqa: B006
):  # fmt: skip
    """Returns the gradient of `depthwise_conv2d_native` with respect to its input.

    Args:
      input_sizes: The input's shape.
      filter: The filter.
      out_backprop: The gradient with respect to the output.
      strides: The window's steps, one an axis.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: The steps inside the window, one an axis.
      name: A name for the operation.
    """
    return raw.DepthwiseConv2dNativeBackpropInput(
        input_sizes,
        filter,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.depthwise_conv2d_backprop_filter", "nn.depthwise_conv2d_native_backprop_filter")
def depthwise_conv2d_backprop_filter(
    input, filter_sizes, out_backprop, strides, padding, data_format="NHWC", dilations=[1, 1, 1, 1], name=None  # noqa: B006
):  # fmt: skip
    """Returns the gradient of `depthwise_conv2d_native` with respect to its filter.

    Args:
      input: The images.
      filter_sizes: The filter's shape.
      out_backprop: The gradient with respect to the output.
      strides: The window's steps, one an axis.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      dilations: The steps inside the window, one an axis.
      name: A name for the operation.
    """
    return raw.DepthwiseConv2dNativeBackpropFilter(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export("nn.depthwise_conv2d")
def depthwise_conv2d(
    input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None
):  # fmt: skip
    """Returns the correlation of each channel with filters of its own, which may be dilated.

    Args:
      input: Images, laid out as `data_format` says.
      filter: A filter, [height, width, in channels, multiplier].
      strides: The window's steps, one an axis.
      padding: "SAME" or "VALID".
      rate: The dilation along the two spatial axes.
      name: A name for the operation.
      data_format: "NHWC" or "NCHW".
      dilations: Another name of `rate`.
    """
    rate = renamed("dilations", dilations, "rate", rate)
    with public.name_scope(name, "depthwise", [input, filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")
        return _dilated_depthwise(
            input, filter, strides, padding, [1, 1] if rate is None else rate, data_format, scope
        )


def _dilated_depthwise(input, filter, strides, padding, rate, data_format, name):
    def apply(converted, _, effective_padding):
        return raw.DepthwiseConv2dNative(
            converted, filter, strides=strides, padding=effective_padding, data_format=data_format, name=name
        )

    return with_space_to_batch(
        input, rate, padding, apply, filter_shape=public.shape(filter), data_format=data_format
    )


@export("nn.separable_conv2d")
def separable_conv2d(
    input,
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    rate=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """Returns a depthwise convolution followed by one of single pixels.

    Args:
      input: Images, laid out as `data_format` says.
      depthwise_filter: A filter, [height, width, in channels, multiplier].
      pointwise_filter: A filter, [1, 1, in channels * multiplier, out channels].
      strides: The depthwise window's steps, one an axis.
      padding: "SAME" or "VALID".
      rate: The dilation along the two spatial axes.
      name: A name for the operation.
      data_format: "NHWC" or "NCHW".
      dilations: Another name of `rate`.

    Raises:
      ValueError: The filters' shapes do not fit.
    """
    rate = renamed("dilations", dilations, "rate", rate)
    with public.name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        dims = pointwise_filter._dims
        if dims is not None:
            if len(dims) != 4:
                raise ValueError(f"Shape {pointwise_filter.shape} must have rank 4")
            for d in dims[:2]:
                if d not in (None, 1):
                    raise ValueError(f"Dimensions {d} and 1 are not compatible")
        depthwise = _dilated_depthwise(
            input,
            depthwise_filter,
            strides,
            padding,
            [1, 1] if rate is None else rate,
            data_format,
            "depthwise",
        )
        return raw.Conv2D(
            depthwise,
            pointwise_filter,
            strides=[1, 1, 1, 1],
            padding="VALID",
            data_format=data_format or "NHWC",
            name=scope,
        )
