"""Trimming: branches and loops leave out what only results that nobody takes would need, effects and all.

TensorFlow turns branches and loops into Switch and Merge before it prunes a graph, so a result that is not fetched
costs nothing there: its nodes do not run, they print nothing and can't fail. Here a plan gets nodes of its own that
call smaller functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import FuncGraph, Function, function_named
from headrace.opdef.attrs import FuncRef
from headrace.opdef.functions import arguments_of, called_functions
from headrace.passes.access import Late
from headrace.passes.targets import function_name, origin

Places = tuple[int, ...]
_BRANCHES = ("If", "StatelessIf", "Case")
_LOOPS = ("While", "StatelessWhile")


@dataclass
class Trimmed:
    """A step's nodes without what nobody takes.

    Attributes:
      ops: The nodes, in an order in which they can run.
      late: Node -> its inputs, where they are others than the node says.
      waits: Node -> what it waits for, where that is something else than the node says.
      stand_ins: Output of a node that was made smaller -> the output of what stands in its place.
    """

    ops: list[Operation]
    late: Late
    waits: dict[Operation, list[Operation]] = field(default_factory=dict)
    stand_ins: dict[Tensor, Tensor] = field(default_factory=dict)


@dataclass
class _Cut:
    """What is left of a node: which inputs and outputs, and what its functions become once they are made."""

    inputs: Places
    outputs: Places


def trim(
    ops: list[Operation],
    fetches: Iterable[Tensor],
    targets: Iterable[Operation],
    fed: set[Tensor],
    late: Late,
) -> Trimmed:
    """Returns a step's nodes with branches and loops reduced to the results that are used.

    Args:
      ops: The nodes, in an order in which they can run.
      fetches: The tensors that the step returns.
      targets: The operations that it runs.
      fed: Tensors that are given.
      late: What `late_reads` says of the nodes.
    """
    if not any(is_lowered(op) for op in ops):
        return Trimmed(ops, late)
    kept, cuts = _walk(ops, fetches, targets, fed, lambda op: late.get(op, op._inputs))
    if not cuts:
        return Trimmed(ops, late)
    out = Trimmed([], {})
    nodes: dict[Operation, Operation] = {}
    for op in kept:
        inputs = tuple([out.stand_ins.get(t, t) for t in late.get(op, op._inputs)])
        waits = [nodes.get(c, c) for c in op._control_inputs]
        cut = cuts.get(op)
        if cut is not None:
            smaller = nodes[op] = _smaller(op, cut, inputs, waits, op._graph)
            out.stand_ins.update(zip((op._outputs[i] for i in cut.outputs), smaller._outputs, strict=True))
            out.ops.append(smaller)
            continue
        if inputs != op._inputs:
            out.late[op] = inputs
        if waits != op._control_inputs:
            out.waits[op] = waits
        out.ops.append(op)
    return out


def is_lowered(op: Operation) -> bool:
    """Whether TensorFlow makes Switch and Merge of a node, and so prunes what is inside."""
    return (op.type in _BRANCHES or op.type in _LOOPS) and bool(op.attrs.get("_lower_using_switch_merge"))


def _walk(
    ops: Sequence[Operation],
    outputs: Iterable[Tensor],
    targets: Iterable[Operation],
    given: Any,
    inputs_of: Callable[[Operation], tuple[Tensor, ...]],
) -> tuple[list[Operation], dict[Operation, _Cut]]:
    """Returns the nodes that are needed once branches and loops are reduced, in order, and those that get smaller."""
    used = {t for t in outputs if t not in given}
    needed = {t._op for t in used}
    whole = set(targets)  # these run for their own sake, not for their results
    needed |= whole
    kept: list[Operation] = []
    cuts: dict[Operation, _Cut] = {}
    for op in reversed(ops):
        if op not in needed:
            continue
        kept.append(op)
        inputs = inputs_of(op)
        if is_lowered(op):
            taken = tuple([i for i, t in enumerate(op._outputs) if t in used])
            cut = None
            if taken and op not in whole:
                cut = _cut_loop(op, taken) if op.type in _LOOPS else _cut_branches(op, taken)
            if cut is not None:
                cuts[op] = cut
                inputs = tuple([inputs[i] for i in cut.inputs])
        for t in inputs:
            if t not in given:
                used.add(t)
                needed.add(t._op)
        needed.update(op._control_inputs)
    kept.reverse()
    return kept, cuts


def _cut_branches(op: Operation, taken: Places) -> _Cut | None:
    """Returns what a choice among functions needs for some of its outputs, None if it is all of it."""
    arguments: set[int] = set()
    same = len(taken) == len(op._outputs)
    for function in called_functions(op):
        needs, inside = _needs(function, taken)
        arguments.update(needs)
        same = same and not inside
    first = len(op._inputs) - len(arguments_of(op, called_functions(op)[0]))
    inputs = (*range(first), *sorted(first + i for i in arguments))
    return None if same else _Cut(inputs, taken)


def _cut_loop(op: Operation, taken: Places) -> _Cut | None:
    """Returns the variables that a loop needs for some of its outputs, None if it needs all and all that is inside."""
    test, work = called_functions(op)
    alive = {*taken, *_needs(test, (0,))[0]}
    while True:
        needs, inside = _needs(work, tuple(sorted(alive)))
        if alive.issuperset(needs):
            break
        alive.update(needs)
    if len(alive) == len(op._outputs) and not inside and not _needs(test, (0,))[1]:
        return None
    places = tuple(sorted(alive))
    return _Cut(places, places)


def _needs(function: Function, places: Places) -> tuple[Places, bool]:
    """Returns which inputs some outputs of a function need, and whether nodes inside it get smaller."""
    key = "needs", places, function.graph._structure
    found = function.facts.get(key)
    if found is None:
        # The answer to a function that calls itself: all of it.
        function.facts[key] = tuple(range(len(function.inputs))), False
        kept, cuts = _body(function, places)
        used = {function.outputs[i] for i in places}
        for op in kept:
            used.update(op._inputs if op not in cuts else [op._inputs[i] for i in cuts[op].inputs])
        found = tuple([i for i, t in enumerate(function.inputs) if t in used]), bool(cuts)
        function.facts[key] = found
    return found


def _body(function: Function, places: Places) -> tuple[list[Operation], dict[Operation, _Cut]]:
    outputs = [function.outputs[i] for i in places]
    return _walk(function.body, outputs, function.controls, set(function.inputs), lambda op: op._inputs)


def _smaller(
    op: Operation, cut: _Cut, inputs: tuple[Tensor, ...], waits: list[Operation], graph: Any
) -> Operation:
    """Returns a node in the place of another, with fewer results and functions that have no more."""
    first = len(op._inputs) - len(arguments_of(op, called_functions(op)[0]))
    arguments = tuple(i - first for i in cut.inputs if i >= first)
    attrs = dict(op.attrs)
    for key, value in op.attrs.items():
        if type(value) is FuncRef:
            outputs = (0,) if op.type in _LOOPS and key == "cond" else cut.outputs
            attrs[key] = _reference(op, value, arguments, outputs)
        elif key == "branches":
            attrs[key] = tuple(_reference(op, each, arguments, cut.outputs) for each in value)
    for key in ("T", "Tout", "output_shapes"):
        if attrs.get(key):
            attrs[key] = tuple(attrs[key][i] for i in cut.outputs)
    if "Tin" in attrs:
        attrs["Tin"] = tuple(attrs["Tin"][i] for i in arguments)
    if "_num_original_outputs" in attrs:
        attrs["_num_original_outputs"] = len(cut.outputs)
    mine = tuple(inputs[i] for i in cut.inputs)
    node = Operation(graph, op.kind, op._name, mine, attrs, waits, op._traceback)
    node._device = op._device
    taken = [op._outputs[i] for i in cut.outputs]
    node._add_outputs([t._dtype for t in taken], [t._dims for t in taken])
    for old, new in zip(taken, node._outputs, strict=True):
        new._handle_data = old._handle_data
    node._id = op._id
    return node


def _reference(op: Operation, reference: FuncRef, inputs: Places, outputs: Places) -> FuncRef:
    """Returns what refers to a function with fewer inputs and outputs, made the first time."""
    function = function_named(op._graph, reference.name)
    key = "trimmed", inputs, outputs, function.graph._structure
    name = function.facts.get(key)
    if name is None or name not in op._graph._derived_functions:
        made = _function(op, function, inputs, outputs)
        name = function.facts[key] = made.name
        op._graph._derived_functions[name] = made
    return FuncRef(name)


def _function(op: Operation, function: Function, inputs: Places, outputs: Places) -> Function:
    name = function_name(op, "part")
    kept, cuts = _body(function, outputs)
    if not cuts:
        return Function(
            name,
            function.graph,
            [function.inputs[i] for i in inputs],
            [function.outputs[i] for i in outputs],
            function.controls,
        )
    graph = FuncGraph(name, function.graph.outer_graph or function.graph)
    values: dict[Tensor, Tensor] = {}
    for i in inputs:
        t = function.inputs[i]
        values[t] = graph.placeholder(t._dtype, t._dims)
        values[t]._handle_data = t._handle_data
    arguments = [values[function.inputs[i]] for i in inputs]
    graph._captures = {outer: values[t] for outer, t in function.graph.captures if t in values}
    nodes: dict[Operation, Operation] = {}
    for node in kept:
        cut = cuts.get(node)
        waits = [nodes[c] for c in node._control_inputs if c in nodes]
        mine = tuple([values.get(t, t) for t in node._inputs])
        if cut is None:
            copy = Operation(graph, node.kind, node._name, mine, node.attrs, waits, node._traceback)
            copy.__dict__["copied_from"] = origin(node)
            copy._device = node._device
            copy._add_outputs([t._dtype for t in node._outputs], [t._dims for t in node._outputs])
            for old, new in zip(node._outputs, copy._outputs, strict=True):
                new._handle_data = old._handle_data
            pairs = zip(node._outputs, copy._outputs, strict=True)
        else:
            copy = _smaller(node, cut, mine, waits, graph)
            pairs = zip((node._outputs[i] for i in cut.outputs), copy._outputs, strict=True)
        values.update(pairs)
        nodes[node] = copy
        copy._id = len(graph._ops)
        graph._ops.append(copy)
        for t in copy._inputs:
            t._consumers.append(copy)
        for c in waits:
            c._control_outputs.append(copy)
    return Function(
        name,
        graph,
        arguments,
        [values[function.outputs[i]] for i in outputs],
        [nodes[c] for c in function.controls],
    )
