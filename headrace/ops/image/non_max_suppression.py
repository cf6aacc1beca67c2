"""Non-maximum suppression: the best of boxes that overlap."""

from __future__ import annotations

import numpy as np

from headrace.errors import NotFoundError
from headrace.export import export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.image.sizes import check_room, invalid, shown
from headrace.ops.image.suppression import Boxes, fraction, number, suppressed
from headrace.shapes import merge_dim, with_rank

_T = """
      T: {half, float} = float
"""
_TYPES = f"""{_T}      T_threshold: {{half, float}} = float
"""
_PAD = "      pad_to_max_output_size: bool = false"
_DOC = """
    Indices of the best-scoring boxes, without those that overlap a better one too much"""

NonMaxSuppression = op(f"""
    NonMaxSuppression(boxes: float, scores: float, max_output_size: int32) -> (selected_indices: int32)
      iou_threshold: float = 0.5
{_DOC}.
""", grad=None)  # fmt: skip

NonMaxSuppressionV2 = op(f"""
    NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold)
        -> (selected_indices: int32){_TYPES}{_DOC}.
""", grad=None)  # fmt: skip

NonMaxSuppressionV3 = op(f"""
    NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold,
        score_threshold: T_threshold) -> (selected_indices: int32){_TYPES}{_DOC}, or score too little.
""")  # fmt: skip

NonMaxSuppressionV4 = op(f"""
    NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold,
        score_threshold: T_threshold) -> (selected_indices: int32, valid_outputs: int32){_TYPES}{_PAD}
{_DOC}, and how many there are; padded with zeros if asked to.
""")  # fmt: skip

NonMaxSuppressionV5 = op(f"""
    NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T,
        soft_nms_sigma: T) -> (selected_indices: int32, selected_scores: T, valid_outputs: int32){_T}{_PAD}
{_DOC}, their scores, and how many there are; overlaps lower scores if `soft_nms_sigma` is positive.
""")  # fmt: skip


def _check_shapes(boxes, scores, *scalars):
    count, four = with_rank(boxes, 2)
    (numbers,) = with_rank(scores, 1)
    for scalar in scalars:
        with_rank(scalar, 0)
    if count is not None and numbers is not None and count != numbers:
        raise ValueError(f"Dimensions must be equal, but are {count} and {numbers}")
    merge_dim(count, numbers)
    if four not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {four}")


@NonMaxSuppression.shape
@NonMaxSuppressionV2.shape
@NonMaxSuppressionV3.shape
def non_max_suppression_shape(boxes, scores, max_output_size, iou_threshold=(), score_threshold=()):
    _check_shapes(boxes, scores, max_output_size, iou_threshold, score_threshold)
    return (None,)


def _padded_size(ctx, pad_to_max_output_size):
    known = ctx.constant("max_output_size") if pad_to_max_output_size else None
    if known is None:
        return (None,)
    if known < 0:
        raise ValueError(f"Dimension size, given by scalar input 2, must be non-negative but is {int(known)}")
    return (int(known),)


@NonMaxSuppressionV4.shape
def non_max_suppression_v4_shape(boxes, scores, max_output_size, iou_threshold, score_threshold, *,
                                 pad_to_max_output_size, ctx):  # fmt: skip
    _check_shapes(boxes, scores, max_output_size, iou_threshold, score_threshold)
    return [_padded_size(ctx, pad_to_max_output_size), ()]


