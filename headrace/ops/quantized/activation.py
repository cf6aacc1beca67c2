"""Rectifiers of quantized numbers."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import quint8
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.opdef import op, raw
from headrace.ops.quantized import numbers
from headrace.ops.quantized.kernels import check_kernel, no_kernel, one
from headrace.ops.quantized.numbers import QUANTIZED
from headrace.shapes import with_rank

_REST = f"""min_features: float, max_features: float)
        -> (activations: out_type, min_activations: float, max_activations: float)
      Tinput: {QUANTIZED}
      out_type: {QUANTIZED} = DT_QUINT8

"""
_ROWS = tuple({"Tinput": t, "out_type": t} for t in ("qint32", "quint8"))


def _shape(features, min_features, max_features):
    with_rank(min_features, 0)
    with_rank(max_features, 0)
    return [features, (), ()]


def _clipped(features, ends, top=None):
    ends = [one(v) for v in ends]

    def number(x):
        return numbers.numbers_exact(np.float32(x), *ends, features.dtype)

    out = np.maximum(features, number(0))
    return out if top is None else np.minimum(out, number(top)), *ends


QuantizedRelu = op(f"""
    QuantizedRelu(features: Tinput, {_REST}
    Replaces negative floats by zero.
""", shape=_shape)  # fmt: skip


@QuantizedRelu.host
def quantized_relu_host(features, min_features, max_features, *, ctx):
    check_kernel(ctx, *_ROWS)
    out = _clipped(features, (min_features, max_features))
    return out if len(out) == 3 else (out[0], *out[1:])


QuantizedRelu6 = op(f"""
    QuantizedRelu6(features: Tinput, {_REST}
    Replaces negative floats by zero and those above 6 by 6.
""", shape=_shape)  # fmt: skip


@QuantizedRelu6.host
def quantized_relu6_host(features, min_features, max_features, *, ctx):
    check_kernel(ctx, *_ROWS)
    return _clipped(features, (min_features, max_features), 6.0)


def _cases(case):
    x = np.array([0, 100, 128, 130, 255], np.uint8).view([("quint8", np.uint8)])
    case(x, -10.0, 10.0)
    case.shapes("[2,?];[];[]", "[2,?];[];[]", Tinput="quint8")
    case.fails("[2];[1];[]", match="Shape must be rank 0 but is rank 1", Tinput="quint8")


QuantizedRelu.cases(_cases)
QuantizedRelu6.cases(_cases)

QuantizedReluX = op(f"""
    QuantizedReluX(features: Tinput, max_value: float, {_REST}
    Replaces negative floats by zero and those above `max_value` by it; TensorFlow has no kernel of it.
""")  # fmt: skip


@QuantizedReluX.shape
def quantized_relu_x_shape(features, max_value, min_features, max_features):
    with_rank(max_value, 0)
    return _shape(features, min_features, max_features)


@QuantizedReluX.host
def quantized_relu_x_host(features, max_value, min_features, max_features, *, ctx):
    no_kernel(ctx)


@QuantizedReluX.cases
def quantized_relu_x_cases(case):
    case.shapes("[2,?];[];[];[]", "[2,?];[];[]", Tinput="quint8")

    @case.program
    def is_built_and_refused(step):
        x = raw.Const(value=np.zeros(2, np.uint8), dtype="quint8")
        step(
            QuantizedReluX(x, 1.0, 0.0, 1.0),
            fails=InvalidArgumentError,
            match="No OpKernel was registered to support Op 'QuantizedReluX'",
        )


@export("nn.quantized_relu_x")
def quantized_relu_x(features, max_value, min_features, max_features, out_type=quint8, name=None):
    """Replaces negative floats by zero and large ones by `max_value`, in quantized numbers.

    Args:
      features: The numbers.
      max_value: The largest float.
      min_features: The float that the lowest number stands for.
      max_features: The float that the highest number stands for.
      out_type: The type of the result.
      name: The node's name.

    Returns:
      The numbers, and the ends of their range.
    """
    return QuantizedReluX(features, max_value, min_features, max_features, out_type=out_type, name=name)
