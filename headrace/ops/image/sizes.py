"""What the ops that resize images have in common: their shape rules, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.shapes import with_rank

LARGE = 1 << 22
"""Output elements from which an XLA program, compiling it included, is quicker than NumPy."""

_MOST_BYTES = 1 << 42


def invalid(message: str) -> InvalidArgumentError:
    """Returns the error of a value that a rule refuses; the runtime adds the node."""
    return InvalidArgumentError(None, None, message)


def shown(shape: Any) -> str:
    """Returns a shape as TensorFlow's kernels write it: `[2,3]`."""
    return "[" + ",".join(str(int(d)) for d in shape) + "]"


def resized(images: Any, size: Any, ctx: Any) -> Any:
    """Returns the static shape of images after resizing to what the operand `size` holds.

    Raises:
      ValueError: An operand has a wrong shape.
    """
    n, _, _, channels = with_rank(images, 4)
    return (n, *static_size(size, ctx), channels)


def static_size(size: Any, ctx: Any, operand: str = "size") -> tuple[Any, Any]:
    """Returns the height and width that an operand of shape `size` holds, None where they are not known.

    Raises:
      ValueError: The operand is no vector of two.
    """
    (length,) = with_rank(size, 1)
    if length not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {length}")
    known = ctx.constant(operand)
    if known is None:
        return (None, None)
    height, width = (int(d) if d >= 0 else None for d in known)
    return height, width


def checked_size(
    shape: Any, size: Any, what: str = "shape_t", *, positive: str = "output dimensions must be positive"
) -> tuple[int, int]:
    """Returns the height and width to resize to.

    Raises:
      InvalidArgumentError: The images have no four dimensions, or the size is no two positive numbers.
    """
    if len(shape) != 4:
        raise invalid(f"input must be 4-dimensional{shown(shape)}")
    size = np.asarray(size)
    if size.ndim != 1:
        raise invalid(f"{what} must be 1-dimensional{shown(size.shape)}")
    if size.shape != (2,):
        raise invalid(f"{what} must have two elements{shown(size.shape)}")
    height, width = (int(d) for d in size)
    if height <= 0 or width <= 0:
        raise invalid(positive)
    return height, width


def checked_images(shape: Any, size: Any, itemsize: int = 4, what: str = "shape_t") -> tuple[int, int]:
    """Returns the height and width to resize images to.

    Raises:
      InvalidArgumentError: There is nothing to resize, or the operands have wrong shapes.
      ResourceExhaustedError: The result would be absurdly large.
    """
    height, width = checked_size(shape, size, what)
    if shape[3] == 0:
        raise invalid("image must have at least one channel")
    if shape[1] == 0 or shape[2] == 0:
        raise invalid("input image must be of non-zero size")
    check_room((shape[0], height, width, shape[3]), itemsize)
    return height, width


def check_room(shape: Any, itemsize: int) -> None:
    """Checks that an array can be made at all, before tables of its size are.

    Raises:
      ResourceExhaustedError: It would be absurdly large.
    """
    if math.prod(int(d) for d in shape) * itemsize > _MOST_BYTES:
        raise ResourceExhaustedError(None, None, f"OOM when allocating tensor with shape{shown(shape)}")


def check_centers(align_corners: bool, half_pixel_centers: bool) -> None:
    """Checks that only one way to lay the pixels is asked for.

    Raises:
      InvalidArgumentError: Both are.
    """
    if align_corners and half_pixel_centers:
        raise invalid("If half_pixel_centers is True, align_corners must be False.")


def gradient_shape(grads: Any, original: Any) -> tuple[int, int, int, int]:
    """Returns the shape of the gradient by images of a known shape.

    Raises:
      InvalidArgumentError: An operand has no four dimensions, the images are empty and the gradient is not, or batch or
        channels differ.
    """
    for what, shape in (("input_grad", grads), ("original_image", original)):
        if len(shape) != 4:
            raise invalid(f"{what} must be 4-dimensional{shown(shape)}")
    if math.prod(grads) and 0 in original[1:3]:
        raise invalid("original_image must be of non-zero size")
    if grads[0] != original[0] or grads[3] != original[3]:
        # TensorFlow's kernel takes these from the gradient, its shape rule from the images.
        raise invalid(f"grads{shown(grads)} and original_image{shown(original)} differ in batch or channels")
    return (grads[0], original[1], original[2], grads[3])
