"""GIF files: every frame as TensorFlow lays it over those before it.

The blocks are read here, and each frame's pixels are given to Pillow as a file of one frame: Pillow knows how the
codes are packed, but lays frames over each other in its own way.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

_EXPANSION = 2731  # no byte of codes stands for more pixels: 4096 of a code of 12 bits
_LARGEST = 1 << 26
_PROPORTION = 1 << 14


class OpenError(ValueError):
    """What comes before the frames is damaged."""


@dataclass
class _Frame:
    x: int
    y: int
    width: int
    height: int
    interlaced: int
    palette: bytes
    codes: bytes  # the code size and the blocks, with the empty one at the end


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        out = self.data[self.at : self.at + size]
        if len(out) < size:
            raise ValueError("Failed to read from given file")
        self.at += size
        return out

    def blocks(self) -> bytes:
        """Reads blocks up to the empty one and returns them with their lengths."""
        start = self.at
        while True:
            size = self.take(1)[0]
            self.take(size)
            if not size:
                return self.data[start : self.at]


def _palette(reader: _Reader, flags: int) -> bytes:
    return reader.take(3 << (flags & 7) + 1) if flags & 0x80 else b""


def _frames(data: bytes) -> list[_Frame]:
    reader = _Reader(data)
    try:
        if reader.take(6)[:3] != b"GIF":
            raise ValueError("Data is not in GIF format")
        shared = _palette(reader, reader.take(7)[4])
    except ValueError as e:
        raise OpenError("No screen descriptor detected") from e
    frames = []
    while True:
        kind = reader.take(1)
        if kind == b";":
            break
        if kind == b"!":
            reader.take(1)
            reader.blocks()
        elif kind == b",":
            x, y, width, height, flags = struct.unpack("<HHHHB", reader.take(9))
            palette = _palette(reader, flags) or shared
            codes = reader.take(1) + reader.blocks()
            if not width or not height:
                raise ValueError("Unknown error")
            frames.append(_Frame(x, y, width, height, flags & 0x40, palette, codes))
        else:
            raise ValueError("Wrong record type detected")
    if not frames:
        raise ValueError("No Image Descriptor detected")
    return frames


def _pixels(frame: _Frame) -> np.ndarray[Any, Any]:
    """Returns the colours' numbers, [height, width]."""
    from PIL import Image

    if frame.width * frame.height > _EXPANSION * len(frame.codes):
        raise ValueError("Image EOF detected before image complete")
    size = struct.pack("<HH", frame.width, frame.height)
    grey = bytes(range(256))
    # A table of 256 greys, so that Pillow returns the numbers as they are.
    parts = [b"GIF89a", size, b"\xf7\0\0", bytes(v for g in grey for v in (g, g, g))]
    parts += [b",\0\0\0\0", size, bytes([frame.interlaced]), frame.codes, b";"]
    try:
        with Image.open(io.BytesIO(b"".join(parts)), formats=["GIF"]) as image:
            return np.asarray(image).reshape(frame.height, frame.width)
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as e:
        raise ValueError("Image EOF detected before image complete") from e


def count_frames(data: bytes) -> int:
    """Returns how many frames there are.

    Raises:
      OpenError: The file is damaged before its frames.
      ValueError: It is damaged later.
    """
    return len(_frames(data))


def decode(data: bytes) -> np.ndarray[Any, Any]:
    """Returns the frames, [frames, height, width, 3].

    The size is the largest that a frame has; a frame covers what came before it in its rectangle alone. Transparency
    and what a frame says of its disposal are ignored, as in TensorFlow.

    Args:
      data: The file.

    Raises:
      OpenError: The file is damaged before its frames.
      IndexError: The frames are there, but don't make images.
      ValueError: The file is damaged later.
    """
    frames = _frames(data)
    width, height = max(f.width for f in frames), max(f.height for f in frames)
    pixels = [_pixels(frames[0])]
    total = len(frames) * width * height * 3
    if total > max(_LARGEST, _PROPORTION * len(data)):
        raise IndexError(
            f"{len(frames)} frames of {width} x {height} pixels are too much for a file so small"
        )
    pixels += [_pixels(f) for f in frames[1:]]
    out = np.zeros((len(frames), height, width, 3), np.uint8)
    for k, (frame, numbers) in enumerate(zip(frames, pixels)):
        if (frame.x, frame.y, frame.width, frame.height) != (0, 0, width, height):
            if not k:
                raise IndexError("the first frame does not fill the canvas")
            out[k] = out[k - 1]
        if not frame.palette:
            raise IndexError(f"missing color map for frame {k}")
        colors = np.frombuffer(frame.palette, np.uint8).reshape(-1, 3)
        seen = numbers[: max(height - frame.y, 0), : max(width - frame.x, 0)]
        beyond = np.argmax(seen.ravel() >= len(colors)) if seen.size else 0
        if seen.size and seen.ravel()[beyond] >= len(colors):
            raise IndexError(
                f"found color index {seen.ravel()[beyond]} outside of color map range {len(colors)}"
            )
        out[k, frame.y : frame.y + seen.shape[0], frame.x : frame.x + seen.shape[1]] = colors[seen]
    return out
