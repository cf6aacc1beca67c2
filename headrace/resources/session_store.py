"""Tensors that a session keeps between steps under handles."""

from __future__ import annotations

import itertools
import threading
from typing import Any

_DEAD_AT_A_TIME = 10


class SessionStore:
    """Values by the text of their handles.

    A handle's object that goes out of use frees its value; values are freed some at a time, so that a handle's text
    outlives its object for a while, as in TensorFlow.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._values: dict[str, Any] = {}
        self._dead: list[str] = []

    def put(self, node: str, device: str, value: Any) -> str:
        """Keeps a value and returns its handle: the node's name, a number and the device."""
        with self._lock:
            handle = f"{node};{next(self._numbers)};{device}"
            self._values[handle] = value
        return handle

    def get(self, handle: str) -> Any:
        """Returns the value of a handle, None if there is none."""
        return self._values.get(handle)

    def delete(self, handle: str) -> bool:
        """Forgets a value; returns whether it was there."""
        with self._lock:
            return self._values.pop(handle, None) is not None

    def release(self, handle: str) -> None:
        """Says that nobody holds a handle any more."""
        self._dead.append(handle)
        if len(self._dead) >= _DEAD_AT_A_TIME:
            with self._lock:
                dead, self._dead = self._dead, []
                for each in dead:
                    self._values.pop(each, None)
