"""tf.summary.FileWriter: summaries, graphs and run metadata as events."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any, ClassVar

from headrace.checkpoint import meta_graph
from headrace.export import export
from headrace.graph import Graph, get_default_graph
from headrace.platform import tf_logging
from headrace.summary.event_file import EventFileWriter


@export("summary.FileWriter")
class FileWriter:
    """Writes an event file for tensorboard, without holding up the steps of training.

    Args:
      logdir: The directory that the file is made in.
      graph: A Graph that is written at once, `sess.graph` for example.
      max_queue: How many events wait for the disk before adding one waits too.
      flush_secs: After how many seconds, at the latest, an event is on the disk.
      graph_def: A GraphDef in place of `graph`, as in very old programs.
      filename_suffix: What the file's name ends with.
      session: Accepted; the file is written the same way.

    Raises:
      ValueError: Both `graph` and `graph_def` are given.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ):
        self.event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._closed = False
        self._session_run_tags: set[str] = set()
        self._seen_summary_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            if isinstance(graph, Graph):
                self.add_meta_graph(_meta_graph(graph, graph.as_graph_def(add_shapes=True)))
            else:
                self.add_meta_graph(_meta_graph(None, graph_def if graph is None else graph))

    def get_logdir(self) -> str:
        """Returns the directory of the event file."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds a Summary.

        Args:
          summary: A Summary, or one serialized, as summary ops give it.
          global_step: The step it belongs to.
        """
        from headrace.proto import Summary

        own = Summary.FromString(summary if isinstance(summary, bytes) else _bytes_of(summary))
        for value in own.value:
            # Tensorboard keeps a tag's first metadata; those that follow would only fill the file.
            if value.tag in self._seen_summary_tags:
                value.ClearField("metadata")
            else:
                self._seen_summary_tags.add(value.tag)
        self._add(global_step, summary=own)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Adds a SessionLog: that a session started, stopped or wrote a checkpoint.

        Args:
          session_log: The SessionLog.
          global_step: The step it belongs to.
        """
        from headrace.proto import SessionLog

        if getattr(getattr(session_log, "DESCRIPTOR", None), "name", None) != "SessionLog":
            raise TypeError(f"session_log must be a SessionLog, not {type(session_log)}")
        self._add(global_step, session_log=SessionLog.FromString(session_log.SerializeToString()))

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Adds a graph.

        Args:
          graph: The Graph.
          global_step: The step it belongs to.
          graph_def: A GraphDef in place of `graph`, as in very old programs.

        Raises:
          ValueError: Both are given.
          TypeError: Neither is, or of another type.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, Graph):
            content = graph.as_graph_def(add_shapes=True)
        else:
            content = graph_def if graph is None else graph
            if getattr(getattr(content, "DESCRIPTOR", None), "name", None) != "GraphDef":
                raise TypeError(
                    "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`"
                )
            tf_logging.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead, such as "
                "`sess.graph`."
            )
        self._add(global_step, graph_def=content.SerializeToString())

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Adds a MetaGraphDef.

        Args:
          meta_graph_def: The MetaGraphDef.
          global_step: The step it belongs to.

        Raises:
          TypeError: It is none.
        """
        if getattr(getattr(meta_graph_def, "DESCRIPTOR", None), "name", None) != "MetaGraphDef":
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds what a traced step took.

        Args:
          run_metadata: The RunMetadata that `Session.run` filled in.
          tag: The name it is shown under.
          global_step: The step it belongs to.

        Raises:
          ValueError: The tag was used before.
        """
        if tag in self._session_run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._session_run_tags.add(tag)
        from headrace.proto import TaggedRunMetadata

        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(global_step, tagged_run_metadata=tagged)

    def add_event(self, event: Any) -> None:
        """Adds an Event as it is.

        Args:
          event: The Event.
        """
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def _add(self, global_step: Any, **what: Any) -> None:
        from headrace.proto import Event

        event = Event(wall_time=time.time(), **what)
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                "explicitly reopened.",
                stacklevel=4,
            )

    def flush(self) -> None:
        """Waits until all events so far are on the disk."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Writes out all events and closes the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """Begins a new event file if the last was closed; does nothing otherwise."""
        self.event_writer.reopen()
        self._closed = False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _bytes_of(summary: Any) -> bytes:
    if not hasattr(summary, "SerializeToString"):
        raise AttributeError(f"{type(summary).__name__!r} object has no attribute 'value'")
    return summary.SerializeToString()  # type: ignore[no-any-return]


def _meta_graph(graph: Graph | None, graph_def: Any) -> Any:
    """Returns the MetaGraphDef of a graph; of a bare GraphDef, one without collections."""
    return meta_graph.build(graph or Graph(), graph_def=graph_def)


@export("summary.FileWriterCache")
class FileWriterCache:
    """One FileWriter a directory, for all who write there."""

    _cache: ClassVar[dict[Any, FileWriter]] = {}
    _lock = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Closes the writers and forgets them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Returns the FileWriter of a directory, which begins with the default graph.

        Args:
          logdir: The directory.
        """
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]
