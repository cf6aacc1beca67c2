"""Where functionalized nodes go: into the step itself, or into the bodies of branches and loops."""

from __future__ import annotations

import itertools
from typing import Any

from headrace.graph import Graph, Operation, Tensor, hooks
from headrace.graph.func_graph import FuncGraph, Function
from headrace.opdef.attrs import FuncRef


class Resists(Exception):
    """A region has no functional form that this pass knows."""


class Target:
    """What nodes are put into: the step, or (as `Body`) a function.

    Attributes:
      values: Tensor of the region -> the tensor that stands for it here.
      nodes: Node of the region -> the node here that it became, or became part of.
      ops: The nodes here, in order.
      late: Node -> its inputs, where they are others than the node says.
      waits: Node -> what it waits for, where that is something else than the node says.

    Args:
      graph: The graph that new nodes belong to.
      fed: Tensors that are given.
    """

    around: Target | None = None

    def __init__(self, graph: Graph, fed: set[Tensor]):
        self.graph = graph
        self.fed = fed
        self.values: dict[Tensor, Tensor] = {}
        self.nodes: dict[Operation, Operation] = {}
        self.ops: list[Operation] = []
        self.late: dict[Operation, tuple[Tensor, ...]] = {}
        self.waits: dict[Operation, list[Operation]] = {}

    def value(self, t: Tensor) -> Tensor:
        """Returns the tensor that stands here for one of the region, or of the step outside the region."""
        return self.values.get(t, t)

    def node(self, op: Operation) -> Operation | None:
        """Returns the node that something here has to wait for in a node's place."""
        return self.nodes.get(op, op)

    def keep(self, op: Operation, inputs: tuple[Tensor, ...], controls: list[Operation]) -> None:
        """Has a node of the region run here.

        Args:
          op: The node.
          inputs: Its inputs, as tensors of the region.
          controls: What it waits for, as nodes of the region.
        """
        mine = tuple(self.value(t) for t in inputs)
        if mine != op._inputs:
            self.late[op] = mine
        waits = [n for n in map(self.node, controls) if n is not None]
        if waits != op._control_inputs:
            self.waits[op] = list(dict.fromkeys(waits))
        self.ops.append(op)

    def add(
        self,
        kind: str,
        like: Operation,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        types: list[Any],
        dims: list[Any],
    ) -> Operation:
        """Adds a node that the region did not have.

        Args:
          kind: Its op.
          like: The node of the region that it is named after.
          inputs: Its inputs, tensors of this target.
          attrs: Its attrs.
          types, dims: The types and shapes of its outputs.
        """
        op = Operation(
            self.graph, hooks.lookup_kind(kind), like._name, tuple(inputs), attrs, [], like._traceback
        )
        op._add_outputs(types, dims)
        op._id = like._id
        self.ops.append(op)
        return op


class Body(Target):
    """A function that is being made.

    Attributes:
      around: The target whose nodes call it.
      captured: Tensor of the region -> the placeholder that stands for it, for what comes from outside.
      awaited: Nodes of outer targets that the node which calls this has to wait for.

    Args:
      around: The target around it.
      name: Its name.
    """

    def __init__(self, around: Target, name: str):
        super().__init__(FuncGraph(name, around.graph), around.fed)
        self.around: Target = around
        self.name = name
        self.arguments: list[Tensor] = []
        self.captured: dict[Tensor, Tensor] = {}
        self.awaited: dict[Operation, None] = {}
        self._made: set[Operation] = set()

    def argument(self, dtype: Any, dims: Any, handle: Any = None) -> Tensor:
        """Adds a parameter."""
        graph: Any = self.graph
        t: Tensor = graph.placeholder(dtype, dims)
        t._handle_data = handle
        self.arguments.append(t)
        return t

    def value(self, t: Tensor) -> Tensor:
        found = self.values.get(t)
        if found is None:
            found = self.captured.get(t)
        if found is None:
            outer = self.around.value(t)
            graph: Any = self.graph
            found = self.captured[t] = graph.placeholder(outer._dtype, outer._dims)
            found._handle_data = outer._handle_data
            graph.stands_for[found] = outer
        return found

    def node(self, op: Operation) -> Operation | None:
        found = self.nodes.get(op)
        if found is None:
            outer = self.around.node(op)
            if outer is not None:
                self.awaited[outer] = None
        return found

    def keep(self, op: Operation, inputs: tuple[Tensor, ...], controls: list[Operation]) -> None:
        mine = tuple(self.value(t) for t in inputs)
        waits: list[Operation] = []
        if op.type != "Const":
            waits = list(dict.fromkeys(n for n in map(self.node, controls) if n is not None))
        copy = Operation(self.graph, op.kind, op._name, mine, op.attrs, waits, op._traceback)
        copy.__dict__["copied_from"] = origin(op)
        copy._device = op._device
        copy._add_outputs([t._dtype for t in op._outputs], [t._dims for t in op._outputs])
        self._enter(copy, op._id)
        self.nodes[op] = copy
        for old, new in zip(op._outputs, copy._outputs, strict=True):
            new._handle_data = old._handle_data
            if old not in self.fed:  # else its value comes from outside
                self.values[old] = new

    def add(
        self,
        kind: str,
        like: Operation,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        types: list[Any],
        dims: list[Any],
    ) -> Operation:
        op = super().add(kind, like, inputs, attrs, types, dims)
        self.ops.pop()
        self._enter(op, like._id)
        return op

    def _enter(self, op: Operation, number: int) -> None:
        graph = self.graph
        op._id = len(graph._ops)
        graph._ops.append(op)
        self.ops.append(op)
        for t in op._inputs:
            t._consumers.append(op)
        for c in op._control_inputs:
            c._control_outputs.append(op)

    def finish(
        self, outputs: list[Tensor], captured: list[Tensor], more: list[Operation] | None = None
    ) -> FuncRef:
        """Makes the function.

        Args:
          outputs: What it returns.
          captured: What it and the functions that go with it take from outside, as tensors of the region.
          more: Nodes that are part of the function only if something needs them.
        """
        inputs = [*self.arguments, *[self.value(t) for t in captured]]
        used = {t._op for t in outputs}
        for op in self.ops:
            used.update(t._op for t in op._inputs)
            used.update(op._control_inputs)
        optional = set(more or ())
        controls = [
            op
            for op in self.ops
            if op not in used and op not in optional and op.type not in ("Const", "FakeParam")
        ]
        graph: Any = self.graph
        graph.inputs, graph.outputs = inputs, outputs
        function = Function(self.name, graph, inputs, outputs, controls)
        self.graph._functions[self.name] = function
        return FuncRef(self.name)


def origin(op: Operation) -> Operation:
    """Returns the node of the program's graph that a node is a copy of, the node itself if it is none."""
    found: Operation = op.__dict__.get("copied_from", op)
    return found


_numbers = itertools.count()


def function_name(op: Operation, which: str) -> str:
    """Returns a name for a function that no other has."""
    return f"{op._name.replace('/', '_')}_{which}_{next(_numbers)}"


def has_effects(op: Operation) -> bool:
    """Whether running a node does more than compute its outputs, or gives something else each time."""
    if op.kind.is_stateful:
        return True
    return any(t._dtype.is_ref for t in op._inputs)
