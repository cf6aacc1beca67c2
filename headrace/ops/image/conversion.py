"""Images of one type or colour space turned into another."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import as_dtype
from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor
from headrace.ops.image.checks import checked_grey, public, rank_of


def _cast(x, dtype, saturate, name=None):
    cast = public.saturate_cast if saturate else public.cast
    return cast(x, dtype) if name is None else cast(x, dtype, name=name)


@export("image.convert_image_dtype")
def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Returns an image with the brightness it has, in another type.

    Floats are brightness from 0 to 1, integers from 0 to the type's maximum.

    Args:
      image: A tensor of any shape.
      dtype: The type wanted, an integer or a float type.
      saturate: Whether what the type can't hold becomes its minimum or maximum.
      name: The name of the last node.

    Raises:
      AttributeError: `dtype` is neither.
    """
    image = convert_to_tensor(image, name="image")
    dtype = as_dtype(dtype)
    if not dtype.is_floating and not dtype.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    had = image.dtype.base_dtype
    if dtype == had:
        return public.identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        if had.is_integer and dtype.is_integer:
            most, most_wanted = int(had.max) + 1, int(dtype.max) + 1
            if most > most_wanted:
                # The types' ranges are powers of two, so brightness 255 does not become exactly 65535.
                return _cast(public.div(image, most // most_wanted), dtype, saturate, scope)
            wide = _cast(image, dtype, saturate)
            return public.multiply(wide, most_wanted // most, name=scope)
        if had.is_floating and dtype.is_floating:
            return public.cast(image, dtype, name=scope)
        if had.is_integer:
            return public.multiply(public.cast(image, dtype), 1.0 / float(had.max), name=scope)
        with np.errstate(over="ignore"):
            scaled = public.multiply(image, float(dtype.max) + 0.5)
        return _cast(scaled, dtype, saturate, scope)


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images, name=None):
    """Returns colours as grey: the last axis becomes 1.

    Args:
      images: A tensor whose last axis is red, green and blue.
      name: The name of the last node.
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        dtype = images.dtype.base_dtype
        bright = convert_image_dtype(images, "float32")
        grey = public.tensordot(bright, [0.2989, 0.5870, 0.1140], [-1, -1])
        return convert_image_dtype(public.expand_dims(grey, -1), dtype, name=scope)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images, name=None):
    """Returns grey as colours: the last axis becomes 3.

    Args:
      images: A tensor whose last axis is 1.
      name: The name of the last node.

    Raises:
      ValueError: The last axis is known to be larger.
    """
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = checked_grey(convert_to_tensor(images, name="images"))
        others = public.expand_dims(public.rank(images) - 1, 0)
        times = public.concat([public.ones(others, "int32"), public.expand_dims(3, 0)], 0)
        colours = public.tile(images, times, name=scope)
        if rank_of(images) is not None:
            colours.set_shape([*images.shape.as_list()[:-1], 3])
        return colours


_RGB_TO_YIQ = (
    (0.299, 0.59590059, 0.2115),
    (0.587, -0.27455667, -0.52273617),
    (0.114, -0.32134392, 0.31119955),
)
_YIQ_TO_RGB = (
    (1.0, 1.0, 1.0),
    (0.95598634, -0.27201283, -1.10674021),
    (0.6208248, -0.64720424, 1.70423049),
)
_RGB_TO_YUV = (
    (0.299, -0.14714119, 0.61497538),
    (0.587, -0.28886916, -0.51496512),
    (0.114, 0.43601035, -0.10001026),
)
_YUV_TO_RGB = ((1.0, 1.0, 1.0), (0.0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0.0))


def _mixed(images, matrix):
    images = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(matrix, dtype=images.dtype.base_dtype, name="kernel")
    return public.tensordot(images, kernel, axes=[[rank_of(images) - 1], [0]])


@export("image.rgb_to_yiq")
def rgb_to_yiq(images):
    """Returns red, green and blue as luma Y and chroma I and Q.

    Args:
      images: A float tensor of known rank whose last axis is 3.
    """
    return _mixed(images, _RGB_TO_YIQ)


@export("image.yiq_to_rgb")
def yiq_to_rgb(images):
    """Returns luma Y and chroma I and Q as red, green and blue.

    Args:
      images: A float tensor of known rank whose last axis is 3.
    """
    return _mixed(images, _YIQ_TO_RGB)


@export("image.rgb_to_yuv")
def rgb_to_yuv(images):
    """Returns red, green and blue as luma Y and chroma U and V.

    Args:
      images: A float tensor of known rank whose last axis is 3.
    """
    return _mixed(images, _RGB_TO_YUV)


@export("image.yuv_to_rgb")
def yuv_to_rgb(images):
    """Returns luma Y and chroma U and V as red, green and blue.

    Args:
      images: A float tensor of known rank whose last axis is 3.
    """
    return _mixed(images, _YUV_TO_RGB)


def as_floats(image):
    """Returns an image as floats: itself if it is of float16 or float32."""
    if image.dtype.base_dtype.name in ("float16", "float32"):
        return image
    return convert_image_dtype(image, "float32")
