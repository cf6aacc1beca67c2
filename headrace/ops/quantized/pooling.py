"""Pooling of quantized images."""

from __future__ import annotations

import numpy as np

from headrace.errors import UnimplementedError
from headrace.export import export
from headrace.opdef import op
from headrace.ops.quantized.arithmetic import quint8
from headrace.ops.quantized.kernels import check_kernel, one
from headrace.ops.quantized.numbers import QUANTIZED
from headrace.ops.quantized.windows import shape_like, slid
from headrace.shapes import with_rank

_REST = f"""(input: T, min_input: float, max_input: float)
        -> (output: T, min_output: float, max_output: float)
      T: {QUANTIZED}
      ksize: list(int)
      strides: list(int)
      padding: {{"SAME", "VALID"}}

"""


def _shape_of(name):
    def shape(input, min_input, max_input, *, ksize, strides, padding):
        with_rank(input, 4)
        for what, values in (("stride", strides), ("ksize", ksize)):
            if len(values) != 4:
                raise ValueError(
                    f"{name} requires the {what} attribute to contain 4 values, but got: {len(values)}"
                )
        out = shape_like(name, input, ksize=ksize, strides=strides, padding=padding, data_format="NHWC")
        with_rank(min_input, 0)
        with_rank(max_input, 0)
        return [out, (), ()]

    return shape


def _slid(x, ksize, strides, padding):
    if len(ksize) != 4 or ksize[0] != 1 or strides[0] != 1:
        raise UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
    if ksize[3] != 1 or strides[3] != 1:
        raise UnimplementedError(None, None, "Pooling of quantized numbers is not supported across depth.")
    return slid(x, ksize[1:3], strides, padding)


QuantizedAvgPool = op(f"""
    QuantizedAvgPool{_REST}
    The mean of every window, of what lies inside, rounded down.
""", shape=_shape_of("AvgPool"))  # fmt: skip


@QuantizedAvgPool.host
def quantized_avg_pool_host(input, min_input, max_input, *, ksize, strides, padding, ctx):
    check_kernel(ctx, {"T": "quint8"})
    shape, elements = _slid(input.astype(np.int32), ksize, strides, padding)
    total = np.zeros(shape, np.int32)
    for part in elements:
        total += part
    shape, elements = _slid(np.ones((1, *input.shape[1:3], 1), np.int32), ksize, strides, padding)
    counts = sum(elements, np.zeros(shape, np.int32))
    return (total // np.maximum(counts, 1)).astype(input.dtype), one(min_input), one(max_input)


QuantizedMaxPool = op(f"""
    QuantizedMaxPool{_REST}
    The greatest number of every window.
""", shape=_shape_of("MaxPool"))  # fmt: skip


@QuantizedMaxPool.host
def quantized_max_pool_host(input, min_input, max_input, *, ksize, strides, padding, ctx):
    check_kernel(ctx, {"T": "quint8"})
    shape, elements = _slid(input, ksize, strides, padding)
    out = np.zeros(shape, input.dtype)
    for part in elements:
        out = np.maximum(out, part)
    return out, one(min_input), one(max_input)


def _cases(case):
    x = quint8(*range(16)).reshape(1, 4, 4, 1)
    case(x, -1.0, 1.0, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="VALID")
    case(x, -1.0, 1.0, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
    case.shapes("[?,4,4,1];[];[]", "[?,2,2,1];[];[]", T="quint8", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
                padding="SAME")  # fmt: skip
    case.fails("[4,4,1];[];[]", match="must be rank 4 but is rank 3", T="quint8", ksize=[1, 2, 2, 1],
               strides=[1, 2, 2, 1], padding="SAME")  # fmt: skip


QuantizedAvgPool.cases(_cases)
QuantizedMaxPool.cases(_cases)


@export("nn.quantized_avg_pool")
def quantized_avg_pool(input, min_input, max_input, ksize, strides, padding, name=None):
    """Returns the mean of every window of quantized images.

    Args:
      input: The images, [batch, height, width, channels].
      min_input: The float that the lowest number stands for.
      max_input: The float that the highest number stands for.
      ksize: The window's size along each axis.
      strides: Its steps.
      padding: "SAME" or "VALID".
      name: The node's name.

    Returns:
      The numbers, and the ends of their range.
    """
    return QuantizedAvgPool(
        input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name
    )


@export("nn.quantized_max_pool")
def quantized_max_pool(input, min_input, max_input, ksize, strides, padding, name=None):
    """Returns the greatest number of every window of quantized images.

    Args:
      input: The images, [batch, height, width, channels].
      min_input: The float that the lowest number stands for.
      max_input: The float that the highest number stands for.
      ksize: The window's size along each axis.
      strides: Its steps.
      padding: "SAME" or "VALID".
      name: The node's name.

    Returns:
      The numbers, and the ends of their range.
    """
    return QuantizedMaxPool(
        input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name
    )
