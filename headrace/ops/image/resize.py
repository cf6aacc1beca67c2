"""Resizing images with linear interpolation and to the nearest pixel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.image import interpolation
from headrace.ops.image.sizes import (
    LARGE,
    check_centers,
    check_room,
    checked_images,
    checked_size,
    gradient_shape,
    resized,
)

_MODES = """
      align_corners: bool = false
      half_pixel_centers: bool = false
"""
MODES = ("align_corners", "half_pixel_centers")


def modes(op: Any) -> dict[str, Any]:
    """Returns the attrs that the gradient op of a resizing op shares with it."""
    return {name: op.attrs[name] for name in MODES}


ResizeBilinear = op(f"""
    ResizeBilinear(images: T, size: int32) -> (resized_images: float)
      T: {{int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}}{_MODES}
    Resizes images with linear interpolation between the four pixels around each place.
""")  # fmt: skip


@ResizeBilinear.shape
def resize_bilinear_shape(images, size, *, ctx):
    return resized(images, size, ctx)


def _checked(images, size, align_corners, half_pixel_centers, itemsize=4):
    check_centers(align_corners, half_pixel_centers)
    return checked_images(images.shape, size, itemsize)


def _linear_tables(shape, size, align_corners, half_pixel_centers):
    rows = interpolation.between(shape[1], size[0], align_corners, half_pixel_centers)
    columns = interpolation.between(shape[2], size[1], align_corners, half_pixel_centers)
    return rows, columns


def mixed(images: Any, rows: Any, columns: Any) -> Any:
    """Returns what lies between the four neighbours of each place, first along the rows."""
    right, down = columns.fraction[:, None], rows.fraction[:, None, None]

    def along(y):
        left = images[:, y, columns.lower[None]]
        return left + (images[:, y, columns.upper[None]] - left) * right

    top = along(rows.lower[:, None])
    return top + (along(rows.upper[:, None]) - top) * down


@ResizeBilinear.host(small=True)
def resize_bilinear_host(images, size, *, align_corners, half_pixel_centers):
    size = _checked(images, size, align_corners, half_pixel_centers)
    if images.shape[0] * size[0] * size[1] * images.shape[3] > LARGE:
        return NotImplemented
    images = images.astype(np.float32)
    if size == images.shape[1:3]:
        return images
    with np.errstate(all="ignore"):
        return mixed(images, *_linear_tables(images.shape, size, align_corners, half_pixel_centers))


@ResizeBilinear.lower(static="size")
def resize_bilinear_lower(images, size, *, align_corners, half_pixel_centers):
    size = _checked(images, size, align_corners, half_pixel_centers)
    images = images.astype(jnp.float32)
    if size == images.shape[1:3]:
        return images
    rows, columns = _linear_tables(images.shape, size, align_corners, half_pixel_centers)
    across = interpolation.apart(interpolation.lerped(images, 2, columns))
    return interpolation.apart(interpolation.lerped(across, 1, rows))


@ResizeBilinear.grad
def resize_bilinear_grad(op, dy):
    image = op.inputs[0]
    if not image.dtype.is_floating:
        return None, None
    return raw.ResizeBilinearGrad(dy, image, **modes(op)), None


_RAMP = np.array([0.0, 1.0, 2.0, 3.0], np.float32).reshape(1, 2, 2, 1)
_EACH = ({}, {"align_corners": True}, {"half_pixel_centers": True})


def _size(height, width):
    return np.array([height, width], np.int32)


def _resizing_failures(case):
    case.fails("[4,4,1];[2]", match="Shape must be rank 4 but is rank 3")
    case.fails("[1,4,4,1];[3]", match="Dimension must be 2 but is 3")
    case.fails((_RAMP, _size(0, 3)), match="output dimensions must be positive")
    case.fails(
        (np.zeros((1, 0, 2, 1), np.float32), _size(2, 3)), match="input image must be of non-zero size"
    )


@ResizeBilinear.cases
def resize_bilinear_cases(case):
    case(_RAMP, _size(3, 3), align_corners=True,
         gives=np.array([0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3]).reshape(1, 3, 3, 1))  # fmt: skip
    case(_RAMP, _size(2, 4), gives=np.array([0, 0.5, 1, 1, 2, 2.5, 3, 3]).reshape(1, 2, 4, 1))
    case(_RAMP, _size(2, 4), half_pixel_centers=True,
         gives=np.array([0, 0.25, 0.75, 1, 2, 2.25, 2.75, 3]).reshape(1, 2, 4, 1))  # fmt: skip
    for attrs in _EACH:
        case(case.normal(2, 5, 6, 3), _size(7, 4), **attrs)
        case(case.normal(1, 3, 4, 2), _size(1, 1), **attrs)
    case(case.normal(2, 5, 6, 3), _size(5, 6))
    case(np.zeros((0, 2, 2, 1), np.float32), _size(3, 3), gives=np.zeros((0, 3, 3, 1)), grad=False)
    case.shapes("[2,?,5,3];[2]", "[2,?,?,3]")
    case.shapes("?;[2]", "[?,7,?,?]", values={"size": _size(7, -1)})
    _resizing_failures(case)
    case.fails((_RAMP, _size(3, 3)), match="align_corners must be False", align_corners=True,
               half_pixel_centers=True)  # fmt: skip


ResizeBilinearGrad = op(f"""
    ResizeBilinearGrad(grads: float, original_image: T) -> (output: T)
      T: {{float, bfloat16, half, double}}{_MODES}
    The gradient of ResizeBilinear by its images.
