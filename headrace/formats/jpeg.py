"""JPEG files: decoded pixel for pixel as TensorFlow does, and encoded to the same bytes.

TensorFlow uses libjpeg-turbo. So do simplejpeg, which lets us choose the transform and the upsampling, and Pillow,
which writes progressive files and metadata.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.formats.jpeg_crop import fix_borders

MOST_BYTES = 1 << 29
"""An image of this many bytes or more is refused, as in TensorFlow."""

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE = frozenset(range(0xD0, 0xD8)) | {0x01}


@dataclass
class Header:
    """What a file says of itself before its first scan.

    Attributes:
      height, width, components: The size.
      samplings: The horizontal and vertical sampling factor of each component.
      adobe: Whether there is Adobe's marker, which says that CMYK values are inverted.
      size_at: Where in the file the height stands, and after it the width.
    """

    height: int
    width: int
    components: int
    samplings: list[tuple[int, int]]
    adobe: bool
    size_at: int = 0


def read_header(data: bytes) -> Header:
    """Reads the markers up to the first scan.

    Raises:
      ValueError: The markers are not those of a JPEG file.
    """
    if data[:2] != b"\xff\xd8":
        raise ValueError("no start of image")
    at, frame, adobe, size_at = 2, None, False, 0
    while True:
        at = data.find(b"\xff", at)
        while at >= 0 and data[at : at + 1] == b"\xff":
            at += 1
        if at < 0 or at >= len(data):
            raise ValueError("no scan")
        marker = data[at]
        at += 1
        if marker in _BARE or marker == 0:
            continue
        size = int.from_bytes(data[at : at + 2], "big")
        body = data[at + 2 : at + size]
        if marker == 0xD9 or size < 2 or len(body) != size - 2:
            raise ValueError("the header ends early")
        if marker in _FRAMES:
            frame, size_at = body, at + 3
        elif marker == 0xEE and body[:5] == b"Adobe" and len(body) >= 12:
            adobe = True
        elif marker == 0xDA:
            header = _header(frame, adobe)
            header.size_at = size_at
            return header
        at += size


def _header(frame: bytes | None, adobe: bool) -> Header:
    if frame is None or len(frame) < 6:
        raise ValueError("a scan before the frame")
    depth, height, width, components = struct.unpack(">BHHB", frame[:6])
    if depth != 8 or not height or not width or len(frame) != 6 + 3 * components:
        raise ValueError("not a frame of 8-bit samples")
    factors = [frame[6 + 3 * i + 1] for i in range(components)]
    if not all(1 <= f >> 4 <= 4 and 1 <= f & 15 <= 4 for f in factors):
        raise ValueError("bad sampling factors")
    return Header(height, width, components, [(f >> 4, f & 15) for f in factors], adobe)


def decode(
    data: bytes,
    channels: int = 0,
    *,
    ratio: int = 1,
    fancy: bool = True,
    recover: bool = False,
    fraction: float = 1.0,
    accurate: bool = False,
    crop: tuple[int, int, int, int] | None = None,
) -> np.ndarray[Any, Any]:
    """Returns the pixels, [height, width, channels].

    Args:
      data: The file.
      channels: 1, 3, or 0 for as many as the file has (three for CMYK).
      ratio: By what the size is divided: 1, 2, 4 or 8.
      fancy: Whether chroma is interpolated.
      recover: Whether a file that ends early is accepted, its rest grey.
      fraction: Which part of the rows must be there; the others are black.
      accurate: Whether the slow integer transform is used in place of the fast one.
      crop: y, x, height and width of the part that is wanted.

    Raises:
      ValueError: The file is damaged, too large, or lacks the part that is wanted.
    """
    header = read_header(data)
    height, width = -(-header.height // ratio), -(-header.width // ratio)
    if (channels == 1 and header.components == 4) or header.components == 2:
        raise ValueError("no such conversion")
    channels = channels or min(header.components, 3)
    if height * width * max(channels, header.components) >= MOST_BYTES:
        raise ValueError("too large")
    if crop is not None:
        y, x, rows, columns = crop
        if min(y, x) < 0 or min(rows, columns) <= 0 or y + rows > height or x + columns > width:
            raise ValueError("the crop window is not inside")
    space = "CMYK" if header.components == 4 else ("GRAY" if channels == 1 else "RGB")
    options = {"fast": not accurate, "fancy": fancy, "ratio": ratio}
    image: np.ndarray[Any, Any]
    image, complete = _pixels(data, header, space, options)
    if not complete and not recover:
        there = _rows_there(data, header, space, options, height)
        if there < max(fraction * height, 1):
            raise ValueError("the file ends early")
        image[there:] = 0
    if space == "CMYK":
        image = _from_cmyk(image, header.adobe)
    if crop is not None:
        image = image[y : y + rows, x : x + columns].copy()
        if image.shape[2] == 3 and space == "RGB" and header.components == 3:
            if fancy and ratio == 1 and complete and not accurate:
                fix_borders(image, data, header.samplings, y, x)
    return image


def _pixels(data: bytes, header: Header, space: str, options: dict[str, Any]) -> tuple[Any, bool]:
    """Decodes what there is; also returns whether the file goes on to its end."""
    try:
        return _decoded(data, header, space, strict=True, **options), True
    except ValueError as e:
        complete = "Premature end of JPEG file" not in str(e)
    # What strictness complains of otherwise is what TensorFlow accepts: data that was damaged on the way.
    return _decoded(data, header, space, strict=False, **options), complete


def _decoded(
    data: bytes, header: Header, space: str, strict: bool, fast: bool, fancy: bool, ratio: int
) -> np.ndarray[Any, Any]:
    import simplejpeg

    size: dict[str, Any] = {}
    height, width = -(-header.height // ratio), -(-header.width // ratio)
    if ratio > 1 and max(header.height, header.width) < 8:
        # So small that several ratios give the wanted size, and simplejpeg takes another: let the block be whole.
        data = data[: header.size_at] + b"\0\x08\0\x08" + data[header.size_at + 4 :]
        size = {"min_factor": ratio, "min_height": 8 // ratio, "min_width": 8 // ratio}
    elif ratio > 1:
        size = {"min_factor": ratio, "min_height": height, "min_width": width}
    out: np.ndarray[Any, Any] = simplejpeg.decode_jpeg(
        data, space, fastdct=fast, fastupsample=not fancy, strict=strict, **size
    )
    return out[:height, :width]


def _rows_there(data: bytes, header: Header, space: str, options: dict[str, Any], height: int) -> int:
    """Returns how many rows of a file that ends early do not depend on what is missing.

    They are found by letting the file go on in two ways: with grey, and with something else.
    """
    plain = dict(options, fancy=False, ratio=1)
    one, _ = _pixels(data, header, space, plain)
    other, _ = _pixels(data + b"\x55" * 4096, header, space, plain)
    differ = np.flatnonzero((one != other).any((1, 2)))
    tallest = max(v for _, v in header.samplings)
    block = 8 * tallest
    last = (header.height - 1) // block
    whole = min(int(differ[0]) // block if differ.size else last, last)
    rows: int = whole * block // options["ratio"]
    interpolated = options["fancy"] and options["ratio"] == 1 and space != "GRAY"
    if interpolated and any(v < tallest for _, v in header.samplings):
        # Rows beside a border between blocks wait for the block below.
        rows -= tallest
    return max(min(rows, height), 0)


def _from_cmyk(image: np.ndarray[Any, Any], inverted: bool) -> np.ndarray[Any, Any]:
    image = image.astype(np.int32)
    if not inverted:
        image = 255 - image
    out: np.ndarray[Any, Any] = (image[..., 3:] * image[..., :3] // 255).astype(np.uint8)
    return out


def encode(
    image: np.ndarray[Any, Any],
    quality: int = 95,
    *,
    progressive: bool = False,
    optimize: bool = False,
    subsample: bool = True,
    per_cm: bool = False,
    density: tuple[int, int] = (300, 300),
    xmp: bytes = b"",
) -> bytes:
    """Returns an image, [height, width, 1 or 3], as a JPEG file.

    Args:
      image: The pixels.
      quality: 0 to 100.
      progressive: Whether the file begins with a coarse image.
      optimize: Whether the codes are chosen for this image.
      subsample: Whether chroma has half the size.
      per_cm: Whether the density is per centimetre, not per inch.
      density: How many pixels there are to a unit, across and down.
      xmp: Metadata.

    Raises:
      ValueError: The image is empty or too large, or the metadata too long.
    """
    from PIL import Image

    height, width, channels = image.shape
    if not height or not width or max(height, width) > 65500:
        raise ValueError("a size that a JPEG file can't have")
    pixels = Image.fromarray(image[..., 0] if channels == 1 else np.ascontiguousarray(image))
    out = io.BytesIO()
    sampled: dict[str, Any] = {} if channels == 1 else {"subsampling": 2 if subsample else 0}
    # libjpeg takes 0 for 1; Pillow takes it for none given.
    sampled |= {"progressive": progressive, "optimize": optimize, "dpi": (300, 300)}
    pixels.save(out, "JPEG", quality=max(quality, 1), **sampled)
    file = out.getvalue()
    head = struct.pack(">BHH", 2 if per_cm else 1, density[0] & 0xFFFF, density[1] & 0xFFFF)
    marker = b""
    if xmp:
        body = b"http://ns.adobe.com/xap/1.0/\0" + xmp
        if len(body) > 65533:
            raise ValueError("too much metadata")
        marker = b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body
    return file[:13] + head + file[18:20] + marker + file[20:]
