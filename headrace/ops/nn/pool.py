"""Two-dimensional pooling: the greatest element, the mean, and their gradients."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError, UnimplementedError
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.nn import interpreted
from headrace.ops.nn import pool_lowering as lowering
from headrace.ops.nn.names import public
from headrace.ops.nn.pool_lowering import Windows
from headrace.ops.nn.windows import windowed_shape
from headrace.shapes import merge, to_text, with_rank

_ATTRS = """
      ksize: list(int) >= 4
      strides: list(int) >= 4
      padding: {"SAME", "VALID"}
      data_format: {"NHWC", "NCHW"} = "NHWC"
"""
_MAX_TYPES = "{half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float"
FLOATS = "{half, bfloat16, float, double}"


def pool_attrs(op):
    """Returns the attrs that the gradient op of a pooling shares with it."""
    return {name: op.attrs[name] for name in ("ksize", "strides", "padding", "data_format")}


def pooled_shape(dims, ksize, strides, padding, data_format, rank=4):
    """Returns the shape after pooling over every axis that the window has.

    Raises:
      ValueError: The window does not fit, or a list has a wrong length.
    """
    x = with_rank(dims, rank)
    for what, values in (("ksize", ksize), ("stride", strides)):
        if len(values) != rank:
            raise ValueError(
                f"pooling requires the {what} attribute to contain {rank} values, but got: {len(values)}"
            )
    out = list(windowed_shape(x, [ksize[i] for i in _space(data_format)], strides, padding, data_format))
    c = data_format.index("C")
    for axis in "NC":
        step = strides[data_format.index(axis)]
        if step < 1:
            raise ValueError(f"Stride must be > 0, but got {step}")
    if ksize[c] != 1 or strides[c] != 1:
        out[c] = (
            None if x[c] is None else -(-(x[c] if padding == "SAME" else x[c] - ksize[c] + 1) // strides[c])
        )
    return tuple(out)


def _space(data_format):
    return [i for i, axis in enumerate(data_format) if axis not in "NC"]


def windows_of(shape, ksize, strides, padding, data_format):
    """Returns the Windows of a pooling, checked."""
    for what, sizes in (("Stride", strides), ("Filter", ksize)):
        for n in sizes:
            if n == 0 and what == "Filter":
                raise InvalidArgumentError(
                    None, None, f"Sliding window ksize for dimension {tuple(sizes).index(0)} was zero."
                )
            if n <= 0:
                raise InvalidArgumentError(None, None, f"{what} must be > 0, but got {n}")
    windows = Windows(shape, ksize, strides, padding)
    windows.check(data_format)
    return windows


def _static_pair(ksize, strides):
    return tuple(int(k) for k in ksize), tuple(int(s) for s in strides)


def check_same(label, got, want):
    """Checks that a gradient has the shape of the pooling's output.

    Raises:
      InvalidArgumentError: It has not.
    """
    if label == "grad" and len(got) != len(want) == 4:
        raise InvalidArgumentError(None, None, "out_backprop must be 4-dimensional")
    if tuple(got) != tuple(want):
        raise InvalidArgumentError(
            None, None, f"Expected {label} shape to be {to_text(tuple(want))}, but got {to_text(tuple(got))}"
        )


# -- the greatest element -----------------------------------------------------------------------------------

MaxPool = op(f"""
    MaxPool(input: T) -> (output: T)
      T: {_MAX_TYPES}
      ksize: list(int) >= 4
      strides: list(int) >= 4
      padding: {{"SAME", "VALID"}}
      data_format: {{"NHWC", "NCHW", "NCHW_VECT_C"}} = "NHWC"

    The greatest element of every window.
