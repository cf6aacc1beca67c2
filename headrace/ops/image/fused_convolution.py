"""Convolution of images that are mirrored at their edges, and perhaps resized, first.

Every image of a batch is convolved. TensorFlow 1.15 gives the first image's result for all of them.
"""

from __future__ import annotations

import math

import numpy as np

from headrace.lazy import jnp, lax
from headrace.opdef import op
from headrace.ops.image import interpolation
from headrace.ops.image.resize import mixed
from headrace.ops.image.sizes import check_room, checked_size, invalid, shown
from headrace.shapes import same_padding, to_text, window, with_rank

_ATTRS = """
      mode: {"REFLECT", "SYMMETRIC"}
      strides: list(int)
      padding: {"SAME", "VALID"}
"""

FusedPadConv2D = op(f"""
    FusedPadConv2D(input: T, paddings: int32, filter: T) -> (output: T)
      T: {{half, float, double}}{_ATTRS}
    Convolves images with a margin around them that mirrors them.
""")  # fmt: skip

FusedResizeAndPadConv2D = op(f"""
    FusedResizeAndPadConv2D(input: T, size: int32, paddings: int32, filter: T) -> (output: T)
      T: {{half, float, double}}
      resize_align_corners: bool = false{_ATTRS}
    Resizes images with linear interpolation, then does as FusedPadConv2D.
""")  # fmt: skip


def _same(dims, want):
    """Checks the static shape of an operand.

    Raises:
      ValueError: It is another.
    """
    if dims is None or len(dims) != len(want):
        dims = with_rank(dims, len(want))
    for i, (got, size) in enumerate(zip(dims, want, strict=True)):
        if None not in (got, size) and got != size:
            both = f"{to_text(dims)} and {to_text(want)}"
            raise ValueError(
                f"Dimension {i} in both shapes must be equal, but are {got} and {size}. Shapes are {both}."
            )


def _convolved(sizes, paddings, filter, strides, padding, ctx):
    """Returns the static shape, `sizes` being that of the images before the margins."""
    n, height, width, depth = sizes
    _same(paddings, (4, 2))
    rows, columns, filter_depth, out_depth = with_rank(filter, 4)
    known = ctx.constant("paddings")
    if known is None:
        height = width = depth = n = None
    else:
        if (known < 0).any():
            raise ValueError("Paddings must be non-negative")
        n, height, width, depth = (
            None if d is None else d + int(row.sum())
            for d, row in zip((n, height, width, depth), known, strict=True)
        )
    if len(strides) != 4:
        raise ValueError(
            f"Operation requires the stride attribute to contain 4 values, but got: {len(strides)}"
        )
    if None not in (depth, filter_depth) and depth != filter_depth:
        raise ValueError(f"Dimensions must be equal, but are {depth} and {filter_depth}")
    height = window(height, rows, strides[1], 1, padding)
    width = window(width, columns, strides[2], 1, padding)
    return (n, height, width, out_depth)


@FusedPadConv2D.shape
def fused_pad_conv2d_shape(input, paddings, filter, *, strides, padding, ctx):
    return _convolved(with_rank(input, 4), paddings, filter, strides, padding, ctx)


@FusedResizeAndPadConv2D.shape
def fused_resize_and_pad_conv2d_shape(input, size, paddings, filter, *, strides, padding, ctx):
    n, _, _, depth = with_rank(input, 4)
    _same(size, (2,))
    height, width = ctx.as_shape("size") or (None, None)
    return _convolved((n, height, width, depth), paddings, filter, strides, padding, ctx)


def _check_input(input, filter):
    if len(input.shape) != 4:
        raise invalid(f"input must be 4-dimensional{shown(input.shape)}")
    if len(filter.shape) != 4:
        raise invalid(f"filter must be 4-dimensional: {shown(filter.shape)}")
    if math.prod(input.shape) == 0:
        raise invalid("Input tensor can't be empty")


def _margins(shape, paddings, mode):
    """Returns the paddings as pairs.

    Raises:
      InvalidArgumentError: They are larger than there is to mirror, or have a wrong shape.
    """
    paddings = np.asarray(paddings)
    if paddings.shape != (4, 2):
        raise invalid(f"paddings must be a matrix with 2 columns: {shown(paddings.shape)}")
    rows = [(int(before), int(after)) for before, after in paddings]
    less = mode == "REFLECT"
    for size, (before, after) in zip(shape, rows, strict=True):
        if before < 0 or after < 0:
            raise invalid(f"paddings must be non-negative: {before} {after}")
        if max(before, after) > size - less:
            text = "less than" if less else "no greater than"
            raise invalid(f"paddings must be {text} the dimension size: {before}, {after} not {text} {size}")
    return rows


