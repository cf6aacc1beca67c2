"""Products of matrices and convolutions of quantized numbers."""

# ruff: noqa: B006  (the defaults are the public signature)

from __future__ import annotations

import numpy as np

from headrace.dtypes import qint32
from headrace.export import export
from headrace.opdef import op
from headrace.ops.quantized import numbers
from headrace.ops.quantized.arithmetic import from_zero, quint8
from headrace.ops.quantized.kernels import check_kernel, invalid, one
from headrace.ops.quantized.numbers import QUANTIZED
from headrace.ops.quantized.windows import conv_shape, shape_like, slid
from headrace.shapes import to_text, with_rank

QuantizedMatMul = op(f"""
    QuantizedMatMul(a: T1, b: T2, min_a: float, max_a: float, min_b: float, max_b: float)
        -> (out: Toutput, min_out: float, max_out: float)
      T1: {QUANTIZED}
      T2: {QUANTIZED}
      Toutput: {QUANTIZED} = DT_QINT32
      transpose_a: bool = false
      transpose_b: bool = false
      Tactivation: {QUANTIZED} = DT_QUINT8

    The product of two matrices, as 32-bit numbers.
""")  # fmt: skip


@QuantizedMatMul.shape
def quantized_matmul_shape(a, b, min_a, max_a, min_b, max_b, *, transpose_a, transpose_b):
    out = shape_like("MatMul", a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    for end in (min_a, max_a, min_b, max_b):
        with_rank(end, 0)
    return [out, (), ()]


def exact_matmul(a, b):
    """Returns the product of matrices of 32-bit integers, which wraps around."""
    reach = [int(np.abs(x.astype(np.int64)).max(initial=0)) for x in (a, b)]
    # In float64 sums are exact below 2**53, and much faster.
    if reach[0] * reach[1] * a.shape[-1] < 2**53:
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64).astype(np.int32)
    with np.errstate(over="ignore"):
        return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)


@QuantizedMatMul.host
def quantized_matmul_host(a, b, min_a, max_a, min_b, max_b, *, transpose_a, transpose_b, ctx):
    check_kernel(ctx, {"T1": "quint8", "T2": "quint8", "Toutput": "qint32"})
    min_a, max_a, min_b, max_b = (one(v) for v in (min_a, max_a, min_b, max_b))
    for what, low, high in (("a", min_a, max_a), ("b", min_b, max_b)):
        if not high > low:
            invalid(f"max_{what} must be larger than min_{what}.")
    for position, x in enumerate((a, b)):
        if x.ndim != 2:
            invalid(f"In[{position}] is not a matrix")
    left, right = from_zero(a, min_a, max_a), from_zero(b, min_b, max_b)
    left, right = left.T if transpose_a else left, right.T if transpose_b else right
    if left.shape[1] != right.shape[0]:
        invalid(f"Matrix size-incompatible: In[0]: {to_text(a.shape)}, In[1]: {to_text(b.shape)}")
    return exact_matmul(left, right), *numbers.product_range((min_a, max_a, a.dtype), (min_b, max_b, b.dtype))


@QuantizedMatMul.cases
def quantized_matmul_cases(case):
    a, b = quint8(*range(6)).reshape(2, 3), quint8(*range(250, 256)).reshape(3, 2)
    case(a, b, 0.0, 255.0, 0.0, 255.0)
    case(a, b, -1.0, 1.0, -3.0, 1.0, transpose_a=True, transpose_b=True)
    types = {"T1": "quint8", "T2": "quint8"}
    case.shapes("[2,?];[3,4];[];[];[];[]", "[2,4];[];[]", **types)
    case.fails("[2,3];[4,4];[];[];[];[]", match="Dimensions must be equal, but are 3 and 4", **types)
    case.fails((a, b, 1.0, 0.0, 0.0, 1.0), match="max_a must be larger than min_a.")


QuantizedConv2D = op(f"""
    QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float,
        max_filter: float) -> (output: out_type, min_output: float, max_output: float)
      Tinput: {QUANTIZED}
      Tfilter: {QUANTIZED}
      out_type: {QUANTIZED} = DT_QINT32
      strides: list(int)
      padding: {{"SAME", "VALID"}}
      dilations: list(int) = [1, 1, 1, 1]

    Correlates quantized images with filters, in 32-bit numbers.
""")  # fmt: skip


