"""Loops of an imported graph, given a form that can be differentiated: a While node in the graph itself.

A MetaGraphDef says in its collections which frames `tf.while_loop` made, and TensorFlow goes back through those. Here
a gradient goes back through While nodes, so the first gradient that comes to such a loop puts one beside it. Its Exit
nodes pass on what that gives from then on, under the names that they have; the frame stays, and nothing needs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from headrace import dtypes
from headrace.graph import Graph, Operation, Tensor, hooks
from headrace.passes.aliases import with_aliases
from headrace.passes.functional_loops import add_loop
from headrace.passes.functionalize import Functionalizer
from headrace.passes.liveness import Liveness
from headrace.passes.loops import EXITS, Loop, Structure
from headrace.passes.prune import needed
from headrace.passes.targets import Resists, Target, origin


class ImportedLoops:
    """The loops of a graph that a MetaGraphDef told of.

    A graph calls it before each gradient.

    Attributes:
      back_prop: Name of an Exit node -> whether gradients go through its loop.
    """

    def __init__(self) -> None:
        self.back_prop: dict[str, bool] = {}

    def add(self, context: Any) -> None:
        """Adds the loops of a WhileContextDef or CondContextDef, those inside it too."""
        for name in getattr(context, "loop_exit_names", ()):
            self.back_prop[name.rpartition(":")[0]] = context.back_prop
        for each in context.nested_contexts:
            self.add(getattr(each, each.WhichOneof("ctxt")))

    def __call__(self, graph: Graph, ys: Iterable[Tensor], xs: Iterable[Tensor]) -> None:
        """Puts While nodes in the place of the loops between `xs` and `ys`.

        Raises:
          NotImplementedError: A loop has no functional form that is known.
        """
        ys = [y for y in ys if y._op._graph is graph]
        exits = [op for op in _between(ys, xs) if op.type in EXITS]
        if not any(op._name in self.back_prop for op in exits):
            return
        everywhere = [op for op in graph._ops if op.type in EXITS]
        ops = needed(ys, everywhere, [])
        structure = Structure(ops, set(), with_aliases(ops, set(), {}))
        loops: dict[Loop, Operation] = {}
        for op in exits:
            if op._name not in self.back_prop:
                continue
            loop = structure.owner[op]
            while loop.parent is not structure.root:
                assert loop.parent is not None
                loop = loop.parent
            loops.setdefault(loop, op)
        work = Functionalizer(structure, Liveness(structure), set(), counted=True)
        for loop, op in loops.items():
            try:
                self._replace(graph, work, loop)
            except Resists as e:
                raise NotImplementedError(
                    f"'{op._name}' (op: '{op.type}') is part of a loop in a graph from outside, and how to "
                    f"differentiate it is not known: {e}. Import the graph with its gradients."
                ) from None
        graph._version_changed()

    def _replace(self, graph: Graph, work: Functionalizer, loop: Loop) -> None:
        target = _InGraph(graph)
        for op in loop.enters:
            # Seen through a Switch it would run whichever branch is taken.
            outer = work.structure.inputs(op)[0]
            target.values[work.seen_through(outer)] = outer
        add_loop(work, loop, target)
        exits = [op for op in loop.items if isinstance(op, Operation) and op.type in EXITS]
        node = target.nodes[exits[0]]
        if not all(self.back_prop.get(op._name, True) for op in exits):
            node.attrs["_back_prop"] = False
        identity = hooks.lookup_kind("Identity")
        for op in exits:
            result = target.values[op._outputs[0]]
            op.kind, op.type = identity, identity.name
            op.attrs = {"T": op.attrs["T"], **{k: v for k, v in op.attrs.items() if k.startswith("_")}}
            op._update_input(0, result)


class _InGraph(Target):
    """The graph itself: nodes that are put into it stay."""

    def __init__(self, graph: Graph):
        super().__init__(graph, set())

    def keep(self, op: Operation, inputs: tuple[Tensor, ...], controls: list[Operation]) -> None:
        mine = tuple(self.value(t) for t in inputs)
        copy = self._added(op.kind, op._name, mine, op.attrs, [t._dtype for t in op._outputs])
        copy.__dict__["copied_from"] = origin(op)
        copy._device = op._device
        copy._add_control_inputs([n for n in map(self.node, controls) if n is not None])
        self.nodes[op] = copy
        for old, new in zip(op._outputs, copy._outputs, strict=True):
            new._dims, new._handle_data = old._dims, old._handle_data
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
        # A loop is named after its scope, not after one of its Exit nodes.
        name = like._name.rpartition("/")[0] if kind.endswith("While") else ""
        op = self._added(hooks.lookup_kind(kind), name or like._name, tuple(inputs), attrs, types)
        for t, shape in zip(op._outputs, dims, strict=True):
            t._dims = shape
        return op

    def _added(
        self, kind: Any, name: str, inputs: tuple[Tensor, ...], attrs: dict[str, Any], types: list[Any]
    ) -> Operation:
        graph = self.graph
        scope, graph._name_stack = graph._name_stack, ""
        try:
            with graph.control_dependencies(None), graph.device(None):
                return graph.add(kind, name, inputs, attrs, types)
        finally:
            graph._name_stack = scope


def _between(ys: Iterable[Tensor], xs: Iterable[Tensor]) -> list[Operation]:
    """Returns the nodes that `ys` need and that need `xs`."""
    needing: dict[Operation, None] = {}
    todo = deque(x._op for x in xs)
    while todo:
        op = todo.popleft()
        if op not in needing:
            needing[op] = None
            for t in op._outputs:
                if t._dtype.base_dtype is not dtypes.bool:
                    todo.extend(t._consumers)
    found: set[Operation] = set()
    todo = deque(y._op for y in ys)
    while todo:
        op = todo.popleft()
        if op not in found:
            found.add(op)
            todo.extend(t._op for t in op._inputs)
    return [op for op in needing if op in found]
