"""Normalization of quantized images."""

from __future__ import annotations

import numpy as np

from headrace.opdef import op
from headrace.ops.quantized import numbers
from headrace.ops.quantized.arithmetic import quint8
from headrace.ops.quantized.kernels import check_kernel, invalid, one
from headrace.ops.quantized.numbers import QUANTIZED
from headrace.shapes import merge_dim, with_rank

_F = np.float32

QuantizedInstanceNorm = op(f"""
    QuantizedInstanceNorm(x: T, x_min: float, x_max: float) -> (y: T, y_min: float, y_max: float)
      T: {QUANTIZED}
      output_range_given: bool = false
      given_y_min: float = 0
      given_y_max: float = 0
      variance_epsilon: float = 1e-5
      min_separation: float = 1e-3

    Gives each channel of each image the mean 0 and the variance 1.
""")  # fmt: skip


@QuantizedInstanceNorm.shape
def quantized_instance_norm_shape(x, x_min, x_max):
    if x is not None:
        with_rank(x, 4)
    with_rank(x_min, 0)
    with_rank(x_max, 0)
    return [x, (), ()]


@QuantizedInstanceNorm.host
def quantized_instance_norm_host(
    x,
    x_min,
    x_max,
    *,
    output_range_given,
    given_y_min,
    given_y_max,
    variance_epsilon,
    min_separation,
    ctx,
):
    check_kernel(ctx, {"T": "quint8"})
    low, high = one(x_min), one(x_max)
    if not low < high:
        invalid(f"input_min must be less than input_max : {low:g} >= {high:g}")
    if output_range_given and not given_y_min < given_y_max:
        invalid(f"given_y_min must be less than given_y_max : {given_y_min:g} >= {given_y_max:g}")
    if x.size == 0:
        return x, _F(given_y_min), _F(given_y_max)
    floats = numbers.floats_fast(x, low, high)
    mean = floats.mean((1, 2), keepdims=True, dtype=_F)
    apart = floats - mean
    variance = (apart * apart).mean((1, 2), keepdims=True, dtype=_F)
    y = apart * (_F(1) / np.sqrt(variance + _F(variance_epsilon)))
    if output_range_given:
        ends = _F(given_y_min), _F(given_y_max)
    else:
        ends = _F(y.min()), _F(y.max())
        ends = ends[0], max(ends[1], ends[0] + _F(min_separation))
    return numbers.numbers_fast(y, *ends, x.dtype), *ends


@QuantizedInstanceNorm.cases
def quantized_instance_norm_cases(case):
    x = quint8(*range(0, 240, 20)).reshape(1, 2, 3, 2)
    case(x, 0.0, 10.0)
    case(x, 0.0, 10.0, output_range_given=True, given_y_min=-1.0, given_y_max=1.0)
    case.shapes("[?,2,?,2];[];[]", "[?,2,?,2];[];[]", T="quint8")
    case.fails("[2,2];[];[]", match="must be rank 4 but is rank 2", T="quint8")


_PARTS = ("t", "m", "v", "beta", "gamma")
_OPERANDS = ", ".join(f"{p}: Tinput, {p}_min: float, {p}_max: float" for p in _PARTS)

QuantizedBatchNormWithGlobalNormalization = op(f"""
    QuantizedBatchNormWithGlobalNormalization({_OPERANDS})
        -> (result: out_type, result_min: float, result_max: float)
      Tinput: {QUANTIZED}
      out_type: {QUANTIZED}
      variance_epsilon: float
      scale_after_normalization: bool

    Normalizes with a mean and a variance that are given, in 32-bit fixed point.
""")  # fmt: skip


@QuantizedBatchNormWithGlobalNormalization.shape
def quantized_batch_norm_shape(
    t, t_min, t_max, m, m_min, m_max, v, v_min, v_max, beta, beta_min, beta_max, gamma, gamma_min, gamma_max
):
    t = with_rank(t, 4)
    depth = t[3]
    for part in (m, v, beta, gamma):
        depth = merge_dim(depth, with_rank(part, 1)[0])
    return [(*t[:3], depth), (), ()]


# Floats up to a million with ten binary places behind the point.
_ENDS = _F(-(1 << 20)), _F(1 << 20)


@QuantizedBatchNormWithGlobalNormalization.host
def quantized_batch_norm_host(
    t,
    t_min,
    t_max,
    m,
    m_min,
    m_max,
    v,
    v_min,
    v_max,
    beta,
    beta_min,
    beta_max,
    gamma,
    gamma_min,
    gamma_max,
    *,
    variance_epsilon,
    scale_after_normalization,
    ctx,
):
    check_kernel(ctx, {"Tinput": "quint8", "out_type": "qint32"})
    if t.ndim != 4:
        invalid(f"input must be 4-dimensional{list(t.shape)}")
    for what, part in (("mean", m), ("var", v), ("beta", beta), ("gamma", gamma)):
        if part.ndim != 1:
            invalid(f"{what} must be 1-dimensional{list(part.shape)}")
        if part.size != t.shape[3]:
            invalid(f"Must provide as many elements of {what} as channels: {part.size} vs. {t.shape[3]}")
    mean, variance, offset, factor = (
        numbers.floats_exact(q, one(low), one(high), q.dtype)
        for q, low, high in (
            (m, m_min, m_max),
            (v, v_min, v_max),
            (beta, beta_min, beta_max),
            (gamma, gamma_min, gamma_max),
        )
    )
    root = np.sqrt(variance + _F(variance_epsilon))
    scale = factor / root if scale_after_normalization else _F(1) / root
    offset = -mean * scale + offset

    def fixed(x):
        return numbers.numbers_exact(x, *_ENDS, np.int32)

    x = fixed(numbers.floats_exact(t, one(t_min), one(t_max), t.dtype))
    with np.errstate(over="ignore"):
        product = x * fixed(scale)
        unit = fixed(_F(1))
        found = np.trunc(product / np.float64(unit)).astype(np.int32) + fixed(offset)
    return found, *_ENDS


@QuantizedBatchNormWithGlobalNormalization.cases
def quantized_batch_norm_cases(case):
    x = quint8(*range(0, 240, 20)).reshape(1, 2, 3, 2)
    row = quint8(100, 200)
    ranges = [v for part in (x, row, row, row, row) for v in (part, 0.0, 10.0)]
    attrs = {"out_type": "qint32", "variance_epsilon": 0.001}
    case(*ranges, scale_after_normalization=True, **attrs)
    case(*ranges, scale_after_normalization=False, **attrs)
    case.shapes("[?,2,?,2];[];[];" + ";".join(["[2];[];[]"] * 4), "[?,2,?,2];[];[]", Tinput="quint8",
                scale_after_normalization=True, **attrs)  # fmt: skip
