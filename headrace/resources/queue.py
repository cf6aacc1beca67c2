"""Queues of tuples of tensors, in which steps wait for room or for elements."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.dtypes import DType
from headrace.resources.waiting import Pending
from headrace.shapes import Shape

Element = tuple[np.ndarray[Any, Any], ...]

_numbers = itertools.count()
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def type_name(dtype: DType) -> str:
    """Returns how messages spell a type."""
    return _NAMES.get(dtype.name, dtype.name)


def numbered(name: str) -> str:
    """Returns the name of a resource that is not shared: the node's with a number that nobody else has."""
    return f"_{next(_numbers)}_{name}"


def invalid(message: str) -> errors.OpError:
    """Returns the error of a refused operand."""
    return errors.InvalidArgumentError(None, None, message)  # type: ignore[no-any-return]


def _text(shape: Shape) -> str:
    return "<unknown>" if shape is None else shapes.to_text(shape)


def _texts(items: Sequence[Shape]) -> str:
    return f"[{', '.join(map(_text, items))}]"


class _Insertion:
    """Elements that are to go in, one after the other; none of them means closing."""

    __slots__ = ("closes", "elements", "pending")

    def __init__(self, pending: Pending, elements: Sequence[Element], closes: bool = False):
        self.pending = pending
        self.elements = deque(elements)
        self.closes = closes


class _Removal:
    """A number of elements that somebody waits for, and those that came already."""

    __slots__ = ("fewer", "finish", "n", "pending", "taken")

    def __init__(self, pending: Pending, n: int, fewer: bool, finish: Callable[[list[Element]], Any]):
        self.pending = pending
        self.n = n
        self.fewer = fewer
        self.finish = finish
        self.taken: list[Element] = []


