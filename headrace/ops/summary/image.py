"""Summaries of images."""

from __future__ import annotations

import io

import numpy as np

from headrace.opdef import export, op, raw
from headrace.ops.summary.message import invalid, numbered, scalar_tag, serialized, shown
from headrace.ops.summary.naming import collect, summary_scope

ImageSummary = op("""
    ImageSummary(tag: string, tensor: T) -> (summary: string)
      max_images: int >= 1 = 3
      T: {uint8, float, half, double} = float
      bad_color: tensor = uint8([255, 0, 0, 255])

    A Summary with the first images of a batch as PNG files.
""", grad=None)  # fmt: skip

_DARK = 1e-6  # an image with no value above this is not stretched


@ImageSummary.shape
def image_summary_shape(tag, tensor):
    return ()


def to_bytes(image, bad_color):
    """Returns an image of floats as one of bytes.

    Without negative values its largest becomes 255; with them zero is 128 and the value farthest from zero 1 or 255.
    Pixels with a value that is not finite get `bad_color`.

    Args:
      image: The pixels' channels, [height, width, channels].
      bad_color: As many bytes as there are channels.
    """
    kind = image.dtype.type
    good = np.isfinite(image).all(-1)
    pixels = image[good]
    low, high = (pixels.min(), pixels.max()) if pixels.size else (kind(0), kind(0))
    if low < 0:
        most = max(-low, high)
        scale, offset = (kind(0) if most < _DARK else kind(127) / most), kind(128)
    else:
        scale, offset = (kind(0) if high < _DARK else kind(255) / high), kind(0)
    out = np.empty(image.shape, np.uint8)
    out[good] = (pixels * scale + offset).astype(np.uint8)
    out[~good] = bad_color
    return out


def to_png(image):
    """Returns bytes [height, width, channels] as a PNG file."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(out, "PNG")
    return out.getvalue()


@ImageSummary.host
def image_summary_host(tag, tensor, *, max_images, bad_color):
    from headrace.proto import Summary

    tag = scalar_tag(tag, "Tags must be a scalar")
    tensor = np.asarray(tensor)
    shape = tensor.shape
    if len(shape) != 4 or shape[3] not in (1, 3, 4):
        invalid(f"Tensor must be 4-D with last dim 1, 3, or 4, not {shown(shape)}")
    if not (shape[1] and shape[2]):
        invalid(f"input tensor must have non-zero dims. Found: [{', '.join(map(str, shape))}].")
    depth = shape[3]
    bad_color = np.asarray(bad_color, np.uint8).ravel()
    if tensor.dtype != np.uint8 and bad_color.size < depth:
        invalid(f"expected depth <= bad_color.size, got depth = {depth}, bad_color.size = {bad_color.size}")
    summary = Summary()
    for i, image in enumerate(tensor[:max_images]):
        if image.dtype != np.uint8:
            image = to_bytes(image, bad_color[:depth])
        value = summary.value.add(tag=numbered(tag, "image", i, max_images))
        value.image.height, value.image.width, value.image.colorspace = image.shape
        value.image.encoded_image_string = to_png(image)
    return serialized(summary)


@ImageSummary.cases
def image_summary_cases(case):
    case(b"im", case.integers(2, 3, 4, 1, low=0, high=255, dtype=np.uint8))
    case(b"im", case.normal(4, 3, 4, 3), max_images=2)
    case(b"im", np.zeros((0, 2, 2, 3), np.float32), gives=b"")
    case.shapes("[];?", "[]", T="float32")
    case.fails((b"im", np.zeros((2, 2, 3), np.float32)), match="Tensor must be 4-D with last dim 1, 3, or 4")
    case.fails((b"im", np.zeros((1, 0, 2, 3), np.float32)), match="input tensor must have non-zero dims")
    case.fails((b"im", np.zeros((1, 1, 1, 3), np.float32)), match="expected depth <= bad_color.size",
               bad_color=np.array([9], np.uint8))  # fmt: skip


@export("summary.image")
def image(name, tensor, max_outputs=3, collections=None, family=None):
    """Returns a serialized Summary with images.

    Floats are stretched image by image: the largest value becomes white; with negative values among them, zero
    becomes middle grey. Pixels that are not finite are drawn red.

    Args:
      name: The node's name, and the tag within the name scope.
      tensor: The images, [batch, height, width, channels] with 1, 3 or 4 channels.
      max_outputs: How many images of the batch are taken at most.
      collections: Names of the collections that get the summary; by default `tf.GraphKeys.SUMMARIES`.
      family: A prefix of the tag, by which tensorboard groups.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        out = raw.ImageSummary(tag=tag, tensor=tensor, max_images=max_outputs, name=scope)
        collect(out, collections)
    return out
