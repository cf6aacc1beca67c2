"""Coordinator: stops a group of threads together, and raises in one what went wrong in another."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from headrace import errors
from headrace.export import export
from headrace.platform import tf_logging as logging


@export("train.Coordinator")
class Coordinator:
    """Lets threads ask each other to stop, and waits for them.

    A thread calls `request_stop()` when it is done or failed; the others ask `should_stop()` now and then. `join`
    waits for all, and raises the exception that was reported, if one was.

    Args:
      clean_stop_exception_types: Exceptions that mean "done" and not "failed", by default OutOfRangeError.
    """

    def __init__(self, clean_stop_exception_types: Any = None):
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._exception: BaseException | None = None
        self._joined = False
        self._registered_threads: set[Any] = set()

    def _failure(self, ex: Any) -> BaseException | None:
        """Returns the exception in what `request_stop` was given, None if it means a clean stop."""
        if isinstance(ex, tuple):
            ex = ex[1]
        if isinstance(ex, self._clean_stop_exception_types):
            return None
        return ex  # type: ignore[no-any-return]

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop.

        Args:
          ex: Why: an exception, or what `sys.exc_info()` returned. The first one that is reported is raised by `join`;
            after that it is raised here.
        """
        with self._lock:
            failure = self._failure(ex)
            if self._joined:
                if failure is not None:
                    raise failure
                # Nothing more to stop.
                return
            if self._stop_event.is_set():
                return
            if failure is not None and self._exception is None:
                logging.info("Error reported to Coordinator: %s, %s", type(failure), failure)
                self._exception = failure
            self._stop_event.set()

    def clear_stop(self) -> None:
        """Makes the coordinator as new; threads may be started again."""
        with self._lock:
            self._joined = False
            self._exception = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Returns whether a stop was asked for."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Reports an exception in a `with` block and does not let it out."""
        try:
            yield
        except BaseException:
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is asked for; returns whether it was within `timeout` seconds."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: Any) -> None:
        """Adds a thread to those that `join` waits for."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self, threads: Any = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False
    ) -> None:
        """Waits until all threads have ended.

        Args:
          threads: Threads to wait for, besides those that are registered.
          stop_grace_period_secs: How long a thread may go on after a stop was asked for.
          ignore_live_threads: Whether threads that go on for longer are no error.

        Raises:
          RuntimeError: Threads went on for longer.
          Exception: What a thread reported.
        """
        with self._lock:
            waited = list(self._registered_threads.union(threads or ()))
        # Not one long wait: the main thread must notice an interrupt.
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(1.0):
            pass
        end = time.monotonic() + stop_grace_period_secs
        pause = 0.001
        while any(t.is_alive() for t in waited) and time.monotonic() < end:
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        late = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._exception is not None:
                raise self._exception
            if late:
                message = f"Coordinator stopped with threads still running: {' '.join(late)}"
                if not ignore_live_threads:
                    raise RuntimeError(message)
                logging.info(message)

    @property
    def joined(self) -> bool:
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises what a thread reported, if one did."""
        with self._lock:
            if self._exception is not None:
                raise self._exception


@export("train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its coordinator stops it.

    Args:
      coord: The Coordinator.
      timer_interval_secs: The time from one call to the next; None for no pause.
      target: The function; a subclass may have `run_loop` instead.
      args: Its arguments.
      kwargs: Its keyword arguments.

    Raises:
      ValueError: `coord` is no Coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Any = None,
        kwargs: Any = None,
    ):
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._loop_target = target
        self._loop_args = args or ()
        self._loop_kwargs = kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Starts a thread that calls `target`, and returns it."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.time()
                while not self._coord.wait_for_stop(due - time.time()):
                    due += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Is called once before the first call."""

    def stop_loop(self) -> None:
        """Is called once after the last call."""

    def run_loop(self) -> None:
        """Is called again and again."""
        if self._loop_target:
            self._loop_target(*self._loop_args, **self._loop_kwargs)