@NonMaxSuppressionV5.shape
def non_max_suppression_v5_shape(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, *,
                                 pad_to_max_output_size, ctx):  # fmt: skip
    _check_shapes(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    size = _padded_size(ctx, pad_to_max_output_size)
    return [size, size, ()]


def _run(boxes, scores, max_output_size, iou_threshold, score_threshold=None, sigma=None, pad=False):
    """Returns the chosen indices and their scores, as arrays, after all checks."""
    size = int(number(max_output_size, "max_output_size"))
    if pad:
        if size < 0:
            raise invalid(f"max_output_size must be >= 0 for padding, got {size}")
        check_room((size,), 4)
    threshold = fraction(iou_threshold, "iou_threshold")
    lowest = -np.inf if score_threshold is None else number(score_threshold, "score_threshold")
    sigma = 0 if sigma is None else number(sigma, "soft_nms_sigma")
    if not sigma >= 0:
        raise invalid("soft_nms_sigma_val must be >= 0")
    if boxes.ndim != 2:
        raise invalid(f"boxes must be 2-D{shown(boxes.shape)}")
    if boxes.shape[1] != 4:
        raise invalid("boxes must have 4 columns")
    check_scores(scores, len(boxes))
    with np.errstate(all="ignore"):
        found = Boxes(boxes)
        plain = bool((found.area > 0).all() and np.isfinite(found.area).all())
    # Thresholds are compared in the boxes' type.
    dtype = boxes.dtype.type
    indices, values = suppressed(found.overlaps, scores, size, dtype(threshold), dtype(lowest), sigma, plain)
    return np.array(indices, np.int32), np.array(values, dtype)


def check_scores(scores, count):
    """Checks the shape of scores.

    Raises:
      InvalidArgumentError: There isn't one for each box.
    """
    if scores.ndim != 1:
        raise invalid(f"scores must be 1-D{shown(scores.shape)}")
    if len(scores) != count:
        raise invalid("scores has incompatible shape")


def _padded(values, size, pad):
    if not pad:
        return values
    out = np.zeros(size, values.dtype)
    out[: len(values)] = values
    return out


@NonMaxSuppression.host
def non_max_suppression_host(boxes, scores, max_output_size, *, iou_threshold):
    return _run(boxes, scores, max_output_size, np.float32(iou_threshold))[0]


@NonMaxSuppressionV2.host
@NonMaxSuppressionV3.host
def non_max_suppression_v3_host(boxes, scores, max_output_size, iou_threshold, score_threshold=None):
    return _run(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]


@NonMaxSuppressionV4.host
def non_max_suppression_v4_host(boxes, scores, max_output_size, iou_threshold, score_threshold, *,
                                pad_to_max_output_size):  # fmt: skip
    indices, _ = _run(
        boxes, scores, max_output_size, iou_threshold, score_threshold, pad=pad_to_max_output_size
    )
    return _padded(indices, int(max_output_size), pad_to_max_output_size), np.int32(len(indices))


@NonMaxSuppressionV5.host
def non_max_suppression_v5_host(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, *,
                                pad_to_max_output_size):  # fmt: skip
    indices, values = _run(
        boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, pad_to_max_output_size
    )
    both = (_padded(v, int(max_output_size), pad_to_max_output_size) for v in (indices, values))
    return (*both, np.int32(len(indices)))


_FOUR = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 1.5, 0, 0.5], [0, 3, 1, 4]], np.float32)
_SCORES = np.array([0.9, 0.75, 0.6, 0.95], np.float32)
_ALIKE = np.full(4, 0.5, np.float32)
_APART = np.array([[0, i, 1, i + 1] for i in range(4)], np.float32)
_F = np.float32


def _common_failures(case, *more):
    case.fails("[4];[4]" + ";[]" * (1 + len(more)), match="must be rank 2 but is rank 1")
    case.fails("[4,3];[4]" + ";[]" * (1 + len(more)), match="Dimension must be 4 but is 3")
    case.fails("[4,4];[3]" + ";[]" * (1 + len(more)), match="Dimensions must be equal, but are 4 and 3")
    if more:
        case.fails(
            (_FOUR, _SCORES, np.int32(3), _F(1.5), *more[1:]), match=r"iou_threshold must be in \[0, 1\]"
        )


@NonMaxSuppression.cases
def non_max_suppression_cases(case):
    case(_FOUR, _SCORES, np.int32(3), gives=np.array([3, 0, 2], np.int32))
    case(_APART, _ALIKE, np.int32(9), gives=np.array([0, 2, 3, 1], np.int32))
    case(_APART[:0], _ALIKE[:0], np.int32(9), gives=np.zeros(0, np.int32))
    case.shapes("[?,4];[3];[]", "[?]")
    _common_failures(case)
    case.fails((_FOUR, _SCORES, np.int32(3)), iou_threshold=-0.5, match=r"iou_threshold must be in \[0, 1\]")


@NonMaxSuppressionV2.cases
def non_max_suppression_v2_cases(case):
    case(_FOUR, _SCORES, np.int32(3), _F(0.9), gives=np.array([3, 0, 1], np.int32))
    case(_FOUR, _SCORES, np.int32(-1), _F(0.3), gives=np.array([3, 0], np.int32))
    case.shapes("[?,4];[3];[];[]", "[?]")
    _common_failures(case, _F(0.5))


@NonMaxSuppressionV3.cases
def non_max_suppression_v3_cases(case):
    case(_FOUR, _SCORES, np.int32(3), _F(0.5), _F(0.7), gives=np.array([3, 0], np.int32))
    case(_APART, np.array([0, 1, np.nan, 0], np.float32), np.int32(3), _F(0.5), _F(-np.inf),
         gives=np.array([1, 3, 0], np.int32))  # fmt: skip
    case.shapes("[?,4];[3];[];[];[]", "[?]")
    _common_failures(case, _F(0.5), _F(0))


