"""Drawing the outlines of boxes into images."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.image.sizes import invalid, shown
from headrace.shapes import with_rank, with_rank_at_least

_T = """
      T: {float, half} = float
"""

DrawBoundingBoxes = op(f"""
    DrawBoundingBoxes(images: T, boxes: float) -> (output: T){_T}
    Images with the outlines of boxes (y1, x1, y2, x2, in parts of the image) in ten colours by turns.
""", grad=None)  # fmt: skip

DrawBoundingBoxesV2 = op(f"""
    DrawBoundingBoxesV2(images: T, boxes: float, colors: float) -> (output: T){_T}
    Images with the outlines of boxes (y1, x1, y2, x2, in parts of the image) in these colours by turns.
""")  # fmt: skip

# Red, green, blue and opacity.
_COLORS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)
_DEPTHS = "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)"


@DrawBoundingBoxes.shape
def draw_bounding_boxes_shape(images, boxes):
    depth = with_rank(images, 4)[3]
    if depth not in (None, 1, 3, 4):
        raise ValueError(_DEPTHS)
    four = with_rank(boxes, 3)[2]
    if four not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {four}")
    return images


@DrawBoundingBoxesV2.shape
def draw_bounding_boxes_v2_shape(images, boxes, colors):
    return with_rank_at_least(images, 3)


def _check(images, boxes, colors):
    """Returns the colours to use.

    Raises:
      InvalidArgumentError: An operand has a wrong shape.
    """
    if len(images.shape) != 4:
        raise invalid("The rank of the images should be 4")
    if len(boxes.shape) != 3:
        raise invalid("The rank of the boxes tensor should be 3")
    if images.shape[0] != boxes.shape[0]:
        raise invalid("The batch sizes should be the same")
    if boxes.shape[2] != 4:
        raise invalid("boxes must have 4 columns")
    depth = images.shape[3]
    if depth not in (1, 3, 4):
        raise invalid(_DEPTHS)
    # In an image of one channel every box is white.
    given = np.ones((1, 1), np.float32) if depth == 1 else _COLORS
    if colors is None:
        return given
    if len(colors.shape) != 2:
        raise invalid(f"colors must be a 2-D matrix{shown(colors.shape)}")
    if colors.shape[1] < depth:
        raise invalid(
            f"colors must have equal or more channels than the image provided: {shown(colors.shape)}"
        )
    if colors.shape[0] == 0:
        return given
    return colors


def _pixels(values, last, xp):
    """Returns coordinates in whole pixels; what no integer holds lies far to the left, as on x86."""
    at = values * np.float32(last)
    known = xp.abs(at) < np.float32(2**31)
    return xp.where(known, xp.where(known, at, np.float32(0)).astype(np.int64), np.int64(-(2**62)))


def _drawn(images, boxes, colors, xp):
    colors = _check(images, boxes, colors)
    _, height, width, depth = images.shape
    if 0 in images.shape or boxes.shape[1] == 0:
        return images
    edges = (_pixels(boxes[:, :, i], (height, width)[i % 2] - 1, xp) for i in range(4))
    top, left, bottom, right = (e[:, :, None] for e in edges)
    seen = (top <= bottom) & (left <= right) & (top < height) & (bottom >= 0) & (left < width) & (right >= 0)
    rows, columns = np.arange(height), np.arange(width)
    # Of each row, of each box: whether an edge lies in it, and whether it is between the edges.
    edge_rows = ((rows == top) | (rows == bottom)) & seen
    edge_columns = ((columns == left) | (columns == right)) & seen
    in_rows = (rows >= top) & (rows <= bottom)
    in_columns = (columns >= left) & (columns <= right)
    if xp is np:
        last = _last_in_turn(edge_rows, edge_columns, in_rows, in_columns)
    else:
        outline = (edge_rows[..., None] & in_columns[:, :, None]) | (
            in_rows[..., None] & edge_columns[:, :, None]
        )
        number = np.arange(1, boxes.shape[1] + 1)[:, None, None]
        last = xp.where(outline, number, 0).max(axis=1)
    color = colors[:, :depth].astype(images.dtype)[(last - 1) % len(colors)]
    return xp.where((last > 0)[..., None], color, images)


def _last_in_turn(edge_rows, edge_columns, in_rows, in_columns):
    """Returns the number of the last box that has an outline at each pixel, from 1; 0 where none has."""
    last = np.zeros((len(in_rows), in_rows.shape[2], in_columns.shape[2]), np.int64)
    for k in range(in_rows.shape[1]):
        outline = edge_rows[:, k, :, None] & in_columns[:, k, None]
        outline |= in_rows[:, k, :, None] & edge_columns[:, k, None]
        last[outline] = k + 1
    return last


@DrawBoundingBoxes.host
@DrawBoundingBoxesV2.host
def draw_bounding_boxes_host(images, boxes, colors=None):
    with np.errstate(all="ignore"):
        return _drawn(images, boxes, colors, np)


@DrawBoundingBoxes.lower
@DrawBoundingBoxesV2.lower
def draw_bounding_boxes_lower(images, boxes, colors=None):
    return _drawn(images, boxes, colors, jnp)


_BLACK = np.zeros((1, 3, 4, 1), np.float32)
_BOX = np.array([[[0, 0.34, 1, 1.5], [-1, 0, 0, 0.4], [np.nan] * 4, [1, 0, 0.5, 1]]], np.float32)


def _failures(case, *more):
    gray = np.zeros((1, 3, 4, 2), np.float32)
    case.fails((gray, _BOX, *more), match="Channel depth should be either 1")
    case.fails((_BLACK, _BOX[..., :3], *more), match="4 columns|Dimension must be 4 but is 3")
    case.fails((_BLACK, np.zeros((2, 1, 4), np.float32), *more), match="The batch sizes should be the same")


@DrawBoundingBoxes.cases
def draw_bounding_boxes_cases(case):
    case(_BLACK, _BOX, gives=np.array([1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1]).reshape(1, 3, 4, 1))
    case(case.normal(2, 6, 7, 4), np.sort(case.uniform(2, 12, 4), axis=2))
    case(case.normal(0, 6, 7, 3), np.zeros((0, 2, 4), np.float32))
    case.shapes("[?,4,4,?];?", "[?,4,4,?]")
    case.shapes("?;?", "?")
    case.fails("[4,4,3];[1,2,4]", match="Shape must be rank 4 but is rank 3")
    case.fails("[1,4,4,2];[1,2,4]", match="Channel depth should be either 1")
    case.fails("[1,4,4,3];[1,2,3]", match="Dimension must be 4 but is 3")
    _failures(case)


@DrawBoundingBoxesV2.cases
def draw_bounding_boxes_v2_cases(case):
    colors = np.array([[0.5, 2], [3, 4]], np.float32)
    case(
        _BLACK,
        _BOX,
        colors,
        gives=np.array([3, 3, 0.5, 0.5, 0, 0.5, 0, 0, 0, 0.5, 0.5, 0.5]).reshape(1, 3, 4, 1),
    )
    case(case.normal(2, 6, 7, 3), np.sort(case.uniform(2, 5, 4), axis=2), case.normal(2, 3))
    case.shapes("[?,4,4,?];?;?", "[?,4,4,?]")
    _failures(case, colors)
    case.fails((_BLACK, _BOX, colors[0]), match=r"colors must be a 2-D matrix\[2\]")
    case.fails((_BLACK, _BOX, colors[:, :0]), match="colors must have equal or more channels")


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(images, boxes, name=None, colors=None):
    """Returns images with the outlines of boxes.

    Args:
      images: [batch, height, width, depth], of depth 1, 3 or 4.
      boxes: [batch, count, 4], the corners y1, x1, y2, x2 in parts of the image.
      name: A name for the operation.
      colors: [count, depth], which the boxes take by turns; ten of TensorFlow's choice if None.
    """
    if colors is None:
        return raw.DrawBoundingBoxes(images, boxes, name=name)
    return raw.DrawBoundingBoxesV2(images, boxes, colors, name=name)


@export("compat.v2.image.draw_bounding_boxes")
def draw_bounding_boxes_v2(images, boxes, colors, name=None):
    """Returns images with the outlines of boxes; see `tf.image.draw_bounding_boxes`."""
    return draw_bounding_boxes(images, boxes, name, colors)
