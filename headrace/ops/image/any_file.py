"""Files decoded by what they are."""

from __future__ import annotations

from headrace.dtypes import as_dtype, uint8
from headrace.export import export
from headrace.graph import control_dependencies, name_scope
from headrace.opdef import raw
from headrace.ops.image.checks import public
from headrace.ops.image.conversion import convert_image_dtype


@export("image.is_jpeg", "io.is_jpeg")
def is_jpeg(contents, name=None):
    """Returns whether a file begins as a JPEG file does.

    Args:
      contents: A string tensor.
      name: The name of the last node.
    """
    with name_scope(name, "is_jpeg"):
        return public.equal(raw.Substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def _is_png(contents):
    with name_scope(None, "is_png"):
        return public.equal(raw.Substr(contents, 0, 3), b"\211PN", name=None)


@export("image.decode_image", "io.decode_image")
def decode_image(contents, channels=None, dtype=uint8, name=None, expand_animations=True):
    """Returns the pixels of a BMP, GIF, JPEG or PNG file.

    Args:
      contents: A scalar string, the file.
      channels: 1 for grey, 3 for colours, 4 for colours with opacity; None or 0 for as many as the file has.
      dtype: The pixels' type; brightness is converted to it.
      name: A name scope for the nodes.
      expand_animations: Whether a GIF file gives all its frames, [frames, height, width, channels]; else the first.

    Returns:
      A tensor [height, width, channels], whose static shape is not known if it may be an animation.

    Raises:
      ValueError: `channels` is another number.
    """
    with name_scope(name, "decode_image"):
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        dtype = as_dtype(dtype)
        channels = channels or 0
        start = raw.Substr(contents, 0, 3)

        def jpeg():
            fits = public.not_equal(channels, 4, name="check_jpeg_channels")
            message = "Channels must be in (None, 0, 1, 3) when decoding JPEG images"
            with control_dependencies([public.Assert(fits, [message])]):
                return convert_image_dtype(raw.DecodeJpeg(contents, channels=channels), dtype)

        def png():
            wide = dtype.name in ("uint16", "float16", "float32", "float64", "bfloat16")
            image = raw.DecodePng(contents, channels=channels, dtype="uint16" if wide else "uint8")
            return convert_image_dtype(image, dtype)

        def gif():
            colours = public.not_equal(channels, 1, name="check_gif_channels")
            opaque = public.not_equal(channels, 4, name="check_gif_channels")
            message = "Channels must be in (None, 0, 3) when decoding GIF images"
            fits = public.logical_and(colours, opaque)
            with control_dependencies([public.Assert(fits, [message])]):
                frames = convert_image_dtype(raw.DecodeGif(contents), dtype)
                return frames if expand_animations else public.gather(frames, 0)

        def bmp():
            begins = public.equal(raw.Substr(contents, 0, 2), "BM", name="is_bmp")
            known = public.Assert(begins, ["Unable to decode bytes as JPEG, PNG, GIF, or BMP"])
            fits = public.not_equal(channels, 1, name="check_channels")
            message = "Channels must be in (None, 0, 3) when decoding BMP images"
            with control_dependencies([known, public.Assert(fits, [message])]):
                return convert_image_dtype(raw.DecodeBmp(contents), dtype)

        def gif_or_bmp():
            return public.cond(public.equal(start, "GIF", name="is_gif"), gif, bmp, name="cond_gif")

        def other():
            return public.cond(_is_png(contents), png, gif_or_bmp, name="cond_png")

        return public.cond(is_jpeg(contents), jpeg, other, name="cond_jpeg")
