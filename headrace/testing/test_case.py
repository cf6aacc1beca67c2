"""tf.test.TestCase."""

from __future__ import annotations

import contextlib
import os
import random
import re
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from absl.testing import absltest

from headrace import errors
from headrace.export import export
from headrace.graph import Graph, get_default_graph
from headrace.graph.default import get_default_session, reset_default_graph
from headrace.platform import tf_logging
from headrace.session import Session
from headrace.testing.comparison import ArrayAssertions
from headrace.testing.devices import get_temp_dir, gpu_device_name

SEED = 87654321  # TensorFlow's own, so that tests see the same numbers


class CheckedThread:
    """A thread of a test; an error in it fails the test at `join`."""

    def __init__(self, test: Any, target: Any, args: Any, kwargs: Any):
        self._test = test
        self._target = (target, args or (), kwargs or {})
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        target, args, kwargs = self._target
        try:
            target(*args, **kwargs)
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the thread.

        Raises:
          AssertionError: There was an error in it.
        """
        self._thread.join()
        if self._error is not None:
            self._test.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        """Says whether the thread runs."""
        return self._thread.is_alive()


@export("test.TestCase")
class TestCase(ArrayAssertions, absltest.TestCase):
    """A test case with sessions and assertions on tensors.

    Every test begins with an empty default graph, whose seed is the same each time, as are those of `random` and NumPy.
    """

    __test__ = False  # pytest collects the classes derived from it: see __init_subclass__

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__test__" not in vars(cls):
            cls.__test__ = True

    def __init__(self, methodName: str = "runTest"):
        super().__init__(methodName)
        self._cached: tuple[Session, Any, Any, bool] | None = None
        self._own_temp_dir: str | None = None
        self._threads: list[CheckedThread] = []

    def setUp(self) -> None:
        self._close_cached_session()
        random.seed(SEED)
        np.random.seed(SEED)
        reset_default_graph()
        get_default_graph().seed = SEED
        super().setUp()

    def tearDown(self) -> None:
        for thread in self._threads:
            self.assertFalse(thread.is_alive(), "a checkedThread was not joined")
        self._close_cached_session()
        super().tearDown()

    def _close_cached_session(self) -> None:
        if self._cached is not None:
            self._cached[0].close()
            self._cached = None

    # -- sessions ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Session]:
        """Opens a session of its own for a `with` block, as the default one.

        Args:
          graph: Its graph, by default the default graph.
          config: Its ConfigProto.
          use_gpu: Whether nodes made in the block may go to a GPU; else they are placed on the CPU.
          force_gpu: Whether they are placed on the GPU.
        """
        with Session(graph=graph, config=config) as session, _placed(session, use_gpu, force_gpu):
            yield session

    @contextlib.contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[Session]:
        """Makes the test's one session the default for a `with` block; the next block finds its variables.

        Args:
          graph: Its graph, by default the default graph.
          config: Its ConfigProto.
          use_gpu: Whether nodes made in the block may go to a GPU; else they are placed on the CPU.
          force_gpu: Whether they are placed on the GPU.

        Raises:
          ValueError: The session was opened with other arguments before.
        """
        if self._cached is None:
            self._cached = (Session(graph=graph, config=config), graph, config, force_gpu)
        session, *before = self._cached
        for name, given, first in zip(
            ("graph", "config", "force_gpu value"), (graph, config, force_gpu), before, strict=True
        ):
            if given is not first and given != first:
                raise ValueError(
                    f"The {name} used to get the cached session is different than the one that was used to create the "
                    "session. Maybe create a new session with self.session()"
                )
        with session.graph.as_default(), session.as_default(), _placed(session, use_gpu, force_gpu):
            yield session

    def test_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Any:
        """Is `cached_session`, or `session` where a graph is given; of old programs.

        Args:
          graph: The session's graph.
          config: Its ConfigProto.
          use_gpu: Whether nodes made in the block may go to a GPU.
          force_gpu: Whether they are placed on the GPU.
        """
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")  # whatever its name says to unittest
        opened = self.cached_session if graph is None else self.session
        return opened(graph, config, use_gpu, force_gpu)

    test_session.__test__ = False  # type: ignore[attr-defined]

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of tensors in the default session, or else in the test's own.

        Args:
          tensors: What `Session.run` takes.
        """
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as session:
            return session.run(tensors)

    # -- errors, threads, files --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]
        self, exception_type: Any, expected: Any
    ) -> Iterator[None]:
        """Asserts that a `with` block raises an error that fits.

        Args:
          exception_type: Its class.
          expected: A regular expression found in its message, or a function that says of the error whether it fits.
        """
        try:
            yield
        except BaseException as error:
            if not isinstance(error, exception_type):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            if callable(expected):
                fits = expected(error)
            else:
                text = error.message if isinstance(error, errors.OpError) else str(error)
                if isinstance(error, errors.OpError) and error.op is not None:
                    text += f"\nCaused by op: {error.op.name}"
                tf_logging.info("Searching within error strings: '%s' within '%s'", expected, text)
                fits = re.search(expected, text)
            if not fits:
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
            return
        self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Asserts that a `with` block raises a `tf.errors.OpError` that fits.

        Args:
          expected_err_re_or_predicate: A regular expression found in its message, or a function of the error.
        """
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Asserts that two device names mean the same device."""
        from headrace.graph.device import canonical

        self.assertEqual(
            canonical(device1), canonical(device2), f"Devices {device1} and {device2}. {msg or ''}"
        )

    def checkedThread(self, target: Any, args: Any = None, kwargs: Any = None) -> CheckedThread:
        """Returns a thread, not started yet, whose errors fail the test.

        Args:
          target: What it runs.
          args: Its arguments.
          kwargs: Its arguments by name.
        """
        thread = CheckedThread(self, target, args, kwargs)
        self._threads.append(thread)
        return thread

    def get_temp_dir(self) -> str:
        """Returns a directory that this test has for itself."""
        if self._own_temp_dir is None:
            self._own_temp_dir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._own_temp_dir

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:
        """Catches what a `with` block writes to a stream that has a file number.

        Args:
          stream: The stream, `sys.stdout` for example.

        Yields:
          An object whose `contents` returns what was written.
        """
        stream.flush()
        number = stream.fileno()
        saved = os.dup(number)
        with tempfile.TemporaryFile(dir=self.get_temp_dir()) as file:
            os.dup2(file.fileno(), number)
            try:
                yield _Captured(stream, file)
            finally:
                stream.flush()
                os.dup2(saved, number)
                os.close(saved)


class _Captured:
    def __init__(self, stream: Any, file: Any):
        self._stream = stream
        self._file = file

    def contents(self) -> str:
        self._stream.flush()
        self._file.seek(0)
        return self._file.read().decode()  # type: ignore[no-any-return]


@contextlib.contextmanager
def _placed(session: Session, use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    if force_gpu:
        device = gpu_device_name() or "/device:GPU:0"
    elif use_gpu:
        yield
        return
    else:
        device = "/device:CPU:0"
    with session.graph.device(device):
        yield


TensorFlowTestCase = TestCase
