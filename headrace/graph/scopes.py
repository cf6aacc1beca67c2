"""Scopes that mark the nodes made inside them: control dependencies, devices, colocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.device import canonical, merge_names

if TYPE_CHECKING:
    from headrace.graph.graph import Graph
    from headrace.graph.operation import Operation


class ControlDependencies:
    """A `with graph.control_dependencies(...)` block.

    A node made inside waits for `control_inputs`, unless it takes a tensor made inside the same block: then it
    waits already, through that tensor.
    """

    def __init__(self, graph: Graph, control_inputs: list[Operation] | None):
        self._graph = graph
        self._new_stack = control_inputs is None
        self.control_inputs: list[Operation] = control_inputs or []
        self.seen: set[Operation] = set()
        self._saved: list[Any] = []

    def __enter__(self) -> None:
        graph = self._graph
        if self._new_stack:
            self._saved.append((graph._control_stack, graph._control_flow_context))
            graph._control_stack = []
            graph._control_flow_context = None
        graph._control_stack = [*graph._control_stack, self]

    def __exit__(self, *_: Any) -> None:
        graph = self._graph
        graph._control_stack = [c for c in graph._control_stack if c is not self]
        if self._new_stack:
            graph._control_stack, graph._control_flow_context = self._saved.pop()


def control_inputs_for(stack: list[ControlDependencies], inputs: tuple[Any, ...]) -> list[Operation]:
    """Returns what a new node with these inputs has to wait for."""
    ops = [t._op for t in inputs]
    out: list[Operation] = []
    for block in stack:
        if any(op in block.seen for op in ops):
            continue
        for op in block.control_inputs:
            if op not in ops and op not in out:
                out.append(op)
    return out


class DeviceScopes:
    """The stack of `with graph.device(...)` blocks, innermost last."""

    __slots__ = ("_stack",)

    def __init__(self, stack: tuple[Any, ...] = ()):
        self._stack = stack

    def __bool__(self) -> bool:
        return bool(self._stack)

    @property
    def has_functions(self) -> bool:
        """Whether a block's device is chosen by a function."""
        return any(callable(each) for each in self._stack)

    def pushed(self, device_or_function: Any) -> DeviceScopes:
        """Returns the stack with one block more; None clears what lies outside it."""
        if device_or_function is None or callable(device_or_function):
            return DeviceScopes((*self._stack, device_or_function))
        return DeviceScopes((*self._stack, canonical(device_or_function)))

    def apply(self, op: Operation) -> None:
        """Sets the device of a new node: inner blocks win, part by part."""
        for each in reversed(self._stack):
            if each is None:
                break
            if callable(each):
                # What a function says is kept as it is said, abbreviations and all.
                said = each(op)
                op._device = said if isinstance(said, str) else canonical(said)
            else:
                op._device = merge_names(each, op._device)

    def names(self) -> list[str]:
        return [
            getattr(each, "__name__", "<function>") if callable(each) else str(each) for each in self._stack
        ]
