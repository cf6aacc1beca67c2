"""The borders of a part of a JPEG image.

TensorFlow decodes no more than the part. Chroma of half the width is then interpolated as if the image ended there, so
that the outer columns differ from those of the whole image by a few grey levels; they are computed here.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

_Array = np.ndarray[Any, Any]


def fix_borders(part: _Array, data: bytes, samplings: list[tuple[int, int]], y: int, x: int) -> None:
    """Makes the outer columns of a part what they are when the part is decoded alone.

    Args:
      part: [height, width, 3], cut from the whole image; it is changed.
      data: The file, of three components.
      samplings: The sampling factors of each component.
      y: The row where the part begins.
      x: The column where it begins.
    """
    if samplings[0] not in ((2, 1), (2, 2)) or samplings[1:] != [(1, 1), (1, 1)]:
        return
    tall = samplings[0][1] == 2
    width = part.shape[1]
    start = x // 16 * 16  # whole blocks are decoded
    count = (x + width - start + 1) // 2
    columns: list[tuple[int, int]] = []  # of the part, and by how much rounding differs
    if count < 2:
        columns = [(c, -1) for c in range(width)]
    else:
        if x == start and x:
            columns.append((0, 8))
        if (x + width) % 2 == 0:
            columns.append((width - 1, 7))
    if not columns:
        return
    luma, chroma = _planes(data, tall)
    rows = np.arange(y, y + part.shape[0])
    for column, rounding in columns:
        samples = chroma[:, (x + column) // 2]
        near = samples[rows // 2 if tall else rows]
        if rounding >= 0 and tall:
            beside = np.clip(rows // 2 + np.where(rows % 2, 1, -1), 0, len(samples) - 1)
            near = (near * 3 + samples[beside]) * 4 + rounding >> 4
        part[:, column] = _to_rgb(luma[rows, x + column], near[:, 0], near[:, 1])


def _planes(data: bytes, tall: bool) -> tuple[_Array, _Array]:
    """Returns luma and the samples of chroma, decoded by the fast transform and not interpolated."""
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
        image.draft("YCbCr", image.size)
        image.decoderconfig = (1, 1)  # no scaling, but fast and without interpolation
        pixels = np.asarray(image).astype(np.int32)
    return pixels[..., 0], pixels[:: 2 if tall else 1, ::2, 1:]


def _to_rgb(luma: _Array, blue: _Array, red: _Array) -> _Array:
    """Converts as libjpeg does, in units of 2**-16."""
    half = 1 << 15
    blue, red = blue - 128, red - 128
    colours = [
        luma + (91881 * red + half >> 16),
        luma + (-22554 * blue - 46802 * red + half >> 16),
        luma + (116130 * blue + half >> 16),
    ]
    return np.stack(colours, -1).clip(0, 255).astype(np.uint8)
