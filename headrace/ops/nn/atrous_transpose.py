"""The transpose of an atrous convolution, by space-to-batch."""

from __future__ import annotations

from headrace.export import export
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.nn.names import public, public_nn


def _same(filters, rate):
    """Returns what SAME padding puts before and after each spatial axis."""
    before, after = [], []
    for size in filters.get_shape().as_list()[:2]:
        extra = (size - 1) * rate
        before.append(extra // 2)
        after.append(extra - extra // 2)
    return before, after


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """Returns the transpose of an atrous convolution: what its gradient would send back to its input.

    Args:
      value: Images, [batch, height, width, in channels].
      filters: A filter, [height, width, out channels, in channels].
      output_shape: The shape of the result.
      rate: The steps inside the window.
      padding: "SAME" or "VALID".
      name: A name for the operation.

    Raises:
      ValueError: Shapes do not fit, the rate is less than 1, or the padding is unknown.
    """
    with public.name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]):
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, name="filters")
        depth, filter_depth = value.get_shape()[3], filters.get_shape()[3]
        if not depth.is_compatible_with(filter_depth):
            raise ValueError(
                f"value's input channels does not match filters' input channels, {depth} != {filter_depth}"
            )
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        if rate == 1:
            return public_nn.conv2d_transpose(
                value, filters, output_shape, strides=[1, 1, 1, 1], padding=padding, data_format="NHWC"
            )
        shape = convert_to_tensor(output_shape, name="output_shape")
        if not shape.get_shape().is_compatible_with([4]):
            raise ValueError(f"output_shape must have shape (4,), got {shape.get_shape()}")
        if isinstance(output_shape, (tuple, list)):
            out_depth = filters.get_shape()[2].value
            if out_depth is not None and output_shape[3] != out_depth:
                raise ValueError(
                    f"output_shape does not match filter's output channels, {output_shape[3]} != {out_depth}"
                )
        if padding == "SAME":
            before, after = _same(filters, rate)
        elif padding == "VALID":
            before = after = (0, 0)
        else:
            raise ValueError(f"padding must be either VALID or SAME: {padding}")
        sizes = output_shape if isinstance(output_shape, (tuple, list)) else shape
        height = sizes[1] + before[0] + after[0]
        width = sizes[2] + before[1] + after[1]
        more = [(rate - height % rate) % rate, (rate - width % rate) % rate]
        value = raw.SpaceToBatchND(value, block_shape=[rate, rate], paddings=[[0, more[0]], [0, more[1]]])
        sizes = [rate * rate * sizes[0], (height + more[0]) // rate, (width + more[1]) // rate, sizes[3]]
        value = raw.Conv2DBackpropInput(sizes, filters, value, strides=[1, 1, 1, 1], padding="VALID")
        crops = [[before[0], after[0] + more[0]], [before[1], after[1] + more[1]]]
        return raw.BatchToSpaceND(value, block_shape=[rate, rate], crops=crops)
