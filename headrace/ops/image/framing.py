"""Images cut down and put into frames."""

from __future__ import annotations

from headrace.export import export
from headrace.graph import Tensor, name_scope
from headrace.opdef import convert_to_tensor
from headrace.ops.image.checks import after, check_axes, checked, demand, public, rank_of, wrong_rank


def _known(size):
    return None if isinstance(size, Tensor) else size


def _size(image, axis):
    """Returns the size of an axis: a number if it is known, else a tensor."""
    size = image.shape.as_list()[axis]
    return public.shape(image)[axis] if size is None else size


def _margin(size, fraction):
    """Returns how much is cut off at the beginning to leave the middle fraction."""
    if isinstance(size, Tensor):
        size = public.cast(size, "float64")
        return public.cast((size - size * fraction) / 2, "int32")
    return int((size - size * fraction) / 2)


@export("image.central_crop")
def central_crop(image, central_fraction):
    """Returns the middle of an image, or images.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      central_fraction: Which part of the height and of the width is left, more than 0 and 1 at most.

    Raises:
      ValueError: The fraction is out of that range, or `image` has another rank.
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if central_fraction <= 0.0 or central_fraction > 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        checked(image)
        rank = rank_of(image)
        if rank not in (3, 4):
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {rank}."
            )
        height, width = _size(image, rank - 3), _size(image, rank - 2)
        y, x = _margin(height, central_fraction), _margin(width, central_fraction)
        rows, columns = height - y * 2, width - x * 2
        batch = [0] if rank == 4 else []
        begin = public.stack([*batch, y, x, 0])
        size = public.stack([*(-1 for _ in batch), rows, columns, -1])
        sizes = image.shape.as_list()
        image = public.slice(image, begin, size)
        image.set_shape([*sizes[:-3], _known(rows), _known(columns), sizes[-1]])
        return image


def as_batch(image):
    """Returns an image as a batch, and whether it was one."""
    rank = rank_of(image)
    if rank == 4:
        return image, True
    if rank not in (3, None):
        raise wrong_rank()
    image = public.expand_dims(image, 0)
    if rank is None:
        image.set_shape([None] * 4)
    return image, False


def sizes_of(image):
    """Returns the sizes of all axes: numbers where they are known, else tensors."""
    known = image.shape.as_list()
    if None not in known:
        return known
    computed = public.unstack(public.shape(image), 4)
    return [c if k is None else k for k, c in zip(known, computed)]


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Returns a rectangle of an image, or images.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      offset_height: The row where the rectangle begins.
      offset_width: The column where it begins.
      target_height: Its height.
      target_width: Its width.

    Raises:
      ValueError: The rectangle is not inside the image, or `image` has another rank.
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image, batched = as_batch(convert_to_tensor(image, name="image"))
        checks = check_axes(image)
        batch, height, width, depth = sizes_of(image)
        checks += demand(offset_width >= 0, "offset_width must be >= 0.")
        checks += demand(offset_height >= 0, "offset_height must be >= 0.")
        checks += demand(target_width > 0, "target_width must be > 0.")
        checks += demand(target_height > 0, "target_height must be > 0.")
        checks += demand(width >= (target_width + offset_width), "width must be >= target + offset.")
        checks += demand(height >= (target_height + offset_height), "height must be >= target + offset.")
        image = after(checks, image)
        cut = public.slice(
            image,
            public.stack([0, offset_height, offset_width, 0]),
            public.stack([-1, target_height, target_width, -1]),
        )
        cut.set_shape([_known(batch), _known(target_height), _known(target_width), _known(depth)])
        return cut if batched else public.squeeze(cut, axis=[0])


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Returns an image, or images, in a larger one that is zero elsewhere.

    Args:
      image: [height, width, channels] or [batch, height, width, channels].
      offset_height: The row where the image begins.
      offset_width: The column where it begins.
      target_height: The larger image's height.
      target_width: Its width.

    Raises:
      ValueError: The image does not fit there, or `image` has another rank.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image, batched = as_batch(convert_to_tensor(image, name="image"))
        checks = check_axes(image)
        batch, height, width, depth = sizes_of(image)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks += demand(offset_height >= 0, "offset_height must be >= 0")
        checks += demand(offset_width >= 0, "offset_width must be >= 0")
        checks += demand(right >= 0, "width must be <= target - offset")
        checks += demand(below >= 0, "height must be <= target - offset")
        image = after(checks, image)
        margins = public.stack([0, 0, offset_height, below, offset_width, right, 0, 0])
        padded = public.pad(image, public.reshape(margins, [4, 2]))
        padded.set_shape([_known(batch), _known(target_height), _known(target_width), _known(depth)])
        return padded if batched else public.squeeze(padded, axis=[0])
