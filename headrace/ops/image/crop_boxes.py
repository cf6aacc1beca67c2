"""Where the pixels of a crop come from, for boxes that are known only when a step runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from headrace.errors import OutOfRangeError
from headrace.lazy import jnp, lax
from headrace.ops.image.sizes import check_room, invalid, shown


class Line(NamedTuple):
    """Along one axis of every crop, arrays of [boxes, size].

    Attributes:
      at: The place in the image, in float32.
      inside: Whether it is on the image.
      first: The pixel before it.
      second: The pixel after it.
      fraction: How far it lies from the first to the second.
    """

    at: Any
    inside: Any
    first: Any
    second: Any
    fraction: Any


def _rounder(xp: Any) -> tuple[Any, Any]:
    """Returns how to make float32 numbers to calculate with, and how to round what comes out.

    A compiled product and sum may become one instruction that rounds once, and a place at the image's edge falls off
    it. So a traced program calculates in float64 and rounds each result to float32's precision.
    """
    if xp is np:
        return lambda x: np.asarray(x, np.float32), lambda x: x
    return lambda x: jnp.asarray(x).astype(np.float64), lambda x: lax.reduce_precision(x, 8, 23)


def line(low: Any, high: Any, size: int, count: int, xp: Any, ratio_first: bool) -> Line:
    """Returns where `count` pixels come from between two edges of each box.

    Args:
      low: One edge, as a part of the image, float32 of [boxes].
      high: The other.
      size: The image's size along the axis.
      count: The crop's size.
      xp: `numpy` or `jax.numpy`.
      ratio_first: Whether sizes are divided by each other before they meet the edges, which rounds otherwise.
    """
    make, r = _rounder(xp)
    low, high, last = make(low), make(high), make(size - 1)
    if count > 1:
        if ratio_first:
            step = r(r(high - low) * r(last / make(count - 1)))
        else:
            step = r(r(r(high - low) * last) / make(count - 1))
        steps = make(np.arange(count, dtype=np.float32))
        at = r(r(low * last)[:, None] + r(steps * step[:, None]))
    else:
        total = r(low + high).astype(np.float64)
        at = (0.5 * total * np.float64(size - 1))[:, None].astype(np.float32)
        at = make(at)
    inside = (at >= 0) & (at <= last)
    at = xp.where(inside, at, 0)
    floor = xp.floor(at)
    first, second = floor.astype(np.int32), xp.ceil(at).astype(np.int32)
    return Line(at.astype(np.float32), inside, first, second, (at - floor).astype(np.float32))


def nearest(where: Line, xp: Any) -> Any:
    """Returns the nearest pixel, the later one of two as near."""
    return xp.floor(where.at + np.float32(0.5)).astype(np.int32)


def lines(boxes: Any, image: Any, crop: Any, xp: Any, ratio_first: bool = False) -> tuple[Line, Line]:
    """Returns the lines of rows and of columns.

    Args:
      boxes: The corners y1, x1, y2, x2 of every box.
      image: The image's height and width.
      crop: The crops' height and width.
      xp: `numpy` or `jax.numpy`.
      ratio_first: As TensorFlow does for the gradient by boxes.
    """
    rows = line(boxes[:, 0], boxes[:, 2], image[0], crop[0], xp, ratio_first)
    columns = line(boxes[:, 1], boxes[:, 3], image[1], crop[1], xp, ratio_first)
    return rows, columns


def check_boxes(boxes: Any, box_ind: Any) -> None:
    """Checks the shapes of boxes and of the numbers of their images.

    Raises:
      InvalidArgumentError: They do not fit.
    """
    if box_ind.shape == (0,) and 0 in boxes.shape:
        return
    if len(boxes.shape) != 2:
        raise invalid(f"boxes must be 2-D{shown(boxes.shape)}")
    if boxes.shape[1] != 4:
        raise invalid("boxes must have 4 columns")
    if len(box_ind.shape) != 1:
        raise invalid(f"box_index must be 1-D{shown(box_ind.shape)}")
    if box_ind.shape[0] != boxes.shape[0]:
        raise invalid("box_index has incompatible shape")


def check_images(box_ind: Any, batch: int, ctx: Any) -> None:
    """Checks that every box is in an image that there is, in the step."""
    if box_ind.size:
        ctx.check(
            (box_ind >= 0) & (box_ind < batch),
            "box_index has values outside [0, batch_size)",
            OutOfRangeError,
        )


def checked_crop(image: Any, boxes: Any, box_ind: Any, crop_size: Any) -> tuple[int, int]:
    """Returns the height and width of the crops.

    Raises:
      InvalidArgumentError: An operand has a wrong shape.
      ResourceExhaustedError: The crops would be absurdly large.
    """
    if len(image) != 4:
        raise invalid(f"input image must be 4-D{shown(image)}")
    crop_size = np.asarray(crop_size)
    if crop_size.ndim != 1:
        raise invalid(f"crop_size must be 1-D{shown(crop_size.shape)}")
    if crop_size.shape != (2,):
        raise invalid(f"crop_size must have two elements{shown(crop_size.shape)}")
    check_boxes(boxes, box_ind)
    height, width = (int(d) for d in crop_size)
    if height <= 0 or width <= 0:
        raise invalid("crop dimensions must be positive")
    if image[1] <= 0 or image[2] <= 0:
        raise invalid("image dimensions must be positive")
    check_room((boxes.shape[0], height, width, image[3]), 4)
    return height, width


def check_grads(grads: Any, boxes: Any, box_ind: Any) -> None:
    """Checks gradients by crops, and the boxes.

    Raises:
      InvalidArgumentError: An operand has a wrong shape.
    """
    if len(grads) != 4:
        raise invalid(f"grads image must be 4-D{shown(grads)}")
    check_boxes(boxes, box_ind)
    if grads[1] <= 0 or grads[2] <= 0:
        raise invalid("grads dimensions must be positive")
    if boxes.shape[0] != grads[0]:
        raise invalid("boxes and grads have incompatible shape")
