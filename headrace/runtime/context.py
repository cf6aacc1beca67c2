"""`ctx`: what a host or lower rule may ask for beyond its operands and attrs."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import errors
from headrace.graph import Operation
from headrace.resources.variable import VariableState, uninitialized
from headrace.runtime.state import SessionState


class Step:
    """One run of a plan: the session's state, and what this run alone has."""

    __slots__ = ("cancelled", "deadline", "feeds", "state")

    def __init__(self, state: SessionState):
        self.state = state
        self.cancelled: Any = None
        self.deadline: float | None = None
        self.feeds: list[Any] = []


class HostContext:
    """The `ctx` of a host rule.

    Attributes:
      op: The node.
      resources: The session's ResourceManager.
    """

    __slots__ = ("_step", "op")

    def __init__(self, step: Step, op: Operation):
        self._step = step
        self.op = op

    @property
    def resources(self) -> Any:
        return self._step.state.resources

    @property
    def step(self) -> Step:
        return self._step

    def random(self, blocks: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Returns key and counter of the node's own stream, and moves the stream on by `blocks`."""
        stream = self._step.state.stream(self.op)
        with self._step.state.lock:
            lanes = stream.lanes()
            stream.skip(int(blocks))
        return stream.key, lanes

    def read(self, handle: VariableState) -> np.ndarray[Any, Any]:
        """Returns a variable's value."""
        return handle.read()

    def write(self, handle: VariableState, value: Any) -> None:
        """Gives a variable a value."""
        # Memory of a feed, or a view of anything, may change under the variable; an array of its own can't.
        if type(value) is np.ndarray and (
            value.base is not None or any(value is f for f in self._step.feeds)
        ):
            value = value.copy()
        handle.value = value

    def is_initialized(self, handle: VariableState) -> np.bool_:
        return np.bool_(handle.value is not None)

    def forget(self, handle: VariableState) -> None:
        """Takes a variable's value away."""
        handle.value = None

    def check(self, ok: Any, message: str, error: Any = errors.InvalidArgumentError) -> None:
        """Raises `error` unless `ok` (an array of bools) is all true."""
        if not np.all(ok):
            raise error(None, None, message)

    def node_object(self, make: Any) -> Any:
        """Returns an object that the node keeps for the session's life, made the first time."""
        return self._step.state.node_object(self.op, make)


class TraceContext:
    """The `ctx` of a lower rule while a cluster is traced.

    Reads and writes go to the trace's own picture of the variables; checks are collected and looked at after the
    compiled step has run.
    """

    __slots__ = ("_trace", "op")

    def __init__(self, trace: Any, op: Operation):
        self._trace = trace
        self.op = op

    def random(self, blocks: int) -> tuple[Any, Any]:
        return self._trace.random(self.op, int(blocks))  # type: ignore[no-any-return]

    def read(self, handle: VariableState) -> Any:
        value = self._trace.values.get(handle)
        if value is None:
            raise uninitialized(handle.name)
        return value

    def write(self, handle: VariableState, value: Any) -> None:
        self._trace.values[handle] = value
        self._trace.written[handle] = None

    def is_initialized(self, handle: VariableState) -> bool:
        return self._trace.values.get(handle) is not None

    def check(self, ok: Any, message: str, error: Any = errors.InvalidArgumentError) -> None:
        self._trace.checks.append((ok, message, error, self.op))
