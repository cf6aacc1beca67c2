"""Resizing images with bicubic interpolation and by areas."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import float32, float64
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.image import interpolation
from headrace.ops.image.resize import gathered, modes, scattered
from headrace.ops.image.sizes import (
    LARGE,
    check_centers,
    checked_images,
    gradient_shape,
    resized,
)

_MODES = """
      align_corners: bool = false
      half_pixel_centers: bool = false
"""

ResizeBicubic = op(f"""
    ResizeBicubic(images: T, size: int32) -> (resized_images: float)
      T: {{int8, uint8, int16, uint16, int32, int64, half, float, double}}{_MODES}
    Resizes images with cubic interpolation between the sixteen pixels around each place.
""")  # fmt: skip


@ResizeBicubic.shape
def resize_bicubic_shape(images, size, *, ctx):
    return resized(images, size, ctx)


def _cubic_tables(shape, size, align_corners, half_pixel_centers):
    rows = interpolation.cubic(shape[1], size[0], align_corners, half_pixel_centers)
    columns = interpolation.cubic(shape[2], size[1], align_corners, half_pixel_centers)
    return rows, columns


@ResizeBicubic.host(small=True)
def resize_bicubic_host(images, size, *, align_corners, half_pixel_centers):
    check_centers(align_corners, half_pixel_centers)
    size = checked_images(images.shape, size)
    if images.shape[0] * size[0] * size[1] * images.shape[3] > LARGE:
        return NotImplemented
    images = images.astype(np.float32)
    if size == images.shape[1:3]:
        return images
    rows, columns = _cubic_tables(images.shape, size, align_corners, half_pixel_centers)
    with np.errstate(all="ignore"):
        return interpolation.summed(interpolation.summed(images, 1, rows), 2, columns)


@ResizeBicubic.lower(static="size")
def resize_bicubic_lower(images, size, *, align_corners, half_pixel_centers):
    check_centers(align_corners, half_pixel_centers)
    size = checked_images(images.shape, size)
    images = images.astype(jnp.float32)
    if size == images.shape[1:3]:
        return images
    rows, columns = _cubic_tables(images.shape, size, align_corners, half_pixel_centers)
    down = interpolation.apart(interpolation.lowered(images, 1, rows))
    return interpolation.apart(interpolation.lowered(down, 2, columns))


@ResizeBicubic.grad
def resize_bicubic_grad(op, dy):
    image = op.inputs[0]
    if image.dtype.base_dtype not in (float32, float64):
        return None, None
    return raw.ResizeBicubicGrad(dy, image, **modes(op)), None


_RAMP = np.array([0.0, 1.0, 2.0, 3.0], np.float32).reshape(1, 2, 2, 1)
_EACH = ({}, {"align_corners": True}, {"half_pixel_centers": True})


def _size(height, width):
    return np.array([height, width], np.int32)


@ResizeBicubic.cases
def resize_bicubic_cases(case):
    case(_RAMP, _size(1, 4), gives=np.array([0, 0.5, 1, 1.09375]).reshape(1, 1, 4, 1))
    for attrs in _EACH:
        case(case.normal(2, 5, 6, 3), _size(7, 4), **attrs)
        case(case.normal(1, 3, 4, 2), _size(1, 1), **attrs)
    case(case.normal(2, 5, 6, 3), _size(5, 6))
    case.shapes("[2,?,5,3];[2]", "[2,?,?,3]")
    case.fails("[4,4,1];[2]", match="Shape must be rank 4 but is rank 3")
    case.fails((_RAMP, _size(-1, 3)), match="output dimensions must be positive")
    case.fails((np.zeros((1, 2, 2, 0), np.float32), _size(2, 3)), match="must have at least one channel")


ResizeBicubicGrad = op(f"""
    ResizeBicubicGrad(grads: float, original_image: T) -> (output: T)
      T: {{float, double}}{_MODES}
    The gradient of ResizeBicubic by its images.
