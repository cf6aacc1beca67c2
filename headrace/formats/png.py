"""PNG files: decoded as TensorFlow has libpng do it, and encoded to the same bytes.

The chunks are read here; Pillow undoes the filters. It keeps only the high bytes of 16-bit colours, so such an image
is given to it as two images, one of the high bytes and one of the low: filters work on each byte of a pixel alone.
"""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 10**6
"""The largest width and height, libpng's limit."""

_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
_INFLATION = 1032  # no deflated byte stands for more

# The weights of red and green in grey, in units of 2**-15; blue has the rest.
_RED, _GREEN = 9797, 19234


class HeaderError(ValueError):
    """What comes before the image's data is damaged."""


@dataclass
class _File:
    width: int
    height: int
    depth: int
    color: int
    interlaced: bool
    palette: bytes = b""
    transparency: bytes | None = None
    data: bytes = b""

    @property
    def samples(self) -> int:
        return _SAMPLES[self.color]

    def passes(self) -> list[tuple[int, int]]:
        """Returns the rows and columns of each pass over the image."""
        if not self.interlaced:
            return [(self.height, self.width)]
        sizes = [(-(-(self.height - y) // dy), -(-(self.width - x) // dx)) for y, x, dy, dx in _PASSES]
        return [(rows, columns) for rows, columns in sizes if rows > 0 and columns > 0]

    def row_bytes(self, columns: int) -> int:
        return (columns * self.samples * self.depth + 7) // 8

    def raw_bytes(self) -> int:
        return sum(rows * (1 + self.row_bytes(columns)) for rows, columns in self.passes())


def _chunks(data: bytes) -> Any:
    """Yields the chunks up to the end of the image, without ancillary ones that are damaged."""
    at, error = len(SIGNATURE), HeaderError
    while True:
        if at + 12 > len(data):
            raise error("a chunk is missing")
        size = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if kind == b"IDAT":
            error = ValueError  # type: ignore[assignment]
        if at + 12 + size > len(data) or not kind.isalpha():
            raise error("a chunk is damaged")
        good = zlib.crc32(data[at + 4 : at + 8 + size]) == int.from_bytes(
            data[at + 8 + size : at + 12 + size], "big"
        )
        critical = not kind[0] & 32
        if critical and not good:
            raise error("a chunk's checksum is wrong")
        if good:
            yield kind, data[at + 8 : at + 8 + size]
        if kind == b"IEND":
            return
        at += 12 + size


def _parse(data: bytes) -> _File:
    if not data.startswith(SIGNATURE):
        raise HeaderError("no signature")
    file: _File | None = None
    parts: list[bytes] = []
    for kind, body in _chunks(data):
        if file is None:
            if kind != b"IHDR" or len(body) != 13:
                raise HeaderError("no header")
            file = _header(body)
        elif kind == b"PLTE":
            if parts:
                raise ValueError("a late palette")
            if len(body) % 3 or len(body) > 768:
                if file.color == 3:
                    raise HeaderError("a bad palette")
            else:
                file.palette = body[: 3 << file.depth]
        elif kind == b"tRNS" and not parts:
            if file.color != 3 or 0 < len(body) <= len(file.palette) // 3:
                file.transparency = body
        elif kind == b"IDAT":
            if file.color == 3 and not file.palette:
                raise HeaderError("no palette")
            parts.append(body)
        elif kind == b"IHDR" or (kind != b"IEND" and not kind[0] & 32):
            raise (ValueError if parts else HeaderError)("an unknown chunk")
    if file is None or not parts:
        raise HeaderError("no data")
    file.data = b"".join(parts)
    return file


def _header(body: bytes) -> _File:
    width, height, depth, color, deflate, filters, interlaced = struct.unpack(">IIBBBBB", body)
    if not 0 < width <= MOST_PIXELS or not 0 < height <= MOST_PIXELS:
        raise HeaderError("a bad size")
    if depth not in _DEPTHS.get(color, ()) or deflate or filters or interlaced > 1:
        raise HeaderError("a bad format")
    return _File(width, height, depth, color, bool(interlaced))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _samples(file: _File) -> np.ndarray[Any, Any]:
    """Returns what the pixels hold, [height, width, samples]; grey of few bits is spread over eight."""
    if file.raw_bytes() > _INFLATION * len(file.data):
        raise ValueError("too little data")
    inflate = zlib.decompressobj()
    try:
        raw = inflate.decompress(file.data, file.raw_bytes())
    except zlib.error as e:
        raise ValueError(str(e)) from e
    if len(raw) < file.raw_bytes():
        raise ValueError("too little data")
    if file.depth < 16:
        return _unfiltered(file, file.depth, raw)
    high: list[bytes] = []
    low: list[bytes] = []
    at, pixels = 0, np.frombuffer(raw, np.uint8)
    for rows, columns in file.passes():
        size = 1 + file.row_bytes(columns)
        lines = pixels[at : at + rows * size].reshape(rows, size)
        at += rows * size
        for out, first in ((high, 1), (low, 2)):
            out.append(np.concatenate([lines[:, :1], lines[:, first::2]], 1).tobytes())
    parts = [_unfiltered(file, 8, b"".join(half)) for half in (high, low)]
    joined: np.ndarray[Any, Any] = parts[0].astype(np.uint16) << 8 | parts[1]
    return joined


def _unfiltered(file: _File, depth: int, raw: bytes) -> np.ndarray[Any, Any]:
    from PIL import Image

    head = struct.pack(">IIBBBBB", file.width, file.height, depth, file.color, 0, 0, file.interlaced)
    parts = [SIGNATURE, _chunk(b"IHDR", head)]
    if file.palette and file.color == 3:
        parts.append(_chunk(b"PLTE", file.palette))
    parts += [_chunk(b"IDAT", zlib.compress(raw, 0)), _chunk(b"IEND", b"")]
    try:
        with Image.open(io.BytesIO(b"".join(parts)), formats=["PNG"]) as image:
            pixels = np.asarray(image)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as e:
        raise ValueError(str(e)) from e
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8) * 255
    return pixels.reshape(file.height, file.width, file.samples)


def _grey(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rounding = 0 if pixels.dtype == np.uint8 else 1 << 14
    red, green, blue = (pixels[..., i : i + 1].astype(np.uint32) for i in range(3))
    return (red * _RED + green * _GREEN + blue * ((1 << 15) - _RED - _GREEN) + rounding >> 15).astype(
        pixels.dtype
    )


def _alpha(file: _File, samples: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns how opaque each pixel is where pixels don't say it themselves: one colour may be transparent."""
    clear = file.transparency
    if file.color == 3 or clear is None or len(clear) < 2 * file.samples:
        # The largest of the file's own samples, even when it is far from white: so TensorFlow.
        return np.full((*samples.shape[:2], 1), (1 << file.depth) - 1, samples.dtype)
    most = np.iinfo(samples.dtype).max
    color = np.frombuffer(clear[: 2 * file.samples], ">u2").astype(np.int64)
    if file.depth < 8:
        color = color * (255 // ((1 << file.depth) - 1))
    return np.where((samples == color).all(-1, keepdims=True), 0, most).astype(samples.dtype)


def decode(data: bytes, channels: int = 0, wide: bool = False) -> np.ndarray[Any, Any]:
    """Returns the pixels, [height, width, channels], as uint8 or uint16.

    Args:
      data: The file.
      channels: 1, 3, 4, or 0 for as many as the file has.
      wide: Whether the pixels are to be uint16.

    Raises:
      HeaderError: The file is damaged before its data.
      ValueError: It is damaged later.
    """
    file = _parse(data)
    pixels = _samples(file)
    if file.color == 3:
        table = np.zeros((256, 4), np.uint8)
        table[:, 3] = 255
        colors = np.frombuffer(file.palette, np.uint8).reshape(-1, 3)
        table[: len(colors), :3] = colors
        if file.transparency:
            clear = np.frombuffer(file.transparency[:256], np.uint8)
            table[: len(clear), 3] = clear
        pixels = table[pixels[..., 0]] if file.transparency else table[pixels[..., 0], :3]
    has = pixels.shape[-1]
    wants = channels or has
    if wants == 1 and has >= 3:
        out = _grey(pixels)
    elif wants == 1 or wants == has:
        out = pixels[..., :wants]
    else:
        colors = pixels[..., :1].repeat(3, -1) if has < 3 else pixels[..., :3]
        if wants == 4:
            alpha = pixels[..., -1:] if has == 2 else _alpha(file, pixels)
            colors = np.concatenate([colors, alpha], -1)
        out = colors
    if wide:
        return np.ascontiguousarray(out if out.dtype == np.uint16 else out.astype(np.uint16) * np.uint16(257))
    return np.ascontiguousarray(out if out.dtype == np.uint8 else (out >> 8).astype(np.uint8))


def encode(image: np.ndarray[Any, Any], compression: int = -1) -> bytes:
    """Returns an image, [height, width, 1 to 4] of uint8 or uint16, as a PNG file.

    Args:
      image: The pixels.
      compression: zlib's level, -1 for its default.

    Raises:
      ValueError: The image is empty or too large.
    """
    height, width, channels = image.shape
    if not 0 < height <= MOST_PIXELS or not 0 < width <= MOST_PIXELS or channels not in _COLOR_TYPES:
        raise ValueError("a size that a PNG file can't have")
    size = image.dtype.itemsize
    rows = np.ascontiguousarray(image.astype(">u2") if size == 2 else image).view(np.uint8)
    raw = _filtered(rows.reshape(height, -1), channels * size, width, height)
    window = 15
    if raw.size <= 16384:
        while window > 9 and raw.size + 262 <= 1 << (window - 1):
            window -= 1
    deflate = zlib.compressobj(compression, zlib.DEFLATED, window, 9, zlib.Z_FILTERED)
    data = _smallest_window(deflate.compress(raw.tobytes()) + deflate.flush(), raw.size)
    head = struct.pack(">IIBBBBB", width, height, 8 * size, _COLOR_TYPES[channels], 0, 0, 0)
    parts = [SIGNATURE, _chunk(b"IHDR", head)]
    parts += [_chunk(b"IDAT", data[i : i + 8192]) for i in range(0, len(data), 8192)]
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _smallest_window(data: bytes, size: int) -> bytes:
    """Writes into the first two bytes what memory it takes to inflate so little, as libpng does."""
    info = data[0] >> 4
    if size > 16384 or size > 1 << (info + 7):
        return data
    while info > 0 and size <= 1 << (info + 7):
        info -= 1
    first = info << 4 | data[0] & 15
    flags = data[1] & 0xE0
    flags += 31 - ((first << 8) + flags) % 31
    return bytes([first, flags]) + data[2:]


def _filtered(rows: np.ndarray[Any, Any], step: int, width: int, height: int) -> np.ndarray[Any, Any]:
    """Filters each row in the way whose differences are smallest, the first of equals."""
    left = np.zeros_like(rows)
    left[:, step:] = rows[:, :-step]
    up = np.zeros_like(rows)
    up[1:] = rows[:-1]
    corner = np.zeros_like(rows)
    corner[:, step:] = up[:, :-step]
    kinds = {0: rows}
    if width > 1:
        kinds[1] = rows - left
    if height > 1:
        kinds[2] = rows - up
    if width > 1 and height > 1:
        kinds[3] = rows - (left.astype(np.uint16) + up >> 1).astype(np.uint8)
        kinds[4] = rows - _paeth(left, up, corner)
    names = list(kinds)
    sums = np.stack([np.where(k < 128, k, 256 - k.astype(np.int32)).sum(1) for k in kinds.values()])
    best = sums.argmin(0)
    out = np.empty((height, rows.shape[1] + 1), np.uint8)
    out[:, 0] = np.array(names, np.uint8)[best]
    for i, name in enumerate(names):
        out[best == i, 1:] = kinds[name][best == i]
    return out


def _paeth(left: Any, up: Any, corner: Any) -> np.ndarray[Any, Any]:
    a, b, c = (x.astype(np.int16) for x in (left, up, corner))
    from_a, from_b, from_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    out: np.ndarray[Any, Any] = np.where(
        (from_a <= from_b) & (from_a <= from_c), left, np.where(from_b <= from_c, up, corner)
    ).astype(np.uint8)
    return out
