"""Random boxes in an image that cover enough of given ones."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph import name_scope
from headrace.graph.seeds import get_seed
from headrace.opdef import op, raw
from headrace.ops.random import philox
from headrace.shapes import to_text, with_rank

_T = """
      T: {uint8, int8, int16, int32, int64}
      seed: int = 0
      seed2: int = 0
"""
_LEAST = "      min_object_covered: float = 0.1"
_ATTRS = """      aspect_ratio_range: list(float) = [0.75, 1.33]
      area_range: list(float) = [0.05, 1]
      max_attempts: int = 100
      use_image_if_no_bounding_boxes: bool = false
      stateful

    A random box of the image: where it begins, how large it is, and itself in parts of the image.
"""

SampleDistortedBoundingBox = op(f"""
    SampleDistortedBoundingBox(image_size: T, bounding_boxes: float) -> (begin: T, size: T, bboxes: float){_T}{_LEAST}
{_ATTRS}
""", grad=None)  # fmt: skip

SampleDistortedBoundingBoxV2 = op(f"""
    SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float, min_object_covered: float)
        -> (begin: T, size: T, bboxes: float){_T}{_ATTRS}
""", grad=None)  # fmt: skip


@SampleDistortedBoundingBox.shape
@SampleDistortedBoundingBoxV2.shape
def sample_distorted_bounding_box_shape(image_size, bounding_boxes, min_object_covered=()):
    (three,) = with_rank(image_size, 1)
    _, _, four = with_rank(bounding_boxes, 3)
    with_rank(min_object_covered, 0)
    for want, got in ((3, three), (4, four)):
        if got not in (None, want):
            raise ValueError(f"Dimension must be {want} but is {got}")
    return [(3,), (3,), (1, 1, 4)]


def _invalid(message):
    return InvalidArgumentError(None, None, message)


def _pair(values, what):
    """Returns a range as two float32 numbers.

    Raises:
      InvalidArgumentError: It is none.
    """
    if len(values) != 2:
        raise _invalid(f"{what} range field must specify 2 dimensions")
    low, high = (np.float32(v) for v in values)
    shown = f"[{low:g}, {high:g}]"
    if what == "Area" and (low > 1 or high > 1):
        raise _invalid(f"Area range must be less then or equal to 1.0: {shown}")
    if low <= 0 or high <= 0:  # whatever the message says
        raise _invalid(f"{what} range must be non-negative: {shown}")
    return low, high


def _image(image_size):
    if image_size.ndim != 1:
        raise _invalid(f"image_size must be 1-dimensional{to_text(image_size.shape)}")
    if len(image_size) != 3:
        raise _invalid(f"image_size must contain 3 elements{to_text(image_size.shape)}")
    height, width = (int(d) for d in image_size[:2])
    for what, size in (("height", height), ("width", width)):
        if not 0 <= size < 2**31 - 1:
            raise _invalid(f"image {what} cannot be >= int32 max")
    return height, width


def _rectangles(boxes, height, width, whole_if_none):
    """Returns the given boxes in whole pixels, (top, left, bottom, right).

    Raises:
      InvalidArgumentError: There is none, or one is not in the image.
    """
    if boxes.size == 0 and whole_if_none:
        return [(0, 0, height, width)]
    if boxes.ndim != 3:
        raise _invalid(
            f"input boxes must be 3-dimensional [batch, num_boxes, coords]: {to_text(boxes.shape)}"
        )
    if boxes.shape[2] != 4:
        raise _invalid(f"bounding boxes must have shape [4] or [*, 4], got {to_text(boxes.shape)}")
    if boxes.size == 0:
        raise _invalid(
            "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not "
            "provide any bounding boxes."
        )
    outside = ~((boxes >= 0) & (boxes <= 1))
    if outside.any():
        raise _invalid(f"All bounding box coordinates must be in [0.0, 1.0]: {boxes[outside][0]:g}")
    scale = np.array([height, width, height, width], np.float32)
    return [tuple(row) for row in (boxes.reshape(-1, 4) * scale).astype(np.int64).tolist()]


class _Numbers:
    """The words of a stream one after the other, as numbers of [0, 1) and below a bound."""

    def __init__(self, key, counter, attempts):
        self._make = lambda n: philox.words(key, counter, n).tolist()
        # An attempt takes four numbers at most. Those for some attempts are nearly always enough.
        self._most = 4 * attempts
        self._words = self._make(min(64, self._most))
        self._taken = 0

    def _next(self):
        if self._taken == len(self._words):
            self._words = self._make(self._most)
        self._taken += 1
        return self._words[self._taken - 1]

    def fraction(self):
        return np.float32((self._next() & 0x7FFFFF) * 2.0**-23)

    def below(self, bound):
        return self._next() % bound


def _crop(height, width, areas, ratio, numbers):
    """Returns a random rectangle of this aspect ratio, None if there is none with an area in range."""
    low, high = (np.float32(np.float32(a * np.float32(width)) * np.float32(height)) for a in areas)
    if high <= 0 or ratio <= 0 or not width or not height or areas[0] > areas[1]:
        return None
    rows, most = (_nearest(np.sqrt(np.float32(a / ratio))) for a in (low, high))

    def columns(n):
        return _nearest(np.float32(np.float32(n) * ratio))

    if columns(most) > width:
        # A little less than a half, for the width not to be rounded beyond the image's.
        most = int((width + 0.5 - 1e-7) / float(ratio))
        if columns(most) > width:
            most -= 1
    most = min(most, height)
    rows = min(rows, most)
    if rows < most:
        rows += numbers.below(most - rows + 1)
    across = columns(rows)
    # Rounding may have left the range by a row.
    if np.float32(rows * across) < low:
        rows += 1
        across = columns(rows)
    if np.float32(rows * across) > high:
        rows -= 1
        across = columns(rows)
    area = np.float32(rows * across)
    if area < low or area > high or not 0 < across <= width or not 0 < rows <= height:
        return None
    top = numbers.below(height - rows) if rows < height else 0
    left = numbers.below(width - across) if across < width else 0
    return top, left, top + rows, left + across


def _nearest(x):
    return int(np.rint(x))


def _covers(crop, box, least):
    """Whether a rectangle covers at least this part of a box."""
    area = (box[2] - box[0]) * (box[3] - box[1])
    if area <= 0:
        return False
    rows = min(crop[2], box[2]) - max(crop[0], box[0])
    columns = min(crop[3], box[3]) - max(crop[1], box[1])
    common = rows * columns if rows > 0 and columns > 0 else 0
    return np.float32(common) / np.float32(area) >= least


def _sample(image_size, boxes, least, attrs, ctx):
    attempts = attrs["max_attempts"]
    ratios = _pair(attrs["aspect_ratio_range"], "Aspect ratio")
    areas = _pair(attrs["area_range"], "Area")
    if attempts <= 0:
        raise _invalid(f"Max attempts must be non-negative: {attempts}")
    if not least >= 0:
        raise _invalid(f"Min object covered must be non-negative: {least:g}")
    height, width = _image(image_size)
    rectangles = _rectangles(boxes, height, width, attrs["use_image_if_no_bounding_boxes"])
    numbers = _Numbers(*ctx.random(attempts), attempts)
    found = None
    with np.errstate(all="ignore"):
        for _ in range(attempts):
            ratio = np.float32(numbers.fraction() * np.float32(ratios[1] - ratios[0]) + ratios[0])
            found = _crop(height, width, areas, ratio, numbers)
            if found is not None and any(_covers(found, box, least) for box in rectangles):
                break
            found = None
        top, left, bottom, right = found or (0, 0, height, width)
        size = np.array([height, width, height, width], np.float32)
        box = np.array([top, left, bottom, right], np.float32) / size
    dtype = image_size.dtype
    extent = np.array([bottom - top, right - left, -1]).astype(dtype)
    return np.array([top, left, 0]).astype(dtype), extent, box.reshape(1, 1, 4)


@SampleDistortedBoundingBox.host
def sample_distorted_bounding_box_host(image_size, bounding_boxes, *, min_object_covered, ctx, **attrs):
    return _sample(image_size, bounding_boxes, np.float32(min_object_covered), attrs, ctx)


@SampleDistortedBoundingBoxV2.host
def sample_distorted_bounding_box_v2_host(image_size, bounding_boxes, min_object_covered, *, ctx, **attrs):
    if min_object_covered.ndim:
        raise _invalid(f"min_object_covered must be 0-D, got shape {to_text(min_object_covered.shape)}")
    return _sample(image_size, bounding_boxes, min_object_covered[()], attrs, ctx)


_SIZE = np.array([100, 120, 3], np.int32)
_BOX = np.array([[[0.1, 0.2, 0.8, 0.9]]], np.float32)


def _cases(case, *more):
    seeds = {"seed": 3, "seed2": 5}
    found = [[[0.01, 19 / 120, 0.96, 112 / 120]]]
    case(_SIZE, _BOX, *more, **seeds, gives=(
        np.array([1, 19, 0], np.int32), np.array([95, 93, -1], np.int32), found))  # fmt: skip
    case(_SIZE, _BOX[:, :0], *more, use_image_if_no_bounding_boxes=True, **seeds)
    case(_SIZE, _BOX, *more, area_range=[0.5, 0.2], max_attempts=3, **seeds, gives=(
        np.zeros(3, np.int32), np.array([100, 120, -1], np.int32), [[[0, 0, 1, 1]]]))  # fmt: skip
    end = ";[]" * len(more)
    case.shapes("[3];[?,?,4]" + end, "[3];[3];[1,1,4]", T="int32")
    case.fails("[2];[1,1,4]" + end, match="Dimension must be 3 but is 2", T="int32")
    case.fails("[3];[1,1,3]" + end, match="Dimension must be 4 but is 3", T="int32")
    case.fails((_SIZE, _BOX[:, :0], *more), match="No bounding boxes provided as input")
    case.fails((_SIZE, _BOX + np.float32(1), *more), match=r"coordinates must be in \[0.0, 1.0\]: 1.1")
    case.fails((_SIZE, _BOX, *more), match="Max attempts must be non-negative: 0", max_attempts=0)
    case.fails((_SIZE, _BOX, *more), match="Area range must be less then", area_range=[0.5, 1.5])


@SampleDistortedBoundingBox.cases
def sample_distorted_bounding_box_cases(case):
    _cases(case)


@SampleDistortedBoundingBoxV2.cases
def sample_distorted_bounding_box_v2_cases(case):
    _cases(case, np.float32(0.1))


@export("image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=None,
    seed2=None,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Returns a random box of an image that covers enough of one of the given boxes, or the whole image.

    Args:
      image_size: Height, width and channels.
      bounding_boxes: [batch, count, 4], the corners y1, x1, y2, x2 of the given boxes, in parts of the image.
      seed: The first of two seeds; both None or 0 mean a random stream that differs from run to run.
      seed2: The second.
      min_object_covered: Which part of a given box must be covered.
      aspect_ratio_range: The range of the quotient of width and height; [0.75, 1.33] if None.
      area_range: The range of the area, in parts of the image's; [0.05, 1] if None.
      max_attempts: How often to try before the whole image is returned; 100 if None.
      use_image_if_no_bounding_boxes: Whether the image is taken for the given box if there is none.
      name: A name scope for the nodes.

    Returns:
      `begin` and `size` for `tf.slice`, and the box as [1, 1, 4], in parts of the image.
    """
    with name_scope(name, "sample_distorted_bounding_box"):
        return raw.SampleDistortedBoundingBoxV2(
            image_size,
            bounding_boxes,
            min_object_covered,
            seed=seed or 0,
            seed2=seed2 or 0,
            aspect_ratio_range=[0.75, 1.33] if aspect_ratio_range is None else aspect_ratio_range,
            area_range=[0.05, 1.0] if area_range is None else area_range,
            max_attempts=100 if max_attempts is None else max_attempts,
            use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
            name=name,
        )


@export("compat.v2.image.sample_distorted_bounding_box")
def sample_distorted_bounding_box_v2(
    image_size,
    bounding_boxes,
    seed=0,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Returns a random box of an image; see `tf.image.sample_distorted_bounding_box`.

    Here `seed` is the op-level seed that goes with the graph's.
    """
    first, second = get_seed(seed) if seed else (0, 0)
    return sample_distorted_bounding_box(
        image_size,
        bounding_boxes,
        first,
        second,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        name,
    )
