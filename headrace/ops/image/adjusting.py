"""Images made brighter, richer in contrast and the like, by a given amount or a random one."""

from __future__ import annotations

from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.image.checks import after, checked, demand, public, public_math
from headrace.ops.image.conversion import as_floats, convert_image_dtype


@export("image.per_image_standardization")
def per_image_standardization(image):
    """Returns an image, or images, each with mean 0 and deviation 1.

    The deviation is taken to be at least that of one pixel that differs from the others by 1.

    Args:
      image: [..., height, width, channels].

    Returns:
      A tensor of the same type; integers lose most of what they say.

    Raises:
      ValueError: `image` has less than three axes.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = checked(convert_to_tensor(image, name="image"))
        dtype = image.dtype.base_dtype
        image = as_floats(image)
        count = public.reduce_prod(public.shape(image)[-3:])
        mean = public.reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = public_math.reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = public.rsqrt(public.cast(count, image.dtype))
        deviation = public.maximum(deviation, least)
        image = public.div(image - mean, deviation, name=scope)
        return convert_image_dtype(image, dtype, saturate=True)


@export("image.adjust_brightness")
def adjust_brightness(image, delta):
    """Returns an image with a number added to its brightness, which is 0 to 1.

    Args:
      image: A tensor of any shape.
      delta: What is added, a scalar.

    Returns:
      A tensor of the same type.
    """
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        bright = as_floats(image)
        bright = public.add(bright, public.cast(delta, bright.dtype), name=scope)
        return convert_image_dtype(bright, image.dtype, saturate=True)


@export("image.random_brightness")
def random_brightness(image, max_delta, seed=None):
    """Returns an image with a random number added to its brightness.

    Args:
      image: A tensor of any shape.
      max_delta: The number is from `-max_delta` to `max_delta`.
      seed: The op-level seed.

    Raises:
      ValueError: `max_delta` is negative.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, public.random_uniform([], -max_delta, max_delta, seed=seed))


@export("image.adjust_contrast")
def adjust_contrast(images, contrast_factor):
    """Returns images whose pixels differ from their channel's mean by a factor more.

    Args:
      images: [..., height, width, channels].
      contrast_factor: The factor, a scalar.

    Returns:
      A tensor of the same type.
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        adjusted = raw.AdjustContrastv2(images=as_floats(images), contrast_factor=contrast_factor, name=scope)
        return convert_image_dtype(adjusted, images.dtype, saturate=True)


def _random_factor(lower, upper, seed):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return public.random_uniform([], lower, upper, seed=seed)


@export("image.random_contrast")
def random_contrast(image, lower, upper, seed=None):
    """Returns an image whose contrast is changed by a random factor.

    Args:
      image: [..., height, width, channels].
      lower: The factor is from this, 0 at least,
      upper: to less than this.
      seed: The op-level seed.

    Raises:
      ValueError: There is no such range.
    """
    return adjust_contrast(image, _random_factor(lower, upper, seed))


@export("image.adjust_gamma")
def adjust_gamma(image, gamma=1, gain=1):
    """Returns an image with brightness, which is 0 to 1, raised to a power and multiplied.

    Args:
      image: A tensor of any shape.
      gamma: The exponent, 0 at least.
      gain: The factor.

    Returns:
      A tensor of the same type.

    Raises:
      ValueError: `gamma` is negative.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        bright = as_floats(image)
        checks = demand(gamma >= 0, "Gamma should be a non-negative real number.")
        if checks:
            gamma = after(checks, gamma)
        return convert_image_dtype(gain * bright**gamma, image.dtype, saturate=True)


@export("image.adjust_hue")
def adjust_hue(image, delta, name=None):
    """Returns an image with all colours moved round the circle of hues.

    Args:
      image: A tensor whose last axis is red, green and blue.
      delta: How far, from -1 to 1; 1 is once round.
      name: A name scope for the nodes.
    """
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(raw.AdjustHue(as_floats(image), delta), image.dtype)


@export("image.random_hue")
def random_hue(image, max_delta, seed=None):
    """Returns an image with all colours moved round the circle of hues by a random amount.

    Args:
      image: A tensor whose last axis is red, green and blue.
      max_delta: The amount is from `-max_delta` to `max_delta`, which is 0.5 at most.
      seed: The op-level seed.

    Raises:
      ValueError: `max_delta` is negative or larger than 0.5.
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, public.random_uniform([], -max_delta, max_delta, seed=seed))


@export("image.adjust_saturation")
def adjust_saturation(image, saturation_factor, name=None):
    """Returns an image with the saturation of all colours multiplied.

    Args:
      image: A tensor whose last axis is red, green and blue.
      saturation_factor: The factor.
      name: A name scope for the nodes.
    """
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(raw.AdjustSaturation(as_floats(image), saturation_factor), image.dtype)


@export("image.random_saturation")
def random_saturation(image, lower, upper, seed=None):
    """Returns an image with the saturation of all colours multiplied by a random factor.

    Args:
      image: A tensor whose last axis is red, green and blue.
      lower: The factor is from this, 0 at least,
      upper: to less than this.
      seed: The op-level seed.

    Raises:
      ValueError: There is no such range.
    """
    return adjust_saturation(image, _random_factor(lower, upper, seed))


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(image, jpeg_quality, name=None):
    """Returns an image as it looks after it was a JPEG file.

    Args:
      image: [height, width, 1 or 3].
      jpeg_quality: The file's quality, 0 to 100; a number or a scalar int32 tensor.
      name: A name scope for the nodes.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        dtype = image.dtype.base_dtype
        small = convert_image_dtype(image, "uint8")
        jpeg_quality = convert_to_tensor(jpeg_quality, dtype="int32")
        small = raw.DecodeJpeg(raw.EncodeJpegVariableQuality(small, jpeg_quality))
        return convert_image_dtype(small, dtype)


@export("image.random_jpeg_quality")
def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
    """Returns an image as it looks after it was a JPEG file of random quality.

    Args:
      image: [height, width, 1 or 3].
      min_jpeg_quality: The quality is from this, 0 at least,
      max_jpeg_quality: to less than this, 100 at most.
      seed: The op-level seed.

    Raises:
      ValueError: There is no such range.
    """
    if min_jpeg_quality < 0 or max_jpeg_quality < 0 or min_jpeg_quality > 100 or max_jpeg_quality > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = public.random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype="int32")
    return adjust_jpeg_quality(image, quality)
