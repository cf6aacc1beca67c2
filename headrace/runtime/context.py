"""`ctx`: what a host or lower rule may ask for beyond its operands and attrs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import errors
from headrace.graph import Operation
from headrace.passes.targets import origin
from headrace.resources.variable import VariableState, uninitialized
from headrace.resources.waiting import Closing, Pending, wait_for
from headrace.runtime.state import SessionState


class Step:
    """One run of a plan: the session's state, and what this run alone has.

    Attributes:
      closing: Says that the session closes, or that the part of the step that this is is not wanted any more.
      deadline: When to give up, by `time.monotonic()`; None for never.
      at_end: What to do when the step has ended, well or not.
      awaits_program: Whether it is interpreted while a program for it is made.
      defers: The nodes that need not wait where they stand, since the plan has others to run meanwhile.
    """

    __slots__ = (
        "at_end",
        "awaits_program",
        "cancelled",
        "closing",
        "deadline",
        "defers",
        "feeds",
        "state",
        "tier",
    )

    def __init__(self, state: SessionState):
        self.state = state
        self.closing = state.closing
        self.tier = "auto"
        self.cancelled: Any = None
        self.deadline: float | None = None
        self.defers: frozenset[Operation] = frozenset()
        self.at_end: list[Any] = []
        self.awaits_program = False
        self.feeds: list[Any] = []

    def beside(self, closing: Closing) -> Step:
        """Returns a part of the step that runs in another thread, until `closing` is set."""
        part = Step(self.state)
        part.tier, part.deadline, part.feeds, part.at_end = self.tier, self.deadline, self.feeds, self.at_end
        part.awaits_program, part.closing = self.awaits_program, closing
        return part


class Deferred(Exception):
    """A node has to wait; the plan may run others meanwhile.

    Attributes:
      op: The node.
      pending: What it waits for, whose result is the list of the node's outputs.
    """

    def __init__(self, op: Operation, pending: Pending):
        super().__init__()
        self.op = op
        self.pending = pending


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

    def wait(self, pending: Pending) -> Any:
        """Returns the result of a request, which must be the list of the node's outputs, once it is there.

        A rule that waits is declared `@X.host(waits=True)` and does nothing after it.

        Raises:
          DeadlineExceededError: The step's time is up.
          OpError: What the request failed with; CancelledError if the session closes meanwhile.
        """
        step = self._step
        if not pending.done and self.op in step.defers:
            raise Deferred(self.op, pending)
        return wait_for(pending, step.closing, step.deadline)

    def apart(self) -> HostContext:
        """Returns a context for calls in another thread, while this one waits for what comes out."""
        return HostContext(self._step.beside(self._step.closing), self.op)

    def at_end(self, function: Any) -> None:
        """Has a function called when the step has ended, well or not."""
        self._step.at_end.append(function)

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

    def own(self, handle: VariableState) -> np.ndarray[Any, Any]:
        """Returns a variable's value as an array that the rule may write to, which changes the variable.

        Whoever got hold of the value before keeps what it was.
        """
        return handle.own()

    def is_initialized(self, handle: VariableState) -> np.bool_:
        return np.bool_(handle.value is not None)

    def forget(self, handle: VariableState) -> None:
        """Takes a variable's value away."""
        handle.value = None

    def check(self, ok: Any, message: str, error: Any = errors.InvalidArgumentError) -> None:
        """Raises `error` unless `ok` (an array of bools) is all true."""
        if not np.all(ok):
            raise error(None, None, message)

    @property
    def source(self) -> Operation:
        """The node of the program's graph that the node is, or is a copy of."""
        return origin(self.op)

    def is_marked(self, mark: str) -> bool:
        """Whether the Python function that made the node left a mark on it."""
        return mark in origin(self.op).__dict__

    def mark(self, mark: str) -> Any:
        """Returns the value of a mark that the Python function that made the node left on it, or None."""
        return origin(self.op).__dict__.get(mark)

    def node_object(self, make: Any) -> Any:
        """Returns an object that the node keeps for the session's life, made the first time."""
        return self._step.state.node_object(self.op, make)

    def branch(self, index: Any, branches: Any, operands: Any) -> list[Any]:
        """Calls the function that `index` picks, the last one where it is out of range."""
        from headrace.runtime.functions import host_branch

        i = int(np.asarray(index))
        return self._beside(lambda step: host_branch(step, self.op, i, branches, operands))

    def truth(self, value: Any) -> int:
        """Returns 1 if a predicate holds, else 0."""
        from headrace.runtime.functions import branch_index

        return branch_index(value, self.op)

    def loop(self, cond: Any, body: Any, operands: Any) -> list[Any]:
        """Calls `body` on its own results as long as `cond` of them is true."""
        from headrace.runtime.functions import host_loop

        return self._beside(lambda step: host_loop(step, self.op, cond, body, operands))

    def _beside(self, call: Callable[[Step], list[Any]]) -> list[Any]:
        from headrace.runtime.deferring import run_beside

        return run_beside(self._step, self.op, call)

    def call(self, function: Any, operands: Any) -> list[Any]:
        """Calls a function."""
        return self.branch(0, [function], operands)


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

    @property
    def source(self) -> Operation:
        """The node of the program's graph that the node is, or is a copy of."""
        return origin(self.op)

    @property
    def room(self) -> int:
        """How many elements a list of unknown length gets room for, 0 if that isn't known."""
        return self._trace.facts.get("room", 0)  # type: ignore[no-any-return]

    def is_marked(self, mark: str) -> bool:
        """Whether the Python function that made the node left a mark on it."""
        return mark in origin(self.op).__dict__

    def mark(self, mark: str) -> Any:
        """Returns the value of a mark that the Python function that made the node left on it, or None."""
        return origin(self.op).__dict__.get(mark)

    def check(self, ok: Any, message: str, error: Any = errors.InvalidArgumentError) -> None:
        self._trace.checks.append((ok, message, error, self.op))

    def branch(self, index: Any, branches: Any, operands: Any) -> list[Any]:
        from headrace.runtime.traced_calls import lower_branch

        return lower_branch(self._trace, self.op, index, branches, operands)

    def truth(self, value: Any) -> Any:
        from headrace.runtime.functions import NeedHost, becomes_switch, branch_index

        if type(value) is np.ndarray:
            return branch_index(value, self.op)
        if value.ndim:
            if becomes_switch(self.op):
                raise NeedHost(self.op, "its predicate is not a scalar")
            return int(value.size > 0)
        return (value != 0).astype(np.int32)

    def loop(self, cond: Any, body: Any, operands: Any) -> list[Any]:
        from headrace.runtime.traced_loop import lower_loop

        return lower_loop(self._trace, self.op, cond, body, operands)

    def call(self, function: Any, operands: Any) -> list[Any]:
        from headrace.runtime.traced_calls import lower_call

        return lower_call(self._trace, self.op, function, operands)
