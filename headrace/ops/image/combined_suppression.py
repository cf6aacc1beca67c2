"""Non-maximum suppression of many classes and many images at once."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.image.introsort import descending
from headrace.ops.image.sizes import check_room, invalid
from headrace.ops.image.suppression import Boxes, fraction, number
from headrace.shapes import merge_dim, with_rank

CombinedNonMaxSuppression = op("""
    CombinedNonMaxSuppression(boxes: float, scores: float, max_output_size_per_class: int32, max_total_size: int32,
        iou_threshold: float, score_threshold: float)
        -> (nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float, valid_detections: int32)
      pad_per_class: bool = false
      clip_boxes: bool = true

    The best boxes of each image, chosen for every class by itself, and padded with zeros.
""")  # fmt: skip


@CombinedNonMaxSuppression.shape
def combined_non_max_suppression_shape(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold,
    score_threshold,
    *,
    pad_per_class,
    ctx,
):
    batch, count, kinds, four = with_rank(boxes, 4)
    numbers_batch, numbers, classes = with_rank(scores, 3)
    for scalar in (max_output_size_per_class, max_total_size, iou_threshold, score_threshold):
        with_rank(scalar, 0)
    for one, other in ((batch, numbers_batch), (count, numbers)):
        if one is not None and other is not None and one != other:
            raise ValueError(f"Dimensions must be equal, but are {one} and {other}")
    if four not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {four}")
    if None not in (kinds, classes) and kinds not in (1, classes):
        raise ValueError(
            "third dimension of boxes must be either 1 or equal to the third dimension of scores"
        )
    batch = merge_dim(batch, numbers_batch)
    size = _static(ctx, "max_total_size", 3)
    if size is not None and size <= 0:
        raise ValueError("max_total_size should be > 0 ")
    each = _static(ctx, "max_output_size_per_class", 2)
    if pad_per_class:
        known = None not in (size, each, classes)
        size = min(size, each * classes) if known else None
    return [(batch, size, 4), (batch, size), (batch, size), (batch,)]


def _static(ctx, operand, place):
    known = ctx.constant(operand)
    if known is None:
        return None
    if known < 0:
        raise ValueError(
            f"Dimension size, given by scalar input {place}, must be non-negative but is {int(known)}"
        )
    return int(known)


def _chosen(boxes, scores, size, threshold, lowest):
    """Returns the indices of one class' best boxes, best first."""
    order = np.flatnonzero(scores > lowest)
    chosen: list[int] = []
    for i in order[descending(scores[order])].tolist():
        if len(chosen) >= size:
            break
        if not chosen or not (boxes.overlaps(i, np.array(chosen)) > threshold).any():
            chosen.append(i)
    return chosen


@CombinedNonMaxSuppression.host
def combined_non_max_suppression_host(
    boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold, *, pad_per_class,
    clip_boxes,
):  # fmt: skip
    each = int(number(max_output_size_per_class, "max_size_per_class"))
    total = int(number(max_total_size, "max_total_size"))
    if total <= 0:
        raise invalid("max_total_size must be > 0")
    threshold = fraction(iou_threshold, "iou_threshold")
    lowest = number(score_threshold, "score_threshold")
    _check(boxes, scores)
    batch, _, classes = scores.shape
    size = min(total, max(0, each) * classes) if pad_per_class else total
    check_room((batch, size, 4), 4)
    found = np.zeros((batch, size, 4), np.float32)
    values, kinds = np.zeros((batch, size), np.float32), np.zeros((batch, size), np.float32)
    valid = np.zeros(batch, np.int32)
    with np.errstate(all="ignore"):
        for n in range(batch):
            candidates = []
            for c in range(classes):
                corners = boxes[n, :, c if boxes.shape[2] > 1 else 0]
                for i in _chosen(Boxes(corners), scores[n, :, c], each, threshold, lowest):
                    candidates.append((scores[n, i, c], c, corners[i]))
            best = descending(np.array([score for score, _, _ in candidates], np.float32))
            candidates = [candidates[i] for i in best[:size]]
            valid[n] = len(candidates)
            for i, (score, c, corners) in enumerate(candidates):
                found[n, i] = np.clip(corners, 0, 1) if clip_boxes else corners
                values[n, i], kinds[n, i] = score, c
    return found, values, kinds, valid


