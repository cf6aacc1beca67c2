"""Images encoded as files."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.export import export
from headrace.formats import jpeg, png
from headrace.opdef import op, raw
from headrace.opdef.strings import attr_bytes, attr_text, invalid
from headrace.shapes import with_rank

EncodeJpeg = op("""
    EncodeJpeg(image: uint8) -> (contents: string)
      format: {"", "grayscale", "rgb"} = ""
      quality: int = 95
      progressive: bool = false
      optimize_size: bool = false
      chroma_downsampling: bool = true
      density_unit: {"in", "cm"} = "in"
      x_density: int = 300
      y_density: int = 300
      xmp_metadata: string = ""

    An image as a JPEG file.
""")

EncodeJpegVariableQuality = op("""
    EncodeJpegVariableQuality(images: uint8, quality: int32) -> (contents: string)

    An image as a JPEG file of a quality that is computed.
""")

EncodePng = op("""
    EncodePng(image: T) -> (contents: string)
      compression: int = -1
      T: {uint8, uint16} = uint8

    An image as a PNG file.
""")


@EncodeJpeg.shape
@EncodePng.shape
def encoded_shape(image):
    with_rank(image, 3)
    return ()


@EncodeJpegVariableQuality.shape
def variable_shape(images, quality):
    with_rank(images, 3)
    with_rank(quality, 0)
    return ()


def _shown(image):
    return f"[{','.join(map(str, image.shape))}]"


def _three_axes(image):
    image = np.asarray(image)
    if image.ndim != 3:
        invalid(f"image must be 3-dimensional{_shown(image)}")
    return image


_FORMATS = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}


def _jpeg(image, quality, **options):
    try:
        return jpeg.encode(image, quality, **options)
    except ValueError:
        raise errors.InternalError(None, None, "JPEG encoding failed") from None


@EncodeJpeg.host
def encode_jpeg_host(
    image,
    *,
    format,
    quality,
    progressive,
    optimize_size,
    chroma_downsampling,
    density_unit,
    x_density,
    y_density,
    xmp_metadata,
):
    if not 0 <= quality <= 100:
        invalid(f"quality must be in [0,100], got {quality}")
    image = _three_axes(image)
    kind = attr_text(format)
    allowed = _FORMATS[kind]
    if image.shape[2] not in allowed:
        if kind:
            invalid(f"format {kind} expects {allowed[0]} channels, got {_shown(image)}")
        invalid(f"image must have 1 or 3 channels, got {_shown(image)}")
    return _jpeg(
        image,
        quality,
        progressive=progressive,
        optimize=optimize_size,
        subsample=chroma_downsampling,
        per_cm=attr_text(density_unit) == "cm",
        density=(x_density, y_density),
        xmp=attr_bytes(xmp_metadata),
    )


@EncodeJpegVariableQuality.host
def encode_jpeg_variable_quality_host(images, quality):
    image = _three_axes(images)
    if image.shape[2] not in (1, 3):
        invalid(f"image must have 1 or 3 channels, got {_shown(image)}")
    return _jpeg(image, min(max(int(quality), 0), 100))


@EncodePng.host
def encode_png_host(image, *, compression):
    if not -1 <= compression <= 9:
        invalid(f"compression should be in [-1,9], got {compression}")
    image = _three_axes(image)
    if image.shape[2] not in (1, 2, 3, 4):
        invalid(f"image must have 1, 2, 3, or 4 channels, got {image.shape[2]}")
    try:
        return png.encode(image, compression)
    except ValueError:
        raise errors.InternalError(None, None, "PNG encoding failed") from None


@EncodeJpeg.cases
def encode_jpeg_cases(case):
    case(np.full((2, 3, 3), 80, np.uint8))
    case(
        np.full((2, 3, 1), 80, np.uint8), format="grayscale", quality=20, progressive=True, density_unit="cm"
    )
    case.shapes("[?,?,3]", "[]")
    case.fails("[2,3]", match="must be rank 3 but is rank 2")
    case.fails((np.zeros((2, 3, 2), np.uint8),), match=r"image must have 1 or 3 channels, got \[2,3,2\]")
    case.fails(
        (np.zeros((2, 3, 3), np.uint8),),
        format="grayscale",
        match=r"format grayscale expects 1 channels, got \[2,3,3\]",
    )
    case.fails((np.zeros((2, 3, 3), np.uint8),), quality=101, match=r"quality must be in \[0,100\], got 101")
    case.fails((np.zeros((0, 3, 3), np.uint8),), raises=errors.InternalError, match="JPEG encoding failed")


@EncodeJpegVariableQuality.cases
def encode_jpeg_variable_quality_cases(case):
    case(np.full((2, 3, 3), 80, np.uint8), np.int32(50))
    case(np.full((2, 3, 1), 80, np.uint8), np.int32(-3))
    case.shapes("[?,?,3];[]", "[]")
    case.fails("[2,3,3];[1]", match="must be rank 0 but is rank 1")


@EncodePng.cases
def encode_png_cases(case):
    case(np.array([[[1]]], np.uint8), gives=png.encode(np.array([[[1]]], np.uint8)))
    case(np.zeros((2, 3, 4), np.uint16), compression=0)
    case.shapes("[?,?,3]", "[]", T="uint8")
    case.fails((np.zeros((2, 3, 5), np.uint8),), match="image must have 1, 2, 3, or 4 channels, got 5")
    case.fails((np.zeros((2, 3, 1), np.uint8),), compression=10, match=r"compression should be in \[-1,9\]")


@export("image.encode_jpeg", "io.encode_jpeg")
def encode_jpeg(
    image,
    format="",
    quality=95,
    progressive=False,
    optimize_size=False,
    chroma_downsampling=True,
    density_unit="in",
    x_density=300,
    y_density=300,
    xmp_metadata="",
    name=None,
):
    """Returns an image as a JPEG file, a scalar string.

    Args:
      image: uint8 of shape [height, width, channels].
      format: "grayscale", "rgb", or "" for what the channels say.
      quality: 0 to 100.
      progressive: Whether the file begins with a coarse image.
      optimize_size: Whether the codes are chosen for this image, which takes longer.
      chroma_downsampling: Whether chroma is kept at half the size.
      density_unit: "in" or "cm".
      x_density: How many pixels there are to a unit, across.
      y_density: How many pixels there are to a unit, down.
      xmp_metadata: Metadata to embed.
      name: The node's name.
    """
    return raw.EncodeJpeg(
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


@export("image.encode_png")
def encode_png(image, compression=-1, name=None):
    """Returns an image as a PNG file, a scalar string.

    Args:
      image: uint8 or uint16 of shape [height, width, 1 to 4].
      compression: zlib's level, 0 to 9; -1 for its default.
      name: The node's name.
    """
    return raw.EncodePng(image, compression=compression, name=name)
