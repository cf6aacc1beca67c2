"""Facts about the arrays of a trace."""

from __future__ import annotations

import weakref
from typing import Any


class Remembered:
    """Facts about arrays, each as long as its array is there."""

    def __init__(self) -> None:
        self._facts: dict[int, tuple[Any, Any]] = {}

    def add(self, array: Any, fact: Any) -> None:
        """Notes a fact about an array, in place of an earlier one."""
        key = id(array)
        try:
            alive = weakref.ref(array, lambda _: self._facts.pop(key, None))
        except TypeError:
            return
        self._facts[key] = alive, fact

    def of(self, array: Any) -> Any:
        """Returns the fact about an array, None if there is none."""
        found = self._facts.get(id(array))
        return found[1] if found is not None and found[0]() is array else None

    def forget(self, array: Any) -> None:
        """Drops the fact about an array."""
        self._facts.pop(id(array), None)
