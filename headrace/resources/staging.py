"""Staging areas: where a step leaves tensors for a later one, in order or under keys."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace import errors
from headrace.resources.queue import invalid
from headrace.resources.waiting import NOT_YET, Pending, Requests

Array = np.ndarray[Any, Any]


def _bytes(values: Sequence[Array | None]) -> int:
    """Returns how much values take: a string its text and a pointer to it."""
    texts = (v for v in values if v is not None and v.dtype == object)
    held = sum(v.nbytes for v in values if v is not None)
    return held + sum(len(t) for v in texts for t in v.flat if isinstance(t, bytes))


class _Limits:
    """How much an area may hold: elements and bytes, 0 for no limit."""

    def __init__(self, capacity: int, memory_limit: int):
        self.capacity = max(capacity, 0)
        self.memory_limit = max(memory_limit, 0)

    def check(self, values: Sequence[Array]) -> None:
        """Refuses what would not even fit into an empty area."""
        size = _bytes(values)
        if self.memory_limit and size > self.memory_limit:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging Area with a memory "
                f"limit of '{self.memory_limit}'.",
            )

    def have_room(self, held: int, held_bytes: int, values: Sequence[Array]) -> bool:
        if self.memory_limit and held_bytes + _bytes(values) > self.memory_limit:
            return False
        return not self.capacity or held < self.capacity


class StagingArea:
    """Tuples of tensors that come out in the order in which they went in.

    Args:
      capacity: How many tuples it holds, 0 for any number.
      memory_limit: How many bytes it holds, 0 for any number.
    """

    def __init__(self, capacity: int, memory_limit: int):
        self._limits = _Limits(capacity, memory_limit)
        self._requests = Requests()
        self._items: deque[list[Array]] = deque()
        self._held = 0

    def put(self, values: list[Array]) -> Pending:
        """Asks to put in a tuple."""
        self._limits.check(values)

        def attempt() -> Any:
            if not self._limits.have_room(len(self._items), self._held, values):
                return NOT_YET
            self._items.append(values)
            self._held += _bytes(values)
            return []

        return self._requests.ask(attempt, "Stage")

    def get(self) -> Pending:
        """Asks for the first tuple, which is taken out."""

        def attempt() -> Any:
            if not self._items:
                return NOT_YET
            values = self._items.popleft()
            self._held -= _bytes(values)
            return values

        return self._requests.ask(attempt, "Unstage")

    def peek(self, index: int) -> Pending:
        """Asks for a tuple, which stays where it is."""
        if index < 0:
            raise invalid(f"index must not be negative, but is {index}")
        return self._requests.ask(
            lambda: list(self._items[index]) if index < len(self._items) else NOT_YET, "StagePeek"
        )

    def size(self) -> int:
        return len(self._items)

    def clear(self) -> None:
        """Throws everything away."""
        with self._requests.lock:
            self._items.clear()
            self._held = 0
            self._requests.serve()


class MapStagingArea:
    """Tuples of tensors under keys, which may be put in and taken out part by part.

    Args:
      types: The types of a tuple's tensors.
      capacity: How many complete tuples it holds, 0 for any number.
      memory_limit: How many bytes it holds, 0 for any number.
      is_ordered: Whether the tuple of the least key comes out first, where no key is asked for.
    """

    def __init__(self, types: Sequence[Any], capacity: int, memory_limit: int, is_ordered: bool):
        self._n = len(types)
        self._limits = _Limits(capacity, memory_limit)
        self._is_ordered = is_ordered
        self._requests = Requests()
        self._complete: dict[int, list[Array | None]] = {}
        self._parts: dict[int, list[Array | None]] = {}
        self._held = 0

    def _check(self, key: int, indices: Sequence[int]) -> None:
        for before, after in itertools.pairwise(indices):
            if after <= before:
                raise invalid("Indices are not strictly ordered")
        for i in indices:
            if not 0 <= i < self._n:
                raise invalid(f"Index '{i % 2**64}' for key '{key}' was out of bounds '{self._n}'.")

    def put(self, key: int, indices: Sequence[int], values: list[Array]) -> Pending:
        """Asks to put parts of a tuple under a key; a tuple that is complete stays as it is.

        Raises:
          InvalidArgumentError: The indices are no good.
        """
        self._check(key, indices)
        if len(indices) != len(values):
            raise invalid(f"There are {len(values)} tensors for {len(indices)} indices")
        self._limits.check(values)

        def attempt() -> Any:
            # A whole tuple leaves the parts alone that are there under its key.
            parts = {} if len(indices) == self._n else self._parts
            known = parts.get(key) or [None] * self._n
            for i in indices:
                if known[i] is not None:
                    raise invalid(
                        f"The tensor for index '{i}' for key '{key}' was already initialized '{self._n}'."
                    )
            joined = list(known)
            for i, v in zip(indices, values, strict=True):
                joined[i] = v
            completes = all(v is not None for v in joined)
            # Parts wait for no room: others may need them to be complete.
            held = len(self._complete) if completes else -1
            if not self._limits.have_room(held, self._held, values):
                return NOT_YET
            if not completes:
                parts[key] = joined
                self._held += _bytes(values)
            else:
                self._held -= _bytes(parts.pop(key, ()))
                if key not in self._complete:
                    self._complete[key] = joined
                    self._held += _bytes(joined)
            return []

        return self._requests.ask(attempt, "MapStage")

    def _read(self, key: int, indices: Sequence[int], take: bool) -> list[Array]:
        values = self._complete[key]
        out = []
        for i in indices:
            value = values[i]
            if value is None:
                raise invalid(f"Tensor at index '{i}' for key '{key}' has already been removed.")
            out.append(value)
        if take:
            for i in indices:
                values[i] = None
            self._held -= _bytes(out)
            if all(v is None for v in values):
                del self._complete[key]
        return out

    def get(self, key: int, indices: Sequence[int], take: bool = True) -> Pending:
        """Asks for parts of a complete tuple, which are taken out unless `take` is False."""
        self._check(key, indices)
        return self._requests.ask(
            lambda: self._read(key, indices, take) if key in self._complete else NOT_YET,
            "MapUnstage" if take else "MapPeek",
        )

    def get_any(self, indices: Sequence[int]) -> Pending:
        """Asks for a key and parts of its complete tuple, which are taken out."""
        self._check(0, indices)

        def attempt() -> Any:
            if not self._complete:
                return NOT_YET
            key = min(self._complete) if self._is_ordered else next(iter(self._complete))
            return [np.array(key, np.int64), *self._read(key, indices, True)]

        return self._requests.ask(attempt, "MapUnstageNoKey")

    def size(self) -> int:
        return len(self._complete)

    def incomplete_size(self) -> int:
        return len(self._parts)

    def clear(self) -> None:
        """Throws everything away."""
        with self._requests.lock:
            self._complete.clear()
            self._parts.clear()
            self._held = 0
            self._requests.serve()
