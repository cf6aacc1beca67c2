"""Joining and reshaping quantized numbers."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.opdef import op, raw
from headrace.ops.quantized import numbers
from headrace.ops.quantized.arithmetic import quint8
from headrace.ops.quantized.kernels import check_kernel, invalid, one
from headrace.ops.quantized.windows import shape_like
from headrace.shapes import with_rank

_F = np.float32
_ROWS = tuple({"T": t} for t in ("qint32", "quint8"))

QuantizedConcat = op("""
    QuantizedConcat(concat_dim: int32, values: N * T, input_mins: N * float, input_maxes: N * float)
        -> (output: T, output_min: float, output_max: float)
      N: int >= 2
      T: type

    Joins quantized numbers, in a range that holds those of all.
""")  # fmt: skip


@QuantizedConcat.shape
def quantized_concat_shape(concat_dim, values, input_mins, input_maxes, *, ctx):
    out = shape_like("Concat", concat_dim, values, ctx=ctx)
    for end in (*input_mins, *input_maxes):
        with_rank(end, 0)
    return [out, (), ()]


def _common(lows, highs, dtype):
    low, high = min(_F(0), min(lows)), max(highs)
    if numbers.bounds(dtype)[0] == 0:
        return low, high
    largest = max(abs(low), abs(high))
    return -largest, largest


@QuantizedConcat.host
def quantized_concat_host(concat_dim, values, input_mins, input_maxes, *, ctx):
    check_kernel(ctx, *_ROWS)
    rank = values[0].ndim
    if np.ndim(concat_dim) == 0 and not 0 <= concat_dim < rank:
        invalid(
            f"ConcatOp : Expected concatenating dimensions in the range [0, {rank}), but got {int(concat_dim)}"
        )
    lows, highs = [one(v) for v in input_mins], [one(v) for v in input_maxes]
    low, high = _common(lows, highs, values[0].dtype)
    moved = [
        v if (a, b) == (low, high) else numbers.numbers_fast(numbers.floats_fast(v, a, b), low, high, v.dtype)
        for v, a, b in zip(values, lows, highs, strict=True)
    ]
    return raw.Concat.rule("host")(concat_dim, moved), low, high


@QuantizedConcat.cases
def quantized_concat_cases(case):
    x, y = quint8(0, 1, 255), quint8(0, 128)
    case(np.int32(0), (x, y), (0.0, 0.0), (1.0, 1.0), gives=([0, 1, 255, 0, 128], 0.0, 1.0))
    case(np.int32(0), (x, y), (-1.0, 0.0), (1.0, 3.0))
    case.shapes(
        "[];[2,3];[2,?];[];[];[];[]", "[2,?];[];[]", N=2, T="quint8", values={"concat_dim": np.int32(1)}
    )


@export("quantized_concat", "quantization.quantized_concat")
def quantized_concat(concat_dim, values, input_mins, input_maxes, name=None):
    """Joins quantized numbers of several ranges.

    Args:
      concat_dim: The axis along which they are joined.
      values: The numbers.
      input_mins: The float that the lowest number of each stands for.
      input_maxes: The float that the highest number of each stands for.
      name: The node's name.

    Returns:
      The numbers, and the ends of their range.
    """
    return QuantizedConcat(concat_dim, values, input_mins, input_maxes, name=name)


QuantizedReshape = op("""
    QuantizedReshape(tensor: T, shape: Tshape, input_min: float, input_max: float)
        -> (output: T, output_min: float, output_max: float)
      T: type
      Tshape: {int32, int64} = DT_INT32

    Reshape of quantized numbers; what they mean stays as it is.
""")  # fmt: skip


@QuantizedReshape.shape
def quantized_reshape_shape(tensor, shape, input_min, input_max, *, ctx):
    out = shape_like("Reshape", tensor, shape, ctx=ctx)
    with_rank(input_min, 0)
    with_rank(input_max, 0)
    return [out, (), ()]


@QuantizedReshape.host
def quantized_reshape_host(tensor, shape, input_min, input_max, *, ctx):
    check_kernel(ctx, *_ROWS)
    if np.ndim(shape) != 1:
        invalid(f"sizes input must be 1-D, not {list(np.shape(shape))}")
    return raw.Reshape.rule("host")(tensor, shape), one(input_min), one(input_max)


@QuantizedReshape.cases
def quantized_reshape_cases(case):
    case(quint8(0, 1, 2, 3), np.array([2, -1], np.int32), -1.0, 1.0,
         gives=([[0, 1], [2, 3]], -1.0, 1.0))  # fmt: skip
    case.shapes("[2,3];[2];[];[]", "[3,2];[];[]", T="quint8", values={"shape": np.array([3, -1], np.int32)})
