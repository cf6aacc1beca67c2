"""Three-dimensional pooling and its gradients."""

from __future__ import annotations

import numpy as np

from headrace.opdef import op, raw
from headrace.ops.nn import pool_lowering as lowering
from headrace.ops.nn.names import public
from headrace.ops.nn.pool import check_same, pool_attrs, pooled_shape, windows_of
from headrace.shapes import merge, with_rank

_ATTRS = """
      ksize: list(int) >= 5
      strides: list(int) >= 5
      padding: {"SAME", "VALID"}
      data_format: {"NDHWC", "NCDHW"} = "NDHWC"
"""
_NARROW = "{half, bfloat16, float}"
_FLOATS = "{half, bfloat16, float, double}"


def _pooled(x, *, ksize, strides, padding, data_format):
    return pooled_shape(x, ksize, strides, padding, data_format, rank=5)


def _zeros_of(x):
    return public.zeros(public.shape(x), dtype=x.dtype)


MaxPool3D = op(f"""
    MaxPool3D(input: T) -> (output: T){_ATTRS}      T: {_NARROW}

    The greatest element of every window of volumes.
""", shape=_pooled)  # fmt: skip


@MaxPool3D.lower
def max_pool_3d_lower(input, *, ksize, strides, padding, data_format):
    return lowering.max_pool(input, windows_of(input.shape, ksize, strides, padding, data_format), -np.inf)


@MaxPool3D.grad
def max_pool_3d_grad(op, dy):
    return raw.MaxPool3DGrad(op.inputs[0], op.outputs[0], dy, **pool_attrs(op))


_CUBE = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2, 1)
_ONE = np.array(3, np.float32).reshape(1, 1, 1, 1, 1)
_TWOS = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}


@MaxPool3D.cases
def max_pool_3d_cases(case):
    case(_CUBE, gives=[[[[[7.0]]]]], **_TWOS)
    case(case.normal(1, 3, 4, 5, 2), **_TWOS)
    case.shapes("[?,8,?,7,3]", "[?,4,?,4,3]", **_TWOS)
    case.fails("[8,8,8,3]", match="must be rank 5 but is rank 4", **_TWOS)


MaxPool3DGrad = op(f"""
    MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T){_ATTRS}      T: {_NARROW} = float
      TInput: {_NARROW} = float

    Sends each gradient to every element of its window that is as great as the greatest; half ones to the first such.
""")  # fmt: skip


@MaxPool3DGrad.shape
def max_pool_3d_grad_shape(orig_input, orig_output, grad):
    return with_rank(orig_input, 5)


@MaxPool3DGrad.lower
def max_pool_3d_grad_lower(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input.shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.outputs)
    if grad.dtype.itemsize < 4:
        return lowering.max_pool_gradient(orig_input, grad, windows)
    return lowering.max_pool_gradient_to_all(orig_input, orig_output, grad, windows)


@MaxPool3DGrad.grad
def max_pool_3d_grad_grad(op, ddx):
    x, y, _ = op.inputs
    return _zeros_of(x), _zeros_of(y), raw.MaxPool3DGradGrad(x, y, ddx, **pool_attrs(op))


@MaxPool3DGrad.cases
def max_pool_3d_grad_cases(case):
    want = np.zeros((1, 2, 2, 2, 1))
    want[0, 1, 1, 1, 0] = 3
    case(_CUBE, _ONE + 4, _ONE, gives=want, grad=False, **_TWOS)
    case(_CUBE * 0, _ONE * 0, _ONE, gives=np.full((1, 2, 2, 2, 1), 3), grad=False, **_TWOS)
    case.shapes("[?,8,8,8,3];?;?", "[?,8,8,8,3]", **_TWOS)


MaxPool3DGradGrad = op(f"""
    MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T){_ATTRS}      T: realnumbertype

    Takes from each window of `grad` what lies where the first greatest element of `orig_input` is.
""")  # fmt: skip


@MaxPool3DGradGrad.shape
def max_pool_3d_grad_grad_shape(orig_input, orig_output, grad, **pool):
    out = merge(orig_output, _pooled(orig_input, **pool))
    merge(with_rank(orig_input, 5), grad)
    return out


@MaxPool3DGradGrad.lower
def max_pool_3d_grad_grad_lower(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input.shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.shape)
    return lowering.max_pool_gradient_gradient(orig_input, orig_output, grad, windows)


@MaxPool3DGradGrad.grad
def max_pool_3d_grad_grad_grad(op, d):
    x, y, _ = op.inputs
    return _zeros_of(x), _zeros_of(y), raw.MaxPool3DGrad(x, y, d, **pool_attrs(op))


@MaxPool3DGradGrad.cases
def max_pool_3d_grad_grad_cases(case):
    case(_CUBE, _ONE + 4, _CUBE * 2, gives=[[[[[14.0]]]]], grad=False, **_TWOS)
    case.shapes("[?,8,8,8,3];?;?", "[?,4,4,4,3]", **_TWOS)


AvgPool3D = op(f"""
    AvgPool3D(input: T) -> (output: T){_ATTRS}      T: {_FLOATS}

    The mean of every window of volumes, of what lies inside.
""", shape=_pooled)  # fmt: skip


@AvgPool3D.lower
def avg_pool_3d_lower(input, *, ksize, strides, padding, data_format):
    return lowering.avg_pool(input, windows_of(input.shape, ksize, strides, padding, data_format))


@AvgPool3D.grad
def avg_pool_3d_grad(op, dy):
    return raw.AvgPool3DGrad(public.shape(op.inputs[0]), dy, **pool_attrs(op))


@AvgPool3D.cases
def avg_pool_3d_cases(case):
    case(_CUBE, gives=[[[[[3.5]]]]], **_TWOS)
    case(case.normal(1, 3, 4, 5, 2), **_TWOS)
    case.shapes("[?,8,?,7,3]", "[?,4,?,4,3]", **_TWOS)


AvgPool3DGrad = op(f"""
    AvgPool3DGrad(orig_input_shape: int32, grad: T) -> (output: T){_ATTRS}      T: {_FLOATS}

    The gradient of AvgPool3D.
""")  # fmt: skip


@AvgPool3DGrad.shape
def avg_pool_3d_grad_shape(orig_input_shape, grad, *, ctx):
    return with_rank(ctx.as_shape("orig_input_shape"), 5)


@AvgPool3DGrad.lower(static="orig_input_shape")
def avg_pool_3d_grad_lower(orig_input_shape, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input_shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.outputs)
    return lowering.avg_pool_gradient(grad, windows)


@AvgPool3DGrad.grad
def avg_pool_3d_grad_grad(op, ddx):
    return raw.StopGradient(op.inputs[0]), raw.AvgPool3D(ddx, **pool_attrs(op))


@AvgPool3DGrad.cases
def avg_pool_3d_grad_cases(case):
    case(np.array([1, 2, 2, 2, 1], np.int32), _ONE, gives=np.full((1, 2, 2, 2, 1), 0.375), **_TWOS)
    case.shapes("[5];[?,4,4,4,3]", "[?,?,?,?,?]", **_TWOS)
