"""Bodies of functions put into graphs: copies of their nodes, and the shapes that a call's results have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.graph import Graph, Operation, Tensor
from headrace.graph.func_graph import Function
from headrace.opdef.registry import raw
from headrace.shapes import Shape

_MOST_NODES = 2000  # a longer body's shapes are not worked out anew for each call


def copy_body(function: Function, graph: Graph, arguments: Sequence[Tensor]) -> list[Tensor]:
    """Adds the nodes of a function's body to a graph and returns what the function's outputs are there.

    Args:
      function: The function.
      graph: The graph; its function library has what the body calls.
      arguments: Tensors of the graph, one for each input.
    """
    where = dict(zip(function.inputs, arguments, strict=True))
    copies: dict[Operation, Operation] = {}
    for op in function.body:
        inputs = tuple([where[t] for t in op._inputs])
        attrs = {k: v for k, v in op.attrs.items() if k != "_class"}
        types = [t._dtype for t in op._outputs]
        new = graph.add(op.kind, op._name, inputs, attrs, types, op._traceback)
        new._add_control_inputs([copies[c] for c in op._control_inputs if c in copies])
        copies[op] = new
        for before, after in zip(op._outputs, new._outputs, strict=True):
            where[before] = after
            if after._handle_data is None:
                after._handle_data = before._handle_data
    return [where[t] for t in function.outputs]


def result_shapes(function: Function, dims: Sequence[Shape]) -> list[Shape]:
    """Returns the shapes of a call's results, as far as they follow from those of its arguments."""
    plain = [t._dims for t in function.outputs]
    if all(not _says_more(new, t._dims) for new, t in zip(dims, function.inputs, strict=True)):
        return plain
    known = function.facts.setdefault("shapes", {})
    key = tuple(dims)
    if key not in known:
        known[key] = plain  # what a call of itself inside may go by
        known[key] = _inferred(function, dims, plain)
    return known[key]  # type: ignore[no-any-return]


def _says_more(new: Shape, old: Shape) -> bool:
    if new is None:
        return False
    return old is None or any(b is None and a is not None for a, b in zip(new, old, strict=False))


def _inferred(function: Function, dims: Sequence[Shape], plain: list[Shape]) -> list[Shape]:
    if len(function.body) > _MOST_NODES:
        return plain
    scratch = Graph()
    scratch._functions = function.graph._functions
    scratch._seed = 0
    try:
        with scratch.as_default():
            arguments = []
            for t, shape in zip(function.inputs, dims, strict=True):
                each = raw.Placeholder(dtype=t._dtype.base_dtype, shape=shape)
                each._dtype = t._dtype
                each._handle_data = t._handle_data
                arguments.append(each)
            found = copy_body(function, scratch, arguments)
    except ValueError:
        # The arguments don't fit the body; that the step says, with the node's name.
        return plain
    return [old if t._dims is None else t._dims for t, old in zip(found, plain, strict=True)]


def pass_handles_on(function: Function, operation: Any) -> None:
    """Lets the outputs of a call know what the resources and lists hold that they lead to."""
    for t, inner in zip(operation._outputs, function.outputs, strict=False):
        t._handle_data = inner._handle_data
