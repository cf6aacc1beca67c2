"""The way out of a branch: what its function made may be used outside, where it is there if the branch is taken.

In TensorFlow 1 a branch is part of the graph around it. What was made inside can be waited for and computed with
outside, say the updates of batch normalization in `GraphKeys.UPDATE_OPS`; what does so runs only where the branch is
taken. Here it becomes a further output of the branch, and comes through a Switch.
"""

from __future__ import annotations

from typing import Any

from headrace.graph import Operation, Tensor, numbering
from headrace.graph.func_graph import FuncGraph
from headrace.graph.hooks import lookup_kind
from headrace.graph.refusals import InaccessibleTensorError
from headrace.opdef import raw
from headrace.opdef.bodies import give_out, outputs_with
from headrace.opdef.functions import called_functions


def let_out(node: Operation, bodies: list[FuncGraph]) -> None:
    """Lets what the branches of an If made be used outside: the true branch's, then the false one's."""
    for place, body in enumerate(bodies):
        body._way_out = _WayOut(node, place, body)


class _WayOut:
    """Takes nodes and tensors of one branch to what stands for them in the graph around all branches."""

    def __init__(self, node: Operation, place: int, body: FuncGraph):
        self._node = node
        self._place = place
        self._body = body
        self._out: dict[Any, Tensor] = {}

    def __call__(self, thing: Any) -> Any:
        graph = self._node.graph
        if graph.building_function and graph._way_out is None:
            raise InaccessibleTensorError(
                f"'{thing.name}' cannot be used here: it is of a branch of '{self._node.name}', which is in a "
                "function, in a loop or in a branch that is still being built."
            )
        found = self._out.get(thing)
        if found is None:
            found = self._out[thing] = self._lead(thing)
        return found if isinstance(thing, Tensor) else found.op

    def _lead(self, thing: Any) -> Tensor:
        node, graph = self._node, self._node.graph
        with numbering.counted_as(graph, 0):
            out, pred = self._output(self._inside(thing)), node.inputs[0]
            if graph._way_out is not None:
                # Both are there wherever the branch around is taken.
                out, pred = graph._way_out(out), graph._way_out(pred)
        around = out.graph
        op = thing.op if isinstance(thing, Tensor) else thing
        name = f"{self._body._scope_around}/{op.name}"
        with numbering.counted_as(around, 0), around.as_default(), around.control_dependencies(None):
            with around.name_scope(None):
                there = raw.Switch(out, pred, name=f"{name}/Switch")[1 - self._place]
                found: Tensor = raw.Identity(there, name=name)
        found._handle_data = out._handle_data
        return found

    def _inside(self, thing: Any) -> Tensor:
        """Returns the tensor of the branch that leaves it; of a node, one that is made once it has run."""
        if isinstance(thing, Tensor) and not thing.dtype.is_ref:
            return thing
        body = self._body
        with body.as_default(), body.name_scope(None), body.control_dependencies(None):
            if isinstance(thing, Tensor):
                return raw.Identity(thing)  # type: ignore[no-any-return]
            with body.control_dependencies([thing]):
                return raw.Identity(True)  # type: ignore[no-any-return]

    def _output(self, inside: Tensor) -> Tensor:
        """Returns the If's output that gives what a tensor of the branch holds; it is made if there is none."""
        node = self._node
        functions = called_functions(node)
        known = list(functions[self._place].outputs)
        if inside in known:
            return node.outputs[known.index(inside)]
        more: list[list[Tensor]] = [[], []]
        more[self._place].append(inside)
        new, outputs = outputs_with(functions, more)
        first = give_out(node, functions, new, outputs)
        if any(f.is_stateful for f in called_functions(node)):
            node.kind = lookup_kind("If")
            node.type = node.kind.name
        return node.outputs[first]
