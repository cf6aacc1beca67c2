"""From floats to quantized numbers and back."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.opdef import op
from headrace.ops.quantized import numbers
from headrace.ops.quantized.kernels import invalid, one
from headrace.ops.quantized.numbers import QUANTIZED, bounds, rounded
from headrace.shapes import with_rank

_F = np.float32

QuantizeV2 = op(f"""
    QuantizeV2(input: float, min_range: float, max_range: float)
        -> (output: T, output_min: float, output_max: float)
      T: {QUANTIZED}
      mode: {{"MIN_COMBINED", "MIN_FIRST", "SCALED"}} = "MIN_COMBINED"
      round_mode: {{"HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"}} = "HALF_AWAY_FROM_ZERO"

    The numbers that stand for floats of a range, and that range, which always holds zero.
""")  # fmt: skip


@QuantizeV2.shape
def quantize_v2_shape(input, min_range, max_range):
    with_rank(min_range, 0)
    with_rank(max_range, 0)
    return [input, (), ()]


def _range(low, high):
    if high < low:
        invalid("input_max_range must be larger than input_min_range.")
    # Ends that are too close together are moved apart.
    apart = max(_F(1), max(abs(low), abs(high))) / _F(100)
    start = min(_F(0), low)
    return start, max(_F(0), max(high, start + apart))


def _scaled_range(low, high, dtype):
    """Returns the range that SCALED uses: whole steps from zero, the lowest and the highest number at the ends."""
    first, last = bounds(dtype)
    largest = np.finfo(_F).max
    from_low = _F(_F(first) / low) if first * float(low) > 0 else largest
    from_high = _F(_F(last) / high) if last * float(high) > 0 else largest
    scale = min(from_low, from_high)
    return _F(_F(first) / scale), _F(_F(last) / scale), scale


def _cast(x, dtype):
    """Converts by way of 32 bits, as processors do: what is too large becomes the least number."""
    with np.errstate(invalid="ignore"):
        return _through_32_bits(x).astype(np.int64).astype(dtype)


def _through_32_bits(x):
    return np.where(np.abs(x) < _F(2**31), x, _F(-(2**31)))


@QuantizeV2.host
def quantize_v2_host(input, min_range, max_range, *, T, mode, round_mode):
    dtype = T.storage
    low, high = _range(one(min_range, "min_range"), one(max_range, "max_range"))
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        invalid(f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'.")
    if mode == "MIN_FIRST":
        return numbers.numbers_fast(input, low, high, dtype), low, high
    if mode == "SCALED":
        low, high, scale = _scaled_range(low, high, dtype)
        x = np.maximum(np.minimum(input, high), low) * scale
        return _cast(np.rint(x) if round_mode == "HALF_TO_EVEN" else rounded(x), dtype), low, high
    first, last = bounds(dtype)
    scale = _F((float(last) - float(first)) / float(high - low))
    x = (np.maximum(np.minimum(input, high), low) - low) * scale
    if first:
        half = _F((float(last) - float(first) + 1) / 2)
        return _cast(rounded(x - half), dtype), low, high
    return _cast(np.trunc(x + _F(0.5)), dtype), low, high


@QuantizeV2.cases
def quantize_v2_cases(case):
    x = [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]
    case(x, -1.0, 1.0, T="quint8", mode="MIN_FIRST")
    case(x, -1.0, 1.0, T="qint8", mode="SCALED", round_mode="HALF_TO_EVEN")
    case(x, -1.0, 1.0, T="qint16")
    case.shapes("[2,?];[];[]", "[2,?];[];[]", T="quint8")
    case.fails("[2];[1];[]", match="Shape must be rank 0 but is rank 1", T="quint8")
    case.fails((x, 1.0, -1.0), match="input_max_range must be larger than input_min_range", T="quint8")
    case.fails((x, -1.0, 1.0), match="Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED'", T="quint8",
               round_mode="HALF_TO_EVEN")  # fmt: skip


Dequantize = op(f"""
    Dequantize(input: T, min_range: float, max_range: float) -> (output: float)
      T: {QUANTIZED}
      mode: {{"MIN_COMBINED", "MIN_FIRST", "SCALED"}} = "MIN_COMBINED"

    The floats that quantized numbers stand for.
""")  # fmt: skip


@Dequantize.shape
def dequantize_shape(input, min_range, max_range):
    with_rank(min_range, 0)
    with_rank(max_range, 0)
    return input


@Dequantize.host
def dequantize_host(input, min_range, max_range, *, mode):
    low, high = one(min_range, "min_range"), one(max_range, "max_range")
    first, last = bounds(input.dtype)
    x = input.astype(_F)
    if mode == "MIN_COMBINED":
        half = _F((float(last) - float(first) + 1) / 2) if first else _F(0)
        scale = _F(float(high - low) / (float(last) - float(first)))
        return (x + half) * scale + low
    if mode == "MIN_FIRST":
        return numbers.floats_fast(input, low, high)
    scale = high / _F(last)
    if first:
        scale = max(low / _F(first), scale)
    return _through_32_bits(x) * scale


@Dequantize.cases
def dequantize_cases(case):
    x = np.array([-128, -1, 0, 127], np.int8).view([("qint8", np.int8)])
    case(x, -1.0, 1.0)
    case(x, -1.0, 1.0, mode="MIN_FIRST")
    case(x, -1.0, 1.0, mode="SCALED")
    case.shapes("[2,?];[];[]", "[2,?]", T="quint8")
    case.fails("[2];[1];[]", match="Shape must be rank 0 but is rank 1", T="quint8")


@export("dequantize", "quantization.dequantize")
def dequantize(input, min_range, max_range, mode="MIN_COMBINED", name=None):
    """Returns the floats that quantized numbers stand for.

    Args:
      input: The quantized numbers.
      min_range: The float that the lowest number stands for.
      max_range: The float that the highest number stands for.
      mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED": how the range is cut into levels.
      name: The node's name.
    """
    return Dequantize(input, min_range, max_range, mode=mode, name=name)


@export("quantize_v2")
def quantize_v2(
    input,
    min_range,
    max_range,
    T,
    mode="MIN_COMBINED",
    name=None,
    round_mode="HALF_AWAY_FROM_ZERO",
):
    """Quantizes floats; the older name of `tf.quantization.quantize`.

    Args:
      input: The floats.
      min_range: The lowest float that can be told apart.
      max_range: The highest one.
      T: The quantized type.
      mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED": how the range is cut into levels.
      name: The node's name.
      round_mode: "HALF_AWAY_FROM_ZERO" or, for SCALED, "HALF_TO_EVEN".

    Returns:
      The numbers, and the ends of their range.
    """
    return QuantizeV2(input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name)


@export("quantize", "quantization.quantize")
def quantize(
    input,
    min_range,
    max_range,
    T,
    mode="MIN_COMBINED",
    round_mode="HALF_AWAY_FROM_ZERO",
    name=None,
):
    """Quantizes floats.

    Args:
      input: The floats.
      min_range: The lowest float that can be told apart.
      max_range: The highest one.
      T: The quantized type.
      mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED": how the range is cut into levels.
      round_mode: "HALF_AWAY_FROM_ZERO" or, for SCALED, "HALF_TO_EVEN".
      name: The node's name.

    Returns:
      The numbers, and the ends of their range.
    """
    return quantize_v2(input, min_range, max_range, T, mode=mode, round_mode=round_mode, name=name)