""")  # fmt: skip


@ResizeBicubicGrad.shape
def resize_bicubic_grad_shape(grads, original_image):
    return original_image


@ResizeBicubicGrad.host(small=True)
def resize_bicubic_grad_host(grads, original_image, *, align_corners, half_pixel_centers):
    check_centers(align_corners, half_pixel_centers)
    shape = gradient_shape(grads.shape, original_image.shape)
    if grads.size == 0:
        return np.zeros(shape, original_image.dtype)
    if grads.size > LARGE // 32:
        return NotImplemented
    rows, columns = _cubic_tables(shape, grads.shape[1:3], align_corners, half_pixel_centers)
    return scattered(grads.astype(original_image.dtype), shape, rows, columns, original_image.dtype)


@ResizeBicubicGrad.lower
def resize_bicubic_grad_lower(grads, original_image, *, align_corners, half_pixel_centers):
    check_centers(align_corners, half_pixel_centers)
    shape = gradient_shape(grads.shape, original_image.shape)
    if grads.size == 0:
        return jnp.zeros(shape, original_image.dtype)
    rows, columns = _cubic_tables(shape, grads.shape[1:3], align_corners, half_pixel_centers)
    return gathered(grads, shape, rows, columns, original_image.dtype)


@ResizeBicubicGrad.cases
def resize_bicubic_grad_cases(case):
    case(
        np.ones((1, 1, 4, 1), np.float32), _RAMP, gives=np.array([1.40625, 2.59375, 0, 0]).reshape(1, 2, 2, 1)
    )
    for attrs in _EACH:
        case(case.normal(2, 7, 4, 3), case.normal(2, 5, 6, 3), **attrs)
    case.shapes("[2,?,5,3];[2,7,8,3]", "[2,7,8,3]")
    case.fails(
        (_RAMP, np.zeros((2, 2, 1), np.float32)), match=r"original_image must be 4-dimensional\[2,2,1\]"
    )


# -- areas --------------------------------------------------------------------------------------------------

ResizeArea = op("""
    ResizeArea(images: T, size: int32) -> (resized_images: float)
      T: {int8, uint8, int16, uint16, int32, int64, half, float, double}
      align_corners: bool = false

    Resizes images by averaging what each output pixel covers of the input.
""")  # fmt: skip


@ResizeArea.shape
def resize_area_shape(images, size, *, ctx):
    return resized(images, size, ctx)


def _area_tables(shape, size, align_corners):
    steps = [interpolation.ratio(n, m, align_corners) for n, m in zip(shape[1:3], size, strict=True)]
    rows, columns = (interpolation.area(n, m, align_corners) for n, m in zip(shape[1:3], size, strict=True))
    with np.errstate(all="ignore"):
        return rows, columns, np.float32(1) / (steps[0] * steps[1])


@ResizeArea.host(small=True)
def resize_area_host(images, size, *, align_corners):
    size = checked_images(images.shape, size)
    rows, columns, scale = _area_tables(images.shape, size, align_corners)
    terms = images.shape[0] * images.shape[3] * rows.index.size * columns.index.size
    if terms > LARGE:
        return NotImplemented
    images = images.astype(np.float32)
    total = np.zeros((images.shape[0], *size, images.shape[3]), np.float32)
    with np.errstate(all="ignore"):
        for i in range(rows.index.shape[1]):
            # Whole rows first, then their weights: what TensorFlow rounds.
            row = np.zeros_like(total)
            for j in range(columns.index.shape[1]):
                part = images[:, rows.index[:, i, None], columns.index[None, :, j]]
                row += np.where(columns.used[:, j, None], part * columns.weight[:, j, None], np.float32(0))
            total += np.where(rows.used[:, i, None, None], row * rows.weight[:, i, None, None], np.float32(0))
        return total * scale


@ResizeArea.lower(static="size")
def resize_area_lower(images, size, *, align_corners):
    size = checked_images(images.shape, size)
    rows, columns, scale = _area_tables(images.shape, size, align_corners)
    down = interpolation.apart(interpolation.lowered(images.astype(jnp.float32), 1, rows))
    return interpolation.apart(interpolation.lowered(down, 2, columns) * scale)


@ResizeArea.cases
def resize_area_cases(case):
    case(_RAMP, _size(1, 1), gives=[[[[1.5]]]])
    case(
        np.arange(3, dtype=np.float32).reshape(1, 1, 3, 1),
        _size(1, 2),
        gives=np.array([1 / 3, 5 / 3]).reshape(1, 1, 2, 1),
    )
    case(case.normal(2, 5, 6, 3), _size(7, 4))
    case(case.normal(2, 7, 60, 2), _size(3, 2), align_corners=True)
    case.shapes("[2,?,5,3];[2]", "[2,?,?,3]")
    case.fails("[4,4,1];[2]", match="Shape must be rank 4 but is rank 3")
    case.fails((_RAMP, _size(3, 0)), match="output dimensions must be positive")
