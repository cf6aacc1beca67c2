"""Ops for which TensorFlow has kernels in builds with Intel's MKL only: graphs may hold them, no CPU runs them."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.opdef import op, raw
from headrace.ops.quantized.kernels import no_kernel
from headrace.ops.quantized.numbers import QUANTIZED
from headrace.ops.quantized.windows import conv_shape, shape_like
from headrace.shapes import with_rank

_SOURCES = f"""      Tinput: {QUANTIZED}
      Tfilter: {QUANTIZED}
"""
_FLOAT_OR_NUMBER = "      Tbias: {float, qint32}\n"
_SUMMAND = f"      Tsummand: {QUANTIZED}\n"
_WINDOW = """      strides: list(int)
      padding: {"SAME", "VALID"}
      dilations: list(int) = [1, 1, 1, 1]
"""
_PADDED = _WINDOW + "      padding_list: list(int) = []\n"
_FACTORS = f"""      T1: {QUANTIZED}
      T2: {QUANTIZED}
"""
_TRANSPOSED = """      transpose_a: bool = false
      transpose_b: bool = false
      input_quant_mode: {"MIN_FIRST", "SCALED"} = "MIN_FIRST"
"""
_FROZEN = "min_freezed_output: float, max_freezed_output: float"


def _ranges(a, b):
    return f"min_{a}: float, max_{a}: float, min_{b}: float, max_{b}: float"


def _refused(signature, attrs, what, shape):
    """Declares an op that no CPU runs."""
    made = op(f"""
    {signature}
{attrs}
    {what}; TensorFlow's own kernels on the CPU do not have it.
    """, shape=shape)  # fmt: skip

    @made.host
    def host(*operands, ctx):
        no_kernel(ctx)

    @made.cases
    def cases(case):
        @case.program
        def is_built_and_refused(step):
            step(
                made.node(*map(_zeros, made.signature.inputs), **_attrs_of(made)).outputs[0],
                fails=InvalidArgumentError,
                match=f"No OpKernel was registered to support Op '{made.name}'",
            )

    return made


# The operands of a node that is built and then refused.
_SHAPES = {
    "input": (1, 4, 4, 5),
    "filter": (1, 1, 5, 5),
    "summand": (1, 4, 4, 5),
    "a": (2, 5),
    "b": (5, 5),
    "bias": (5,),
}


def _zeros(operand):
    shape = _SHAPES.get(operand.name, (5,) if operand.name in ("input_min", "input_max") else ())
    if operand.type_attr is None or operand.type_attr == "Tbias":
        return raw.Const(value=np.zeros(shape, np.float32), dtype="float32")
    wide = operand.type_attr == "T"
    return raw.Const(
        value=np.zeros(shape, np.int32 if wide else np.uint8), dtype="qint32" if wide else "quint8"
    )


def _attrs_of(made):
    needed = {"strides": [1, 1, 1, 1], "padding": "SAME", "clip_value_max": 1.0}
    return {name: value for name, value in needed.items() if name in made.signature.attrs}


def _convolution(name, *, bias="", frozen=False, summand="", window=_PADDED, out="QINT32", shape=None, what):
    """Declares a convolution with what comes after it."""
    operands = ["input: Tinput", "filter: Tfilter"] + ([f"bias: {bias}"] if bias else [])
    operands += [_ranges("input", "filter")] + ([_FROZEN] if frozen else [])
    if summand:
        operands += [f"summand: {summand}"]
        operands += ["min_summand: float, max_summand: float"] if summand == "Tsummand" else []
    attrs = _SOURCES + (_FLOAT_OR_NUMBER if bias == "Tbias" else "")
    attrs += _SUMMAND if summand == "Tsummand" else ""
    attrs += f"      out_type: {QUANTIZED} = DT_{out}\n" + window
    results = "output: out_type, min_output: float, max_output: float"
    return _refused(
        f"{name}({', '.join(operands)}) -> ({results})", attrs, what, shape or _conv_shape(bool(bias), frozen)
    )


def _conv_shape(has_bias, frozen, all_scalar=False):
    def shape(input, filter, *rest, strides, padding, dilations):
        out = conv_shape(input, filter, strides, padding, dilations)
        ranges = rest[1:] if has_bias else rest
        if has_bias:
            with_rank(rest[0], 1)
        scalars = ranges[: 4 if all_scalar else 2] + (ranges[4:6] if frozen else ())
        for end in scalars:
            with_rank(end, 0)
        # Filters may have a range each, and then so has what comes of them.
        end = () if frozen else ranges[3]
        return [out, end, end]

    return shape


def _depthwise_shape(has_bias):
    def shape(input, filter, *rest, strides, padding, dilations):
        out = shape_like(
            "DepthwiseConv2dNative", input, filter, strides=strides, padding=padding, data_format="NHWC",
            dilations=dilations,
        )  # fmt: skip
        if has_bias:
            with_rank(rest[0], 1)
        return [out, None, None]

    return shape


_CONV = "QuantizedConv2D"
_DEPTHWISE = "QuantizedDepthwiseConv2D"
_THEN = "A convolution of quantized numbers, then "

QuantizedConv2DAndRelu = _convolution(_CONV + "AndRelu", what=_THEN + "a rectifier")
QuantizedConv2DAndReluAndRequantize = _convolution(
    _CONV + "AndReluAndRequantize", frozen=True, out="QUINT8", what=_THEN + "a rectifier and a smaller type"
)
QuantizedConv2DAndRequantize = _convolution(
    _CONV + "AndRequantize",
    frozen=True,
    out="QINT8",
    shape=_conv_shape(False, frozen=True, all_scalar=True),
    what=_THEN + "a smaller type",
)
QuantizedConv2DPerChannel = _convolution(
    _CONV + "PerChannel",
    window=_WINDOW,
    shape=_conv_shape(False, frozen=False),
    what="A convolution of quantized numbers with a range for each filter",
)
QuantizedConv2DWithBias = _convolution(_CONV + "WithBias", bias="float", what=_THEN + "a bias")
QuantizedConv2DWithBiasAndRelu = _convolution(
    _CONV + "WithBiasAndRelu", bias="float", what=_THEN + "a bias and a rectifier"
)
QuantizedConv2DWithBiasAndReluAndRequantize = _convolution(
    _CONV + "WithBiasAndReluAndRequantize",
    bias="Tbias",
    frozen=True,
    out="QUINT8",
    what=_THEN + "a bias, a rectifier and a smaller type",
)
QuantizedConv2DWithBiasAndRequantize = _convolution(
    _CONV + "WithBiasAndRequantize",
    bias="Tbias",
    frozen=True,
    out="QINT8",
    what=_THEN + "a bias and a smaller type",
)
QuantizedConv2DWithBiasSumAndRelu = _convolution(
    _CONV + "WithBiasSumAndRelu", bias="float", summand="float", what=_THEN + "a bias, a sum and a rectifier"
)
QuantizedConv2DWithBiasSumAndReluAndRequantize, QuantizedConv2DWithBiasSignedSumAndReluAndRequantize = (
    _convolution(
        f"{_CONV}WithBias{sign}SumAndReluAndRequantize",
        bias="Tbias",
        frozen=True,
        summand="Tsummand",
        out="QUINT8",
        what=_THEN + "a bias, a sum, a rectifier and a smaller type",
    )
    for sign in ("", "Signed")
)
QuantizedDepthwiseConv2D = _convolution(
    _DEPTHWISE, window=_WINDOW, shape=_depthwise_shape(False), what="A convolution of each channel by itself"
)
QuantizedDepthwiseConv2DWithBias, QuantizedDepthwiseConv2DWithBiasAndRelu = (
    _convolution(
        _DEPTHWISE + "WithBias" + then,
        bias="float",
        window=_WINDOW,
        shape=_depthwise_shape(True),
        what="A convolution of each channel by itself, then a bias" + (" and a rectifier" if then else ""),
    )
    for then in ("", "AndRelu")
)
QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize = _convolution(
    _DEPTHWISE + "WithBiasAndReluAndRequantize",
    bias="Tbias",
    frozen=True,
    window=_WINDOW,
    out="QUINT8",
    shape=_depthwise_shape(False),
    what="A convolution of each channel by itself, then a bias, a rectifier and a smaller type",
)


def _matmul(name, *, bias, frozen=False, out="QINT32", what):
    def shape(a, b, bias, *ends, transpose_a, transpose_b):
        out = shape_like("MatMul", a, b, transpose_a=transpose_a, transpose_b=transpose_b)
        with_rank(bias, 1)
        for end in ends:
            with_rank(end, 0)
        return [out, (), ()]

    operands = ", ".join(["a: T1, b: T2", f"bias: {bias}", _ranges("a", "b")] + ([_FROZEN] if frozen else []))
    attrs = _FACTORS + (_FLOAT_OR_NUMBER if bias == "Tbias" else "")
    attrs += f"      Toutput: {QUANTIZED} = DT_{out}\n" + _TRANSPOSED
    results = "out: Toutput, min_out: float, max_out: float"
    return _refused(f"{name}({operands}) -> ({results})", attrs, what, shape)


_PRODUCT = "The product of matrices of quantized numbers, then a bias"

QuantizedMatMulWithBias = _matmul("QuantizedMatMulWithBias", bias="Tbias", what=_PRODUCT)
QuantizedMatMulWithBiasAndRelu = _matmul(
    "QuantizedMatMulWithBiasAndRelu", bias="float", what=_PRODUCT + " and a rectifier"
)
QuantizedMatMulWithBiasAndReluAndRequantize = _matmul(
    "QuantizedMatMulWithBiasAndReluAndRequantize",
    bias="Tbias",
    frozen=True,
    out="QUINT8",
    what=_PRODUCT + ", a rectifier and a smaller type",
)


def _per_channel_shape(input, input_min, input_max, *ends):
    with_rank(input_min, 1)
    with_rank(input_max, 1)
    return [input, (), ()]


RequantizePerChannel = _refused(
    "RequantizePerChannel(input: T, input_min: float, input_max: float, requested_output_min: float, "
    "requested_output_max: float) -> (output: out_type, output_min: float, output_max: float)",
    f"      T: {QUANTIZED} = DT_QINT32\n      out_type: {QUANTIZED} = DT_QUINT8\n",
    "Requantize with a range for each channel",
    _per_channel_shape,
)
RequantizationRangePerChannel = _refused(
    "RequantizationRangePerChannel(input: T, input_min: float, input_max: float) "
    "-> (output_min: float, output_max: float)",
    f"      T: {QUANTIZED} = DT_QINT32\n      clip_value_max: float\n",
    "RequantizationRange with a range for each channel",
    lambda *operands: _per_channel_shape(*operands)[1:],
)
