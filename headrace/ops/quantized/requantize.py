"""Quantized numbers of one range as those of another."""

from __future__ import annotations

import numpy as np

from headrace.opdef import op
from headrace.ops.quantized import numbers
from headrace.ops.quantized.kernels import check_kernel, invalid, one
from headrace.ops.quantized.numbers import QUANTIZED
from headrace.shapes import with_rank

_F = np.float32

Requantize = op(f"""
    Requantize(input: Tinput, input_min: float, input_max: float, requested_output_min: float,
        requested_output_max: float) -> (output: out_type, output_min: float, output_max: float)
      Tinput: {QUANTIZED}
      out_type: {QUANTIZED}

    The same floats as numbers of a smaller type and another range.
""")  # fmt: skip


@Requantize.shape
def requantize_shape(input, input_min, input_max, requested_output_min, requested_output_max):
    for end in (input_min, input_max, requested_output_min, requested_output_max):
        with_rank(end, 0)
    return [input, (), ()]


@Requantize.host
def requantize_host(
    input, input_min, input_max, requested_output_min, requested_output_max, *, out_type, ctx
):
    check_kernel(ctx, {"Tinput": "qint32", "out_type": "qint8"}, {"Tinput": "qint32", "out_type": "quint8"})
    low, high = one(requested_output_min), one(requested_output_max)
    if low > 0:
        invalid(f"requested_output_min must be <= 0, but got {low:g}")
    if high < low:
        invalid(f"requested_output_max must be >= requested_output_min, but got {high:g} and {low:g}")
    found = numbers.requantized(input, one(input_min), one(input_max), low, high, out_type.storage)
    return found, low, high


_NUMBERS = np.array([-(2**30), -1, 0, 2**30], np.int32).view([("qint32", np.int32)])


@Requantize.cases
def requantize_cases(case):
    case(_NUMBERS, -2.0, 2.0, -1.0, 1.0, out_type="quint8")
    case(_NUMBERS, -2.0, 2.0, -1.0, 1.0, out_type="qint8")
    case.shapes("[2,?];[];[];[];[]", "[2,?];[];[]", Tinput="qint32", out_type="quint8")
    case.fails(
        "[2];[1];[];[];[]", match="Shape must be rank 0 but is rank 1", Tinput="qint32", out_type="quint8"
    )


RequantizationRange = op(f"""
    RequantizationRange(input: Tinput, input_min: float, input_max: float)
        -> (output_min: float, output_max: float)
      Tinput: {QUANTIZED}

    The range that the given numbers take up, down to zero.
""")  # fmt: skip


@RequantizationRange.shape
def requantization_range_shape(input, input_min, input_max):
    with_rank(input_min, 0)
    with_rank(input_max, 0)
    return [(), ()]


def _used(input, low, high):
    # Of no numbers the least is the greatest there is, and the greatest the least.
    first, last = numbers.bounds(input.dtype)
    least, greatest = (input.min(), input.max()) if input.size else (last, first)
    ends = [numbers.floats_exact(v, low, high, input.dtype) for v in (least, greatest)]
    return min(_F(0), ends[0]), ends[1]


@RequantizationRange.host
def requantization_range_host(input, input_min, input_max, *, ctx):
    check_kernel(ctx, {"Tinput": "qint32"})
    return _used(input, one(input_min), one(input_max))


@RequantizationRange.cases
def requantization_range_cases(case):
    case(_NUMBERS, -2.0, 2.0, gives=(-1.0, 1.0))
    case.shapes("[2,?];[];[]", "[];[]", Tinput="qint32")


QuantizeDownAndShrinkRange = op(f"""
    QuantizeDownAndShrinkRange(input: Tinput, input_min: float, input_max: float)
        -> (output: out_type, output_min: float, output_max: float)
      Tinput: {QUANTIZED}
      out_type: {QUANTIZED}

    RequantizationRange and Requantize in one.
""")  # fmt: skip


@QuantizeDownAndShrinkRange.shape
def quantize_down_and_shrink_range_shape(input, input_min, input_max):
    with_rank(input_min, 0)
    with_rank(input_max, 0)
    return [input, (), ()]


@QuantizeDownAndShrinkRange.host
def quantize_down_and_shrink_range_host(input, input_min, input_max, *, out_type, ctx):
    check_kernel(ctx, {"Tinput": "qint32", "out_type": "quint8"})
    low, high = one(input_min), one(input_max)
    used = _used(input, low, high)
    return numbers.requantized(input, low, high, *used, out_type.storage), *used


@QuantizeDownAndShrinkRange.cases
def quantize_down_and_shrink_range_cases(case):
    case(_NUMBERS, -2.0, 2.0, out_type="quint8")
    case.shapes("[2,?];[];[]", "[2,?];[];[]", Tinput="qint32", out_type="quint8")
