"""Moving pixels away from their channel's mean, or nearer to it."""

from __future__ import annotations

import math

import numpy as np

from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.image.sizes import invalid, shown
from headrace.shapes import with_rank, with_rank_at_least

AdjustContrastv2 = op("""
    AdjustContrastv2(images: T, contrast_factor: float) -> (output: T)
      T: {half, float} = float

    Pixels that differ from their channel's mean, over height and width, by a factor more.
""")  # fmt: skip

AdjustContrast = op("""
    AdjustContrast(images: T, contrast_factor: float, min_value: float, max_value: float) -> (output: float)
      T: {uint8, int8, int16, int32, int64, float, double}
      deprecated 2

    AdjustContrastv2 with a least and a greatest value of the result.
""")  # fmt: skip


@AdjustContrastv2.shape
@AdjustContrast.shape
def adjust_contrast_shape(images, contrast_factor, *limits):
    for scalar in (contrast_factor, *limits):
        with_rank(scalar, 0)
    return with_rank_at_least(images, 3)


def _means(pixels):
    """Returns the means over axis 1, halves being added up again and again as TensorFlow does."""
    total, left = pixels.copy(), pixels.shape[1]
    while left > 1:
        half = left // 2
        left -= half
        total[:, :half] += total[:, left : left + half]
    return total[:, :1] * (np.float32(1) / np.float32(pixels.shape[1]))


def _adjusted(images, contrast_factor, limits, means):
    if len(images.shape) < 3:
        raise invalid(f"input must be at least 3-D, got shape{shown(images.shape)}")
    for what, value in zip(
        ("contrast_factor", "min_value", "max_value"), (contrast_factor, *limits), strict=False
    ):
        if value.shape:
            raise invalid(f"{what} must be scalar: {shown(value.shape)}")
    height, width, channels = images.shape[-3:]
    batch = math.prod(images.shape[:-3])
    pixels = images.astype(np.float32)
    if 0 in images.shape:
        return pixels
    pixels = pixels.reshape(batch, height * width, channels)
    mean = means(pixels)
    return ((pixels - mean) * contrast_factor + mean).reshape(images.shape)


def _mean(pixels):
    return pixels.mean(axis=1, keepdims=True)


@AdjustContrastv2.host
def adjust_contrast_v2_host(images, contrast_factor):
    with np.errstate(all="ignore"):
        return _adjusted(images, contrast_factor, (), _means).astype(images.dtype)


@AdjustContrastv2.lower
def adjust_contrast_v2_lower(images, contrast_factor):
    return _adjusted(images, contrast_factor, (), _mean).astype(images.dtype)


@AdjustContrast.host
def adjust_contrast_host(images, contrast_factor, min_value, max_value):
    with np.errstate(all="ignore"):
        out = _adjusted(images, contrast_factor, (min_value, max_value), _means)
        return np.maximum(np.minimum(out, max_value), min_value)


@AdjustContrast.lower
def adjust_contrast_lower(images, contrast_factor, min_value, max_value):
    out = _adjusted(images, contrast_factor, (min_value, max_value), _mean)
    return jnp.maximum(jnp.minimum(out, max_value), min_value)


_IMAGE = np.array([[0, 8], [2, 4], [1, 0], [5, 4]], np.float32).reshape(2, 2, 2)


@AdjustContrastv2.cases
def adjust_contrast_v2_cases(case):
    case(_IMAGE, np.float32(2), gives=np.array([[-2, 12], [2, 4], [0, -4], [8, 4]]).reshape(2, 2, 2))
    case(case.normal(2, 5, 7, 3), np.float32(-0.5))
    case(np.zeros((2, 0, 4, 1), np.float32), np.float32(3), gives=np.zeros((2, 0, 4, 1)))
    case.shapes("[?,4,?,3];[]", "[?,4,?,3]")
    case.fails("[4,3];[]", match="Shape must be at least rank 3 but is rank 2")
    case.fails("[1,4,4,3];[1]", match="Shape must be rank 0 but is rank 1")


@AdjustContrast.cases
def adjust_contrast_cases(case):
    low, high = np.float32(-1), np.float32(9)
    case(
        _IMAGE, np.float32(2), low, high, gives=np.array([[-1, 9], [2, 4], [0, -1], [8, 4]]).reshape(2, 2, 2)
    )
    case(case.normal(2, 5, 7, 3), np.float32(-0.5), low, high)
    case.shapes("[?,4,?,3];[];[];[]", "[?,4,?,3]")
    case.fails("[4,3];[];[];[]", match="Shape must be at least rank 3 but is rank 2")
    case.fails("[1,4,4,3];[];[1];[]", match="Shape must be rank 0 but is rank 1")
