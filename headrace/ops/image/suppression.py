"""Greedy suppression of overlapping boxes, in TensorFlow's order down to boxes of equal scores.

TensorFlow takes candidates off a binary heap that knows nothing but scores, so equal ones come in the order that the
heap's moves leave them in. A chosen box returns to the heap, to be dropped by its overlap with itself; what lies in
the heap between has moved on. Both are part of the result, and done here alike where scores are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.errors import ResourceExhaustedError
from headrace.ops.image.sizes import invalid

Array = np.ndarray[Any, Any]

_MOST_REPEATED = 1 << 16
_AT_ONCE = 128


class Heap:
    """A binary heap of tuples by their first element, greatest first, that moves as the C++ library's does."""

    def __init__(self) -> None:
        self._items: list[Any] = []

    def __len__(self) -> int:
        return len(self._items)

    def push(self, item: Any) -> None:
        self._items.append(item)
        self._rise(len(self._items) - 1, item)

    def _rise(self, hole: int, item: Any) -> None:
        items = self._items
        while hole:
            parent = (hole - 1) // 2
            if not items[parent][0] < item[0]:
                break
            items[hole] = items[parent]
            hole = parent
        items[hole] = item

    def pop(self) -> Any:
        items = self._items
        top, item = items[0], items.pop()
        n = len(items)
        if n == 0:
            return top
        hole = child = 0
        while child < (n - 1) // 2:
            child = 2 * (child + 1)
            if items[child][0] < items[child - 1][0]:
                child -= 1
            items[hole] = items[child]
            hole = child
        if n % 2 == 0 and child == (n - 2) // 2:
            child = 2 * child + 1
            items[hole] = items[child]
            hole = child
        self._rise(hole, item)
        return top


class Boxes:
    """Boxes by any two opposite corners, with their overlaps in the boxes' own type."""

    def __init__(self, corners: Array):
        self.top, self.left = (np.minimum(corners[:, i], corners[:, i + 2]) for i in range(2))
        self.bottom, self.right = (np.maximum(corners[:, i], corners[:, i + 2]) for i in range(2))
        self.area = (self.bottom - self.top) * (self.right - self.left)

    def overlaps(self, i: Any, others: Any) -> Array:
        """Returns the intersection over the union of box `i` with each of the others; 0 with boxes without area.

        `i` may be a column of numbers, for a row of overlaps each.
        """
        zero = self.area.dtype.type(0)
        height = np.minimum(self.bottom[i], self.bottom[others]) - np.maximum(self.top[i], self.top[others])
        width = np.minimum(self.right[i], self.right[others]) - np.maximum(self.left[i], self.left[others])
        common = np.maximum(height, zero) * np.maximum(width, zero)
        union = self.area[i] + self.area[others] - common
        empty = (self.area[i] <= 0) | (self.area[others] <= 0)
        return np.where(empty, zero, common / union)


def suppressed(
    overlaps: Callable[[int, Any], Array],
    scores: Array,
    size: int,
    threshold: Any,
    score_threshold: Any,
    sigma: Any = 0,
    plain: bool = False,
) -> tuple[list[int], list[Any]]:
    """Returns the chosen boxes' indices, best first, and their scores.

    Args:
      overlaps: Called with an index and an array of indices; how far they overlap.
      scores: One number a box.
      size: How many to choose at most; no limit if negative.
      threshold: The least overlap with a chosen box that rules a box out.
      score_threshold: Boxes must score more.
      sigma: If positive, overlaps that rule nothing out lower scores, by a bell curve of this deviation.
      plain: Whether every box overlaps itself by 1, so that order is that of the scores unless some are equal.

    Raises:
      ResourceExhaustedError: Boxes that don't overlap themselves would be chosen over and over again.
    """
    candidates = np.flatnonzero(scores > score_threshold)
    if size == 0 or not candidates.size:
        return [], []
    with np.errstate(all="ignore"):
        if plain and not sigma > 0 and _all_differ(scores[candidates]):
            return _by_score(overlaps, scores, candidates, size, threshold)
        return _by_heap(overlaps, scores, candidates, size, threshold, score_threshold, sigma)


def _all_differ(scores):
    ordered = np.sort(scores)
    return not (ordered[1:] == ordered[:-1]).any()


def _by_score(overlaps, scores, candidates, size, threshold):
    """Goes through the boxes in the order of their scores, some at a time: most often the first few do."""
    order = candidates[np.argsort(-scores[candidates].astype(np.float64))]
    chosen = np.zeros(0, np.int64)
    for start in range(0, len(order), _AT_ONCE):
        some = order[start : start + _AT_ONCE]
        if chosen.size:
            some = some[(overlaps(some[:, None], chosen) < threshold).all(axis=1)]
        apart = overlaps(some[:, None], some) < threshold
        alive = np.ones(len(some), bool)
        for i in range(len(some)):
            if alive[i]:
                alive[i + 1 :] &= apart[i, i + 1 :]
        chosen = np.concatenate([chosen, some[alive]])
        if 0 <= size <= len(chosen):
            chosen = chosen[:size]
            break
    return chosen.tolist(), scores[chosen].tolist()


def _by_heap(overlaps, scores, candidates, size, threshold, score_threshold, sigma):
    dtype = scores.dtype.type
    scale = dtype(-0.5) / dtype(sigma) if sigma > 0 else None
    heap = Heap()
    for i in candidates.tolist():
        heap.push((scores[i], i, 0))
    chosen: list[int] = []
    values: list[Any] = []
    while heap and len(chosen) != size:
        score, i, seen = heap.pop()
        before, now = score, len(chosen)
        ruled_out = False
        for overlap in overlaps(i, np.array(chosen[seen:][::-1], np.int64)) if seen < now else ():
            if not overlap < threshold:
                ruled_out = True
                break
            if scale is not None:
                score = dtype(score * _exponential(dtype(dtype(scale * overlap) * overlap)))
                if score <= score_threshold:
                    break
        if ruled_out:
            continue
        if score == before:
            chosen.append(i)
            values.append(score)
            if len(chosen) > len(scores) + _MOST_REPEATED:
                raise ResourceExhaustedError(
                    None,
                    None,
                    f"{size if size > 0 else 'All'} boxes are wanted, and boxes without area repeat",
                )
        if score > score_threshold:
            heap.push((score, i, now))
    return chosen, values


def _exponential(x):
    """Returns the exponential that the C library gives; NumPy's own, but for complex numbers, differs at times."""
    return x.dtype.type(np.exp(np.complex64(x)).real)


def number(value: Any, what: str) -> Any:
    """Returns the number that a scalar operand holds.

    Raises:
      InvalidArgumentError: It is no scalar.
    """
    if value.ndim:
        raise invalid(f"{what} must be 0-D, got shape [{','.join(map(str, value.shape))}]")
    return value[()]


def fraction(value: Any, what: str) -> Any:
    """Returns the number of a scalar operand that must lie between 0 and 1.

    Raises:
      InvalidArgumentError: It is no scalar, or out of range.
    """
    value = number(value, what)
    if not 0 <= value <= 1:
        raise invalid(f"{what} must be in [0, 1]")
    return value
