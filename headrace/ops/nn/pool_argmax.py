"""Pooling that also says where the greatest elements are."""

from __future__ import annotations

import math

import numpy as np

from headrace.errors import InvalidArgumentError, UnimplementedError
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.nn import pool_lowering as lowering
from headrace.ops.nn.pool import check_same, pooled_shape, windows_of
from headrace.shapes import merge, with_rank

_WINDOW = """
      ksize: list(int) >= 4
      strides: list(int) >= 4
"""
_PLACES = """
      ksize: list(int) >= 4
      strides: list(int) >= 4
      padding: {"SAME", "VALID"}
      include_batch_in_index: bool = false
      Targmax: {int32, int64}
      T: realnumbertype
"""
_NAMES = ("ksize", "strides", "padding", "include_batch_in_index")

MaxPoolWithArgmax = op(f"""
    MaxPoolWithArgmax(input: T) -> (output: T, argmax: Targmax){_WINDOW}      Targmax: {{int32, int64}} = int64
      padding: {{"SAME", "VALID"}}
      include_batch_in_index: bool = false
      T: realnumbertype

    The greatest element of every window and its place in the flattened image, or in the flattened batch.
""")  # fmt: skip


@MaxPoolWithArgmax.shape
def max_pool_with_argmax_shape(input, *, ksize, strides, padding):
    out = pooled_shape(input, ksize, strides, padding, "NHWC")
    return [out, out]


@MaxPoolWithArgmax.lower
def max_pool_with_argmax_lower(input, *, ksize, strides, padding, Targmax, include_batch_in_index):
    windows = windows_of(input.shape, ksize, strides, padding, "NHWC")
    best, at = lowering.first_maximum(input, windows)
    # The place in a window and the window's own place, axis by axis.
    flat = jnp.zeros(windows.outputs, jnp.int64)
    axes = range(0 if include_batch_in_index else 1, 4)
    for i in axes:
        inner = math.prod(windows.ksize[i + 1 :])
        offset = (at // inner) % windows.ksize[i]
        start = np.arange(windows.outputs[i]) * windows.strides[i] - windows.pads[i][0]
        place = offset + start.reshape((-1,) + (1,) * (3 - i))
        flat = flat + place * math.prod(windows.shape[i + 1 :])
    return best, flat.astype(Targmax.storage)


@MaxPoolWithArgmax.grad
def max_pool_with_argmax_grad(op, dy, _):
    attrs = {name: op.attrs[name] for name in _NAMES}
    return raw.MaxPoolGradWithArgmax(op.inputs[0], dy, op.outputs[1], **attrs)


_TIES = np.array([[1, 1, 2], [1, 1, 2], [0, 2, 2]] * 2, np.float32).reshape(2, 3, 3, 1)
_STEP = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
_IN_BATCH = np.array([0, 2, 7, 8, 9, 11, 16, 17], np.int64).reshape(2, 2, 2, 1)


@MaxPoolWithArgmax.cases
def max_pool_with_argmax_cases(case):
    places = np.array([0, 2, 2, 7, 5, 5, 7, 7, 8] * 2).reshape(2, 3, 3, 1)
    case(_TIES, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", gives=(None, places), grad=False)
    case(_TIES, include_batch_in_index=True, gives=(None, _IN_BATCH), grad=False, **_STEP)
    case(case.normal(2, 5, 6, 3), ksize=[1, 3, 2, 1], strides=[1, 2, 3, 1], padding="SAME")
    case.shapes("[?,8,?,3]", "[?,4,?,3];[?,4,?,3]", **_STEP)


MaxPoolGradWithArgmax = op(f"""
    MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax) -> (output: T){_PLACES}
    Adds up gradients at the places that MaxPoolWithArgmax gave.
""")  # fmt: skip


@MaxPoolGradWithArgmax.shape
def max_pool_grad_with_argmax_shape(input, grad, argmax):
    return with_rank(input, 4)


@MaxPoolGradWithArgmax.lower
def max_pool_grad_with_argmax_lower(input, grad, argmax, *, ksize, strides, include_batch_in_index, ctx):
    if ksize[0] != 1 or strides[0] != 1:
        raise UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
    check_same("argmax", argmax.shape, grad.shape)
    size = math.prod(input.shape)
    places = _in_batch(argmax, input.shape, include_batch_in_index)
    ctx.check(((places >= 0) & (places < size)).all(), "argmax is outside of the input")
    return jnp.zeros(size, grad.dtype).at[places.reshape(-1)].add(grad.reshape(-1)).reshape(input.shape)


@MaxPoolGradWithArgmax.host
def max_pool_grad_with_argmax_host(input, grad, argmax, *, ksize, strides, include_batch_in_index):
    if ksize[0] != 1 or strides[0] != 1:
        raise UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
    check_same("argmax", argmax.shape, grad.shape)
    places = _in_batch(argmax, input.shape, include_batch_in_index, np)
    if ((places < 0) | (places >= input.size)).any():  # TensorFlow 1.15 dies of it
        raise InvalidArgumentError(None, None, "argmax is outside of the input")
    out = np.zeros(input.size, grad.dtype)
    np.add.at(out, places.reshape(-1), grad.reshape(-1))
    return out.reshape(input.shape)


def _in_batch(argmax, shape, included, xp=None):
    if included:
        return argmax
    first = (xp or jnp).arange(shape[0], dtype=argmax.dtype) * math.prod(shape[1:])
    return argmax + first.reshape(-1, 1, 1, 1)


@MaxPoolGradWithArgmax.cases
def max_pool_grad_with_argmax_cases(case):
    want = np.zeros(18)
    want[_IN_BATCH.reshape(-1)] = np.arange(8)
    case(_TIES, np.arange(8, dtype=np.float32).reshape(2, 2, 2, 1), _IN_BATCH, include_batch_in_index=True,
         gives=want.reshape(2, 3, 3, 1), grad=False, **_STEP)  # fmt: skip
    case.shapes("[?,8,8,3];?;?", "[?,8,8,3]", **_STEP)


MaxPoolGradGradWithArgmax = op(f"""
    MaxPoolGradGradWithArgmax(input: T, grad: T, argmax: Targmax) -> (output: T){_PLACES}
    Takes from `grad` what lies at the places that MaxPoolWithArgmax gave.
""")  # fmt: skip


@MaxPoolGradGradWithArgmax.shape
def max_pool_grad_grad_with_argmax_shape(input, grad, argmax, *, ksize, strides, padding):
    merge(input, grad)
    return pooled_shape(input, ksize, strides, padding, "NHWC")


@MaxPoolGradGradWithArgmax.lower
def max_pool_grad_grad_with_argmax_lower(
    input, grad, argmax, *, ksize, strides, padding, include_batch_in_index
):
    check_same("argmax", argmax.shape, pooled_shape(input.shape, ksize, strides, padding, "NHWC"))
    return grad.reshape(-1)[_in_batch(argmax, input.shape, include_batch_in_index)]


@MaxPoolGradGradWithArgmax.cases
def max_pool_grad_grad_with_argmax_cases(case):
    case(_TIES, np.arange(18, dtype=np.float32).reshape(2, 3, 3, 1), _IN_BATCH, include_batch_in_index=True,
         gives=_IN_BATCH, grad=False, **_STEP)  # fmt: skip
    case.shapes("[?,8,8,3];?;?", "[?,4,4,3]", **_STEP)
