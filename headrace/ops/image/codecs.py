"""Images as files, decoded. What a file is, its first bytes say: DecodeJpeg, DecodePng and DecodeGif take all three."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import as_dtype, int32, uint8
from headrace.export import export
from headrace.formats import bmp, gif, jpeg, png
from headrace.opdef import op, raw
from headrace.opdef.strings import attr_text, escaped, invalid
from headrace.shapes import with_rank

DecodeJpeg = op("""
    DecodeJpeg(contents: string) -> (image: uint8)
      channels: int = 0
      ratio: int = 1
      fancy_upscaling: bool = true
      try_recover_truncated: bool = false
      acceptable_fraction: float = 1.0
      dct_method: string = ""

    The pixels of a JPEG file.
""")

DecodeAndCropJpeg = op("""
    DecodeAndCropJpeg(contents: string, crop_window: int32) -> (image: uint8)
      channels: int = 0
      ratio: int = 1
      fancy_upscaling: bool = true
      try_recover_truncated: bool = false
      acceptable_fraction: float = 1.0
      dct_method: string = ""

    The pixels of a part of a JPEG file, which begins at (y, x) and has a height and a width.
""")

DecodePng = op("""
    DecodePng(contents: string) -> (image: dtype)
      channels: int = 0
      dtype: {uint8, uint16} = uint8

    The pixels of a PNG file.
""")

DecodeGif = op("""
    DecodeGif(contents: string) -> (image: uint8)

    The frames of a GIF file.
""")

DecodeBmp = op("""
    DecodeBmp(contents: string) -> (image: uint8)
      channels: int = 0

    The pixels of a BMP file.
""")

ExtractJpegShape = op("""
    ExtractJpegShape(contents: string) -> (image_shape: output_type)
      output_type: {int32, int64} = int32

    Height, width and channels of a JPEG file, as its header has them.