""")  # fmt: skip


@MaxPool.shape
def max_pool_shape(input, *, ksize, strides, padding, data_format):
    return pooled_shape(input, ksize, strides, padding, data_format)


@MaxPool.host(small=True)
def max_pool_host(input, *, ksize, strides, padding, data_format):
    if ksize[data_format.index("C")] != 1:
        return NotImplemented
    return interpreted.max_pool(windows_of(input.shape, ksize, strides, padding, data_format), input)


@MaxPool.lower
def max_pool_lower(input, *, ksize, strides, padding, data_format):
    windows = windows_of(input.shape, ksize, strides, padding, data_format)
    if ksize[data_format.index("C")] != 1:
        return lowering.first_maximum(input, windows)[0]
    return lowering.max_pool(input, windows)


@MaxPool.grad
def max_pool_grad(op, dy):
    return raw.MaxPoolGrad(op.inputs[0], op.outputs[0], dy, **pool_attrs(op))


_TIES = np.array([[1, 1, 2], [1, 1, 2], [0, 2, 2]], np.float32).reshape(1, 3, 3, 1)
_TWO_BY_TWO = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
_IN_TWOS = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


@MaxPool.cases
def max_pool_cases(case):
    case(_TIES, gives=np.array([1, 2, 2, 2]).reshape(1, 2, 2, 1), grad=False, **_TWO_BY_TWO)
    case(case.normal(2, 5, 6, 3), ksize=[1, 3, 2, 1], strides=[1, 2, 3, 1], padding="SAME")
    case(
        case.normal(2, 3, 5, 6), ksize=[1, 1, 3, 2], strides=[1, 1, 2, 1], padding="VALID", data_format="NCHW"
    )
    case(case.normal(1, 9, 9, 2), ksize=[1, 9, 9, 1], strides=[1, 9, 9, 1], padding="VALID")
    case(np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4), ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding="SAME",
         gives=[[[[1, 3], [5, 7]]]])  # fmt: skip
    case(
        np.full((1, 2, 2, 1), np.nan, np.float32),
        gives=np.full((1, 1, 1, 1), -3.4028235e38),
        grad=False,
        **_IN_TWOS,
    )
    case(np.array([-9, -8, -7, -9], np.int8).reshape(1, 2, 2, 1), gives=np.full((1, 1, 1, 1), -7), **_IN_TWOS)
    case(np.zeros((0, 4, 4, 1), np.float32), gives=np.zeros((0, 2, 2, 1)), grad=False, **_IN_TWOS)
    case.shapes("[?,8,?,3]", "[?,4,?,3]", **_IN_TWOS)
    case.shapes("?", "[?,?,?,?]", **_IN_TWOS)
    case.fails("[8,8,3]", match="must be rank 4 but is rank 3", **_IN_TWOS)
    case.fails("[1,8,8,3]", match="Negative dimension size caused by subtracting 20 from 8",
               ksize=[1, 20, 20, 1], strides=[1, 1, 1, 1], padding="VALID")  # fmt: skip
    case.fails((np.zeros((2, 2, 2, 1), np.float32),), match="not yet supported on the batch",
               raises=UnimplementedError,
               ksize=[2, 1, 1, 1], strides=[1, 1, 1, 1], padding="SAME")  # fmt: skip


MaxPoolV2 = op(f"""
    MaxPoolV2(input: T, ksize: int32, strides: int32) -> (output: T)
      T: {_MAX_TYPES}
      padding: {{"SAME", "VALID"}}
      data_format: {{"NHWC", "NCHW", "NCHW_VECT_C"}} = "NHWC"

    The greatest element of every window, whose sizes and steps are tensors.
""")  # fmt: skip


@MaxPoolV2.shape
def max_pool_v2_shape(input, ksize, strides, *, padding, data_format, ctx):
    with_rank(ksize, 1)
    with_rank(strides, 1)
    size, step = ctx.constant("ksize"), ctx.constant("strides")
    if size is None or step is None:
        with_rank(input, 4)
        return (None,) * 4
    return pooled_shape(input, size.tolist(), step.tolist(), padding, data_format)


@MaxPoolV2.lower(static="ksize strides")
def max_pool_v2_lower(input, ksize, strides, *, padding, data_format):
    return max_pool_lower(
        input, ksize=_static_pair(ksize, strides)[0], strides=_static_pair(ksize, strides)[1], padding=padding,
        data_format=data_format,
    )  # fmt: skip


@MaxPoolV2.grad
def max_pool_v2_grad(op, dy):
    x, ksize, strides = op.inputs
    attrs = {name: op.attrs[name] for name in ("padding", "data_format")}
    return raw.MaxPoolGradV2(x, op.outputs[0], dy, ksize, strides, **attrs), None, None


_SIZES = np.array([1, 2, 2, 1], np.int32)
_STEPS = np.array([1, 1, 1, 1], np.int32)


@MaxPoolV2.cases
def max_pool_v2_cases(case):
    case(_TIES, _SIZES, _STEPS, padding="VALID", gives=np.array([1, 2, 2, 2]).reshape(1, 2, 2, 1), grad=False)
    case.shapes("[?,8,?,3];[4];[4]", "[?,?,?,?]", padding="SAME")
    case.shapes("[?,8,?,3];[4];[4]", "[?,4,?,3]", padding="SAME", values={"ksize": _SIZES, "strides": _SIZES})


def _gradient_shape(orig_input, orig_output, grad):
    return with_rank(orig_input, 4)


MaxPoolGrad = op(f"""
    MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> (output: T){_ATTRS}      T: realnumbertype = float

    Sends each gradient to the first greatest element of its window.