@QuantizedConv2D.shape
def quantized_conv2d_shape(
    input, filter, min_input, max_input, min_filter, max_filter, *, strides, padding, dilations
):
    if len(strides) != 4:
        raise ValueError(
            f"Conv2D on data format NHWC requires the stride attribute to contain 4 values, but got: {len(strides)}"
        )
    out = conv_shape(input, filter, strides, padding, dilations)
    for end in (min_input, max_input, min_filter, max_filter):
        with_rank(end, 0)
    return [out, (), ()]


@QuantizedConv2D.host
def quantized_conv2d_host(
    input, filter, min_input, max_input, min_filter, max_filter, *, strides, padding, dilations, ctx
):
    check_kernel(ctx, {"Tinput": "quint8", "Tfilter": "quint8", "out_type": "qint32"})
    ends = [one(v) for v in (min_input, max_input, min_filter, max_filter)]
    if any(d != 1 for d in dilations):
        invalid("Current implementation only supports dilated rate as 1 in the row and column dimensions.")
    if strides[1] != strides[2]:
        invalid("Current implementation only supports equal length strides in the row and column dimensions.")
    if filter.ndim != 4:
        invalid(f"filter must be 4-dimensional: {to_text(filter.shape)}")
    if input.ndim == 4 and input.shape[3] != filter.shape[2]:
        invalid(f"input and filter must have the same depth: {input.shape[3]} vs {filter.shape[2]}")
    x, w = from_zero(input, *ends[:2]), from_zero(filter, *ends[2:])
    # Zeros lie around the image, where an 8-bit number can stand for zero; too large ones wrap around.
    zero = int(numbers.numbers_unclamped(np.float32(0), *ends[:2], input.dtype))
    shape, elements = slid(
        x, filter.shape[:2], strides, padding, filler=(zero & 255) - zero if zero > 255 else 0
    )
    n, rows, columns, depth = shape
    count = filter.shape[3]
    out = np.zeros((n * rows * columns, count), np.int32)
    with np.errstate(over="ignore"):
        for part, factors in zip(elements, w.reshape(-1, depth, count), strict=True):
            if out.size:
                out += exact_matmul(part.reshape(-1, depth), factors)
    found = out.reshape(n, rows, columns, count)
    return found, *numbers.product_range((*ends[:2], input.dtype), (*ends[2:], filter.dtype))


_TYPES = {"Tinput": "quint8", "Tfilter": "quint8"}
_SAME = {"strides": [1, 1, 1, 1], "padding": "SAME"}


@QuantizedConv2D.cases
def quantized_conv2d_cases(case):
    x, w = quint8(*range(16)).reshape(1, 4, 4, 1), quint8(*range(8)).reshape(2, 2, 1, 2)
    case(x, w, 0.0, 255.0, 0.0, 255.0, **_SAME)
    case(x, w, -1.0, 255.0, -3.0, 25.0, strides=[1, 2, 2, 1], padding="VALID")
    case.shapes("[?,4,4,1];[2,2,1,3];[];[];[];[]", "[?,4,4,3];[];[]", **_SAME, **_TYPES)
    case.fails("[4,4,1];[2,2,1,3];[];[];[];[]", match="must be rank 4 but is rank 3", **_SAME, **_TYPES)
    case.fails("[1,4,4,1];[2,2,1,3];[1];[];[];[]", match="must be rank 0 but is rank 1", **_SAME, **_TYPES)


@export("nn.quantized_conv2d")
def quantized_conv2d(
    input,
    filter,
    min_input,
    max_input,
    min_filter,
    max_filter,
    strides,
    padding,
    out_type=qint32,
    dilations=[1, 1, 1, 1],
    name=None,
):
    """Correlates quantized images with filters.

    Args:
      input: The images, [batch, height, width, channels].
      filter: The filters, [height, width, channels, filters].
      min_input: The float that the images' lowest number stands for.
      max_input: The float that their highest number stands for.
      min_filter: The float that the filters' lowest number stands for.
      max_filter: The float that their highest number stands for.
      strides: The steps along each axis.
      padding: "SAME" or "VALID".
      out_type: The type of the result.
      dilations: The steps between a filter's elements, which must be 1.
      name: The node's name.

    Returns:
      The numbers, and the ends of their range.
    """
    return QuantizedConv2D(
        input, filter, min_input, max_input, min_filter, max_filter, strides=strides, padding=padding,
        out_type=out_type, dilations=dilations, name=name,
    )  # fmt: skip
