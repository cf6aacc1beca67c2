"""Cutting boxes out of images and resizing them, and the gradients by images and by boxes."""

from __future__ import annotations

import numpy as np

from headrace.errors import OutOfRangeError
from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.image import interpolation
from headrace.ops.image.crop_boxes import (
    check_grads,
    check_images,
    checked_crop,
    lines,
    nearest,
)
from headrace.ops.image.sizes import check_room, invalid, shown, static_size
from headrace.shapes import merge_dim, with_rank

_TYPES = "{uint8, uint16, int8, int16, int32, int64, half, float, double}"

CropAndResize = op(f"""
    CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32) -> (crops: float)
      T: {_TYPES}
      method: {{"bilinear", "nearest"}} = "bilinear"
      extrapolation_value: float = 0

    Cuts boxes (y1, x1, y2, x2, in parts of the image) out of images, each resized to `crop_size`.
""")  # fmt: skip


def _box_count(boxes, box_ind):
    count, four = with_rank(boxes, 2)
    (numbers,) = with_rank(box_ind, 1)
    if count is not None and numbers is not None and count != numbers:
        raise ValueError(f"Dimensions must be equal, but are {count} and {numbers}")
    if four not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {four}")
    return merge_dim(count, numbers)


@CropAndResize.shape
def crop_and_resize_shape(image, boxes, box_ind, crop_size, *, ctx):
    *_, depth = with_rank(image, 4)
    count = _box_count(boxes, box_ind)
    return (count, *static_size(crop_size, ctx, "crop_size"), depth)


def _pick(image, box_ind, rows, columns):
    return image[box_ind[:, None, None], rows[:, :, None], columns[:, None, :]]


def _cropped(image, boxes, box_ind, crop_size, method, extrapolation_value, ctx, xp):
    crop = checked_crop(image.shape, boxes, box_ind, crop_size)
    if boxes.size == 0:
        return xp.zeros((0, *crop, image.shape[3]), np.float32)
    check_images(box_ind, image.shape[0], ctx)
    rows, columns = lines(boxes, image.shape[1:3], crop, xp)
    if method == "nearest":
        found = _pick(image, box_ind, nearest(rows, xp), nearest(columns, xp)).astype(np.float32)
    else:
        corners = [
            _pick(image, box_ind, y, x).astype(np.float32)
            for y in (rows.first, rows.second)
            for x in (columns.first, columns.second)
        ]
        right, down = columns.fraction[:, None, :, None], rows.fraction[:, :, None, None]
        top = corners[0] + (corners[1] - corners[0]) * right
        bottom = corners[2] + (corners[3] - corners[2]) * right
        found = top + (bottom - top) * down
    inside = rows.inside[:, :, None, None] & columns.inside[:, None, :, None]
    return xp.where(inside, found, np.float32(extrapolation_value))


@CropAndResize.host
def crop_and_resize_host(image, boxes, box_ind, crop_size, *, method, extrapolation_value, ctx):
    with np.errstate(all="ignore"):
        return _cropped(image, boxes, box_ind, crop_size, method, extrapolation_value, ctx, np)


@CropAndResize.lower(static="crop_size")
def crop_and_resize_lower(image, boxes, box_ind, crop_size, *, method, extrapolation_value, ctx):
    return interpolation.apart(
        _cropped(image, boxes, box_ind, crop_size, method, extrapolation_value, ctx, jnp)
    )


@CropAndResize.grad
def crop_and_resize_grad(op, dy):
    image, boxes, box_ind, _ = op.inputs
    dims = image._dims
    size = list(dims) if dims is not None and None not in dims else raw.Shape(image)
    by_image = None
    if image.dtype.is_floating:
        by_image = raw.CropAndResizeGradImage(
            dy, boxes, box_ind, size, T=image.dtype.base_dtype, method=op.attrs["method"]
        )
    # The nearest pixel has no derivative by its box; TensorFlow gives that of linear interpolation.
    by_boxes = raw.CropAndResizeGradBoxes(dy, image, boxes, box_ind)
    return by_image, by_boxes, None, None


_RAMP = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
_WHOLE = np.array([[0, 0, 1, 1]], np.float32)
_ZERO = np.zeros(1, np.int32)
_BOXES = np.array([[0.1, 0.2, 0.7, 0.9], [0.8, 0.3, 0.2, 1.3], [0, 0, 1, 1]], np.float32)
_INDEX = np.array([1, 0, 1], np.int32)


def _ints(*values):
    return np.array(values, np.int32)