""", shape=_gradient_shape)  # fmt: skip


@MaxPoolGrad.host(small=True)
def max_pool_grad_host(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input.shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.outputs)
    return interpreted.max_pool_gradient(windows, orig_input, grad)


@MaxPoolGrad.lower
def max_pool_grad_lower(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input.shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.outputs)
    return lowering.max_pool_gradient(orig_input, grad, windows)


def _zeros_of(x):
    return public.zeros(public.shape(x), dtype=x.dtype)


@MaxPoolGrad.grad
def max_pool_grad_grad(op, ddx):
    x, y, _ = op.inputs
    return _zeros_of(x), _zeros_of(y), raw.MaxPoolGradGrad(x, y, ddx, **pool_attrs(op))


_TIES_OUT = np.array([1, 2, 2, 2], np.float32).reshape(1, 2, 2, 1)
_ONE_TO_FOUR = np.array([1, 2, 3, 4], np.float32).reshape(1, 2, 2, 1)


@MaxPoolGrad.cases
def max_pool_grad_cases(case):
    case(_TIES, _TIES_OUT, _ONE_TO_FOUR, gives=np.array([1, 0, 2, 0, 0, 4, 0, 3, 0]).reshape(1, 3, 3, 1), grad=False,
         **_TWO_BY_TWO)  # fmt: skip
    one = np.ones((1, 1, 1, 1), np.float32)
    case(np.full((1, 2, 2, 1), np.nan, np.float32), one, one,
         gives=np.array([1, 0, 0, 0]).reshape(1, 2, 2, 1), grad=False, **_IN_TWOS)  # fmt: skip
    case.shapes("[?,8,8,3];[?,4,4,3];?", "[?,8,8,3]", **_IN_TWOS)
    case.fails(
        (_TIES, _TIES_OUT, _TIES),
        match=r"Expected grad shape to be \[1,2,2,1\], but got \[1,3,3,1\]",
        **_TWO_BY_TWO,
    )


MaxPoolGradV2 = op("""
    MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)
      padding: {"SAME", "VALID"}
      data_format: {"NHWC", "NCHW"} = "NHWC"
      T: realnumbertype = float

    MaxPoolGrad with the window's sizes and steps as tensors.
""")  # fmt: skip


@MaxPoolGradV2.shape
def max_pool_grad_v2_shape(orig_input, orig_output, grad, ksize, strides):
    return with_rank(orig_input, 4)


@MaxPoolGradV2.lower(static="ksize strides")
def max_pool_grad_v2_lower(orig_input, orig_output, grad, ksize, strides, *, padding, data_format):
    if orig_output.ndim != 4:
        raise InvalidArgumentError(None, None, "tensor_out must be 4-dimensional")
    ksize, strides = _static_pair(ksize, strides)
    return max_pool_grad_lower(
        orig_input, orig_output, grad, ksize=ksize, strides=strides, padding=padding, data_format=data_format
    )


@MaxPoolGradV2.grad
def max_pool_grad_v2_grad(op, ddx):
    x, y, _, ksize, strides = op.inputs
    attrs = {name: op.attrs[name] for name in ("padding", "data_format")}
    return _zeros_of(x), _zeros_of(y), raw.MaxPoolGradGradV2(x, y, ddx, ksize, strides, **attrs), None, None


@MaxPoolGradV2.cases
def max_pool_grad_v2_cases(case):
    case(_TIES, _TIES_OUT, _ONE_TO_FOUR, _SIZES, _STEPS, padding="VALID",
         gives=np.array([1, 0, 2, 0, 0, 4, 0, 3, 0]).reshape(1, 3, 3, 1), grad=False)  # fmt: skip
    case.shapes("[?,8,8,3];[?,4,4,3];?;[4];[4]", "[?,8,8,3]", padding="SAME")


MaxPoolGradGrad = op(f"""
    MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T){_ATTRS}      T: realnumbertype

    Takes from each window of `grad` what lies where the first greatest element of `orig_input` is.
