"""Windows that slide over quantized images, and what the ops here share with those on floats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.opdef import raw
from headrace.ops.quantized.kernels import invalid
from headrace.shapes import same_padding, to_text


def shape_like(name: str, *shapes: Any, **keywords: Any) -> Any:
    """Returns the static shape that an op on floats gives."""
    return getattr(raw, name).rule("shape")(*shapes, **keywords)


def conv_shape(input: Any, filter: Any, strides: Any, padding: str, dilations: Any) -> Any:
    """Returns the static shape after a convolution."""
    return shape_like(
        "Conv2D", input, filter, strides=strides, padding=padding, explicit_paddings=(), data_format="NHWC",
        dilations=dilations,
    )  # fmt: skip


def slid(x: Any, kernel: Any, strides: Any, padding: str, filler: int = 0) -> tuple[Any, Iterator[Any]]:
    """Slides a window over the rows and columns of images.

    Args:
      x: The images, [batch, height, width, channels].
      kernel: The window's height and width.
      strides: Its steps along each axis.
      padding: "SAME" or "VALID".
      filler: What lies around the images.

    Returns:
      The images' shape afterwards, and for each place in the window that element of all windows.

    Raises:
      InvalidArgumentError: The arguments are no window over images.
    """
    if x.ndim != 4:
        invalid(f"input must be 4-dimensional{to_text(x.shape)}")
    if len(strides) != 4:
        invalid(f"there must be 4 strides: {list(strides)}")
    if strides[0] != 1 or strides[3] != 1:
        invalid("Current implementation does not yet support strides in the batch and depth dimensions.")
    if min(*kernel, *strides) <= 0:
        invalid(f"Sliding window and strides must be positive: {list(kernel)}, {list(strides)}")
    steps = strides[1:3]
    axes = list(zip(x.shape[1:3], kernel, steps, strict=True))
    pads = [same_padding(*axis) if padding == "SAME" else (0, 0) for axis in axes]
    places = [max(0, (n + sum(p) - k) // s + 1) for (n, k, s), p in zip(axes, pads, strict=True)]
    padded = np.pad(x, ((0, 0), *pads, (0, 0)), constant_values=filler)

    def elements() -> Iterator[Any]:
        for offset in np.ndindex(*kernel):
            cut = (
                slice(o, o + (m - 1) * s + 1, s) if m else slice(0, 0)
                for o, m, s in zip(offset, places, steps, strict=True)
            )
            yield padded[(slice(None), *cut)]

    return (x.shape[0], *places, x.shape[3]), elements()
