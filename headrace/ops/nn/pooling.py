"""TensorFlow's public pooling functions."""

from __future__ import annotations

from headrace.export import export
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.nn.conv2d import one_an_axis
from headrace.ops.nn.names import public, public_nn, renamed


def _channel(data_format, rank):
    return 1 if data_format.startswith("NC") else rank + 1


@export("nn.max_pool")
def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """Returns the greatest element of every window.

    Args:
      value: Images, laid out as `data_format` says.
      ksize: The window's size: one number, one for each spatial axis, or one for each axis.
      strides: Its steps, given like `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      name: A name for the operation.
      input: Another name of `value`.
    """
    value = renamed("input", input, "value", value)
    return _pool_2d(raw.MaxPool, "MaxPool", value, ksize, strides, padding, data_format, name)


@export("nn.max_pool2d")
def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """Returns the greatest element of every window.

    Args:
      input: Images, laid out as `data_format` says.
      ksize: The window's size: one number, one for each spatial axis, or one for each axis.
      strides: Its steps, given like `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      name: A name for the operation.
    """
    return _pool_2d(raw.MaxPool, "MaxPool2d", input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool", "nn.avg_pool2d")
def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """Returns the mean of every window.

    Args:
      value: Images, laid out as `data_format` says.
      ksize: The window's size: one number, one for each spatial axis, or one for each axis.
      strides: Its steps, given like `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW".
      name: A name for the operation.
      input: Another name of `value`.
    """
    value = renamed("input", input, "value", value)
    return _pool_2d(raw.AvgPool, "AvgPool", value, ksize, strides, padding, data_format, name)


def _pool_2d(kind, default_name, value, ksize, strides, padding, data_format, name):
    with public.name_scope(name, default_name, [value]) as scope:
        data_format = data_format or "NHWC"
        c = _channel(data_format, 2)
        ksize = one_an_axis(ksize, 2, c, "ksize")
        strides = one_an_axis(strides, 2, c, "strides")
        return kind(value, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=scope)


@export("nn.max_pool1d")
def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Returns the greatest element of every window along one axis.

    Args:
      input: Sequences, [batch, width, channels] or, with "NCW", [batch, channels, width].
      ksize: The window's size.
      strides: Its step.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      name: A name for the operation.
    """
    return _pool_1d(raw.MaxPool, "MaxPool1d", input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool1d")
def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Returns the mean of every window along one axis.

    Args:
      input: Sequences, [batch, width, channels] or, with "NCW", [batch, channels, width].
      ksize: The window's size.
      strides: Its step.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      name: A name for the operation.
    """
    return _pool_1d(raw.AvgPool, "AvgPool1D", input, ksize, strides, padding, data_format, name)


def _pool_1d(kind, default_name, input, ksize, strides, padding, data_format, name):
    """Pools sequences as images of height 1."""
    with public.name_scope(name, default_name, [input]) as scope:
        data_format = data_format or "NWC"
        c = _channel(data_format, 1)
        at = 2 if c == 1 else 1
        ksize = one_an_axis(ksize, 1, c, "ksize")
        strides = one_an_axis(strides, 1, c, "strides")
        image = public.expand_dims(input, at)
        result = kind(
            image,
            ksize=[*ksize[:at], 1, *ksize[at:]],
            strides=[*strides[:at], 1, *strides[at:]],
            padding=padding,
            data_format="NCHW" if c == 1 else "NHWC",
            name=scope,
        )
        return public.squeeze(result, at)


@export("nn.max_pool3d")
def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Returns the greatest element of every window of volumes.

    Args:
      input: Volumes, laid out as `data_format` says.
      ksize: The window's size: one number, one for each spatial axis, or one for each axis.
      strides: Its steps, given like `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: A name for the operation.
    """
    return _pool_3d(raw.MaxPool3D, "MaxPool3D", input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool3d")
def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Returns the mean of every window of volumes.

    Args:
      input: Volumes, laid out as `data_format` says.
      ksize: The window's size: one number, one for each spatial axis, or one for each axis.
      strides: Its steps, given like `ksize`.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: A name for the operation.
    """
    return _pool_3d(raw.AvgPool3D, "AvgPool3D", input, ksize, strides, padding, data_format, name)


def _pool_3d(kind, default_name, input, ksize, strides, padding, data_format, name):
    with public.name_scope(name, default_name, [input]) as scope:
        data_format = data_format or "NDHWC"
        c = _channel(data_format, 3)
        ksize = one_an_axis(ksize, 3, c, "ksize")
        strides = one_an_axis(strides, 3, c, "strides")
        return kind(input, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=scope)


@export("nn.max_pool_v2")
def max_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """Returns the greatest element of every window, of sequences, images or volumes.

    Args:
      input: A tensor of three, four or five axes.
      ksize: The window's size: one number, one for each spatial axis, or one for each axis.
      strides: Its steps, given like `ksize`.
      padding: "SAME" or "VALID".
      data_format: The layout; by default channels last.
      name: A name for the operation.

    Raises:
      ValueError: `input` has another number of axes.
    """
    pools = {1: max_pool1d, 2: max_pool, 3: max_pool3d}
    return _by_rank(pools, input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool_v2")
def avg_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """Returns the mean of every window, of sequences, images or volumes.

    Args:
      input: A tensor of three, four or five axes.
      ksize: The window's size: one number, one for each spatial axis, or one for each axis.
      strides: Its steps, given like `ksize`.
      padding: "SAME" or "VALID".
      data_format: The layout; by default channels last.
      name: A name for the operation.

    Raises:
      ValueError: `input` has another number of axes.
    """
    pools = {1: avg_pool1d, 2: avg_pool, 3: avg_pool3d}
    return _by_rank(pools, input, ksize, strides, padding, data_format, name)


def _by_rank(pools, input, ksize, strides, padding, data_format, name):
    rank = None if input._dims is None else len(input._dims)
    n = len(data_format) - 2 if rank is None and data_format is not None else (rank or 0) - 2
    if not 1 <= n <= 3:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {n + 2}.")
    default = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[n]
    return pools[n](input, ksize, strides, padding, data_format or default, name=name)


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    Targmax=None,
    name=None,
    output_dtype=None,
    include_batch_in_index=False,
):
    """Returns the greatest element of every window, and where in the flattened image it is.

    Args:
      input: Images, channels last.
      ksize: The window's size, one an axis.
      strides: Its steps, one an axis.
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      Targmax: The type of the places, int32 or int64.
      name: A name for the operation.
      output_dtype: Another name of `Targmax`.
      include_batch_in_index: Counts places over the whole batch, not in each image.

    Raises:
      ValueError: `data_format` is not "NHWC", or the type is given twice.
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    places = renamed("output_dtype", output_dtype, "Targmax", Targmax)
    return raw.MaxPoolWithArgmax(
        input,
        ksize=ksize,
        strides=strides,
        padding=padding,
        Targmax="int64" if places is None else places,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


@export("nn.pool")
def pool(
    input,
    window_shape,
    pooling_type,
    padding,
    dilation_rate=None,
    strides=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """Returns a pooling of sequences, images or volumes, of windows that may be dilated.

    Args:
      input: A tensor of three, four or five axes.
      window_shape: The window's size along each spatial axis.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilation_rate: The steps inside the window along each spatial axis.
      strides: The window's steps along each spatial axis.
      name: A name for the operation.
      data_format: The layout; by default channels last.
      dilations: Another name of `dilation_rate`.

    Raises:
      ValueError: Strides and dilations are both not 1, or "SAME" is asked for with dilations.
    """
    dilation_rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    with public.name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        n = len(window_shape)
        if n not in (1, 2, 3):
            raise ValueError("`num_spatial_dims` must be 1, 2, or 3 but was %s" % n)  # noqa: UP031
        strides = [1] * n if strides is None else list(strides)
        dilation_rate = [1] * n if dilation_rate is None else list(dilation_rate)
        if any(s > 1 for s in strides) and any(d > 1 for d in dilation_rate):
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        if padding == "SAME" and any(d > 1 for d in dilation_rate):
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if n > 1 and pooling_type == "MAX":
            for w, s in zip(window_shape, strides, strict=True):
                if s > w:
                    raise ValueError("strides > window_shape not supported due to inconsistency between CPU and GPU "
                                     "implementations")  # fmt: skip
        pools = {
            ("MAX", 1): max_pool1d, ("MAX", 2): max_pool, ("MAX", 3): max_pool3d,
            ("AVG", 1): avg_pool1d, ("AVG", 2): avg_pool, ("AVG", 3): avg_pool3d,
        }  # fmt: skip
        if (pooling_type, n) not in pools:
            raise ValueError(f"{n}-d {pooling_type} pooling not supported.")
        channels_first = data_format is not None and data_format.startswith("NC")
        layout = data_format or {1: "NWC", 2: "NHWC", 3: "NDHWC"}[n]

        def apply(converted, _, effective_padding):
            full = lambda v: [1, 1, *v] if channels_first else [1, *v, 1]  # noqa: E731
            return pools[pooling_type, n](
                converted,
                full(window_shape),
                full(strides),
                effective_padding,
                data_format=layout,
                name=scope,
            )

        return public_nn.with_space_to_batch(
            input,
            dilation_rate,
            padding,
            apply,
            filter_shape=window_shape,
            spatial_dims=range(2, n + 2) if channels_first else range(1, n + 1),
        )
