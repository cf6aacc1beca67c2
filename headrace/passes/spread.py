"""Branches that take what may not be there become Switch and Merge, as in TensorFlow: each waits for its own alone.

What a branch of TensorFlow 1 made is not there outside if the branch was not taken. Another choice whose one branch
takes it still gives what its other branch gives; as one node it would wait for what neither of them gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import dtypes
from headrace.graph import Operation, Tensor, hooks
from headrace.graph.func_graph import Function
from headrace.opdef.functions import called_functions
from headrace.passes.access import Late
from headrace.passes.liveness import ALWAYS, Liveness
from headrace.passes.loops import Structure
from headrace.passes.targets import origin

_BRANCHES = ("If", "StatelessIf")


class Spread:
    """A step's nodes with some branches spread out.

    Attributes:
      ops: The nodes, in an order in which they can run.
      late: Node -> its inputs, where they are others than the node says.
      stand_ins: Output of a node that was spread -> the output that stands in its place.
    """

    def __init__(self, ops: list[Operation], late: Late):
        self.ops = ops
        self.late = late
        self.stand_ins: dict[Tensor, Tensor] = {}


def spread(ops: list[Operation], fed: set[Tensor], late: Late) -> Spread:
    """Returns a step's nodes with those choices spread out that take what may not be there.

    Args:
      ops: The nodes, in an order in which they can run.
      fed: Tensors that are given.
      late: What `late_reads` says of the nodes.
    """
    out = Spread(ops, late)
    while any(op.type in _BRANCHES for op in out.ops):
        structure = Structure(out.ops, fed, out.late)
        liveness = Liveness(structure)
        awaited = {c for op in out.ops for c in op._control_inputs}
        chosen = {
            op
            for op in out.ops
            if op.type in _BRANCHES and op not in awaited and _may_be_dead(op, structure, liveness)
        }
        if not chosen:
            break
        out = _spread(out, chosen)
    return out


def _may_be_dead(op: Operation, structure: Structure, liveness: Liveness) -> bool:
    """Whether a choice takes what may not be there where its predicate is."""
    pred, *arguments = [liveness.of(t) for t in structure.inputs(op)]
    return any(each not in (ALWAYS, pred) for each in arguments)


def _spread(before: Spread, chosen: set[Operation]) -> Spread:
    out = Spread([], dict(before.late))
    new = out.stand_ins
    for op in before.ops:
        inputs = before.late.get(op, op._inputs)
        mine = tuple([new.get(t, t) for t in inputs])
        if op not in chosen:
            if mine != inputs:
                out.late[op] = mine
            out.ops.append(op)
            continue
        pred, arguments = mine[0], mine[1:]
        marks = {"T": pred._dtype.base_dtype}
        switch = _node(out, op, "Switch", (pred, pred), marks, [pred._dtype] * 2)
        results = []
        for function, taken in zip(called_functions(op), switch._outputs[::-1], strict=True):
            pivot = _node(out, op, "Identity", (taken,), marks, [pred._dtype])
            results.append(_put(out, op, function, arguments, [*op._control_inputs, pivot]))
        for i, old in enumerate(op._outputs):
            dtype = old._dtype.base_dtype
            sides = (results[1][i], results[0][i])
            merge = _node(out, op, "Merge", sides, {"T": dtype, "N": 2}, [old._dtype, dtypes.int32])
            merge._outputs[0]._dims, merge._outputs[0]._handle_data = old._dims, old._handle_data
            new[old] = merge._outputs[0]
    out.stand_ins = {
        **{old: new.get(t, t) for old, t in before.stand_ins.items()},
        **new,
    }
    return out


def _put(
    out: Spread, op: Operation, function: Function, arguments: Sequence[Tensor], waits: list[Operation]
) -> list[Tensor]:
    """Adds the nodes of a branch; returns what it gives.

    Args:
      out: What they are added to.
      op: The choice.
      function: The branch.
      arguments: What it is called with.
      waits: What each of them waits for.
    """
    values = dict(zip(function.inputs, arguments, strict=True))
    nodes: dict[Operation, Operation] = {}
    for node in function.body:
        inputs = tuple([values[t] for t in node._inputs])
        before = [nodes[c] for c in node._control_inputs if c in nodes]
        copy = Operation(
            op._graph, node.kind, node._name, inputs, node.attrs, [*waits, *before], node._traceback
        )
        copy.__dict__["copied_from"] = origin(node)
        copy._device = node._device
        copy._id = op._id
        copy._add_outputs([t._dtype for t in node._outputs], [t._dims for t in node._outputs])
        for old, new in zip(node._outputs, copy._outputs, strict=True):
            new._handle_data = old._handle_data
            values[old] = new
        nodes[node] = copy
        out.ops.append(copy)
    given = []
    for t in function.outputs:
        # An argument that is returned as it is waits for the choice, too.
        if t in function.inputs:
            dtype = t._dtype.base_dtype
            same = _node(out, op, "Identity", (values[t],), {"T": dtype}, [dtype], waits)
            given.append(same._outputs[0])
        else:
            given.append(values[t])
    return given


def _node(
    out: Spread,
    op: Operation,
    kind: str,
    inputs: tuple[Tensor, ...],
    attrs: dict[str, Any],
    types: Sequence[Any],
    waits: Sequence[Operation] = (),
) -> Operation:
    """Adds a node in the place of another, whose name and origin it has."""
    node = Operation(op._graph, hooks.lookup_kind(kind), op._name, inputs, attrs, list(waits), op._traceback)
    node._device = op._device
    node._add_outputs(types, [None] * len(types))
    node._id = op._id
    out.ops.append(node)
    return node