@NonMaxSuppressionV4.cases
def non_max_suppression_v4_cases(case):
    case(_FOUR, _SCORES, np.int32(5), _F(0.5), _F(0.7), pad_to_max_output_size=True,
         gives=(np.array([3, 0, 0, 0, 0], np.int32), np.int32(2)))  # fmt: skip
    case(_FOUR, _SCORES, np.int32(5), _F(0.5), _F(0.7), gives=(np.array([3, 0], np.int32), np.int32(2)))
    # Boxes without area don't overlap themselves and are chosen again, as in TensorFlow.
    case(0 * _FOUR[:2], _ALIKE[:2], np.int32(5), _F(0.5), _F(-1),
         gives=(np.array([0, 1, 0, 1, 0], np.int32), np.int32(5)))  # fmt: skip
    case.shapes("[?,4];[3];[];[];[]", "[?];[]")
    case.shapes(
        "[?,4];[3];[];[];[]", "[7];[]", values={"max_output_size": np.int32(7)}, pad_to_max_output_size=True
    )
    _common_failures(case, _F(0.5), _F(0))
    case.fails((_FOUR, _SCORES, np.int32(-3), _F(0.5), _F(0)), pad_to_max_output_size=True,
               match="max_output_size must be >= 0|must be non-negative but is -3")  # fmt: skip


@NonMaxSuppressionV5.cases
def non_max_suppression_v5_cases(case):
    case(_FOUR, _SCORES, np.int32(3), _F(0.5), _F(0), _F(0),
         gives=(np.array([3, 0, 2], np.int32), [0.95, 0.9, 0.6], np.int32(3)))  # fmt: skip
    case(_FOUR, _SCORES, np.int32(9), _F(1), _F(0.1), _F(0.5), pad_to_max_output_size=True)
    case.shapes("[?,4];[3];[];[];[];[]", "[?];[?];[]")
    _common_failures(case, _F(0.5), _F(0), _F(0))
    case.fails((_FOUR, _SCORES, np.int32(3), _F(0.5), _F(0), _F(-1)), match="soft_nms_sigma_val must be >= 0")


# -- by given overlaps --------------------------------------------------------------------------------------

NonMaxSuppressionWithOverlaps = op(f"""
    NonMaxSuppressionWithOverlaps(overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float,
        score_threshold: float) -> (selected_indices: int32)
{_DOC}, by a matrix of overlaps.
""", grad=None)  # fmt: skip


@NonMaxSuppressionWithOverlaps.shape
def non_max_suppression_with_overlaps_shape(
    overlaps, scores, max_output_size, overlap_threshold, score_threshold
):
    rows, columns = with_rank(overlaps, 2)
    (numbers,) = with_rank(scores, 1)
    for scalar in (max_output_size, overlap_threshold, score_threshold):
        with_rank(scalar, 0)
    for one, other in ((rows, numbers), (rows, columns)):
        if one is not None and other is not None and one != other:
            raise ValueError(f"Dimensions must be equal, but are {one} and {other}")
    return (None,)


@NonMaxSuppressionWithOverlaps.host
def non_max_suppression_with_overlaps_host(
    overlaps, scores, max_output_size, overlap_threshold, score_threshold
):
    size = int(number(max_output_size, "max_output_size"))
    threshold = number(overlap_threshold, "overlap_threshold")
    lowest = number(score_threshold, "score_threshold")
    if overlaps.ndim != 2:
        raise invalid(f"overlaps must be 2-D{shown(overlaps.shape)}")
    if overlaps.shape[0] != overlaps.shape[1]:
        raise invalid(f"overlaps must be square{shown(overlaps.shape)}")
    check_scores(scores, len(overlaps))
    indices, _ = suppressed(lambda i, others: overlaps[i, others], scores, size, threshold, lowest)
    return np.array(indices, np.int32)


@NonMaxSuppressionWithOverlaps.cases
def non_max_suppression_with_overlaps_cases(case):
    overlaps = np.array([[1, 0.8, 0], [0.8, 1, 0.3], [0, 0.3, 1]], np.float32)
    scores = np.array([0.5, 0.9, 0.7], np.float32)
    case(overlaps, scores, np.int32(3), _F(0.5), _F(0), gives=np.array([1, 2], np.int32))
    case(overlaps, scores, np.int32(3), _F(0.9), _F(0.6), gives=np.array([1, 2], np.int32))
    case(overlaps, scores, np.int32(3), _F(0.9), _F(0), gives=np.array([1, 2, 0], np.int32))
    case.shapes("[?,3];[3];[];[];[]", "[?]")
    case.fails("[2,3];[2];[];[];[]", match="Dimensions must be equal, but are 2 and 3")
    case.fails("[2];[2];[];[];[]", match="must be rank 2 but is rank 1")


