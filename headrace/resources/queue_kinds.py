"""Queues whose elements come out in another order than they went in, or padded to one shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace import shapes
from headrace.dtypes import DType, int64
from headrace.resources.queue import Element, Queue, invalid
from headrace.shapes import Shape


class RandomShuffleQueue(Queue):
    """A queue that gives any of its elements.

    Args:
      name: What messages call it.
      types: The types of an element's components.
      component_shapes: Their shapes, or none.
      capacity: How many elements it holds; negative for any number.
      min_after_dequeue: How many must stay as long as it is open.
      words: The random words that pick elements.
      seeds: What the words come from; who shares the queue must name the same.
    """

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        name: str,
        types: Sequence[DType],
        component_shapes: Sequence[Shape],
        capacity: int,
        min_after_dequeue: int,
        words: Iterator[int],
        seeds: tuple[int, int] = (0, 0),
    ):
        super().__init__(name, types, component_shapes, capacity)
        if min_after_dequeue < 0:
            raise invalid(f"min_after_dequeue {min_after_dequeue} must be >= 0")
        if min_after_dequeue >= self.capacity:
            raise invalid(f"min_after_dequeue {min_after_dequeue} must be < capacity {self.capacity}")
        self.min_after_dequeue = min_after_dequeue
        self.seeds = seeds
        self._words = words
        self._items: list[Element] = []

    def _take(self) -> Element:
        items = self._items
        i = next(self._words) % len(items)
        items[i], items[-1] = items[-1], items[i]
        return items.pop()

    def _put_back(self, elements: list[Element]) -> None:
        self._items.extend(reversed(elements))

    def _free_to_take(self) -> int:
        return len(self._items) - (0 if self.closed else self.min_after_dequeue)

    def check_same(self, other: Queue, op_type: str) -> None:
        super().check_same(other, op_type)
        if not isinstance(other, RandomShuffleQueue):
            return
        if self.min_after_dequeue != other.min_after_dequeue:
            raise invalid(
                f"Shared queue '{self.name}' has min_after_dequeue {self.min_after_dequeue} but requested "
                f"min_after_dequeue was {other.min_after_dequeue}."
            )
        # Seeds of 0 ask for nothing in particular.
        if other.seeds != (0, 0) and self.seeds != other.seeds:
            raise invalid(
                f"Shared queue '{self.name}' has random seeds {self.seeds} but requested seeds are {other.seeds}."
            )


class PaddingFIFOQueue(Queue):
    """A queue whose elements may differ in some dimensions; they are padded when several are taken."""

    kind = "PaddingFIFOQueue"

    def _check_shape(self, shape: Shape) -> None:
        if shape is None:
            raise invalid("shape <unknown> must have known rank.")

    def _join(self, parts: list[np.ndarray[Any, Any]], i: int) -> np.ndarray[Any, Any]:
        size = tuple(map(max, zip(*[p.shape for p in parts], strict=True)))
        storage = self.types[i].storage
        out = np.full((len(parts), *size), b"" if storage.hasobject else False, storage)
        for k, part in enumerate(parts):
            corner: Any = (k, *[slice(d) for d in part.shape])
            out[corner] = part
        return out

    def check_same(self, other: Queue, op_type: str) -> None:
        if len(self.shapes) == len(other.shapes) and all(
            shapes.compatible(a, b) for a, b in zip(self.shapes, other.shapes, strict=True)
        ):
            other.shapes = self.shapes
        super().check_same(other, op_type)


class PriorityQueue(Queue):
    """A queue whose elements come out by their first component, the least one first.

    Args:
      name: What messages call it.
      types: The types of an element's other components.
      component_shapes: Their shapes.
      capacity: How many elements it holds; negative for any number.
    """

    kind = "PriorityQueue"
    _takes_one_by_one = False

    def __init__(
        self, name: str, types: Sequence[DType], component_shapes: Sequence[Shape], capacity: int = -1
    ):
        super().__init__(name, (int64, *types), ((), *component_shapes), capacity)
        self._items: list[tuple[int, Element]] = []

    # Elements of one priority come out in the order in which the heap of C++'s standard library yields them.
    def _put(self, element: Element) -> None:
        self._items.append((int(element[0]), element))
        self._rise(len(self._items) - 1, self._items[-1])

    def _rise(self, place: int, item: tuple[int, Element]) -> None:
        items = self._items
        while place and items[(place - 1) // 2][0] > item[0]:
            items[place] = items[(place - 1) // 2]
            place = (place - 1) // 2
        items[place] = item

    def _take(self) -> Element:
        items = self._items
        top = items[0]
        last = items.pop()
        if items:
            n, place = len(items), 0
            while 2 * place + 2 < n:
                child = 2 * place + 2
                if items[child][0] > items[child - 1][0]:
                    child -= 1
                items[place] = items[child]
                place = child
            if 2 * place + 2 == n:
                items[place] = items[n - 1]
                place = n - 1
            self._rise(place, last)
        return top[1]

    def _put_back(self, elements: list[Element]) -> None:
        for element in elements:
            self._put(element)
