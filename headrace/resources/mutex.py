"""Mutexes: what one step at a time may hold."""

from __future__ import annotations

from headrace.resources.waiting import NOT_YET, Pending, Requests


class Mutex:
    """Something that is free or held by one lock; who asks first gets it first."""

    def __init__(self) -> None:
        self._requests = Requests()
        self._holder: Lock | None = None

    def lock(self) -> Pending:
        """Asks for a Lock; the result is a list that holds it."""
        made = Lock(self)

        def attempt() -> object:
            if self._holder is not None:
                return NOT_YET
            self._holder = made
            return [made]

        return self._requests.ask(attempt, "MutexLock")

    def release(self, lock: Lock) -> None:
        """Sets the mutex free if that lock holds it."""
        with self._requests.lock:
            if self._holder is lock:
                self._holder = None
                self._requests.serve()


class Lock:
    """The right to go on; it is given back once, at the latest when the step ends."""

    __slots__ = ("_mutex",)

    def __init__(self, mutex: Mutex):
        self._mutex = mutex

    def release(self) -> None:
        """Gives it back, if that was not done before."""
        self._mutex.release(self)
