"""Fused batch normalization of three generations, and their gradients."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.native import batch_norm as native
from headrace.native import finish
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.nn import interpreted
from headrace.ops.nn.batch_norm_gradient import second_gradient
from headrace.ops.nn.names import public
from headrace.shapes import merge_dim, to_text, with_rank

_REST = """
      epsilon: float = 9.999999747378752e-05
      data_format: {"NHWC", "NCHW"} = "NHWC"
      is_training: bool = true
"""


def _forward_shape(reserves):
    def shape(x, scale, offset, mean, variance, *, data_format, is_training):
        dims = with_rank(x, 4)
        c = data_format.index("C")
        channels = dims[c]
        vectors = [scale, offset] if is_training else [scale, offset, mean, variance]
        for vector in vectors:
            channels = merge_dim(channels, with_rank(vector, 1)[0])
        y = (*dims[:c], channels, *dims[c + 1 :])
        return [y, *[(channels,)] * 4, *[None] * (reserves - 2)]

    return shape


def _axes(data_format):
    """Returns the axes that are averaged over, and the shape that lays a vector along the channels."""
    if data_format == "NCHW":
        return (0, 2, 3), (1, -1, 1, 1)
    return (0, 1, 2), (-1,)


def _sum(xp, x, axes):
    return interpreted.channel_sums(x, axes) if xp is np else jnp.sum(x, axis=axes)


def _is_native(xp, data_format, x, *vectors):
    return xp is not np and data_format == "NHWC" and native.takes(x, *vectors)


def _normalize(xp, x, scale, offset, mean, variance, epsilon, data_format, is_training):
    if x.ndim != 4:
        raise InvalidArgumentError(None, None, f"input must be 4-dimensional{to_text(x.shape)}")
    axes, along = _axes(data_format)
    is_native = _is_native(xp, data_format, x, scale, offset, *(() if is_training else (mean, variance)))
    wide = x.astype(scale.dtype, copy=False)
    n = x.size // max(1, scale.size)
    if not is_training:
        batch_mean, batch_variance, saved = mean, variance, variance
    elif n == 0:
        nan = xp.full(scale.shape, np.nan, scale.dtype)
        return x, nan, nan, nan, nan
    else:
        count = np.asarray(n, scale.dtype)
        if is_native:
            batch_mean, saved = native.moments(x)
        else:
            batch_mean = _sum(xp, wide, axes) / count
            centered = wide - batch_mean.reshape(along)
            saved = _sum(xp, centered * centered, axes) / count
        # What is averaged over steps is the unbiased variance.
        batch_variance = saved * np.asarray(n / max(1, n - 1), scale.dtype)
    factor = scale * (saved + np.asarray(epsilon, scale.dtype)) ** np.asarray(-0.5, scale.dtype)
    if is_native and not is_training:
        found = finish.scaled(x, mean, factor, offset)
        if found is not None:
            return found, mean, variance, mean, variance
    y = wide - batch_mean.reshape(along)
    y *= factor.reshape(along)  # NumPy's in place
    y += offset.reshape(along)
    y = y.astype(x.dtype, copy=False)
    if is_native:
        y = native.normalized(y, x, batch_mean, saved, scale, offset, epsilon)
    return y, batch_mean, batch_variance, batch_mean, saved


def _gradient(xp, dy, x, scale, mean, variance, epsilon, data_format, is_training):
    """The gradient by its closed formula, which reads each tensor twice; automatic differentiation is slower."""
    if is_training and _is_native(xp, data_format, x, scale, mean, variance):
        return native.gradient(dy, x, scale, mean, variance, epsilon)
    axes, along = _axes(data_format)
    wide, g = x.astype(scale.dtype, copy=False), dy.astype(scale.dtype, copy=False)
    n = x.size // max(1, scale.size)
    inverse = (variance + np.asarray(epsilon, scale.dtype)) ** np.asarray(-0.5, scale.dtype)
    centered = wide - mean.reshape(along)
    d_offset = _sum(xp, g, axes)
    product = _sum(xp, g * centered, axes)
    d_scale = product * inverse
    factor = (scale * inverse).reshape(along)
    if is_training and n:
        count = np.asarray(n, scale.dtype)
        bend = (product * inverse * inverse / count).reshape(along)
        dx = factor * (g - (d_offset / count).reshape(along) - centered * bend)
    else:
        dx = factor * g
    return dx.astype(x.dtype, copy=False), d_scale, d_offset


def _forward(name, operands, results, types, reserves):
    made = op(f"""
    {name}({operands}) -> ({results})
      {types}{_REST}
    Normalizes each channel by its batch's mean and variance, or by given ones, then scales and shifts it.
    """, shape=_forward_shape(reserves))  # fmt: skip

    def run(xp, x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
        for what, values in (("mean", mean), ("variance", variance)):
            if is_training and values.size:
                shown = to_text(values.shape)
                raise InvalidArgumentError(None, None, f"estimated_{what} must be empty for training{shown}")
            if values.ndim != 1:
                shown = to_text(values.shape)
                raise InvalidArgumentError(None, None, f"estimated_{what} must be 1-dimensional{shown}")
        out = _normalize(xp, x, scale, offset, mean, variance, epsilon, data_format, is_training)
        return (*out, xp.zeros((), scale.dtype)) if reserves == 3 else out

    @made.host
    def host(x, scale, offset, mean, variance, **attrs):
        return run(np, x, scale, offset, mean, variance, **attrs)

    @made.lower
    def lower(x, scale, offset, mean, variance, **attrs):
        return run(jnp, x, scale, offset, mean, variance, **attrs)

    @made.cases
    def cases(case):
        _forward_cases(case, reserves)

    return made


_X = np.array(
    [[0.0, 1.0], [2.828427, 5.196152], [8.0, 11.18034], [14.696938, 18.520258]], np.float32
).reshape(1, 2, 2, 2)
_SCALE, _OFFSET, _NONE = np.array([2, 3], np.float32), np.array([1, 1], np.float32), np.zeros(0, np.float32)


def _forward_cases(case, reserves):
    more = (None,) * (reserves - 2)
    mean, variance, biased = [6.3813415, 8.974188], [41.704647, 57.951942], [31.278484, 43.463955]
    y = np.array(
        [-1.2816536, -2.6282158, -0.27034724, -0.7189875, 1.5787526, 2.0037882, 3.9732482, 5.3434153]
    )
    case(
        _X,
        _SCALE,
        _OFFSET,
        _NONE,
        _NONE,
        epsilon=0.01,
        gives=(y.reshape(1, 2, 2, 2), mean, variance, mean, biased, *more),
    )
    case(case.normal(2, 3, 3, 2), case.uniform(2, low=1, high=2), case.normal(2), case.normal(2), case.uniform(2),
         is_training=False)  # fmt: skip
    case(
        case.normal(2, 2, 3, 4),
        case.uniform(2, low=1, high=2),
        case.normal(2),
        _NONE,
        _NONE,
        data_format="NCHW",
    )
    case(np.zeros((0, 2, 2, 2), np.float32), _SCALE, _OFFSET, _NONE, _NONE, grad=False,
         gives=(np.zeros((0, 2, 2, 2)), *[[np.nan, np.nan]] * 4, *more))  # fmt: skip
    unknown = ";?" if reserves == 3 else ""
    case.shapes("[?,4,4,?];[3];?;[0];[0]", "[?,4,4,3];[3];[3];[3];[3]" + unknown)
    case.shapes("[?,?,4,4];[3];?;?;?", "[?,3,4,4];[3];[3];[3];[3]" + unknown, data_format="NCHW")
    case.fails("[3,2,2,2];[2];[2];[0];[0]", match="must be equal, but are 2 and 0", is_training=False)
    case.fails("[3,2,2];[2];[2];[0];[0]", match="must be rank 4 but is rank 3")


FusedBatchNorm = _forward(
    "FusedBatchNorm",
    "x: T, scale: T, offset: T, mean: T, variance: T",
    "y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T",
    "T: {float}",
    2,
)
_MIXED = "x: T, scale: U, offset: U, mean: U, variance: U"
_MIXED_TYPES = "T: {half, bfloat16, float}\n      U: {float}"
FusedBatchNormV2 = _forward(
    "FusedBatchNormV2",
    _MIXED,
    "y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U",
    _MIXED_TYPES,
    2,
)
FusedBatchNormV3 = _forward(
    "FusedBatchNormV3",
    _MIXED,
    "y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U",
    _MIXED_TYPES,
    3,
)


def _forward_grad(kind, has_third):
    def grad(op, dy, *_):
        x, scale = op.inputs[0], op.inputs[1]
        layout, training = op.attrs["data_format"], op.attrs["is_training"]
        third = op.outputs[5:6] if has_third else []
        attrs = {"epsilon": op.attrs["epsilon"], "is_training": training}
        if training:
            reserved = op.outputs[3], op.outputs[4]
            # TensorFlow passes on the op's empty gradients of mean and variance too, which adds nodes.
            return list(getattr(raw, kind)(dy, x, scale, *reserved, *third, data_format=layout, **attrs))
        # TensorFlow's gradient of the inference form exists channels last only.
        swapped = layout == "NCHW"
        if swapped:
            x = public.transpose(x, [0, 2, 3, 1])
            dy = public.transpose(dy, [0, 2, 3, 1])
        out = getattr(raw, kind)(
            dy, x, scale, op.inputs[3], op.inputs[4], *third, data_format="NHWC", **attrs
        )
        dx = public.transpose(out[0], [0, 3, 1, 2]) if swapped else out[0]
        return dx, out[1], out[2], None, None

    return grad


FusedBatchNorm.grad(_forward_grad("FusedBatchNormGrad", False))
FusedBatchNormV2.grad(_forward_grad("FusedBatchNormGradV2", False))
FusedBatchNormV3.grad(_forward_grad("FusedBatchNormGradV3", True))


def _backward(name, operands, results, types):
    made = op(f"""
    {name}({operands}) -> ({results})
      {types}{_REST}
    The gradient of fused batch normalization with respect to x, scale and offset.
    """, grad=second_gradient)  # fmt: skip

    @made.shape
    def shape(y_backprop, x, scale, mean, variance, *_, data_format, is_training):
        c = data_format.index("C")
        dims = with_rank(y_backprop, 4)
        channels = merge_dim(dims[c], with_rank(x, 4)[c])
        for vector in (scale, mean, variance):
            channels = merge_dim(channels, with_rank(vector, 1)[0])
        reserved = (0,) if is_training else (channels,)
        return [(*dims[:c], channels, *dims[c + 1 :]), (channels,), (channels,), reserved, reserved]

    def run(xp, y_backprop, x, scale, mean, variance, epsilon, data_format, is_training):
        if y_backprop.shape != x.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"x and y_backprop must have the same shape, but have {to_text(x.shape)} and "
                f"{to_text(y_backprop.shape)}",
            )
        out = _gradient(xp, y_backprop, x, scale, mean, variance, epsilon, data_format, is_training)
        reserved = xp.zeros((0,) if is_training else scale.shape, scale.dtype)
        return (*out, reserved, reserved)

    @made.host
    def host(y_backprop, x, scale, mean, variance, *_, epsilon, data_format, is_training):
        return run(np, y_backprop, x, scale, mean, variance, epsilon, data_format, is_training)

    @made.lower
    def lower(y_backprop, x, scale, mean, variance, *_, epsilon, data_format, is_training):
        return run(jnp, y_backprop, x, scale, mean, variance, epsilon, data_format, is_training)

    @made.cases
    def cases(case):
        third = (np.zeros((), np.float32),) * name.endswith("V3")
        mean, biased = (
            np.array([6.3813415, 8.974188], np.float32),
            np.array([31.278484, 43.463955], np.float32),
        )
        dx = np.array(
            [
                -0.87510848,
                -1.23527205,
                2.1637876,
                3.28258634,
                -1.91287422,
                -3.00875378,
                0.62419587,
                0.96143985,
            ]
        )
        case(_X[:, ::-1], _X, _SCALE, mean, biased, *third, epsilon=0.01, grad=False,
             gives=(dx.reshape(1, 2, 2, 2), [-14.256916, -16.275982], [25.525364, 35.896751], None, None))  # fmt: skip
        dx = np.array(
            [
                11.2855301,
                19.3327217,
                20.7328434,
                32.0247002,
                0,
                1.7291711568832397,
                3.990037441253662,
                8.985036849975586,
            ]
        )
        case(_X[:, ::-1], _X, _SCALE, _OFFSET, _SCALE, *third, epsilon=0.01, is_training=False, grad=False,
             gives=(dx.reshape(1, 2, 2, 2), [40.637127, 103.13474], [25.525364, 35.896751], None, None))  # fmt: skip
        more = ";[]" * len(third)
        case.shapes(f"[?,4,4,?];?;[3];[3];[3]{more}", "[?,4,4,3];[3];[3];[0];[0]")

    return made


FusedBatchNormGrad = _backward(
    "FusedBatchNormGrad",
    "y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T",
    "x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T",
    "T: {float}",
)
FusedBatchNormGradV2 = _backward(
    "FusedBatchNormGradV2",
    "y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U",
    "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U",
    _MIXED_TYPES,
)
FusedBatchNormGradV3 = _backward(
    "FusedBatchNormGradV3",
    "y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U",
    "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U",
    _MIXED_TYPES,
)


@export("nn.fused_batch_norm")
def fused_batch_norm(
    x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True, name=None
):
    """Returns `x` normalized channel by channel, and the mean and variance of the batch.

    Args:
      x: Images.
      scale: What each normalized channel is multiplied by.
      offset: What is added to it then.
      mean: Each channel's mean, when not training.
      variance: Each channel's variance, when not training.
      epsilon: What is added to the variance.
      data_format: "NHWC" or "NCHW".
      is_training: Whether mean and variance are the batch's own.
      name: A name for the operation.

    Raises:
      ValueError: `mean` or `variance` is given while training.
    """
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    if mean is None:
        mean = public.constant([])
    if variance is None:
        variance = public.constant([])
    # The least epsilon that every implementation of the op agrees on.
    least = 1.001e-5
    y, batch_mean, batch_variance, *_ = raw.FusedBatchNormV3(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=max(epsilon, least),
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return y, batch_mean, batch_variance
