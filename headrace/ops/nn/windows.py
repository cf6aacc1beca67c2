"""What convolution and pooling have in common: layouts, strides, padding, and their shape rules."""

from __future__ import annotations

from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.shapes import Shape, places, same_padding, window

SPATIAL = {"NHWC": "HW", "NCHW": "HW", "NDHWC": "DHW", "NCDHW": "DHW"}


def spatial_axes(data_format: str) -> tuple[int, ...]:
    """Returns the positions of the spatial axes in a layout."""
    return tuple(data_format.index(axis) for axis in SPATIAL[data_format])


def channel_axis(data_format: str) -> int:
    return data_format.index("C")


def spatial(values: Any, data_format: str) -> tuple[int, ...]:
    """Returns what a list with one entry an axis says of the spatial axes."""
    return tuple(values[i] for i in spatial_axes(data_format))


def explicit_of(explicit_paddings: Any, axis: int) -> tuple[int, int]:
    """Returns the (before, after) padding of an axis from a flat list."""
    return tuple(explicit_paddings[2 * axis : 2 * axis + 2]) if explicit_paddings else (0, 0)  # type: ignore[return-value]


def paddings(
    sizes: Any, kernel: Any, strides: Any, dilations: Any, padding: str, explicit: Any = ()
) -> tuple[tuple[int, int], ...]:
    """Returns the (before, after) padding of each spatial axis."""
    if padding == "VALID":
        return ((0, 0),) * len(sizes)
    if padding == "EXPLICIT":
        return tuple(tuple(e) for e in explicit)
    return tuple(
        same_padding(n, k, s, d) for n, k, s, d in zip(sizes, kernel, strides, dilations, strict=True)
    )


def windowed_shape(
    dims: Any,
    kernel: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any = None,
    explicit: Any = (),
) -> Shape:
    """Returns the shape of a layout's tensor after windows slid over its spatial axes.

    Args:
      dims: The input's dimensions.
      kernel: The window's size along each spatial axis.
      strides: Its steps, one an axis of the layout.
      padding: SAME, VALID or EXPLICIT.
      data_format: The layout.
      dilations: The steps inside the window, one an axis of the layout.
      explicit: The flat list of explicit paddings.

    Raises:
      ValueError: The window does not fit.
    """
    out = list(dims)
    for i, k in zip(spatial_axes(data_format), kernel, strict=True):
        dilation = 1 if dilations is None else dilations[i]
        out[i] = window(dims[i], k, strides[i], dilation, padding, explicit_of(explicit, i))
    return tuple(out)


def kernel_places(sizes: Any, spans: Any, strides: Any, pads: Any) -> tuple[int, ...]:
    """Returns how many windows there are along each axis when the graph runs.

    Raises:
      InvalidArgumentError: A window is too long.
    """
    try:
        return tuple(
            places(n, span, s, before + after)
            for n, span, s, (before, after) in zip(sizes, spans, strides, pads, strict=True)
        )
    except ValueError as e:
        raise InvalidArgumentError(None, None, str(e)) from None


def check_explicit(padding: str, explicit: Any, data_format: str) -> None:
    """Checks a flat list of explicit paddings.

    Raises:
      ValueError: There is one where there should be none, or it is none for this layout.
    """
    if padding != "EXPLICIT":
        if explicit:
            raise ValueError(
                "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT"
            )
        return
    wanted = 2 * len(data_format)
    if len(explicit) != wanted:
        raise ValueError(
            f"explicit_paddings attribute must contain {wanted} values, but got: {len(explicit)}"
        )
    if any(p < 0 for p in explicit):
        raise ValueError("All elements of explicit_paddings must be nonnegative")
    if any(any(explicit_of(explicit, data_format.index(axis))) for axis in "NC"):
        raise ValueError("Nonzero explicit padding in the batch or depth dimensions is not supported")


def check_unit(values: Any, data_format: str, what: str) -> None:
    """Checks that nothing strides over the batch or the channels.

    Raises:
      InvalidArgumentError: Something does.
    """
    for value in values:
        if not -(2**31) <= value < 2**31:
            raise InvalidArgumentError(None, None, f"Attr {what} has value {value} out of range for an int32")
    if values[data_format.index("N")] != 1 or values[data_format.index("C")] != 1:
        raise InvalidArgumentError(
            None,
            None,
            f"Current implementation does not yet support {what} in the batch and depth dimensions.",
        )
