"""Waiting: what a step waits for, and how it stops when the session closes or its time is up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from headrace import ending, errors

TIMED_OUT = "Timed out waiting for notification"


class Pending:
    """Something asked of a queue or the like that may have to wait: its result or error once it is done.

    Args:
      on_cancel: Takes the request back; called without locks. It makes the request done, if it isn't by then.

    Attributes:
      done: Whether there is a result or an error.
      check: Looks at the result before it is given; None for nothing to look at.
    """

    __slots__ = ("_error", "_on_cancel", "_value", "_wakes", "check", "done")

    def __init__(self, on_cancel: Callable[[Pending], None] | None = None):
        self.done = False
        self.check: Callable[[Any], None] | None = None
        self._value: Any = None
        self._error: BaseException | None = None
        self._wakes: list[threading.Event] = []
        self._on_cancel = on_cancel

    def finish(self, value: Any = None) -> None:
        """Says that it is done and what came out."""
        self._value = value
        self._end()

    def fail(self, error: BaseException) -> None:
        """Says that it failed."""
        self._error = error
        self._end()

    def _end(self) -> None:
        self.done = True
        for event in self._wakes:
            event.set()

    def wake(self, event: threading.Event) -> None:
        """Has an event set when it is done."""
        self._wakes.append(event)
        if self.done:
            event.set()

    def cancel(self) -> None:
        """Takes the request back unless it is done."""
        if not self.done and self._on_cancel is not None:
            self._on_cancel(self)

    def result(self) -> Any:
        """Returns what came out of a request that is done, or raises its error."""
        if self._error is not None:
            raise self._error
        if self.check is not None:
            self.check(self._value)
        return self._value


class Closing:
    """Tells all who wait in a session that it closes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: set[threading.Event] = set()
        self.is_set = False

    def set(self) -> None:
        """Wakes everybody up."""
        with self._lock:
            self.is_set = True
            for event in self._events:
                event.set()

    def add(self, event: threading.Event) -> None:
        """Has an event set when the session closes."""
        with self._lock:
            self._events.add(event)
            if self.is_set:
                event.set()

    def discard(self, event: threading.Event) -> None:
        """Forgets an event."""
        with self._lock:
            self._events.discard(event)


def wait_for_any(requests: Sequence[Pending], closing: Closing, deadline: float | None = None) -> None:
    """Waits until one of the requests is done; when the session closes, all are cancelled.

    Args:
      requests: What to wait for.
      closing: The session's.
      deadline: When to give up, by `time.monotonic()`.

    Raises:
      DeadlineExceededError: It is past the deadline.
    """
    event = threading.Event()
    for request in requests:
        request.wake(event)
    closing.add(event)
    try:
        while not any(request.done for request in requests):
            if closing.is_set:
                for request in requests:
                    request.cancel()
                return
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise errors.DeadlineExceededError(None, None, TIMED_OUT)
            depth = ending.begin_waiting()
            try:
                event.wait(left)
            finally:
                ending.end_waiting(depth)
            event.clear()
    finally:
        closing.discard(event)


def wait_for(request: Pending, closing: Closing, deadline: float | None = None) -> Any:
    """Waits for one request and returns its result; a request that is given up is cancelled.

    Raises:
      DeadlineExceededError: It is past the deadline.
      OpError: What the request failed with.
    """
    if not request.done:
        try:
            wait_for_any((request,), closing, deadline)
        except BaseException:
            request.cancel()
            raise
    return request.result()


NOT_YET = object()
"""What an attempt returns that has to be made again later."""


class Requests:
    """Attempts that are made again whenever something changed, until they succeed or fail.

    Attributes:
      lock: Held during attempts; hold it for changes, too.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._waiting: list[tuple[Pending, Callable[[], Any], str]] = []

    def ask(self, attempt: Callable[[], Any], what: str) -> Pending:
        """Makes an attempt, now or later.

        Args:
          attempt: Returns a result, or NOT_YET; raises what the request fails with.
          what: How the error of one that is cancelled calls it.
        """
        pending = Pending(self._withdraw)
        with self.lock:
            self._waiting.append((pending, attempt, what))
            self.serve()
        return pending

    def serve(self) -> None:
        """Makes all attempts again, in the order in which they came; call it after a change."""
        with self.lock:
            moved = True
            while moved:
                moved = False
                for request in list(self._waiting):
                    pending, attempt, _ = request
                    try:
                        result = attempt()
                        if result is NOT_YET:
                            continue
                    except Exception as e:
                        self._waiting.remove(request)
                        pending.fail(e)
                    else:
                        self._waiting.remove(request)
                        pending.finish(result)
                    moved = True

    def __len__(self) -> int:
        return len(self._waiting)

    def _withdraw(self, pending: Pending) -> None:
        with self.lock:
            for request in self._waiting:
                if request[0] is pending:
                    self._waiting.remove(request)
                    pending.fail(errors.CancelledError(None, None, f"{request[2]} operation was cancelled"))
                    return