@CropAndResize.cases
def crop_and_resize_cases(case):
    # Where a box ends at the image's edge, a step further there is nothing to compare with.
    case(_RAMP, _WHOLE, _ZERO, _ints(2, 2), grad=False, gives=np.array([0, 2, 6, 8]).reshape(1, 2, 2, 1))
    case(_RAMP, _WHOLE, _ZERO, _ints(1, 1), gives=[[[[4]]]])
    case(
        _RAMP, _WHOLE[:, ::-1], _ZERO, _ints(1, 3), grad=False, gives=np.array([5, 4, 3]).reshape(1, 1, 3, 1)
    )
    case(
        _RAMP,
        np.array([[0, -0.5, 1, 1.5]], np.float32),
        _ZERO,
        _ints(2, 5),
        extrapolation_value=-1.0,
        grad=False,
        gives=np.array([-1, 0, 1, 2, -1, -1, 6, 7, 8, -1]).reshape(1, 2, 5, 1),
    )
    case(_RAMP, _WHOLE, _ZERO, _ints(1, 5), method="nearest", grad=False,
         gives=np.array([3, 4, 4, 5, 5]).reshape(1, 1, 5, 1))  # fmt: skip
    case(_RAMP, np.array([[np.nan, 0, 1, 1]], np.float32), _ZERO, _ints(1, 2), grad=False,
         gives=np.zeros((1, 1, 2, 1)))  # fmt: skip
    for method in ("bilinear", "nearest"):
        case(case.normal(2, 5, 6, 3), _BOXES, _INDEX, _ints(4, 3), method=method, grad=False)
    case(case.normal(2, 5, 6, 3), _BOXES[:2] * np.float32(0.9), _INDEX[:2], _ints(2, 3))
    case(_RAMP, np.zeros((0, 4), np.float32), _ints(), _ints(2, 2), gives=np.zeros((0, 2, 2, 1)))
    case.shapes("[?,5,6,3];[7,4];[?];[2]", "[7,?,?,3]")
    case.shapes("?;?;?;[2]", "[?,4,?,?]", values={"crop_size": _ints(4, -1)})
    case.fails("[4,4,1];[2,4];[2];[2]", match="Shape must be rank 4 but is rank 3")
    case.fails("[1,4,4,1];[2,3];[2];[2]", match="Dimension must be 4 but is 3")
    case.fails("[1,4,4,1];[2,4];[1];[2]", match="Dimensions must be equal, but are 2 and 1")
    case.fails((_RAMP, _WHOLE, _ZERO, _ints(0, 2)), match="crop dimensions must be positive")
    for number in (-1, 1):
        case.fails((_RAMP, _WHOLE, _ints(number), _ints(2, 2)), match="box_index has values outside",
                   raises=OutOfRangeError)  # fmt: skip


# -- the gradient by images ---------------------------------------------------------------------------------

CropAndResizeGradImage = op("""
    CropAndResizeGradImage(grads: float, boxes: float, box_ind: int32, image_size: int32) -> (output: T)
      T: {float, half, double}
      method: {"bilinear", "nearest"} = "bilinear"

    The gradient of CropAndResize by its images, whose shape is `image_size`.
""")  # fmt: skip


@CropAndResizeGradImage.shape
def crop_and_resize_grad_image_shape(grads, boxes, box_ind, image_size, *, ctx):
    return with_rank(ctx.as_shape("image_size"), 4)


def _image_parts(grads, boxes, box_ind, image_size, method, dtype, ctx, xp):
    """Returns the gradient's shape and, for each corner, what is added where: (rows, columns, parts)."""
    image_size = np.asarray(image_size)
    check_grads(grads.shape, boxes, box_ind)
    if image_size.ndim != 1:
        raise invalid(f"image_size must be 1-D{shown(image_size.shape)}")
    if image_size.shape != (4,):
        raise invalid(f"image_size must have 4 elements{shown(image_size.shape)}")
    shape = tuple(int(d) for d in image_size)
    if shape[1] <= 0 or shape[2] <= 0 or min(shape) < 0:
        raise invalid("image dimensions must be positive")
    if shape[3] != grads.shape[3]:
        raise invalid("image_size and grads are incompatible")
    check_room(shape, 4)
    if boxes.size == 0:
        return shape, []
    check_images(box_ind, shape[0], ctx)
    rows, columns = lines(boxes, shape[1:3], grads.shape[1:3], xp)
    inside = rows.inside[:, :, None, None] & columns.inside[:, None, :, None]
    grads = xp.where(inside, grads, np.float32(0))
    if method == "nearest":
        return shape, [(nearest(rows, xp), nearest(columns, xp), grads.astype(dtype))]
    down, right = rows.fraction[:, :, None, None], columns.fraction[:, None, :, None]
    one = np.float32(1)
    top, bottom = (one - down) * grads, down * grads
    return shape, [
        (rows.first, columns.first, ((one - right) * top).astype(dtype)),
        (rows.first, columns.second, (right * top).astype(dtype)),
        (rows.second, columns.first, ((one - right) * bottom).astype(dtype)),
        (rows.second, columns.second, (right * bottom).astype(dtype)),
    ]