# -- public -------------------------------------------------------------------------------------------------

_INF = float("inf")


def _thresholds(iou_threshold, score_threshold):
    return (
        convert_to_tensor(iou_threshold, name="iou_threshold"),
        convert_to_tensor(score_threshold, name="score_threshold"),
    )


@export("image.non_max_suppression")
def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=-_INF, name=None):
    """Returns the indices of the best-scoring boxes, without those that overlap a better one too much.

    Args:
      boxes: [count, 4], any two opposite corners y1, x1, y2, x2 of each.
      scores: One number a box.
      max_output_size: How many boxes to choose at most.
      iou_threshold: The intersection over the union from which on a box is ruled out.
      score_threshold: Boxes must score more.
      name: A name scope for the nodes.
    """
    with name_scope(name, "non_max_suppression"):
        iou, lowest = _thresholds(iou_threshold, score_threshold)
        return raw.NonMaxSuppressionV3(boxes, scores, max_output_size, iou, lowest)


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=-_INF,
    pad_to_max_output_size=False,
    name=None,
):
    """Returns what `non_max_suppression` returns, padded with zeros if asked to, and how many there are.

    Args:
      boxes: [count, 4], any two opposite corners y1, x1, y2, x2 of each.
      scores: One number a box.
      max_output_size: How many boxes to choose at most.
      iou_threshold: The intersection over the union from which on a box is ruled out.
      score_threshold: Boxes must score more.
      pad_to_max_output_size: Whether the result always has `max_output_size` elements.
      name: A name scope for the nodes.
    """
    with name_scope(name, "non_max_suppression_padded"):
        iou, lowest = _thresholds(iou_threshold, score_threshold)
        return raw.NonMaxSuppressionV4(
            boxes, scores, max_output_size, iou, lowest, pad_to_max_output_size=pad_to_max_output_size
        )


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=-_INF,
    soft_nms_sigma=0.0,
    name=None,
):
    """Returns what `non_max_suppression` returns, and the scores, which overlaps lower if a sigma is given.

    Args:
      boxes: [count, 4], any two opposite corners y1, x1, y2, x2 of each.
      scores: One number a box.
      max_output_size: How many boxes to choose at most.
      iou_threshold: The intersection over the union from which on a box is ruled out.
      score_threshold: Boxes must score more.
      soft_nms_sigma: The deviation of the bell curve by which overlaps lower scores; 0 for none.
      name: A name scope for the nodes.

    Returns:
      Indices and scores.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        iou, lowest = _thresholds(iou_threshold, score_threshold)
        sigma = convert_to_tensor(soft_nms_sigma, name="soft_nms_sigma")
        indices, values, _ = raw.NonMaxSuppressionV5(boxes, scores, max_output_size, iou, lowest, sigma)
        return indices, values


@export("image.generate_bounding_box_proposals")
def generate_bounding_box_proposals(
    scores,
    bbox_deltas,
    image_info,
    anchors,
    nms_threshold=0.7,
    pre_nms_topn=6000,
    min_size=16,
    post_nms_topn=300,
    name=None,
):
    """Would return the regions that a network proposes; its op is in no build of TensorFlow 1.15 for CPUs.

    Args:
      scores: How well each anchor does at each place.
      bbox_deltas: How each anchor is moved and stretched at each place.
      image_info: The height, width and scale of each image.
      anchors: The boxes that are moved.
      nms_threshold: The intersection over the union from which on a box is ruled out.
      pre_nms_topn: How many boxes are looked at.
      min_size: Smaller boxes are ruled out.
      post_nms_topn: How many boxes there are at most.
      name: A name for the operation.

    Raises:
      NotFoundError: Always.
    """
    raise NotFoundError(None, None, "Op type not registered 'GenerateBoundingBoxProposals' in this binary.")


@export("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=-_INF, name=None
):
    """Returns the indices of the best-scoring boxes, without those that overlap a better one too much.

    Args:
      overlaps: [count, count], how far each two boxes overlap.
      scores: One number a box.
      max_output_size: How many boxes to choose at most.
      overlap_threshold: The overlap from which on a box is ruled out.
      score_threshold: Boxes must score more.
      name: A name scope for the nodes.
    """
    with name_scope(name, "non_max_suppression_overlaps"):
        threshold = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        return raw.NonMaxSuppressionWithOverlaps(
            overlaps, scores, max_output_size, threshold, score_threshold
        )
