"""Sums and products of quantized numbers."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.opdef import op
from headrace.ops.quantized import numbers
from headrace.ops.quantized.kernels import check_kernel, invalid, one
from headrace.ops.quantized.numbers import QUANTIZED
from headrace.shapes import with_rank

_TYPES = {"T1": "quint8", "T2": "quint8", "Toutput": "qint32"}
_BINARY = f"""(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float)
        -> (z: Toutput, min_z: float, max_z: float)
      T1: {QUANTIZED}
      T2: {QUANTIZED}
      Toutput: {QUANTIZED} = DT_QINT32

"""


def _binary_shape(x, y, min_x, max_x, min_y, max_y):
    return [shapes.broadcast(x, y), (), ()]


def _ends(*ends, names=("x", "y")):
    """Returns the ends of two ranges, checked."""
    min_x, max_x, min_y, max_y = (one(v) for v in ends)
    for what, name, low, high in (("x", names[0], min_x, max_x), ("y", names[1], min_y, max_y)):
        if not high > low:
            invalid(f"max_{what} must be larger than min_{name}.")
    return min_x, max_x, min_y, max_y


def _check_broadcast(x, y):
    try:
        shapes.broadcast(x.shape, y.shape)
    except ValueError:
        invalid(f"Incompatible shapes: {shapes.to_text(x.shape)} vs. {shapes.to_text(y.shape)}")


def _add_shape(x, y, *ends):
    for end in ends:
        with_rank(end, 0)
    return _binary_shape(x, y, *ends)


QuantizedAdd = op(f"""
    QuantizedAdd{_BINARY}
    The sums of numbers of two ranges, as 32-bit numbers of a range that they fit in.
""", shape=_add_shape)  # fmt: skip


@QuantizedAdd.host
def quantized_add_host(x, y, min_x, max_x, min_y, max_y, *, ctx):
    check_kernel(ctx, _TYPES)
    min_x, max_x, min_y, max_y = _ends(min_x, max_x, min_y, max_y)
    _check_broadcast(x, y)
    low, high = numbers.sum_range((min_x, max_x), (min_y, max_y))

    def moved(q, first, last):
        if q.size == 1:
            return numbers.numbers_exact(numbers.floats_exact(q, first, last, q.dtype), low, high, np.int32)
        # One step is rounded to a whole number of the new, finer steps, and the others are multiples of it.
        floats = numbers.floats_exact(np.arange(2), first, last, q.dtype)
        zero, unit = numbers.numbers_exact(floats, low, high, np.int32)
        return zero + q.astype(np.int32) * (unit - zero)

    with np.errstate(over="ignore"):
        return moved(x, min_x, max_x) + moved(y, min_y, max_y), low, high


def quint8(*values):
    """Returns an operand of a case."""
    return np.array(values, np.uint8).view([("quint8", np.uint8)])


@QuantizedAdd.cases
def quantized_add_cases(case):
    case(quint8(0, 128, 255), quint8(1, 2, 3), 0.0, 1.0, -1.0, 1.0)
    case.shapes("[2,?];[3];[];[];[];[]", "[2,3];[];[]", T1="quint8", T2="quint8")
    case.fails("[2];[3];[];[];[];[]", match="Dimensions must be equal", T1="quint8", T2="quint8")
    case.fails((quint8(1), quint8(1), 1.0, 1.0, 0.0, 1.0), match="max_x must be larger than min_x")


QuantizedMul = op(f"""
    QuantizedMul{_BINARY}
    The products of numbers of two ranges, as 32-bit numbers.
""", shape=_binary_shape)  # fmt: skip


@QuantizedMul.host
def quantized_mul_host(x, y, min_x, max_x, min_y, max_y, *, ctx):
    check_kernel(ctx, _TYPES)
    min_x, max_x, min_y, max_y = _ends(min_x, max_x, min_y, max_y, names=("a", "b"))
    _check_broadcast(x, y)
    found = from_zero(x, min_x, max_x) * from_zero(y, min_y, max_y)
    return found, *numbers.product_range((min_x, max_x, x.dtype), (min_y, max_y, y.dtype))


def from_zero(q, low, high):
    """Returns 32-bit numbers that are counted from the one that stands for zero."""
    zero = np.int64(numbers.numbers_unclamped(_F(0), low, high, q.dtype)).astype(np.int32)
    with np.errstate(over="ignore"):
        return q.astype(np.int32) - zero


_F = np.float32


@QuantizedMul.cases
def quantized_mul_cases(case):
    case(quint8(0, 128, 255), quint8(1, 2, 3), 0.0, 1.0, -1.0, 1.0)
    case.shapes("[2,?];[3];[];[];[];[]", "[2,3];[];[]", T1="quint8", T2="quint8")
    case.fails((quint8(1), quint8(1), 0.0, 1.0, 1.0, 0.0), match="max_y must be larger than min_b")


QuantizedBiasAdd = op(f"""
    QuantizedBiasAdd(input: T1, bias: T2, min_input: float, max_input: float, min_bias: float, max_bias: float)
        -> (output: out_type, min_out: float, max_out: float)
      T1: {QUANTIZED}
      T2: {QUANTIZED}
      out_type: {QUANTIZED}

    Adds a bias for each element of the last axis.
""")  # fmt: skip


@QuantizedBiasAdd.shape
def quantized_bias_add_shape(input, bias, min_input, max_input, min_bias, max_bias):
    input = shapes.with_rank_at_least(input, 2)
    (n,) = with_rank(bias, 1)
    for end in (min_input, max_input, min_bias, max_bias):
        with_rank(end, 0)
    if input is None:
        return [None, (), ()]
    return [(*input[:-1], shapes.merge_dim(input[-1], n)), (), ()]


@QuantizedBiasAdd.host
def quantized_bias_add_host(input, bias, min_input, max_input, min_bias, max_bias, *, ctx):
    check_kernel(ctx, *({"T1": t, "T2": t, "out_type": "qint32"} for t in ("qint8", "quint8")))
    ends = [one(v) for v in (min_input, max_input, min_bias, max_bias)]
    if input.ndim < 2:
        invalid(f"Input tensor must be at least 2D: {shapes.to_text(input.shape)}")
    if bias.ndim != 1:
        invalid(f"Biases must be 1D: {shapes.to_text(bias.shape)}")
    if bias.size != input.shape[-1]:
        invalid(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{shapes.to_text(bias.shape)} vs. {shapes.to_text(input.shape)}"
        )
    low, high = numbers.sum_range(ends[:2], ends[2:], room=1 << 17)
    zero = numbers.numbers_exact(_F(0), low, high, np.int32)

    def moved(q, first, last):
        return numbers.numbers_fast(numbers.floats_fast(q, first, last), low, high, np.int32)

    return moved(input, *ends[:2]) + moved(bias, *ends[2:]) + zero, low, high


@QuantizedBiasAdd.cases
def quantized_bias_add_cases(case):
    case(quint8(0, 1, 128, 255).reshape(2, 2), quint8(1, 2), 0.0, 1.0, -1.0, 1.0, out_type="qint32")
    case.shapes("[2,?];[3];[];[];[];[]", "[2,3];[];[]", T1="quint8", T2="quint8", out_type="qint32")
