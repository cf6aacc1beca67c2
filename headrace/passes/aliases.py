"""Reads of reference variables that branches and loops write to.

In TensorFlow what is read from a reference variable shares its memory, and Switch and constant Enter nodes hand that
memory on: in a branch or in a loop a node sees what was written before it, though the read stands outside. So it is
in bodies of functional branches and loops, which get both the reference and what was read from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headrace.graph import Operation, Tensor
from headrace.graph.func_graph import FuncGraph, Function
from headrace.passes.access import Late, access_of, source


def with_aliases(ops: Sequence[Operation], fed: set[Tensor], late: Late) -> Late:
    """Returns `late` with the references themselves where branches and loops that write them take what is read.

    Args:
      ops: The nodes of a step.
      fed: Tensors that are given.
      late: What `late_reads` says of the nodes.

    Returns:
      The same with the references at the outermost Switch or Enter; those further in hand on what they get.
    """
    written: set[Tensor] = set()
    for op in ops:
        access = access_of(op, late.get(op))
        for t in access.writes if access is not None else ():
            if t._dtype.is_ref and _is_inside(t):
                written.add(source(t))
    if not written:
        return late
    out = dict(late)
    for op in ops:
        if op.type == "Switch" or (op.type == "Enter" and op.attrs["is_constant"]):
            inputs = late.get(op, op._inputs)
            reference = _reference(inputs[0], fed)
            if reference is not None and source(reference) in written:
                out[op] = (reference, *inputs[1:])
    return out


def shared_inputs(function: Function) -> Mapping[Tensor, Tensor]:
    """Returns the inputs of a body that were read from references which it gets, too: input -> the reference."""
    found: dict[Tensor, Tensor] | None = function.facts.get("shared")
    if found is None:
        given = set(function.inputs)
        captures = [(outer, inner) for outer, inner in function.graph.captures if inner in given]
        references = {_origin(outer): inner for outer, inner in captures if inner._dtype.is_ref}
        found = function.facts["shared"] = {}
        for outer, inner in captures if references else ():
            read = _outermost(outer)
            if not inner._dtype.is_ref and read._op.type == "Identity" and read._op._inputs[0]._dtype.is_ref:
                reference = references.get(_origin(read._op._inputs[0]))
                if reference is not None:
                    found[inner] = reference
    return found


def sharing(late: Late, ops: Iterable[Operation], shared: Mapping[Tensor, Tensor]) -> Late:
    """Returns `late` with the references themselves where a body's nodes take what was read from them.

    Args:
      late: Node -> its inputs, where they are others than the node says.
      ops: The nodes of the body.
      shared: What `shared_inputs` says of it.
    """
    if not shared:
        return late
    out = dict(late)
    for op in ops:
        inputs = late.get(op, op._inputs)
        if not shared.keys().isdisjoint(inputs):
            out[op] = tuple([shared.get(t, t) for t in inputs])
    return out


def _origin(reference: Tensor) -> Tensor:
    """Returns the variable that a reference is one of, as it is outside all bodies."""
    while True:
        outer = _outermost(source(reference))
        if outer is reference:
            return reference
        reference = outer


def _outermost(t: Tensor) -> Tensor:
    """Returns the tensor that came into a body, and into those around it."""
    while isinstance(graph := t._op._graph, FuncGraph):
        outer = next((o for o, i in graph.captures if i is t), None)
        if outer is None:
            break
        t = outer
    return t


def _is_inside(t: Tensor) -> bool:
    """Whether a reference came into a branch or a loop."""
    while t._op._inputs and t._op._inputs[0]._dtype.is_ref:
        if t._op.type in ("RefSwitch", "RefEnter"):
            return True
        t = t._op._inputs[0]
    return False


def _reference(t: Tensor, fed: set[Tensor]) -> Tensor | None:
    """Returns the reference that a tensor was read from, None if it was not read from one."""
    while t not in fed and t._op.type == "Identity":
        t = t._op._inputs[0]
        if t._dtype.is_ref:
            return t
    return None