""")  # fmt: skip


@ResizeBilinearGrad.shape
def resize_bilinear_grad_shape(grads, original_image):
    return original_image


@ResizeBilinearGrad.host(small=True)
def resize_bilinear_grad_host(grads, original_image, *, align_corners, half_pixel_centers):
    """Adds one output pixel after the other, as TensorFlow does, to the type's precision."""
    check_centers(align_corners, half_pixel_centers)
    shape = gradient_shape(grads.shape, original_image.shape)
    dtype = original_image.dtype
    if grads.size == 0:
        return np.zeros(shape, dtype)
    if grads.size > LARGE // 8:
        return NotImplemented
    rows, columns = _linear_tables(shape, grads.shape[1:3], align_corners, half_pixel_centers)
    return scattered(
        grads, shape, interpolation.taps_between(rows), interpolation.taps_between(columns), dtype
    )


def scattered(grads: Any, shape: Any, rows: Any, columns: Any, dtype: Any) -> Any:
    """Returns the gradient by images: each pixel's parts added where they came from, one pixel after the other."""
    out = np.zeros((shape[1], shape[2], shape[0], shape[3]), dtype)
    place = rows.index[:, None, :, None], columns.index[None, :, None, :]
    grads = grads.transpose(1, 2, 0, 3)[:, :, None, None]
    weight = (
        rows.weight[:, None, :, None, None, None],
        columns.weight[None, :, None, :, None, None],
    )
    with np.errstate(all="ignore"):
        parts = (grads * weight[0] * weight[1]).astype(dtype)
        np.add.at(out, np.broadcast_arrays(*place), parts)
    return np.ascontiguousarray(out.transpose(2, 0, 1, 3))


@ResizeBilinearGrad.lower
def resize_bilinear_grad_lower(grads, original_image, *, align_corners, half_pixel_centers):
    check_centers(align_corners, half_pixel_centers)
    shape = gradient_shape(grads.shape, original_image.shape)
    if grads.size == 0:
        return jnp.zeros(shape, original_image.dtype)
    rows, columns = _linear_tables(shape, grads.shape[1:3], align_corners, half_pixel_centers)
    return gathered(
        grads,
        shape,
        interpolation.taps_between(rows),
        interpolation.taps_between(columns),
        original_image.dtype,
    )


def gathered(grads: Any, shape: Any, rows: Any, columns: Any, dtype: Any) -> Any:
    """Returns the gradient by images, gathered along the columns and then the rows."""
    if dtype == jnp.float64:
        grads = grads.astype(dtype)
    down = interpolation.lowered(grads, 1, interpolation.transposed(rows, shape[1]))
    down = interpolation.apart(down)
    both = interpolation.lowered(down, 2, interpolation.transposed(columns, shape[2]))
    return interpolation.apart(both.astype(dtype))


@ResizeBilinearGrad.cases
def resize_bilinear_grad_cases(case):
    ones = np.ones((1, 3, 3, 1), np.float32)
    case(ones, _RAMP, align_corners=True, gives=np.full((1, 2, 2, 1), 2.25))
    for attrs in _EACH:
        case(case.normal(2, 7, 4, 3), case.normal(2, 5, 6, 3), **attrs)
        case(case.normal(1, 60, 2, 1), case.normal(1, 2, 2, 1), **attrs)
    case.shapes("[2,?,5,3];[2,7,8,3]", "[2,7,8,3]")
    case.fails((np.zeros((2, 2, 1), np.float32), _RAMP), match=r"input_grad must be 4-dimensional\[2,2,1\]")
    case.fails((ones, np.zeros((1, 0, 2, 1), np.float32)), match="original_image must be of non-zero size")


# -- the nearest pixel --------------------------------------------------------------------------------------

ResizeNearestNeighbor = op(f"""
    ResizeNearestNeighbor(images: T, size: int32) -> (resized_images: T)
      T: {{int8, uint8, int16, uint16, int32, int64, half, float, double}}{_MODES}
    Resizes images by taking the pixel nearest to each place.
""")  # fmt: skip


@ResizeNearestNeighbor.shape
def resize_nearest_neighbor_shape(images, size, *, ctx):
    return resized(images, size, ctx)


