"""Linear interpolation of images of quantized numbers."""

from __future__ import annotations

import numpy as np

from headrace.opdef import op
from headrace.ops.image import interpolation
from headrace.ops.image.resize import mixed
from headrace.ops.image.sizes import checked_images, invalid, resized
from headrace.shapes import with_rank

# Binary places that TensorFlow gives to the numbers between two pixels.
_PLACES = {1: 7, 4: 30}

QuantizedResizeBilinear = op("""
    QuantizedResizeBilinear(images: T, size: int32, min: float, max: float)
        -> (resized_images: T, out_min: float, out_max: float)
      T: {quint8, qint32, float}
      align_corners: bool = false
      half_pixel_centers: bool = false

    ResizeBilinear of quantized images; what the numbers mean (`min` and `max`) stays as it is.
""")  # fmt: skip


@QuantizedResizeBilinear.shape
def quantized_resize_bilinear_shape(images, size, min, max, *, ctx):
    with_rank(min, 0)
    with_rank(max, 0)
    return [resized(images, size, ctx), (), ()]


def _resized(images, size, align_corners, half_pixel_centers):
    size = checked_images(images.shape, size, images.dtype.itemsize)
    if size == images.shape[1:3]:
        return images
    rows, columns = (
        interpolation.between(images.shape[i + 1], size[i], align_corners, half_pixel_centers)
        for i in range(2)
    )
    if images.dtype.kind == "f":
        return mixed(images, rows, columns)
    places = _PLACES[images.dtype.itemsize]
    one = 1 << places
    right, down = ((t.fraction * np.float32(one)).astype(np.int64) for t in (columns, rows))
    right, down = right[:, None], down[:, None, None]
    # TensorFlow's numbers pass through float32, whatever comes after.
    images = images.astype(np.float32).astype(np.int64)

    def along(y):
        left = images[:, y, columns.lower[None]]
        return left * one + (images[:, y, columns.upper[None]] - left) * right

    top = along(rows.lower[:, None])
    total = top + _quotient(along(rows.upper[:, None]) - top, one) * down
    return _quotient(total + one // 2, one)


def _quotient(x, one):
    """Divides as C does, towards zero."""
    return np.where(x < 0, -(-x // one), x // one)


def _plain(array):
    """Returns quantized numbers (a structured array) as the integers that they are stored as."""
    return array.view(array.dtype[0]) if array.dtype.names else array


@QuantizedResizeBilinear.host
def quantized_resize_bilinear_host(images, size, min, max, *, align_corners, half_pixel_centers):
    plain = _plain(images)
    with np.errstate(all="ignore"):
        out = _resized(plain, size, align_corners, half_pixel_centers).astype(plain.dtype)
    return np.ascontiguousarray(out).view(images.dtype), _one(min, "min"), _one(max, "max")


def _one(value, what):
    """Returns the number that is given as a scalar, or, as TensorFlow doesn't mind, as an array's first."""
    if value.size == 0:
        raise invalid(f"{what} must be a scalar")
    return value.reshape(-1)[0]


@QuantizedResizeBilinear.cases
def quantized_resize_bilinear_cases(case):
    row = np.array([0.0, 1.0, 3.0], np.float32).reshape(1, 1, 3, 1)
    low, high = np.float32(-1), np.float32(2)
    case(row, np.array([1, 6], np.int32), low, high,
         gives=(np.array([0, 0.5, 1, 2, 3, 3]).reshape(1, 1, 6, 1), low, high))  # fmt: skip
    case(row, np.array([2, 5], np.int32), low, high, align_corners=True)
    case(row, np.array([2, 5], np.int32), low, high, half_pixel_centers=True)
    case.shapes("[2,?,5,3];[2];[];[]", "[2,?,?,3];[];[]", T="quint8")
    case.fails("[2,5,3];[2];[];[]", match="Shape must be rank 4 but is rank 3", T="quint8")
    case.fails("[2,4,5,3];[2];[];[1]", match="Shape must be rank 0 but is rank 1", T="quint8")
    case.fails((row, np.array([0, 6], np.int32), low, high), match="output dimensions must be positive")
