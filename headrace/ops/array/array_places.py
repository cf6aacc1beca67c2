"""Which elements of a `tf.TensorArray` a compiled step writes and reads, where that is known only when it runs.

The interpreter notes each place; a compiled step can't. What the graph says is the same in every step, and was seen to
be right in the first one, which is interpreted: places that are constants, and those that a loop counts up or down. An
array that is written elsewhere, too, carries flags of what was written beside its elements.
"""

from __future__ import annotations

from typing import Any

from headrace.graph import Operation, Tensor
from headrace.lazy import jnp
from headrace.opdef import constant_value
from headrace.opdef.functions import called_functions
from headrace.ops.array.tensor_list_shapes import ARRAY

_WRITES = {"TensorListSetItem": 1, "TensorListScatterIntoExistingList": 2}  # op -> which input says the place
_SUMS = ("Add", "AddV2", "Sub")
_MOST_PAIRS = 64  # reads of one array that are compared with each other


def needs_flags(op: Operation) -> bool:
    """Whether an array that a node makes is written at places that the graph does not tell."""
    if ARRAY not in op.__dict__:
        return False
    todo, seen = [op._outputs[0]], set()
    while todo:
        tensor = todo.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        for user in tensor._consumers:
            if user.type in _WRITES and ARRAY in user.__dict__:
                if not _is_told(user, user._inputs[_WRITES[user.type]]):
                    return True
                todo.append(user._outputs[0])
            elif user.type in ("While", "If", "StatelessIf", "Case"):
                functions = called_functions(user)[-1:] if user.type == "While" else called_functions(user)
                first = len(user._inputs) - len(functions[0].inputs)
                for i, t in enumerate(user._inputs[first:]):
                    if t is tensor:
                        todo += [f.inputs[i] for f in functions]
                todo += user._outputs
            elif user.type == "Identity":
                todo += user._outputs
    return False


def _is_told(op: Operation, index: Tensor) -> bool:
    """Whether a node's place follows from the graph: a constant outside of loops, or what its loop counts."""
    graph: Any = op._graph
    while graph.building_function and not graph.repeats:  # a branch, which runs once at most
        outer = next((o for o, inner in graph._captures.items() if inner is index), None)
        if outer is None:
            break
        index, graph = outer, outer._op._graph
    if constant_value(index) is not None:
        return not is_repeated(op)
    return bool(graph.building_function and graph.repeats and _is_counted(index, graph))


def is_repeated(op: Operation) -> bool:
    """Whether a node is in a loop."""
    graph: Any = op._graph
    while graph is not None and graph.building_function:
        if graph.repeats:
            return True
        graph = graph.outer_graph
    return False


def _is_counted(index: Tensor, body: Any) -> bool:
    """Whether a tensor of a loop's body is its counter, or that and what stays the same."""
    op = index._op
    if op.type == "Identity":
        return _is_counted(op._inputs[0], body)
    if op.type in _SUMS:
        a, b = op._inputs
        return (_is_counted(a, body) and _stays(b, body)) or (_is_counted(b, body) and _stays(a, body))
    for before, after in zip(body.inputs, body.outputs, strict=False):
        if before is index:
            step = after._op
            while step.type == "Identity":
                step = step._inputs[0]._op
            if step.type not in _SUMS:
                return False
            by = [t for t in step._inputs if t is not index]
            known = constant_value(by[0]) if len(by) == 1 else None
            return (
                known is not None and bool(known.any()) and (step.type != "Sub" or step._inputs[0] is index)
            )
    return False


def _stays(tensor: Tensor, body: Any) -> bool:
    if constant_value(tensor) is not None:
        return True
    if any(tensor is inner for inner in body._captures.values()):
        return True
    op = tensor._op
    if op.type in (*_SUMS, "Mul", "Identity"):
        return all(_stays(t, body) for t in op._inputs)
    pairs = zip(body.inputs, body.outputs, strict=False)
    return any(tensor is before and before is after for before, after in pairs)


def check_written(ctx: Any, given: Any, places: Any) -> Any:
    """Has a compiled step refuse to write elements twice; returns the flags with these, None where there are none."""
    flags = given.written
    if flags is None:
        return None
    if places.size > 1:
        _check_apart(ctx, places)
    ctx.check(~flags.at[places].get(mode="fill", fill_value=False), "an element is written again")
    return flags.at[places].set(True)


def _check_apart(ctx: Any, places: Any) -> None:
    ordered = jnp.sort(places)
    ctx.check(ordered[1:] != ordered[:-1], "the same element twice")


def check_read(ctx: Any, given: Any, places: Any) -> None:
    """Has a compiled step refuse to read elements twice that are cleared when they are read.

    Raises:
      NotImplementedError: A loop reads the same element in each iteration, unless there is but one.
    """
    facts = ctx.mark(ARRAY)
    if facts is None or not facts.clears:
        return
    op = ctx.source
    known = constant_value(op._inputs[1]) is not None
    if is_repeated(op) and (known or _comes_from_outside(op)):
        raise NotImplementedError("the same element in each iteration")
    places = places.reshape(-1)
    if not known and places.size > 1:
        _check_apart(ctx, places)
    if op._graph.building_function:
        return  # a body may be traced several times with the same list
    for others, is_known in given.reads[-_MOST_PAIRS:]:
        if not (known and is_known):
            ctx.check(places[:, None] != others[None, :], "an element is read again")
    given.reads.append((places, known))


def _comes_from_outside(op: Operation) -> bool:
    """Whether a node in a loop's body takes its place from outside of it."""
    index = op._inputs[1]
    body: Any = op._graph
    return bool(body.building_function and body.repeats) and _stays(index, body)