""")


def _channels(channels):
    if channels < 0:
        raise ValueError(f"channels must be non-negative, got {channels}")
    return channels or None


@DecodeJpeg.shape
@DecodePng.shape
@DecodeBmp.shape
def decoded_shape(contents, *, channels):
    with_rank(contents, 0)
    return (None, None, _channels(channels))


@DecodeAndCropJpeg.shape
def cropped_shape(contents, crop_window, *, channels, ctx):
    with_rank(contents, 0)
    (size,) = with_rank(crop_window, 1)
    if size not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {size}")
    window = ctx.constant("crop_window")
    height, width = (None, None) if window is None else (int(window[2]), int(window[3]))
    return (height, width, _channels(channels))


@DecodeGif.shape
def frames_shape(contents):
    with_rank(contents, 0)
    return (None, None, None, 3)


@ExtractJpegShape.shape
def jpeg_shape_shape(contents):
    with_rank(contents, 0)
    return (3,)


def _scalar(contents) -> bytes:
    contents = np.asarray(contents, object)
    if contents.ndim:
        invalid(f"contents must be scalar, got shape [{','.join(map(str, contents.shape))}]")
    return contents.item()


def _decode(contents, channels, *, wide=False, animated=False, **options) -> Any:
    """Returns the pixels of whatever the file is."""
    if channels not in (0, 1, 3, 4):
        invalid(f"channels must be 0, 1, 3, or 4, got {channels}")
    data = _scalar(contents)
    if data.startswith(b"\xff\xd8\xff"):
        return _decode_jpeg(data, channels, wide, animated, options)
    if data.startswith(png.SIGNATURE):
        try:
            out = png.decode(data, 3 if animated else channels, wide)
        except png.HeaderError:
            invalid(f"Invalid PNG header, data size {len(data)}")
        except ValueError:
            invalid(f"Invalid PNG data, size {len(data)}")
        return out[None] if animated else out
    if data.startswith(b"GIF8"):
        return _decode_gif(data, channels, wide, animated)
    found = f"unknown format starting with '{escaped(data[:16])}'" if data else "empty file"
    invalid(f"Expected image (JPEG, PNG, or GIF), got {found}")


def _decode_jpeg(data, channels, wide, animated, options):
    if channels == 4:
        invalid("channels must be 0, 1, or 3 for JPEG, got 4")
    if wide:
        invalid("JPEG does not support uint16 output")
    try:
        out = jpeg.decode(data, 3 if animated else channels, **options)
    except ValueError:
        invalid(f"Invalid JPEG data or crop window, data size {len(data)}")
    return out[None] if animated else out


def _decode_gif(data, channels, wide, animated):
    if channels not in (0, 3):
        invalid(f"channels must be 0 or 3 for GIF, got {channels}")
    if wide:
        invalid("GIF does not support uint16 output")
    try:
        count = gif.count_frames(data)
        if count > 1 and not animated:
            invalid(
                f"Got {count} frames, but animated gifs can only be decoded by tf.image.decode_gif or "
                "tf.image.decode_image"
            )
        frames = gif.decode(data)
    except gif.OpenError as e:
        invalid(f"Invalid GIF data (size {len(data)}), failed to open gif file: {e}")
    except IndexError as e:
        invalid(f"Invalid GIF data (size {len(data)}), {e}")
    except ValueError as e:
        invalid(f"Invalid GIF data (size {len(data)}), failed to slurp gif file: {e}")
    return frames if animated else frames[0]


@DecodeJpeg.host
def decode_jpeg_host(
    contents, *, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
):
    return _as_jpeg(
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
        dct_method,
        None,
    )


@DecodeAndCropJpeg.host
def decode_and_crop_jpeg_host(
    contents,
    crop_window,
    *,
    channels,
    ratio,
    fancy_upscaling,
    try_recover_truncated,
    acceptable_fraction,
    dct_method,
):
    window = np.asarray(crop_window)
    if window.ndim != 1:
        invalid(f"crop_window must be 1-D, got shape [{','.join(map(str, window.shape))}]")
    if window.size != 4:
        invalid(f"crop_size must have four elements {window.size}")
    return _as_jpeg(
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
        dct_method,
        tuple(map(int, window)),
    )


def _as_jpeg(contents, channels, ratio, fancy, recover, fraction, dct_method, crop):
    if ratio not in (1, 2, 4, 8):
        invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    transform = attr_text(dct_method)
    if transform not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        invalid("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
    return _decode(
        contents,
        channels,
        ratio=ratio,
        fancy=fancy,
        recover=recover,
        fraction=fraction,
        accurate=transform == "INTEGER_ACCURATE",
        crop=crop,
    )


@DecodePng.host
def decode_png_host(contents, *, channels, dtype):
    return _decode(contents, channels, wide=as_dtype(dtype).name == "uint16")


@DecodeGif.host
def decode_gif_host(contents):
    return _decode(contents, 3, animated=True)


@DecodeBmp.host
def decode_bmp_host(contents, *, channels):
    if channels not in (0, 1, 3, 4):
        invalid(f"channels must be 0, 1, 3 or 4, got {channels}")
    try:
        return bmp.decode(_scalar(contents), channels)
    except ValueError as e:
        invalid(str(e))


@ExtractJpegShape.host
def extract_jpeg_shape_host(contents, *, output_type):
    data = _scalar(contents)
    try:
        header = jpeg.read_header(data)
    except ValueError:
        invalid(f"Invalid JPEG data, size {len(data)}")
    return np.array([header.height, header.width, header.components], as_dtype(output_type).storage)


@DecodeJpeg.cases
def decode_jpeg_cases(case):
    grey = jpeg.encode(np.full((2, 3, 1), 9, np.uint8))
    case(grey, gives=np.full((2, 3, 1), 9, np.uint8))
    case(grey, channels=3, gives=np.full((2, 3, 3), 9, np.uint8))
    case(grey, ratio=2, dct_method="INTEGER_ACCURATE", gives=np.full((1, 2, 1), 9, np.uint8))
    case.shapes("[]", "[?,?,?]")
    case.shapes("[]", "[?,?,3]", channels=3)
    case.fails("[1]", match="Shape must be rank 0 but is rank 1")
    case.fails((b"junk",), match="got unknown format starting with 'junk'")
    case.fails((b"",), match="got empty file")
    case.fails((grey[:-9],), match="Invalid JPEG data or crop window, data size")
    case.fails((grey,), ratio=3, match="ratio must be 1, 2, 4, or 8, got 3")
    case.fails((grey,), channels=4, match="channels must be 0, 1, or 3 for JPEG, got 4")


@DecodeAndCropJpeg.cases
def decode_and_crop_jpeg_cases(case):
    grey = jpeg.encode(np.full((9, 9, 1), 7, np.uint8))
    case(grey, np.array([1, 2, 3, 4], np.int32), gives=np.full((3, 4, 1), 7, np.uint8))
    case.shapes("[];[4]", "[3,4,?]", values={"crop_window": np.array([1, 2, 3, 4], np.int32)})
    case.fails((grey, np.array([1, 2, 9, 4], np.int32)), match="Invalid JPEG data or crop window")
    case.fails((grey, np.array([2**31 - 1, 0, 2, 2], np.int32)), match="Invalid JPEG data or crop window")
    case.fails("[];[3]", match="Dimension must be 4 but is 3")


@DecodePng.cases
def decode_png_cases(case):
    pixels = np.arange(24, dtype=np.uint16).reshape(2, 3, 4) * 2700
    file = png.encode(pixels)
    case(file, dtype="uint16", gives=pixels)
    case(file, gives=(pixels >> 8).astype(np.uint8))
    case(png.encode(np.array([[[7]]], np.uint8)), channels=4, gives=np.array([[[7, 7, 7, 255]]], np.uint8))
    case.shapes("[]", "[?,?,1]", channels=1)
    case.fails((file[:50],), match="Invalid PNG data, size 50")
    case.fails((file[:20],), match="Invalid PNG header, data size 20")
    case.fails((file,), channels=2, match="channels must be 0, 1, 3, or 4, got 2")


_GIF = b"GIF89a\x02\0\1\0\x80\0\0\1\2\3\4\5\6,\0\0\0\0\2\0\1\0\0\2\2\x44\n\0,\1\0\0\0\1\0\1\0\0\2\2\x44\1\0;"


@DecodeGif.cases
def decode_gif_cases(case):
    case(_GIF, gives=np.array([[[[1, 2, 3], [4, 5, 6]]], [[[1, 2, 3], [1, 2, 3]]]], np.uint8))
    case.shapes("[]", "[?,?,?,3]")
    case.fails((_GIF[:30],), match="failed to slurp gif file: Failed to read from given file")
    case.fails((_GIF[:9],), match="failed to open gif file: No screen descriptor detected")


@DecodeBmp.cases
def decode_bmp_cases(case):
    header = b"BM" + bytes(8) + b"\x20" + bytes(7) + b"\1\0\0\0\2\0\0\0\1\0\x18\0" + bytes(2)
    case(header + b"\1\2\3\0\4\5\6\0", gives=np.array([[[6, 5, 4]], [[3, 2, 1]]], np.uint8))
    case.shapes("[]", "[?,?,4]", channels=4)
    case.fails((header,), match="Incomplete bmp content, requires at least 39 bytes, got 32 bytes")
    case.fails((header,), channels=1, match="channels attribute 1 does not match bits per pixel from file 3")


@ExtractJpegShape.cases
def extract_jpeg_shape_cases(case):
    file = jpeg.encode(np.zeros((4, 5, 3), np.uint8))
    case(file, gives=np.array([4, 5, 3], np.int32))
    case(file, output_type="int64", gives=np.array([4, 5, 3]))
    case.fails((b"junk",), match="Invalid JPEG data, size 4")


_JPEG_ARGS = """channels: 1 for grey, 3 for colours, 0 for as many as the file has.
      ratio: By what the size is divided: 1, 2, 4 or 8.
      fancy_upscaling: Whether chroma is interpolated.
      try_recover_truncated: Whether a file that ends early is accepted.
      acceptable_fraction: Which part of the rows must be there.
      dct_method: "INTEGER_FAST" or "INTEGER_ACCURATE"; "" is the first."""


@export("image.decode_jpeg", "io.decode_jpeg")
def decode_jpeg(
    contents,
    channels=0,
    ratio=1,
    fancy_upscaling=True,
    try_recover_truncated=False,
    acceptable_fraction=1,
    dct_method="",
    name=None,
):
    """Returns the pixels of a JPEG file, uint8 of shape [height, width, channels].

    Args:
      contents: A scalar string, the file. A PNG file, or a GIF file of one frame, is decoded as well.
      {args}
      name: The node's name.
    """
    return raw.DecodeJpeg(
        contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


@export("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents,
    crop_window,
    channels=0,
    ratio=1,
    fancy_upscaling=True,
    try_recover_truncated=False,
    acceptable_fraction=1,
    dct_method="",
    name=None,
):
    """Returns the pixels of a part of a JPEG file, uint8 of shape [height, width, channels].

    Args:
      contents: A scalar string, the file.
      crop_window: Four int32 numbers: the y and x where the part begins, its height and its width.
      {args}
      name: The node's name.
    """
    return raw.DecodeAndCropJpeg(
        contents,
        crop_window,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


for _function in (decode_jpeg, decode_and_crop_jpeg):
    _function.__doc__ = (_function.__doc__ or "").replace("{args}", _JPEG_ARGS)


@export("image.extract_jpeg_shape", "io.extract_jpeg_shape")
def extract_jpeg_shape(contents, output_type=int32, name=None):
    """Returns height, width and channels of a JPEG file, for which only its header is read.

    Args:
      contents: A scalar string, the file.
      output_type: int32 or int64.
      name: The node's name.
    """
    return raw.ExtractJpegShape(contents, output_type=output_type, name=name)


@export("image.decode_png", "io.decode_png")
def decode_png(contents, channels=0, dtype=uint8, name=None):
    """Returns the pixels of a PNG file, of shape [height, width, channels].

    Args:
      contents: A scalar string, the file. A JPEG file, or a GIF file of one frame, is decoded as well.
      channels: 1 for grey, 3 for colours, 4 for colours with opacity, 0 for as many as the file has.
      dtype: uint8 or uint16.
      name: The node's name.
    """
    return raw.DecodePng(contents, channels=channels, dtype=dtype, name=name)


@export("image.decode_gif", "io.decode_gif")
def decode_gif(contents, name=None):
    """Returns the frames of a GIF file, uint8 of shape [frames, height, width, 3].

    Args:
      contents: A scalar string, the file. A JPEG or PNG file is decoded as well, to one frame.
      name: The node's name.
    """
    return raw.DecodeGif(contents, name=name)


@export("image.decode_bmp", "io.decode_bmp")
def decode_bmp(contents, channels=0, name=None):
    """Returns the pixels of a BMP file, uint8 of shape [height, width, channels].

    Args:
      contents: A scalar string, the file.
      channels: What the file must have: 1, 3, 4, or 0 for any of them.
      name: The node's name.
    """
    return raw.DecodeBmp(contents, channels=channels, name=name)
