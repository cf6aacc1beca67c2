"""Barriers: tuples of tensors under keys that can be taken once they are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.dtypes import DType
from headrace.resources.queue import Element, check_components, invalid
from headrace.resources.queue_kinds import PriorityQueue
from headrace.resources.waiting import NOT_YET, Pending, Requests
from headrace.shapes import Shape

Array = np.ndarray[Any, Any]

_FIRST = -(2**63)


class _Heap(PriorityQueue):
    """The complete tuples, the oldest key first."""

    def __init__(self) -> None:
        super().__init__("", (), (), -1)


class Barrier:
    """A map whose values are inserted component by component and taken when they are complete.

    Args:
      name: What messages call it.
      types: The types of the components.
      component_shapes: Their shapes; scalars if none are given.
    """

    def __init__(self, name: str, types: Sequence[DType], component_shapes: Sequence[Shape]):
        self.name = name
        self.types = tuple(types)
        # A shape of which nothing is known is that of a scalar.
        self.shapes = tuple(s or () for s in component_shapes) or ((),) * len(self.types)
        self.closed = False
        self._cancelled = False
        self._requests = Requests()
        self._parts: dict[bytes, tuple[int, list[Array | None]]] = {}
        self._ready = _Heap()
        self._next = _FIRST
        for i, shape in enumerate(self.shapes):
            if None in shape:
                raise invalid(f"Shape {shapes.to_text(shape)} is not fully defined")
            if shapes.num_elements(shape) == 0:
                raise invalid(f"Empty tensors are not supported, but received shape '{shape}' at index {i}")

    def insert_many(self, component: int, keys: Array, values: Array) -> None:
        """Gives some keys one component each.

        Raises:
          InvalidArgumentError: A key has that component already, or has become complete with shapes that do not fit,
            which makes the barrier forget it.
          CancelledError: The barrier is closed, and a key is new.
        """
        if not 0 <= component < len(self.types):
            raise invalid(
                f"The component ID is out of range {component} > num_components (= {len(self.types)})"
            )
        if keys.ndim != 1 or values.shape[:1] != keys.shape:
            raise invalid(
                f"Values must have one row for each key, but have shape {shapes.to_text(values.shape)} for keys of "
                f"shape {shapes.to_text(keys.shape)}"
            )
        with self._requests.lock:
            if self._cancelled:
                raise errors.CancelledError(
                    None,
                    None,
                    f"Barrier {self.name} is closed.  Pending enqueues cancelled: 1.  Number of new insertions: "
                    f"{len(keys)}.  Number of incomplete keys: {len(self._parts)}.",
                )
            index, self._next = self._next, self._next + 1
            try:
                for key, value in zip(keys.tolist(), values, strict=True):
                    self._insert_one(key, component, np.array(value), index)
            finally:
                self._requests.serve()

    def _insert_one(self, key: bytes, component: int, value: Array, index: int) -> None:
        found = self._parts.get(key)
        if found is None:
            if self.closed:
                raise errors.CancelledError(
                    None,
                    None,
                    f"Barrier {self.name} is closed, but attempted to insert a brand new key: {key.decode()}.  Pending "
                    f"enqueues cancelled: 0.  Insertion index: {component}.  Number of incomplete keys: "
                    f"{len(self._parts)}.",
                )
            found = self._parts[key] = (index, [None] * len(self.types))
        index, parts = found
        if parts[component] is not None:
            raise invalid(
                f"Key {key.decode()} already has a value for component {component} in barrier {self.name}"
            )
        parts[component] = value
        if all(p is not None for p in parts):
            del self._parts[key]
            self._check_shapes(parts)
            name = np.array(key, object)
            element: Element = (np.array(index, np.int64), name, *[p for p in parts if p is not None])
            self._ready._put(element)

    def _check_shapes(self, parts: Sequence[Array | None]) -> None:
        for i, (part, shape) in enumerate(zip(parts, self.shapes, strict=True)):
            if part is not None and not shapes.compatible(part.shape, shape):
                raise invalid(
                    f"Shape mismatch in tuple component {i + 2}. Expected {shapes.to_text(shape)}, got "
                    f"{shapes.to_text(part.shape)}"
                )

    def check_same(self, other: Barrier) -> None:
        """Checks that a node which shares this barrier declares it in the same way.

        Args:
          other: A barrier as that node would make it.

        Raises:
          InvalidArgumentError: It does not.
        """
        check_components(f"Shared barrier '{self.name}' has", self, other)

    def take_many(self, n: int, fewer: bool) -> Pending:
        """Asks for complete tuples; the result is their indices, keys and components.

        Args:
          n: How many.
          fewer: Whether those that are left in a closed barrier will do.
        """

        was_open = not self.closed

        def attempt() -> Any:
            there = self._ready.size()
            if there < n:
                # A closed barrier's keys may still become complete.
                if not self.closed or (fewer and self._parts) or there + len(self._parts) >= n:
                    return NOT_YET
                if not fewer or not there:
                    if was_open:
                        raise errors.OutOfRangeError(
                            None,
                            None,
                            f"PriorityQueue '{self.name}_queue' is closed and has insufficient elements "
                            f"(requested {n}, current size {there})",
                        )
                    total = there + len(self._parts)
                    raise errors.OutOfRangeError(
                        None,
                        None,
                        f"Barrier '{self.name}' is closed and has insufficient elements (requested "
                        f"{total if fewer else n}, total size {total})",
                    )
            taken = [self._ready._take() for _ in range(min(n, there))]
            return self._joined(taken)

        return self._requests.ask(attempt, "TakeMany")

    def _joined(self, taken: list[Element]) -> list[Any]:
        indices = np.array([e[0] for e in taken], np.int64)
        keys = np.empty(len(taken), object)
        keys[:] = [e[1].item() for e in taken]
        out: list[Any] = [indices, keys]
        for i, (dtype, shape) in enumerate(zip(self.types, self.shapes, strict=True)):
            whole = np.empty((len(taken), *[d or 0 for d in shape or ()]), dtype.storage)
            for k, element in enumerate(taken):
                whole[k, ...] = element[i + 2]
            out.append(whole)
        return out

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Takes no new keys any more.

        Args:
          cancel_pending_enqueues: Whether to forget the keys that are not complete, too.

        Raises:
          CancelledError: It is closed already.
        """
        with self._requests.lock:
            if self.closed and (self._cancelled or not cancel_pending_enqueues):
                raise errors.CancelledError(None, None, f"Barrier '{self.name}' is already closed.")
            self.closed = True
            if cancel_pending_enqueues:
                self._cancelled = True
                self._parts.clear()
            self._requests.serve()

    def ready_size(self) -> int:
        return self._ready.size()

    def incomplete_size(self) -> int:
        return len(self._parts)