""")  # fmt: skip


@MaxPoolGradGrad.shape
def max_pool_grad_grad_shape(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    out = merge(orig_output, pooled_shape(orig_input, ksize, strides, padding, data_format))
    merge(with_rank(orig_input, 4), grad)
    return out


@MaxPoolGradGrad.lower
def max_pool_grad_grad_lower(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input.shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.shape)
    return lowering.max_pool_gradient_gradient(orig_input, orig_output, grad, windows)


@MaxPoolGradGrad.grad
def max_pool_grad_grad_grad(op, d):
    x, y, _ = op.inputs
    return _zeros_of(x), _zeros_of(y), raw.MaxPoolGrad(x, y, d, **pool_attrs(op))


@MaxPoolGradGrad.cases
def max_pool_grad_grad_cases(case):
    case(_TIES, _TIES_OUT, np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1),
         gives=np.array([0, 2, 7, 5]).reshape(1, 2, 2, 1), grad=False, **_TWO_BY_TWO)  # fmt: skip
    case.shapes("[?,8,8,3];?;[?,8,8,3]", "[?,4,4,3]", **_IN_TWOS)


MaxPoolGradGradV2 = op("""
    MaxPoolGradGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)
      padding: {"SAME", "VALID"}
      data_format: {"NHWC", "NCHW"} = "NHWC"
      T: realnumbertype

    MaxPoolGradGrad with the window's sizes and steps as tensors.
""")  # fmt: skip


@MaxPoolGradGradV2.shape
def max_pool_grad_grad_v2_shape(orig_input, orig_output, grad, ksize, strides, *, padding, data_format, ctx):
    return merge(
        max_pool_v2_shape(orig_input, ksize, strides, padding=padding, data_format=data_format, ctx=ctx),
        orig_output,
    )


@MaxPoolGradGradV2.lower(static="ksize strides")
def max_pool_grad_grad_v2_lower(orig_input, orig_output, grad, ksize, strides, *, padding, data_format):
    ksize, strides = _static_pair(ksize, strides)
    return max_pool_grad_grad_lower(
        orig_input, orig_output, grad, ksize=ksize, strides=strides, padding=padding, data_format=data_format
    )


@MaxPoolGradGradV2.cases
def max_pool_grad_grad_v2_cases(case):
    case(_TIES, _TIES_OUT, np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1), _SIZES, _STEPS, padding="VALID",
         gives=np.array([0, 2, 7, 5]).reshape(1, 2, 2, 1))  # fmt: skip
    case.shapes("[?,8,8,3];?;[?,8,8,3];[4];[4]", "[?,?,?,?]", padding="SAME")


# -- the mean -----------------------------------------------------------------------------------------------

AvgPool = op(f"""
    AvgPool(value: T) -> (output: T){_ATTRS}      T: {FLOATS}

    The mean of every window, of what lies inside.
