"""tf.wrap_function: a function's graph to call, and to cut pieces out of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import export
from headrace.functions.concrete import ConcreteFunction
from headrace.functions.trace import as_placeholders
from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import FuncGraph
from headrace.graph.structure import flatten, is_composite, map_leaves, pack_like
from headrace.opdef import convert_to_tensor, raw
from headrace.variables.creation import variable_creator_scope


class WrappedFunction(ConcreteFunction):
    """A traced function whose graph is used as graphs are: pieces of it can be made functions with `prune`."""

    def _call_flat(self, args: Any) -> Any:
        given = [convert_to_tensor(v) for v in args]
        if len(given) != len(self._places):
            captured = len(self.graph.inputs) - len(self._places)
            raise ValueError(
                f"Arguments and signature arguments do not match. got: {len(given) + captured}, expected: "
                f"{len(self.graph.inputs)} "
            )
        return super()._call_flat(given)

    def _bound(self, args: Any, kwargs: dict[str, Any]) -> list[Any]:
        if kwargs:
            raise NotImplementedError(
                "Keyword arguments not supported when calling a wrap_function-decorated function."
            )
        return list(args)

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> WrappedFunction:
        """Returns a function that computes some tensors of this one's graph from others.

        Args:
          feeds: The tensors to give, or their names: one, or a structure.
          fetches: The tensors to compute, operations to run, or their names: one, or a structure.
          name: The new function's name, "pruned" if None.
          input_signature: Not used.

        Raises:
          ValueError: A feed is no tensor of the graph.
        """
        graph = self.graph
        given = [graph.as_graph_element(f, allow_operation=False) for f in flatten(feeds)]
        structure = map_leaves(graph.as_graph_element, fetches)
        wanted = flatten(structure, composites=True)
        tensors = [t for t in wanted if isinstance(t, Tensor)]
        run = [op for op in wanted if isinstance(op, Operation)]
        piece = _Piece(graph, name or "pruned", given, tensors, run)
        piece.structured_outputs = pack_like(
            structure, [t if isinstance(t, Tensor) else None for t in wanted], composites=True
        )
        return WrappedFunction(piece)


class _Piece(FuncGraph):
    """A graph with the nodes that some tensors of another need."""

    def __init__(
        self, whole: FuncGraph, name: str, feeds: list[Tensor], fetches: list[Tensor], run: list[Operation]
    ):
        super().__init__(name, whole.outer_graph)
        fed = set(feeds)
        needed: set[Operation] = set()
        todo = [t._op for t in fetches if t not in fed] + run
        while todo:
            op = todo.pop()
            if op not in needed:
                needed.add(op)
                todo += [t._op for t in op._inputs if t not in fed] + op._control_inputs
        outside = {inner: outer for outer, inner in whole.captures}
        where: dict[Tensor, Tensor] = {}
        for t in feeds:
            where[t] = self.add_input(t, t._op._name)
        copies: dict[Operation, Operation] = {}
        with self.as_default():
            for op in sorted(needed, key=lambda op: op._id):
                first = op._outputs[0] if op._outputs else None
                if first is not None and first in outside:
                    where[first] = self.capture(outside[first], op._name)
                    continue
                inputs = tuple([where[t] for t in op._inputs])
                new = self.add(op.kind, op._name, inputs, dict(op.attrs), [t._dtype for t in op._outputs])
                new._add_control_inputs([copies[c] for c in op._control_inputs if c in copies])
                copies[op] = new
                for a, b in zip(op._outputs, new._outputs, strict=True):
                    where.setdefault(a, b)
        self.outputs = [where[t] for t in fetches]
        self.control_outputs = [copies[op] for op in run if op in copies]


@export("wrap_function")
def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> WrappedFunction:
    """Returns a function of the graph for a Python function written for TensorFlow 1.

    Variables that it makes are made once. Nodes are not ordered automatically: what must run must be waited for.

    Args:
      fn: The Python function.
      signature: Its arguments: TensorSpecs, and values that are passed on as they are.
      name: The function's name.
    """
    graph = FuncGraph(name or "wrapped_function")
    graph._automatic_control = False

    def create(next_creator: Any, **arguments: Any) -> Any:
        arguments["use_resource"] = True
        return next_creator(**arguments)

    def leaf(value: Any) -> Any:
        if value is None or is_composite(value):
            return value
        if isinstance(value, Operation):
            with graph.control_dependencies([value]):
                return raw.Identity(True)
        return graph.capture(convert_to_tensor(value))

    with graph.as_default(), variable_creator_scope(create):
        args = [as_placeholders(graph, None, each) for each in signature]
        result = fn(*args)
        structure = pack_like(result, [leaf(v) for v in flatten(result)])
        graph.structured_outputs = structure
        graph.outputs = [t for t in flatten(structure, composites=True) if t is not None]
    return WrappedFunction(graph)
