"""QueueRunner: threads that keep a queue filled."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from headrace import errors, proto
from headrace.checkpoint import meta_graph
from headrace.export import export
from headrace.graph import GraphKeys, get_default_graph
from headrace.graph.stack import sessions
from headrace.platform import tf_logging as logging
from headrace.session.session import BaseSession

_MONITORED = ("MonitoredSession", "SingularMonitoredSession")


@export("train.QueueRunner", "train.queue_runner.QueueRunner")
class QueueRunner:
    """Operations that put elements into a queue, each of which a thread of its own runs again and again.

    The threads end when the queue is closed, when what they read is at its end, or when their coordinator stops.

    Args:
      queue: A queue.
      enqueue_ops: Operations; one that is listed several times runs in several threads.
      close_op: What closes the queue once all threads are through; made if None.
      cancel_op: What closes it and gives up what waits; made if None.
      queue_closed_exception_types: The errors that mean that there is no more to come, by default OutOfRangeError.
      queue_runner_def: A QueueRunnerDef to be made of, instead of all of the above.
      import_scope: A name scope that its names are in.

    Raises:
      ValueError: Neither or both of `queue` and `queue_runner_def` are given, or there are no operations.
      TypeError: The exception types are no tuple of errors.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Any = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ):
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read_def(queue_runner_def, import_scope)
        else:
            self._read_arguments(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        self._lock = threading.Lock()
        # How many threads of a session are at work.
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[BaseException] = []

    def _read_arguments(
        self, queue: Any, enqueue_ops: Any, close_op: Any, cancel_op: Any, types: Any
    ) -> None:
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue = queue
        self._enqueue_ops = enqueue_ops
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        if types is None:
            types = (errors.OutOfRangeError,)
        if not isinstance(types, tuple) or not types or not all(_is_error(t) for t in types):
            raise TypeError(
                f"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: {types}"
            )
        self._queue_closed_exception_types = types

    def _read_def(self, message: Any, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        self._queue_closed_exception_types = tuple(
            errors.exception_type_from_error_code(code) for code in message.queue_closed_exception_types
        ) or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> Any:
        """The operations that put elements in."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """What closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """What closes the queue and gives up what waits."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> Any:
        """The errors that mean that there is no more to come."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """What threads without a coordinator failed with."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._queue.name  # type: ignore[no-any-return]

    def _end_one(self, sess: Any) -> int:
        """Counts a thread out; returns how many are left."""
        with self._lock:
            self._runs[sess] = self._runs.get(sess, 1) - 1
            return self._runs[sess]

    def _run(self, sess: Any, enqueue_op: Any, coord: Any = None) -> None:
        """What a thread does."""
        counted = True
        try:
            enqueue = sess.make_callable(enqueue_op)
            while not (coord and coord.should_stop()):
                try:
                    enqueue()
                except self._queue_closed_exception_types:
                    counted = False
                    if self._end_one(sess) == 0:
                        self._close(sess)
                    return
        except Exception as e:
            if coord:
                coord.request_stop(e)
            else:
                logging.error("Exception in QueueRunner: %s", e)
                with self._lock:
                    self._exceptions_raised.append(e)
                raise
        finally:
            if counted:
                self._end_one(sess)

    def _close(self, sess: Any) -> None:
        try:
            sess.run(self._close_op)
        except Exception as e:
            # Somebody else has closed it.
            logging.debug("Ignored exception: %s", e)

    def _close_on_stop(self, sess: Any, cancel_op: Any, coord: Any) -> None:
        """What the thread does that gives up what waits when the coordinator stops."""
        coord.wait_for_stop()
        try:
            sess.run(cancel_op)
        except Exception as e:
            logging.debug("Ignored exception: %s", e)

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[Any]:
        """Returns a thread for each operation, and one that waits for the coordinator's stop.

        Args:
          sess: The session that they run in. As long as its earlier threads run there are no further ones.
          coord: A Coordinator that may stop them and is told of errors.
          daemon: Whether the program may end while they run.
          start: Whether to start them.
        """
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(
                target=self._run, args=(sess, op, coord), name=f"QueueRunnerThread-{self.name}-{op.name}"
            )
            for op in self._enqueue_ops
        ]
        if coord:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, self._cancel_op, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns a QueueRunnerDef, or None if it is not in the scope.

        Args:
          export_scope: A name scope that is taken off the names.
        """
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None

        def name(full: str) -> str:
            prefix = f"{export_scope}/" if export_scope else ""
            return full.removeprefix(prefix)

        return proto.QueueRunnerDef(
            queue_name=name(self.queue.name),
            enqueue_op_name=[name(op.name) for op in self.enqueue_ops],
            close_op_name=name(self.close_op.name),
            cancel_op_name=name(self.cancel_op.name),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(t) for t in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Returns the QueueRunner that a QueueRunnerDef describes.

        Args:
          queue_runner_def: The message.
          import_scope: A name scope that its names are in.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _is_error(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, errors.OpError)


@export("train.add_queue_runner", "train.queue_runner.add_queue_runner")
def add_queue_runner(qr: Any, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a QueueRunner to those that `start_queue_runners` starts.

    Args:
      qr: The QueueRunner.
      collection: The collection that it goes to.
    """
    get_default_graph().add_to_collection(collection, qr)


@export("train.start_queue_runners", "train.queue_runner.start_queue_runners")
def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[Any]:
    """Starts the threads of all QueueRunners of the graph.

    Args:
      sess: The session that they run in, by default the default session.
      coord: A Coordinator that may stop them and is told of errors.
      daemon: Whether the program may end while they run.
      start: Whether to start them, and not only make them.
      collection: Where to find the QueueRunners.

    Returns:
      The threads.

    Raises:
      ValueError: There is no session.
      TypeError: `sess` is none.
    """
    if sess is None:
        sess = sessions.get()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
                "explicit session to tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in _MONITORED:
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = get_default_graph().get_collection(collection)
    if not runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely remove the "
            "call to this deprecated function."
        )
    with sess.graph.as_default():
        threads = []
        for runner in get_default_graph().get_collection(collection):
            threads.extend(runner.create_threads(sess, coord=coord, daemon=daemon, start=start))
    return threads


def _read(data: bytes, import_scope: str | None) -> QueueRunner:
    return QueueRunner.from_proto(proto.QueueRunnerDef.FromString(data), import_scope)


meta_graph._FROM_PROTO[GraphKeys.QUEUE_RUNNERS] = _read
