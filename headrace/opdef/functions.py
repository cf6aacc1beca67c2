"""Which functions a node calls: branches, bodies and conditions of loops, by the names in its attrs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.func_graph import Function, function_named
from headrace.opdef.attrs import FuncRef

# Ops that call a function which no attr of theirs names, and what says which one.
CALLEES: dict[str, Callable[[Any], list[Function]]] = {}


def called_functions(op: Any) -> list[Function]:
    """Returns the functions that a node's attrs name, in the order in which the op declares them."""
    special = CALLEES.get(op.type) or getattr(op.kind, "callees", None)
    if special is not None:
        return special(op)
    found: list[Function] = []
    # A node from a file has its attrs in any order.
    for name in op.kind.signature.attrs:
        value = op.attrs.get(name)
        if type(value) is FuncRef:
            found.append(function_named(op._graph, value.name))
        elif type(value) is tuple and value and type(value[0]) is FuncRef:
            found.extend(function_named(op._graph, each.name) for each in value)
    return found


def arguments_of(op: Any, function: Function) -> tuple[Any, ...]:
    """Returns the inputs of a node that become a function's arguments: all, or all but what picks the branch."""
    n = len(function.inputs)
    return op._inputs[len(op._inputs) - n :] if n else ()