class Queue:
    """A queue whose first elements come out first.

    Who asks first is served first. Requests return at once with a Pending, on which the caller may wait.

    Args:
      name: What messages call it.
      types: The types of an element's components.
      component_shapes: Their shapes; none where they may be of any shape.
      capacity: How many elements it holds; negative for any number.

    Attributes:
      kind: What messages call its class.
      closed: Whether it takes no more elements.
    """

    kind = "FIFOQueue"

    def __init__(
        self, name: str, types: Sequence[DType], component_shapes: Sequence[Shape], capacity: int = -1
    ):
        self.name = name
        self.types = tuple(types)
        self.shapes = tuple(component_shapes)
        self.capacity = capacity if capacity >= 0 else 2**31 - 1
        self.closed = False
        self._lock = threading.RLock()
        self._insertions: deque[_Insertion] = deque()
        self._removals: deque[_Removal] = deque()
        self._check()

    def _check(self) -> None:
        if self.shapes and len(self.shapes) != len(self.types):
            raise invalid(
                f"Different number of component types.  Types: {', '.join(map(type_name, self.types))}, Shapes: "
                f"{_texts(self.shapes)}"
            )
        for shape in self.shapes:
            self._check_shape(shape)
        self._items: Any = deque()

    def _check_shape(self, shape: Shape) -> None:
        if not shapes.is_full(shape):
            raise invalid(f"Shape {_text(shape)} is not fully defined")

    # -- what it holds, for subclasses to do in their own way ------------------------------------------------
    def _put(self, element: Element) -> None:
        self._items.append(element)

    def _take(self) -> Element:
        return self._items.popleft()  # type: ignore[no-any-return]

    def _put_back(self, elements: list[Element]) -> None:
        """Puts elements back that were taken last."""
        self._items.extendleft(reversed(elements))

    def _free_to_take(self) -> int:
        """Returns how many elements may be taken now."""
        return len(self._items)

    _takes_one_by_one = True

    # -- requests --------------------------------------------------------------------------------------------
    def size(self) -> int:
        """Returns how many elements it holds."""
        return len(self._items)

    def enqueue(self, element: Element) -> Pending:
        """Asks to put in an element.

        Raises:
          InvalidArgumentError: Its shapes don't fit.
        """
        for i, (v, expected) in enumerate(zip(element, self._expected(), strict=True)):
            if not shapes.compatible(v.shape, expected):
                raise invalid(
                    f"Shape mismatch in tuple component {i}. Expected {shapes.to_text(expected)}, got "
                    f"{shapes.to_text(v.shape)}"
                )
        return self._insert([element])

    def enqueue_many(self, components: Element) -> Pending:
        """Asks to put in the slices of tensors along their first dimension.

        Raises:
          InvalidArgumentError: Their shapes don't fit.
        """
        first = components[0].shape
        if not first:
            raise invalid("Shape mismatch in tuple component 0. Expected at least one dimension, got []")
        for i, (v, expected) in enumerate(zip(components, self._expected(), strict=True)):
            if expected is None:
                if v.shape[:1] == first[:1]:
                    continue
                raise invalid(
                    f"All input tensors must have the same size in the 0th dimension. Component {i} has "
                    f"{v.shape[0] if v.shape else 0}, and should have {first[0]}"
                )
            whole = (first[0], *expected)
            if not shapes.compatible(v.shape, whole):
                raise invalid(
                    f"Shape mismatch in tuple component {i}. Expected {shapes.to_text(whole)}, got "
                    f"{shapes.to_text(v.shape)}"
                )
        return self._insert(list(zip(*[list(_rows(v)) for v in components], strict=True)))

    def _expected(self) -> Sequence[Shape]:
        return self.shapes or (None,) * len(self.types)

    def _insert(self, elements: list[Element]) -> Pending:
        pending = Pending(self._withdraw)
        with self._lock:
            self._insertions.append(_Insertion(pending, elements))
            self._advance()
        return pending

    def dequeue(self) -> Pending:
        """Asks for one element; the result is its components."""
        return self._remove(1, False, lambda taken: list(taken[0]))

    def dequeue_many(self, n: int, fewer: bool = False) -> Pending:
        """Asks for elements, joined along a new first dimension.

        Args:
          n: How many.
          fewer: Whether those that are left in a closed queue will do.

        Raises:
          InvalidArgumentError: The components have no fixed shapes.
        """
        if not self.shapes:
            raise invalid(
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes."
            )
        return self._remove(n, fewer, self._joined)

    def _remove(self, n: int, fewer: bool, finish: Callable[[list[Element]], Any]) -> Pending:
        pending = Pending(self._withdraw)
        if n == 0:
            pending.finish(finish([]))
            return pending
        with self._lock:
            self._removals.append(_Removal(pending, n, fewer, finish))
            self._advance()
        return pending

    def close(self, cancel_pending_enqueues: bool = False) -> Pending:
        """Asks to take no more elements, once those who wait with elements now have put them in.

        Args:
          cancel_pending_enqueues: Whether those who wait shall fail with CancelledError instead.
        """
        pending = Pending(self._withdraw)
        with self._lock:
            if cancel_pending_enqueues:
                self.closed = True
                for insertion in self._insertions:
                    if insertion.closes:
                        insertion.pending.finish([])
                    else:
                        insertion.pending.fail(_cancelled("Enqueue"))
                self._insertions.clear()
                pending.finish([])
            else:
                self._insertions.append(_Insertion(pending, (), closes=True))
            self._advance()
        return pending

    def _withdraw(self, pending: Pending) -> None:
        with self._lock:
            if pending.done:
                return
            for insertion in self._insertions:
                if insertion.pending is pending:
                    self._insertions.remove(insertion)
                    pending.fail(_cancelled("Close" if insertion.closes else "Enqueue"))
                    break
            for removal in self._removals:
                if removal.pending is pending:
                    # What it took already is lost, as in TensorFlow.
                    self._removals.remove(removal)
                    pending.fail(_cancelled("Dequeue"))
                    break
            self._advance()

    # -- serving ---------------------------------------------------------------------------------------------
    def _advance(self) -> None:
        moved = True
        while moved:
            moved = bool(self._insertions) and self._serve_insertion(self._insertions[0])
            if self._removals and self._serve_removal(self._removals[0]):
                moved = True

    def _serve_insertion(self, insertion: _Insertion) -> bool:
        """Goes on with a request; returns whether anything changed."""
        pending = insertion.pending
        if self.closed:
            message = (
                f"Queue '{self.name}' is already closed."
                if insertion.closes
                else f"{self.kind} '{self.name}' is closed."
            )
            self._insertions.popleft()
            pending.fail(errors.CancelledError(None, None, message))
            return True
        elements = insertion.elements
        moved = False
        while elements and self.size() < self.capacity:
            self._put(elements.popleft())
            moved = True
        if not elements:
            self.closed = self.closed or insertion.closes
            self._insertions.popleft()
            pending.finish([])
            return True
        return moved

    def _serve_removal(self, removal: _Removal) -> bool:
        there = self._free_to_take()
        missing = removal.n - len(removal.taken)
        if self.closed and there < missing and not self._insertions:
            if not removal.fewer or (there == 0 and not removal.taken):
                self._put_back(removal.taken)
                self._removals.popleft()
                removal.pending.fail(
                    errors.OutOfRangeError(
                        None,
                        None,
                        f"{self.kind} '{self.name}' is closed and has insufficient elements (requested {missing}, "
                        f"current size {there})",
                    )
                )
                return True
            missing = there
        elif there < missing and not self._takes_one_by_one:
            return False
        taken = removal.taken
        wanted = len(taken) + missing
        moved = False
        while len(taken) < wanted and self._free_to_take() > 0:
            taken.append(self._take())
            moved = True
        if len(taken) < wanted:
            return moved
        self._removals.popleft()
        try:
            removal.pending.finish(removal.finish(taken))
        except Exception as e:
            removal.pending.fail(e)
        return True

    def _joined(self, taken: list[Element]) -> list[np.ndarray[Any, Any]]:
        if not taken:
            return [
                np.zeros((0, *[d or 0 for d in s or ()]), t.storage)
                for t, s in zip(self.types, self.shapes, strict=True)
            ]
        return [self._join([element[i] for element in taken], i) for i in range(len(self.types))]

    def _join(self, parts: list[np.ndarray[Any, Any]], i: int) -> np.ndarray[Any, Any]:
        out = np.empty((len(parts), *parts[0].shape), self.types[i].storage)
        for k, part in enumerate(parts):
            out[k, ...] = part
        return out

    # -- sharing ---------------------------------------------------------------------------------------------
    def check_same(self, other: Queue, op_type: str) -> None:
        """Checks that a node which shares this queue declares it in the same way.

        Args:
          other: A queue as that node would make it.
          op_type: That node's type.

        Raises:
          InvalidArgumentError: It does not.
        """
        name = f"Shared queue '{self.name}' has"
        if type(self) is not type(other):
            raise invalid(f"Expected {self.kind}, found {op_type}")
        if self.capacity != other.capacity:
            raise invalid(f"{name} capacity {self.capacity} but requested capacity was {other.capacity}")
        check_components(name, self, other)


def check_components(name: str, have: Any, want: Any) -> None:
    """Checks that what is shared has the types and shapes that a node declares.

    Args:
      name: How the message begins: whose they are.
      have: What is shared, with `types` and `shapes`.
      want: The same as that node would make it.

    Raises:
      InvalidArgumentError: They differ.
    """
    if have.types != want.types:
        there, asked = (", ".join(map(type_name, q.types)) for q in (have, want))
        raise invalid(f"{name} component types {there} but requested component types were {asked}")
    if have.shapes != want.shapes:
        raise invalid(
            f"{name} component shapes {_texts(have.shapes)} but requested component shapes were {_texts(want.shapes)}"
        )


def _rows(value: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Returns the slices of an array along its first dimension as arrays of their own."""
    return [np.array(value[i]) if value.ndim > 1 else value[i, ...] for i in range(len(value))]


def _cancelled(what: str) -> errors.OpError:
    return errors.CancelledError(None, None, f"{what} operation was cancelled")  # type: ignore[no-any-return]