def _check(boxes, scores):
    """Checks the shapes of boxes and scores.

    Raises:
      InvalidArgumentError: They do not fit.
    """
    if boxes.ndim != 4 or scores.ndim != 3 or len(boxes) != len(scores):
        raise invalid("boxes and scores must have same batch size")
    if boxes.shape[2] not in (1, scores.shape[2]):
        raise invalid("third dimension of boxes must be either 1 or num classes")
    if boxes.shape[3] != 4:
        raise invalid("boxes must have 4 columns")
    if boxes.shape[1] != scores.shape[1]:
        raise invalid("scores has incompatible shape")


_BOXES = np.array([[0, 0, 0.5, 0.5], [0, 0.1, 0.5, 0.6], [0.5, 0.5, 1, 1.5]], np.float32).reshape(1, 3, 1, 4)
_SCORES = np.array([[0.9, 0.1], [0.8, 0.7], [0.3, 0.6]], np.float32).reshape(1, 3, 2)


@CombinedNonMaxSuppression.cases
def combined_non_max_suppression_cases(case):
    each, total, half, zero = np.int32(2), np.int32(3), np.float32(0.5), np.float32(0)
    corners = [[0, 0, 0.5, 0.5], [0, 0.1, 0.5, 0.6], [0.5, 0.5, 1, 1]]
    case(_BOXES, _SCORES, each, total, half, zero, gives=(
        [corners], [[0.9, 0.7, 0.6]], [[0, 1, 1]], np.array([3], np.int32)))  # fmt: skip
    case(_BOXES, _SCORES, np.int32(1), np.int32(9), half, zero, pad_per_class=True, clip_boxes=False, gives=(
        [corners[:2]], [[0.9, 0.7]], [[0, 1]], np.array([2], np.int32)))  # fmt: skip
    case(_BOXES, _SCORES, np.int32(1), np.int32(2), half, np.float32(0.75), gives=(
        [[corners[0], [0] * 4]], [[0.9, 0]], [[0, 0]], np.array([1], np.int32)))  # fmt: skip
    case.shapes("[?,3,1,4];[2,?,5];[];[];[];[]", "[2,?,4];[2,?];[2,?];[2]")
    case.shapes("[?,3,1,4];[2,?,5];[];[];[];[]", "[2,10,4];[2,10];[2,10];[2]", pad_per_class=True,
                values={"max_output_size_per_class": each, "max_total_size": np.int32(30)})  # fmt: skip
    case.fails("[3,1,4];[2,3,5];[];[];[];[]", match="must be rank 4 but is rank 3")
    case.fails("[2,3,2,4];[2,3,5];[];[];[];[]", match="third dimension of boxes must be either 1 or equal")
    case.fails("[2,3,1,4];[2,4,5];[];[];[];[]", match="Dimensions must be equal, but are 3 and 4")
    case.fails((_BOXES, _SCORES, each, np.int32(0), half, zero), match="max_total_size (must|should) be > 0")
    case.fails(
        (_BOXES, _SCORES, each, total, np.float32(2), zero), match=r"iou_threshold must be in \[0, 1\]"
    )


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_per_class=False,
    clip_boxes=True,
    name=None,
):
    """Returns the best boxes of each image, chosen for every class by itself.

    Args:
      boxes: [batch, count, 1 or classes, 4], any two opposite corners y1, x1, y2, x2 of each.
      scores: [batch, count, classes].
      max_output_size_per_class: How many boxes to choose at most for one class.
      max_total_size: How many to choose at most for one image.
      iou_threshold: Boxes with a larger intersection over the union with a better one are ruled out.
      score_threshold: Boxes must score more.
      pad_per_class: Whether the result is no larger than what the classes can give together.
      clip_boxes: Whether coordinates are clipped to [0, 1].
      name: A name scope for the nodes.

    Returns:
      Boxes, scores, classes, and how many of each image are no padding.
    """
    with name_scope(name, "combined_non_max_suppression"):
        iou = convert_to_tensor(iou_threshold, dtype="float32", name="iou_threshold")
        lowest = convert_to_tensor(score_threshold, dtype="float32", name="score_threshold")
        return raw.CombinedNonMaxSuppression(
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            iou,
            lowest,
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
