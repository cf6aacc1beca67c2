"""BMP files without compression, as TensorFlow reads them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_HEADER = 32


def decode(data: bytes, channels: int = 0) -> np.ndarray[Any, Any]:
    """Returns the pixels, [height, width, channels].

    Nothing but five numbers of the header is looked at; with one channel, the bytes are the pixels and a palette is
    ignored.

    Args:
      data: The file.
      channels: 1, 3 or 4, which must be what the file has; 0 for any.

    Raises:
      ValueError: The file is damaged.
    """
    if len(data) < _HEADER:
        raise ValueError(
            f"Incomplete bmp content, requires at least {_HEADER} bytes to find the header size, width, height, "
            f"and bpp, got {len(data)} bytes"
        )
    (offset,) = struct.unpack_from("<i", data, 10)
    width, height = struct.unpack_from("<ii", data, 18)
    (bits,) = struct.unpack_from("<H", data, 28)
    has = bits // 8
    if channels and channels != has:
        raise ValueError(f"channels attribute {channels} does not match bits per pixel from file {has}")
    if has not in (1, 3, 4):
        raise ValueError(f"Number of channels must be 1, 3 or 4, was {has}")
    if width <= 0:
        raise ValueError("Width must be positive")
    if offset < 0:
        raise ValueError("header size must be nonnegative")
    rows = abs(height)
    row = (has * width + 3) // 4 * 4
    last = has * width  # the last row may lack its filling
    if rows * row >= 1 << 30:
        raise ValueError("Total possible pixel bytes must be less than 2^30")
    needed = offset + (rows - 1) * row + last
    if len(data) < needed:
        raise ValueError(f"Incomplete bmp content, requires at least {needed} bytes, got {len(data)} bytes")
    if not rows:
        return np.zeros((0, width, has), np.uint8)
    body = np.frombuffer(data, np.uint8, (rows - 1) * row + last, offset)
    body = np.concatenate([body, np.zeros(row - last, np.uint8)]).reshape(rows, row)
    pixels = body[:, :last].reshape(rows, width, has)
    if height > 0:
        pixels = pixels[::-1]
    if has >= 3:
        pixels = pixels[..., [2, 1, 0, 3][:has]]
    return np.ascontiguousarray(pixels)
