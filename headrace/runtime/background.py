"""Programs made in a thread of their own while the interpreter goes on.

One daemon thread serves the process. What it makes is picked up between steps by the plan that asked for it, so a step
is interpreted or compiled as a whole stage, never half. At exit it is stopped: tracing ends at the next node; XLA can't
be interrupted, so what it compiles just then is waited for.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

# What is waited for at the end of the process, at most. XLA's threads must not run while its library is torn down.
_LONGEST_GOODBYE_S = 120.0


class Stopped(Exception):
    """The program is not wanted any more."""


class Job:
    """One program in the making.

    Attributes:
      program: The program.
      done: Whether it is there, or never will be.
      error: What making it ended with, None if it is there.
      seconds: How long it took.
    """

    __slots__ = ("_finished", "_make", "_state", "_taken", "_worker", "done", "error", "program", "seconds")

    def __init__(self, program: Any, state: Any, make: Callable[..., None]):
        self.program = program
        self.done = False
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._state = state
        self._make = make
        self._worker = _worker
        self._taken = threading.Lock()
        self._finished = threading.Event()

    @property
    def is_lost(self) -> bool:
        """Whether nobody works on it any more: this is a forked child, and the thread stayed with the parent."""
        return not self.done and self._worker is not _worker

    def work(self) -> None:
        """Makes the program, unless somebody else does."""
        if not self._taken.acquire(blocking=False):
            return
        start = time.monotonic()
        try:
            self._stop_if_unwanted()
            self._make(self.program, self._state.cache, self._stop_if_unwanted)
        except BaseException as e:
            self.error = e
        self.seconds = time.monotonic() - start
        self.done = True
        self._finished.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the program; returns whether it has come."""
        return self._finished.wait(timeout)

    def _stop_if_unwanted(self) -> None:
        if _worker.is_leaving or self._state.closing.is_set:
            raise Stopped("the session or the process ends")


class _Worker:
    def __init__(self) -> None:
        self.is_leaving = False
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, job: Job) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="headrace-compile")
                self._thread.start()
                _at_exit(self.leave)
        self._jobs.put(job)

    def _work(self) -> None:
        while not self.is_leaving:
            job = self._jobs.get()
            if job is None:
                return
            job.work()

    def leave(self) -> None:
        """Ends the thread; waits for it if it is compiling."""
        self.is_leaving = True
        self._jobs.put(None)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LONGEST_GOODBYE_S)


def _at_exit(function: Callable[[], None]) -> None:
    """Has a function called when the process ends, before the exit handlers, since JAX's takes its devices away."""
    try:
        threading._register_atexit(function)  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):
        atexit.register(function)


_worker = _Worker()


def submit(program: Any, state: Any, make: Callable[..., None]) -> Job:
    """Has a program made: `make(program, state.cache, stop)`, where `stop()` raises once it isn't wanted any more."""
    job = Job(program, state, make)
    _worker.submit(job)
    return job


def _start_anew() -> None:
    """In a forked child: the thread stayed with the parent."""
    global _worker
    _worker = _Worker()


if hasattr(os, "register_at_fork"):
    with contextlib.suppress(RuntimeError):
        os.register_at_fork(after_in_child=_start_anew)
