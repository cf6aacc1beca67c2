"""What a loop's condition computes its body may use, too, as in TensorFlow 1, where both are of one iteration.

Here they are two functions: the body computes it again.
"""

from __future__ import annotations

from typing import Any

from headrace.graph import Graph, Operation, Tensor, numbering
from headrace.graph.func_graph import FuncGraph
from headrace.graph.leaving import outwards

# Of the nodes that have to do with state those that may run twice in an iteration.
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")


def compute_again(test: FuncGraph) -> None:
    """Says of a loop's condition that it is built: what it computes can be used in the body, which comes next."""
    test._way_out = _Again(test)


class _Again:
    """Takes nodes and tensors of a loop's condition to copies of them in its body."""

    def __init__(self, test: FuncGraph):
        self._test = test
        self._values: dict[Tensor, Tensor] = {}
        self._nodes: dict[Operation, Operation] = {}

    def watched(self, tensor: Tensor, graph: Graph) -> tuple[Tensor, None]:
        """Returns the tensor: it has no gradient outside."""
        return tensor, None

    def __call__(self, thing: Any, graph: Graph) -> Any:
        outer = self._test.outer_graph
        body = next((each for each in outwards(graph) if each.outer_graph is outer), None)
        if not isinstance(body, FuncGraph):
            raise ValueError(
                f"Cannot use '{thing.name}' as input here because '{thing.name}' is in a while loop."
            )
        op = thing.op if isinstance(thing, Tensor) else thing
        for mine, its in zip(self._test.inputs, body.inputs, strict=False):
            self._values.setdefault(mine, self._test.stands_for.get(mine, its))
        with numbering.counted_as(body, 0), body.as_default(), body.control_dependencies(None):
            with body.name_scope(None):
                self._copy(op, body)
        return self._values[thing] if isinstance(thing, Tensor) else self._nodes[op]

    def _copy(self, op: Operation, body: FuncGraph) -> None:
        needed = dict.fromkeys([op])
        for each in _needed_before(op, set(self._values)):
            needed[each] = None
        for each in sorted(needed, key=lambda op: op._id):
            if each in self._nodes or (all(t in self._values for t in each.outputs) and each.outputs):
                continue
            if each.kind.is_stateful and each.type not in _READS:
                raise ValueError(
                    f"Cannot use '{op.name}' of a loop's condition in its body: '{each.name}' ({each.type}) would run "
                    "twice."
                )
            inputs = tuple([body.capture(self._values[t]) for t in each.inputs])
            copy = body.add(each.kind, each.name, inputs, each.attrs, [t.dtype for t in each.outputs])
            self._nodes[each] = copy
            for t, same in zip(each.outputs, copy.outputs, strict=True):
                same._dims, same._handle_data = t._dims, t._handle_data
                self._values[t] = same


def _needed_before(op: Operation, known: set[Tensor]) -> list[Operation]:
    """Returns the nodes that a node needs where some tensors are known."""
    found: dict[Operation, None] = {}
    todo = [op]
    while todo:
        each = todo.pop()
        before = [t.op for t in each.inputs if t not in known] + each.control_inputs
        new = [b for b in dict.fromkeys(before) if b not in found]
        found.update(dict.fromkeys(new))
        todo += new
    return list(found)