@CropAndResizeGradImage.host
def crop_and_resize_grad_image_host(grads, boxes, box_ind, image_size, *, T, method, ctx):
    with np.errstate(all="ignore"):
        shape, parts = _image_parts(grads, boxes, box_ind, image_size, method, T.storage, ctx, np)
        out = np.zeros(shape, T.storage)
        if parts:
            # All corners of one pixel before the next, as TensorFlow adds them.
            rows = np.stack([y for y, _, _ in parts], axis=-1)[:, :, None]
            columns = np.stack([x for _, x, _ in parts], axis=-1)[:, None]
            values = np.stack([v for _, _, v in parts], axis=3)
            np.add.at(out, (box_ind[:, None, None, None], rows, columns), values)
    return out


@CropAndResizeGradImage.lower(static="image_size")
def crop_and_resize_grad_image_lower(grads, boxes, box_ind, image_size, *, T, method, ctx):
    shape, parts = _image_parts(grads, boxes, box_ind, image_size, method, T.storage, ctx, jnp)
    out = jnp.zeros(shape, T.storage)
    for rows, columns, values in parts:
        out = out.at[box_ind[:, None, None], rows[:, :, None], columns[:, None, :]].add(values)
    return out


@CropAndResizeGradImage.cases
def crop_and_resize_grad_image_cases(case):
    case(np.ones((1, 2, 2, 1), np.float32), np.array([[0, 0, 0.25, 1]], np.float32), _ZERO, _ints(1, 3, 3, 1),
         T="float", gives=np.array([1.5, 0, 1.5, 0.5, 0, 0.5, 0, 0, 0]).reshape(1, 3, 3, 1))  # fmt: skip
    for method in ("bilinear", "nearest"):
        case(case.normal(3, 4, 3, 2), _BOXES, _INDEX, _ints(2, 5, 6, 2), method=method, T="float")
        case(case.normal(3, 1, 3, 2), _BOXES, _INDEX, _ints(2, 5, 6, 2), method=method, T="double")
    case(np.zeros((0, 2, 2, 1), np.float32), np.zeros((0, 4), np.float32), _ints(), _ints(1, 2, 2, 1), T="half",
         gives=np.zeros((1, 2, 2, 1)))  # fmt: skip
    case.shapes("[2,3,3,1];[2,4];[2];[4]", "[?,?,?,?]", T="float")
    case.fails("[2,3,3,1];[2,4];[2];[3]", match="Shape must be rank 4 but is rank 3", T="float",
               values={"image_size": _ints(1, 2, 3)})  # fmt: skip
    ones = np.ones((1, 2, 2, 1), np.float32)
    case.fails(
        (ones, _WHOLE, _ZERO, _ints(1, 2, 2, 3)), match="image_size and grads are incompatible", T="float"
    )
    case.fails((ones, _WHOLE, _ints(1), _ints(1, 2, 2, 1)), match="box_index has values outside", T="float",
               raises=OutOfRangeError)  # fmt: skip


# -- the gradient by boxes ----------------------------------------------------------------------------------

CropAndResizeGradBoxes = op(f"""
    CropAndResizeGradBoxes(grads: float, image: T, boxes: float, box_ind: int32) -> (output: float)
      T: {_TYPES}
      method: {{"bilinear"}} = "bilinear"

    The gradient of CropAndResize by its boxes.
""")  # fmt: skip


@CropAndResizeGradBoxes.shape
def crop_and_resize_grad_boxes_shape(grads, image, boxes, box_ind):
    return boxes


def _slopes(grads, image, boxes, box_ind, ctx, xp):
    """Returns how each element of a crop pulls at its place, down and across; None if there is no box."""
    if len(image.shape) != 4:
        raise invalid(f"input image must be 4-D{shown(image.shape)}")
    check_grads(grads.shape, boxes, box_ind)
    if image.shape[1] <= 0 or image.shape[2] <= 0:
        raise invalid("image dimensions must be positive")
    if image.shape[3] != grads.shape[3]:
        raise invalid("image, grads depth differ")
    if boxes.size == 0:
        return None
    check_images(box_ind, image.shape[0], ctx)
    rows, columns = lines(boxes, image.shape[1:3], grads.shape[1:3], xp, ratio_first=True)
    corners = [
        _pick(image, box_ind, y, x).astype(np.float32)
        for y in (rows.first, rows.second)
        for x in (columns.first, columns.second)
    ]
    # What is gathered is used twice.
    a, b, c, d = corners if xp is np else interpolation.apart(corners)
    one = np.float32(1)
    right, down = columns.fraction[:, None, :, None], rows.fraction[:, :, None, None]
    by_y = (one - right) * (c - a) + right * (d - b)
    by_x = (one - down) * (b - a) + down * (d - c)
    inside = rows.inside[:, :, None, None] & columns.inside[:, None, :, None]
    return [xp.where(inside, by * grads, np.float32(0)) for by in (by_y, by_x)]