def _run(input, paddings, filter, mode, strides, padding):
    rows = _margins(input.shape, paddings, mode)
    if any(map(any, (rows[0], rows[3]))):
        raise invalid("Only padding in the height and width is supported")
    if strides[0] != 1 or strides[3] != 1:
        raise invalid(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    if min(strides) < 1:
        raise invalid("strides must be positive")
    if input.shape[3] != filter.shape[2]:
        raise invalid(f"input and filter must have the same depth: {input.shape[3]} vs {filter.shape[2]}")
    dtype = input.dtype
    x = jnp.pad(input, rows, mode="reflect" if mode == "REFLECT" else "symmetric")
    margins, sizes = [], []
    for size, k, s in zip(x.shape[1:3], filter.shape[:2], strides[1:3], strict=True):
        margins.append(same_padding(size, k, s) if padding == "SAME" else (0, 0))
        sizes.append(max(0, (size + sum(margins[-1]) - k) // s + 1))
    out = (x.shape[0], *sizes, filter.shape[3])
    check_room(out, dtype.itemsize)
    if 0 in out or 0 in filter.shape:
        return jnp.zeros(out, dtype)
    wide = np.float32 if dtype.itemsize < 4 else dtype
    return lax.conv_general_dilated(
        x.astype(wide),
        filter.astype(wide),
        strides[1:3],
        margins,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    ).astype(dtype)


@FusedPadConv2D.lower(static="paddings")
def fused_pad_conv2d_lower(input, paddings, filter, *, mode, strides, padding):
    _check_input(input, filter)
    return _run(input, paddings, filter, mode, strides, padding)


@FusedResizeAndPadConv2D.lower(static="size paddings")
def fused_resize_and_pad_conv2d_lower(
    input, size, paddings, filter, *, resize_align_corners, mode, strides, padding
):
    _check_input(input, filter)
    size = checked_size(input.shape, size)
    check_room((input.shape[0], *size, input.shape[3]), input.dtype.itemsize)
    rows, columns = (
        interpolation.between(input.shape[i + 1], size[i], resize_align_corners, False) for i in range(2)
    )
    wide = input.astype(np.float32) if input.dtype.itemsize < 4 else input
    resized = mixed(wide, rows, columns).astype(input.dtype)
    return _run(resized, paddings, filter, mode, strides, padding)


_ROW = np.array([1, 2, 4], np.float32).reshape(1, 1, 3, 1)
_ONE = np.array([1, 10], np.float32).reshape(1, 2, 1, 1)
_PLAIN = {"strides": [1, 1, 1, 1], "padding": "VALID"}


def _pads(*rows):
    return np.array(rows, np.int32)


@FusedPadConv2D.cases
def fused_pad_conv2d_cases(case):
    side = _pads((0, 0), (0, 0), (1, 1), (0, 0))
    case(_ROW, side, _ONE, mode="REFLECT", gives=np.array([12, 21, 42, 24]).reshape(1, 1, 4, 1), **_PLAIN)
    case(_ROW, side, _ONE, mode="SYMMETRIC", gives=np.array([11, 21, 42, 44]).reshape(1, 1, 4, 1), **_PLAIN)
    case(case.normal(2, 5, 6, 3), _pads((0, 0), (2, 1), (0, 3), (0, 0)), case.normal(3, 2, 3, 4), mode="REFLECT",
         strides=[1, 2, 2, 1], padding="SAME")  # fmt: skip
    case.shapes("[1,4,4,3];[4,2];[2,2,3,5]", "[?,?,?,5]", mode="REFLECT", **_PLAIN)
    case.shapes("[1,4,?,3];[4,2];[2,2,3,5]", "[1,5,?,5]", mode="REFLECT", values={
        "paddings": _pads((0, 0), (1, 1), (1, 1), (0, 0))}, **_PLAIN)  # fmt: skip
    case.fails("[4,4,3];[4,2];[2,2,3,5]", match="must be rank 4 but is rank 3", mode="REFLECT", **_PLAIN)
    case.fails((_ROW, _pads((0, 0), (1, 1), (0, 0), (0, 0)), _ONE), mode="REFLECT",
               match="paddings must be less than the dimension size: 1, 1 not less than 1", **_PLAIN)  # fmt: skip
    case.fails((_ROW[:0], side, _ONE), mode="REFLECT", match="Input tensor can't be empty", **_PLAIN)


@FusedResizeAndPadConv2D.cases
def fused_resize_and_pad_conv2d_cases(case):
    none, wide = _pads((0, 0), (0, 0), (0, 0), (0, 0)), np.array([1, 5], np.int32)
    case(_ROW, wide, none, _ONE, mode="REFLECT", resize_align_corners=True,
         gives=np.array([16, 21.5, 32, 43]).reshape(1, 1, 4, 1), **_PLAIN)  # fmt: skip
    case(case.normal(2, 5, 6, 3), np.array([7, 9], np.int32), _pads((0, 0), (2, 1), (0, 3), (0, 0)),
         case.normal(3, 2, 3, 4), mode="SYMMETRIC", strides=[1, 2, 2, 1], padding="SAME")  # fmt: skip
    case.shapes("[1,4,4,3];[2];[4,2];[2,2,3,5]", "[?,?,?,5]", mode="REFLECT", **_PLAIN)
    case.shapes("[1,4,4,3];[2];[4,2];[2,2,3,5]", "[1,6,7,5]", mode="REFLECT", values={
        "size": np.array([7, 8], np.int32), "paddings": none}, **_PLAIN)  # fmt: skip
    case.fails("[4,4,3];[2];[4,2];[2,2,3,5]", match="must be rank 4 but is rank 3", mode="REFLECT", **_PLAIN)
    case.fails((_ROW, np.array([0, 5], np.int32), none, _ONE), mode="REFLECT",
               match="output dimensions must be positive", **_PLAIN)  # fmt: skip