""")  # fmt: skip


@AvgPool.shape
def avg_pool_shape(value, *, ksize, strides, padding, data_format):
    return pooled_shape(value, ksize, strides, padding, data_format)


@AvgPool.host(small=True)
def avg_pool_host(value, *, ksize, strides, padding, data_format):
    return interpreted.avg_pool(windows_of(value.shape, ksize, strides, padding, data_format), value)


@AvgPool.lower
def avg_pool_lower(value, *, ksize, strides, padding, data_format):
    return lowering.avg_pool(value, windows_of(value.shape, ksize, strides, padding, data_format))


@AvgPool.grad
def avg_pool_grad(op, dy):
    return raw.AvgPoolGrad(public.shape(op.inputs[0]), dy, **pool_attrs(op))


@AvgPool.cases
def avg_pool_cases(case):
    case(_TIES, gives=np.array([1, 2, 1, 2]).reshape(1, 2, 2, 1), **_IN_TWOS)
    case(case.normal(2, 5, 6, 3), ksize=[1, 3, 2, 1], strides=[1, 2, 3, 1], padding="SAME")
    case(
        case.normal(2, 3, 5, 6), ksize=[1, 1, 3, 2], strides=[1, 1, 2, 1], padding="VALID", data_format="NCHW"
    )
    case(case.normal(1, 9, 9, 2), ksize=[1, 9, 9, 1], strides=[1, 9, 9, 1], padding="VALID")
    case(case.normal(1, 10, 10, 1), ksize=[1, 9, 9, 1], strides=[1, 1, 1, 1], padding="SAME")
    case.shapes("[?,8,?,3]", "[?,4,?,3]", **_IN_TWOS)
    case.fails("[8,8,3]", match="must be rank 4 but is rank 3", **_IN_TWOS)


AvgPoolGrad = op(f"""
    AvgPoolGrad(orig_input_shape: int32, grad: T) -> (output: T){_ATTRS}      T: {FLOATS}

    The gradient of AvgPool.
""")  # fmt: skip


@AvgPoolGrad.shape
def avg_pool_grad_shape(orig_input_shape, grad, *, ctx):
    return with_rank(ctx.as_shape("orig_input_shape"), 4)


@AvgPoolGrad.host(small=True)
def avg_pool_grad_host(orig_input_shape, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input_shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.outputs)
    if windows.has_overlong():
        return _by_shares(np, grad, windows)
    return interpreted.avg_pool_gradient(windows, grad)


@AvgPoolGrad.lower(static="orig_input_shape")
def avg_pool_grad_lower(orig_input_shape, grad, *, ksize, strides, padding, data_format):
    windows = windows_of(orig_input_shape, ksize, strides, padding, data_format)
    check_same("grad", grad.shape, windows.outputs)
    if windows.has_overlong():
        return _by_shares(jnp, grad, windows)
    return lowering.avg_pool_gradient(grad, windows)


def _by_shares(xp, grad, windows):
    """Returns the gradient axis by axis, as the sum of what each window's mean owes to each element."""
    out = grad.astype(np.float32) if grad.dtype.itemsize < 4 else grad
    for axis, share in enumerate(windows.shares()):
        out = xp.moveaxis(xp.tensordot(out, share.astype(out.dtype), ([axis], [0])), -1, axis)
    return out.astype(grad.dtype)


@AvgPoolGrad.grad
def avg_pool_grad_grad(op, ddx):
    return raw.StopGradient(op.inputs[0]), raw.AvgPool(ddx, **pool_attrs(op))


@AvgPoolGrad.cases
def avg_pool_grad_cases(case):
    case(np.array([1, 3, 3, 1], np.int32), _ONE_TO_FOUR, gives=np.array(
        [0.25, 0.25, 1, 0.25, 0.25, 1, 1.5, 1.5, 4]).reshape(1, 3, 3, 1), **_IN_TWOS)  # fmt: skip
    case(
        np.array([2, 5, 6, 3], np.int32),
        case.normal(2, 3, 2, 3),
        ksize=[1, 3, 2, 1],
        strides=[1, 2, 3, 1],
        padding="SAME",
    )
    # TensorFlow's gradient has the first two windows, which begin before the image, stand for all of it.
    case(
        np.array([1, 4, 1, 1], np.int32),
        np.array([1.0, 10.0, 100.0, 1000.0], np.float32).reshape(1, 4, 1, 1),
        ksize=[1, 5, 1, 1],
        strides=[1, 1, 1, 1],
        padding="SAME",
        gives=np.array([27.75, 361.08334, 361.08334, 361.08334]).reshape(1, 4, 1, 1),
        grad=False,
    )
    case.shapes("[4];[?,4,4,3]", "[?,?,?,?]", **_IN_TWOS)
