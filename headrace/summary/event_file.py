"""Event files: record files of Event messages, which tensorboard reads."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import queue
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

from headrace.export import export
from headrace.formats.records import RecordReader, RecordWriter
from headrace.platform.file_io import files_of, told_as_tensorflow
from headrace.platform.strings import as_text

_VERSION = "brain.Event:2"
_CLOSE = object()


class EventFileWriter:
    """Writes events to a new file in a directory, in a thread of its own.

    The file appears when the first event does. Events reach the disk after `flush_secs`, by `flush` and by `close`,
    and when the program ends.

    Args:
      logdir: The directory, made if it is not there.
      max_queue: How many events wait for the disk before adding one waits too.
      flush_secs: After how many seconds, at the latest, an event is on the disk.
      filename_suffix: What the file's name ends with.
    """

    def __init__(
        self, logdir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str | None = None
    ):
        self._logdir = as_text(os.fspath(logdir)) if logdir is not None else ""
        self._suffix = as_text(filename_suffix) if filename_suffix else ""
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        files, name = files_of(self._logdir)
        if self._logdir and not files.exists(name):
            with told_as_tensorflow(self._logdir):
                files.makedirs(name, exist_ok=True)
        self._open()
        _writers.add(self)

    def _open(self) -> None:
        self._closed = False
        self._queue: queue.Queue[Any] = queue.Queue(max(0, self._max_queue))
        self._file: RecordWriter | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def get_logdir(self) -> str:
        """Returns the directory."""
        return self._logdir

    def reopen(self) -> None:
        """Begins a new file if the last was closed."""
        if self._closed:
            self._open()

    def add_event(self, event: Any) -> None:
        """Adds an Event; does nothing once the writer is closed.

        Raises:
          TypeError: It is no Event.
        """
        if not self._closed:
            self._put(_serialized(event))

    def _put(self, item: Any) -> None:
        self._raise_error()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="event writer", daemon=True)
                self._thread.start()
        self._queue.put(item)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def flush(self) -> None:
        """Waits until all events so far are on the disk."""
        if not self._closed:
            self._wait_for(threading.Event())

    def _wait_for(self, done: threading.Event) -> None:
        self._put(done)
        done.wait()
        self._raise_error()

    def close(self) -> None:
        """Writes out all events and closes the file; a second time does nothing."""
        if self._closed:
            return
        try:
            self.flush()
        finally:
            self._closed = True
            if self._thread is not None:
                self._queue.put(_CLOSE)
                self._thread.join()

    # -- in the thread -----------------------------------------------------------------------------------------

    def _write_all(self) -> None:
        waiting_since: float | None = None
        while True:
            timeout = (
                None
                if waiting_since is None
                else max(0.0, waiting_since + self._flush_secs - time.monotonic())
            )
            try:
                item = self._queue.get(timeout=timeout)
            except queue.Empty:
                item = None
            try:
                if self._error is None:
                    if isinstance(item, bytes):
                        self._started().write(item)
                        waiting_since = waiting_since or time.monotonic()
                    else:
                        self._started().flush()
                        waiting_since = None
                    if item is _CLOSE:
                        self._started().close()
            except BaseException as error:
                # Whoever adds the next event, or flushes, hears of it.
                self._error = error
                waiting_since = None
            finally:
                if isinstance(item, threading.Event):
                    item.set()
            if item is _CLOSE:
                return

    def _started(self) -> RecordWriter:
        if self._file is None:
            self._file = RecordWriter(_new_path(self._logdir, self._suffix))
            self._file.write(_serialized(_event(float(int(time.time())), file_version=_VERSION)))
        return self._file


_writers: weakref.WeakSet[EventFileWriter] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    # A program that never closes its writer still finds its events on the disk.
    for writer in list(_writers):
        if not writer._closed and writer._thread is not None and writer._error is None:
            with contextlib.suppress(Exception):
                writer.flush()


_numbers = itertools.count(1)
_used: set[str] = set()


def _new_path(logdir: str, suffix: str) -> str:
    """Returns a path in the form that tensorboard looks for; files sort by the time they were begun at."""
    path = os.path.join(logdir, f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}{suffix}")
    if path in _used:
        # Two within one second: the second must not write over the first.
        path = f"{path[: len(path) - len(suffix)]}.{os.getpid()}.{next(_numbers)}{suffix}"
    _used.add(path)
    return path


def _event(wall_time: float, **what: Any) -> Any:
    from headrace.proto import Event

    return Event(wall_time=wall_time, **what)


def _serialized(event: Any) -> bytes:
    full_name = getattr(getattr(event, "DESCRIPTOR", None), "full_name", "")
    if full_name != "tensorflow.Event" and not full_name.endswith(".Event"):
        raise TypeError(f"Expected an event_pb2.Event proto,  but got {type(event)}")
    return event.SerializeToString()  # type: ignore[no-any-return]


@export("train.summary_iterator")
def summary_iterator(path: Any) -> Iterator[Any]:
    """Yields the Event messages of an event file.

    Args:
      path: The file's path.

    Raises:
      NotFoundError: There is no such file.
      DataLossError: The file is damaged or cut short.
    """
    from headrace.proto import Event

    with RecordReader(path) as reader:
        for record in reader:
            yield Event.FromString(record)