def _weights(image, grads):
    """Returns the derivatives of places by y1, x1, y2 and x2, as [height, 1] or [width]."""
    (y1, y2), (x1, x2) = (_shares(n, m) for n, m in zip(image.shape[1:3], grads.shape[1:3], strict=True))
    return y1[:, None], x1, y2[:, None], x2


def _shares(size, count):
    """Returns the derivatives of a crop's places by the box's lower and upper edge."""
    if count == 1:
        half = np.array([0.5 * (size - 1)])  # in float64, as in TensorFlow
        return half, half
    upper = np.arange(count, dtype=np.float32) * (np.float32(size - 1) / np.float32(count - 1))
    return np.float32(size - 1) - upper, upper


@CropAndResizeGradBoxes.host
def crop_and_resize_grad_boxes_host(grads, image, boxes, box_ind, *, ctx):
    with np.errstate(all="ignore"):
        slopes = _slopes(grads, image, boxes, box_ind, ctx, np)
        if slopes is None or grads.size == 0:
            return np.zeros(boxes.shape, np.float32)
        sums = [
            _added((slopes[i % 2] * weight[..., None]).reshape(len(boxes), -1))
            for i, weight in enumerate(_weights(image, grads))
        ]
        return np.stack(sums, axis=1)


def _added(rows):
    """Returns the sum of each row, rounded after every element, as TensorFlow adds them."""
    if rows.dtype == np.float32:
        return np.add.accumulate(rows, axis=1)[:, -1]
    total = np.zeros(len(rows), np.float32)
    for column in rows.T:
        total = (total + column).astype(np.float32)
    return total


@CropAndResizeGradBoxes.lower
def crop_and_resize_grad_boxes_lower(grads, image, boxes, box_ind, *, ctx):
    slopes = _slopes(grads, image, boxes, box_ind, ctx, jnp)
    if slopes is None:
        return jnp.zeros(boxes.shape, np.float32)
    slopes = interpolation.apart([slope.sum(axis=3) for slope in slopes])
    sums = [
        (slopes[i % 2] * weight.astype(np.float32)).sum(axis=(1, 2))
        for i, weight in enumerate(_weights(image, grads))
    ]
    return jnp.stack(sums, axis=1)


@CropAndResizeGradBoxes.cases
def crop_and_resize_grad_boxes_cases(case):
    ones = np.ones((1, 2, 2, 1), np.float32)
    case(ones, _RAMP, np.array([[0.1, 0.2, 0.8, 0.9]], np.float32), _ZERO, gives=[[12, 4, 12, 4]])
    case(case.normal(3, 4, 3, 2), case.normal(2, 5, 6, 2), _BOXES, _INDEX)
    case(case.normal(3, 1, 1, 2), case.normal(2, 5, 6, 2), _BOXES, _INDEX)
    case(ones[:0], _RAMP, _WHOLE[:0], _ints(), gives=np.zeros((0, 4)))
    case.shapes("[2,3,3,1];[1,4,4,1];[2,4];[2]", "[2,4]")
    case.fails((ones, np.ones((1, 3, 3, 2), np.float32), _WHOLE, _ZERO), match="image, grads depth differ")
    case.fails((ones, _RAMP, _WHOLE, _ints(5)), match="box_index has values outside", raises=OutOfRangeError)


# -- public -------------------------------------------------------------------------------------------------


@export("image.crop_and_resize")
def crop_and_resize(
    image,
    boxes,
    box_ind=None,
    crop_size=None,
    method="bilinear",
    extrapolation_value=0,
    name=None,
    box_indices=None,
):
    """Returns boxes cut out of images, each resized to one size.

    Args:
      image: [batch, height, width, depth].
      boxes: The corners y1, x1, y2, x2 of every box, 0 and 1 being the image's first and last pixels.
      box_ind: Which image each box is of.
      crop_size: The crops' height and width.
      method: "bilinear" or "nearest".
      extrapolation_value: What is where a box leaves its image.
      name: A name for the operation.
      box_indices: Another name of `box_ind`.

    Raises:
      ValueError: Both names are given.
    """
    if box_indices is not None:
        if box_ind is not None:
            raise ValueError("Cannot specify both 'box_ind' and 'box_indices'")
        box_ind = box_indices
    return raw.CropAndResize(
        image, boxes, box_ind, crop_size, method=method, extrapolation_value=extrapolation_value, name=name
    )


@export("compat.v2.image.crop_and_resize")
def crop_and_resize_v2(
    image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0, name=None
):
    """Returns boxes cut out of images, each resized to one size; see `tf.image.crop_and_resize`."""
    return raw.CropAndResize(
        image,
        boxes,
        box_indices,
        crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )
