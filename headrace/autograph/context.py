"""Whether AutoGraph converts the functions that are called right now, in this thread."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Iterator

from headrace.graph import hooks


class Status(enum.Enum):
    """Whether a user asked for conversion, asked for none, or did neither."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class _Stack(threading.local):
    def __init__(self) -> None:
        super().__init__()
        self.items = [Status.UNSPECIFIED]


_stack = _Stack()


def status() -> Status:
    """Returns the status in force."""
    return _stack.items[-1]


@contextlib.contextmanager
def entered(new: Status) -> Iterator[None]:
    """Puts a status in force inside a block."""
    _stack.items.append(new)
    try:
        yield
    finally:
        _stack.items.pop()


hooks.autograph_is_enabled = lambda: status() is Status.ENABLED