def _nearest(images, size, align_corners, half_pixel_centers):
    size = _checked(images, size, align_corners, half_pixel_centers, images.dtype.itemsize)
    rows = interpolation.nearest(images.shape[1], size[0], align_corners, half_pixel_centers)
    columns = interpolation.nearest(images.shape[2], size[1], align_corners, half_pixel_centers)
    return rows, columns


@ResizeNearestNeighbor.host
def resize_nearest_neighbor_host(images, size, *, align_corners, half_pixel_centers):
    rows, columns = _nearest(images, size, align_corners, half_pixel_centers)
    return images[:, rows[:, None], columns[None]]


@ResizeNearestNeighbor.lower(static="size")
def resize_nearest_neighbor_lower(images, size, *, align_corners, half_pixel_centers):
    rows, columns = _nearest(images, size, align_corners, half_pixel_centers)
    return jnp.take(jnp.take(images, rows, axis=1, mode="clip"), columns, axis=2, mode="clip")


@ResizeNearestNeighbor.grad
def resize_nearest_neighbor_grad(op, dy):
    return raw.ResizeNearestNeighborGrad(dy, image_size(op.inputs[0]), **modes(op)), None


def image_size(image: Any) -> Any:
    """Returns the height and width of images: a list where they are static, else nodes that slice the shape."""
    if image._dims is not None and None not in image._dims[1:3]:
        return list(image._dims[1:3])
    return raw.Shape(image)[1:3]


@ResizeNearestNeighbor.cases
def resize_nearest_neighbor_cases(case):
    case(_RAMP, _size(3, 4), gives=np.array([0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3]).reshape(1, 3, 4, 1))
    case(_RAMP, _size(3, 4), align_corners=True,
         gives=np.array([0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3]).reshape(1, 3, 4, 1))  # fmt: skip
    case(_RAMP, _size(1, 3), half_pixel_centers=True, gives=np.array([2, 3, 3]).reshape(1, 1, 3, 1))
    for attrs in _EACH:
        case(case.normal(2, 5, 6, 3), _size(7, 4), **attrs)
    case.shapes("[2,?,5,3];[2]", "[2,?,?,3]")
    _resizing_failures(case)


ResizeNearestNeighborGrad = op(f"""
    ResizeNearestNeighborGrad(grads: T, size: int32) -> (output: T)
      T: {{uint8, int8, int32, half, float, double}}{_MODES}
    The gradient of ResizeNearestNeighbor by its images, which have this size.
""")  # fmt: skip


@ResizeNearestNeighborGrad.shape
def resize_nearest_neighbor_grad_shape(grads, size, *, ctx):
    return resized(grads, size, ctx)


def _nearest_tables(grads, size, align_corners, half_pixel_centers):
    height, width = checked_size(grads.shape, size, positive="shape_t's elements must be positive")
    shape = (grads.shape[0], height, width, grads.shape[3])
    check_room(shape, grads.dtype.itemsize)
    if grads.size == 0:
        return shape, None, None
    rows = interpolation.nearest(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = interpolation.nearest(width, grads.shape[2], align_corners, half_pixel_centers)
    return shape, rows, columns


@ResizeNearestNeighborGrad.host(small=True)
def resize_nearest_neighbor_grad_host(grads, size, *, align_corners, half_pixel_centers):
    shape, rows, columns = _nearest_tables(grads, size, align_corners, half_pixel_centers)
    if rows is None:
        return np.zeros(shape, grads.dtype)
    if math.prod(shape) + grads.size > LARGE:
        return NotImplemented
    out = np.zeros((shape[1], shape[2], shape[0], shape[3]), grads.dtype)
    with np.errstate(all="ignore"):
        np.add.at(out, np.broadcast_arrays(rows[:, None], columns[None]), grads.transpose(1, 2, 0, 3))
    return np.ascontiguousarray(out.transpose(2, 0, 1, 3))


@ResizeNearestNeighborGrad.lower(static="size")
def resize_nearest_neighbor_grad_lower(grads, size, *, align_corners, half_pixel_centers):
    shape, rows, columns = _nearest_tables(grads, size, align_corners, half_pixel_centers)
    if rows is None:
        return jnp.zeros(shape, grads.dtype)
    return gathered(grads, shape, _alone(rows), _alone(columns), grads.dtype)


def _alone(index):
    shape = (len(index), 1)
    return interpolation.Taps(index[:, None], np.ones(shape, np.float32), np.ones(shape, bool))


@ResizeNearestNeighborGrad.cases
def resize_nearest_neighbor_grad_cases(case):
    case(np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1), _size(2, 2),
         gives=np.array([1, 2, 7, 5]).reshape(1, 2, 2, 1))  # fmt: skip
    for attrs in _EACH:
        case(case.normal(2, 7, 4, 3), _size(5, 6), **attrs)
    case.shapes("[2,?,5,3];[2]", "[2,4,4,3]", values={"size": _size(4, 4)})
    case.fails("[4,4,1];[2]", match="Shape must be rank 4 but is rank 3")
    case.fails((_RAMP, _size(0, 3)), match="shape_t's elements must be positive")
