"""Which nodes a gradient passes through, and in which order they are ready."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from headrace import dtypes
from headrace.graph import Operation, Tensor

TRAINABLE = frozenset(
    (
        dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128, dtypes.resource,
        dtypes.variant,
    )
)  # fmt: skip
CARRIES = TRAINABLE | {dtypes.bfloat16}


def is_trainable(tensor: Tensor) -> bool:
    """Whether an output whose gradient nobody gave counts as having a zero gradient."""
    return tensor._dtype._base in TRAINABLE


def carries_gradient(tensor: Tensor) -> bool:
    """Whether a gradient may come to what a function is called with: not to the handle of an array or a queue."""
    if tensor._dtype is not dtypes.resource:
        return is_trainable(tensor)
    handle = tensor
    while True:
        op = handle._op
        outer = getattr(op._graph, "stands_for", {}).get(handle)
        if outer is not None:
            handle = outer
        elif op.type in ("Identity", "Enter", "Switch"):
            handle = op._inputs[0]
        else:
            return op.type in (
                "VarHandleOp",
                "VariableV2",
                "Placeholder",
                "If",
                "StatelessIf",
                "Case",
                "_Arg",
            )


class Paths:
    """The nodes between `xs` and `ys`.

    Bodies of functions see tensors of the graphs around them through placeholders; paths lead through these too.

    Attributes:
      pending: For each node in between, how many of its uses have not sent their gradient yet.
      reaches: The operations of `ys` that `xs` lead to.
      stops: The operations where gradients end.
    """

    def __init__(
        self,
        to_ops: list[Operation],
        from_ops: list[Operation],
        stop_ops: list[Operation],
        xs: set[Tensor],
        graph: Any,
    ):
        self._xs = xs
        self._functions: list[Any] = []
        while graph is not None and graph.building_function:
            self._functions.append(graph)
            graph = graph.outer_graph
        reached = self._reached(from_ops)
        self.reaches = {op for op in to_ops if op in reached}
        between, members = self._between(to_ops, reached)
        self.pending: dict[Operation, int] = {}
        pending = self.pending
        for op in between:
            for t in self.inputs(op):
                if t._op in members:
                    pending[t._op] = pending.get(t._op, 0) + 1
        self.stops = {
            op for op in from_ops if not any(pending.get(t._op, 0) > 0 for t in self.inputs(op))
        } | set(stop_ops)

    def inputs(self, op: Operation) -> Iterable[Tensor]:
        """Returns a node's inputs, with what a placeholder stands for in its place."""
        if not self._functions or not op._graph.building_function:
            return op._inputs
        return [t if t in self._xs else _original(t) for t in op._inputs]

    def _consumers(self, tensor: Tensor) -> Iterator[Operation]:
        yield from tensor._consumers
        for function in self._functions:
            for outer, inner in _captures(function):
                if outer is tensor:
                    yield from inner._consumers

    def _reached(self, from_ops: list[Operation]) -> set[Operation]:
        reached: set[Operation] = set()
        todo = list(from_ops)
        functions = self._functions
        while todo:
            op = todo.pop()
            if op in reached:
                continue
            reached.add(op)
            for t in op._outputs:
                if t._dtype._base in CARRIES:
                    todo.extend(self._consumers(t) if functions else t._consumers)
        return reached

    def _between(
        self, to_ops: list[Operation], reached: set[Operation]
    ) -> tuple[list[Operation], set[Operation]]:
        found: dict[Operation, None] = {}
        todo = deque(to_ops)
        while todo:
            op = todo.popleft()
            if op in reached and op not in found:
                found[op] = None
                todo.extend([t._op for t in self.inputs(op)])
        return list(found), set(found)


def _captures(function: Any) -> Iterable[tuple[Tensor, Tensor]]:
    """Returns the (outer tensor, placeholder) pairs of a function's graph."""
    captures = getattr(function, "captures", ())
    return captures.items() if hasattr(captures, "items") else captures


def _original(tensor: Tensor) -> Tensor:
    """Returns the tensor of an outer graph that a function's placeholder stands for, else the tensor itself."""
    graph = tensor.graph
    if graph.building_function and tensor.op.type == "Placeholder":
        for outer, inner in _captures(graph):
            if inner is tensor:
                return _original(outer)
    return tensor
