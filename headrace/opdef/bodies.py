"""Bodies of branches and loops: Python functions become FuncGraphs, and FuncGraphs functions of a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.export import NAMES
from headrace.graph import Graph, Operation, Tensor, get_default_graph, numbering
from headrace.graph.automatic_control import AutomaticControl
from headrace.graph.func_graph import FuncGraph, Function, next_function_number
from headrace.graph.structure import flatten, is_composite, pack_like
from headrace.opdef.attrs import FuncRef
from headrace.opdef.convert import convert_to_tensor
from headrace.opdef.registry import raw
from headrace.shapes import Shape


def body_of(
    name: str,
    function: Callable[..., Any],
    arguments: Callable[[FuncGraph], Any] | None = None,
    pred: Any = None,
    known: set[Any] | None = None,
    choice: tuple[Tensor, bool] | None = None,
    beside: FuncGraph | None = None,
) -> FuncGraph:
    """Returns the FuncGraph of what a Python function builds; its results are the outputs.

    Args:
      name: The function's name.
      function: The Python function. Operations that it returns become booleans that wait for them.
      arguments: Given the new graph, makes the arguments that `function` is called with.
      pred: What the booleans that stand for operations hold, True if None.
      known: Has the nodes counted as TensorFlow 1 numbers them: see `graph.numbering.body`. None for a function with
        numbers of its own.
      choice: See `FuncGraph`.
      beside: The body before, with which TensorFlow 1 has it share a scope: names taken there are taken here.
    """
    outer = get_default_graph()
    body = FuncGraph(name, outer)
    body.choice = choice
    if beside is not None:
        body._names = beside._names
    body._collections = outer._collections  # what the program collects is of no branch

    def leaf(value: Any) -> Any:
        if isinstance(value, Operation):
            one = contextlib.nullcontext() if known is None else numbering.counted_as(body, 1)
            with one, body.control_dependencies([value]):
                value = raw.Identity(True if pred is None else pred)
        if value is None:
            return value
        if is_composite(value):
            return pack_like(value, [outlet(convert_to_tensor(t)) for t in flatten(value, True)], True)
        return outlet(convert_to_tensor(value))

    def outlet(t: Tensor) -> Tensor:
        # What is returned through an Identity is captured by that node.
        return returned(t) if automatic is not None else body.capture(t)

    automatic = AutomaticControl(body) if body._automatic_control else None
    counted = contextlib.nullcontext() if known is None else numbering.body(body, outer, known)
    variables = _resource_variables() if known is None else contextlib.nullcontext()
    with counted, body.as_default(), variables:
        result = function(*(() if arguments is None else arguments(body)))
        structure = pack_like(result, [leaf(v) for v in flatten(result)])
        body.structured_outputs = structure
        body.returned = result
        body.outputs = [t for t in flatten(structure, composites=True) if t is not None]
        if automatic is not None:
            finish_in_order(body, automatic)
    return body


@contextlib.contextmanager
def _resource_variables() -> Iterator[None]:
    """Has the variables that a function makes be resource variables, whatever the scope around it says."""
    scope = NAMES["get_variable_scope"]()
    old = scope.use_resource
    scope.set_use_resource(True)
    try:
        yield
    finally:
        scope.set_use_resource(old)


def returned(tensor: Tensor) -> Tensor:
    """Returns the Identity by which a tensor leaves a function whose nodes are ordered automatically."""
    return identities_of([tensor])[0]


def finish_in_order(body: FuncGraph, automatic: AutomaticControl) -> None:
    """Orders the nodes of a body that touch state; what it returns, through `returned`, waits for them."""
    automatic.finish(body.outputs)
    body.control_outputs = automatic.must_run


def same_inputs(bodies: Sequence[FuncGraph]) -> list[Tensor]:
    """Gives bodies the same inputs: whatever one of them captures. Returns the captured tensors."""
    outer = list(dict.fromkeys(t for body in bodies for t in body.external_captures))
    for body in bodies:
        known = dict(body.captures)
        inputs = []
        for t in outer:
            inner = known.get(t)
            if inner is None:
                inner = body.placeholder(t._dtype, t._dims)
                inner._handle_data = t._handle_data
            inputs.append(inner)
        body.inputs = inputs
        body._captures = dict(zip(outer, inputs, strict=True))
    return outer


def common_shapes(bodies: Sequence[FuncGraph]) -> list[Shape]:
    """Returns the shape of each output as far as all bodies agree on it."""
    out = []
    for outputs in zip(*[body.outputs for body in bodies], strict=True):
        dims = outputs[0]._dims
        for t in outputs[1:]:
            dims = agreed(dims, t._dims)
        out.append(dims)
    return out


def agreed(a: Shape, b: Shape) -> Shape:
    """Returns what two shapes have in common."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def add_function(
    graph: Graph,
    body: FuncGraph,
    outputs: Sequence[Tensor] | None = None,
    name: str = "",
    inputs: Sequence[Tensor] | None = None,
) -> FuncRef:
    """Adds a body to a graph's functions; returns what refers to it in attrs."""
    name = name or body.name
    graph._functions[name] = Function(
        name,
        body,
        body.inputs if inputs is None else inputs,
        body.outputs if outputs is None else outputs,
        body.control_outputs,
    )
    graph._version_changed()
    return FuncRef(name)


def function_name(graph: Graph, scope: str, ending: str) -> str:
    """Returns a name for a new function: that of the scope, with `_` for `/`, the ending and a number."""
    base = f"{scope.strip('/').replace('/', '_')}_{ending}"
    while True:
        name = f"{base}_{next_function_number(graph)}"
        if name not in graph._functions:
            return name


def branches_node(
    bodies: Sequence[FuncGraph], name: str | None, make: Callable[[bool, list[Tensor], list[FuncRef]], Any]
) -> Operation:
    """Adds the node that chooses between bodies.

    Args:
      bodies: The branches.
      name: The scope that the node is named after.
      make: Called with whether a branch is stateful, the inputs, and references to the branches; adds the node.
    """
    graph = get_default_graph()
    inputs = same_inputs(bodies)
    references = [add_function(graph, body) for body in bodies]
    stateful = any(graph._functions[body.name].is_stateful for body in bodies)
    waits = list(dict.fromkeys(c for body in bodies for c in body.control_captures))
    with graph.control_dependencies(waits):
        node: Operation = make(stateful, inputs, references)
    for t, inner in zip(node.outputs, bodies[0].outputs, strict=False):
        t._handle_data = inner._handle_data
    return node


def outputs_with(
    functions: Sequence[Function], more: Sequence[Sequence[Tensor]]
) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Returns what branches give out further, and all outputs of each: a FakeParam where another has a tensor.

    Args:
      functions: The branches.
      more: For each branch the tensors of its body that become outputs.
    """
    new: list[Tensor] = []
    outputs: list[list[Tensor]] = [list(f.outputs) for f in functions]
    for i, tensors in enumerate(more):
        for t in tensors:
            new.append(t)
            for k, f in enumerate(functions):
                if k == i or f.graph is functions[i].graph:
                    outputs[k].append(t)
                else:
                    with f.graph.as_default(), f.graph.name_scope(None), f.graph.control_dependencies(None):
                        outputs[k].append(raw.FakeParam(dtype=t.dtype.base_dtype, shape=t._dims))
    return new, outputs


def give_out(
    node: Operation,
    functions: Sequence[Function],
    new: Sequence[Tensor],
    outputs: Sequence[Sequence[Tensor]],
    shapes: Sequence[Shape] | None = None,
) -> int:
    """Gives a node that calls functions further outputs; returns which the first of them is.

    Args:
      node: The node.
      functions: The functions that it calls.
      new: For each further output a tensor like it.
      outputs: For each function what it returns from now on.
      shapes: What is said of the outputs that the node has already, if something else than now.
    """
    graph = node.graph
    references = {}
    for f, each in zip(functions, outputs, strict=True):
        references[f.name] = add_function(
            graph, f.graph, each, function_name(graph, f.name, "rewritten"), f.inputs
        )
    first = len(node.outputs)
    node._add_outputs([t.dtype.base_dtype for t in new], [t._dims for t in new])
    attrs = node.attrs
    attrs["Tout"] = (*attrs["Tout"], *[t.dtype.base_dtype for t in new])
    if attrs.get("output_shapes"):
        old = attrs["output_shapes"] if shapes is None else shapes
        attrs["output_shapes"] = (*old, *[t._dims for t in new])
    for key, value in attrs.items():
        if getattr(value, "name", None) in references and not isinstance(value, str):
            attrs[key] = references[value.name]
        elif key == "branches":
            attrs[key] = tuple(references[each.name] for each in value)
    graph._version_changed()
    for t, source in zip(node.outputs[first:], new, strict=True):
        t._handle_data = source._handle_data
    return first


def identities(node: Operation, outputs: Sequence[Tensor] | None = None) -> list[Tensor]:
    """Returns a tensor of its own for each output of a node."""
    return identities_of(node.outputs if outputs is None else outputs)


def identities_of(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns a tensor of its own for each tensor."""
    out = []
    for t in tensors:
        same = raw.Identity(t, name="Identity")
        same._handle_data = t._handle_data
        out.append(same)
    return out


def loop_node(
    bodies: Sequence[FuncGraph],
    start: Sequence[Tensor],
    dims: Sequence[Shape],
    parallel_iterations: int,
    scope: Any,
) -> Operation:
    """Adds the While node; what its functions capture becomes loop variables that stay as they are.

    Args:
      bodies: The condition and the body, each with a placeholder for each of `start` as its first inputs.
      start: What the loop variables start with; the first two are scalars, the counter and its limit.
      dims: The shapes of the others.
      parallel_iterations: An attr.
      scope: The node's name.
    """
    graph = get_default_graph()
    captured = list(dict.fromkeys(t for body in bodies for t in body.external_captures))
    for body in bodies:
        known = dict(body.captures)
        for t in captured:
            if t not in known:
                inner = body.placeholder(t._dtype, t._dims, t._op._name)
                inner._handle_data = t._handle_data
                known[t] = inner
        body.inputs = [*body.inputs[: len(start)], *[known[t] for t in captured]]
        body._captures = {t: known[t] for t in captured}
    work = bodies[1]
    work.outputs = [*work.outputs, *work.inputs[len(start) :]]
    references = [add_function(graph, body) for body in bodies]
    waits = list(dict.fromkeys(c for body in bodies for c in body.control_captures))
    output_shapes = [(), (), *dims, *[t._dims for t in captured]]
    with graph.control_dependencies(waits):
        node: Operation = raw.While.node(
            [*start, *captured],
            cond=references[0],
            body=references[1],
            output_shapes=output_shapes,
            parallel_iterations=parallel_iterations,
            _lower_using_switch_merge=True,
            _num_original_outputs=len(output_shapes),
            name=scope,
        )
    for t, source in zip(node.outputs, node.inputs, strict=True):
        t._handle_data = source._handle_data
    return node


def more_variables(
    operation: Operation,
    functions: Sequence[Function],
    start: Sequence[Tensor],
    inputs: Sequence[Sequence[Tensor]],
    outputs: Sequence[Tensor],
) -> list[Tensor]:
    """Gives a While node further loop variables; returns what they are at its end.

    Args:
      operation: The node.
      functions: Its condition and its body.
      start: What they start with.
      inputs: The placeholders that stand for them in the condition, and those in the body.
      outputs: What they are after one iteration.
    """
    graph, attrs = operation.graph, operation.attrs
    # The node's functions change with its inputs; the old ones stay for other nodes that may call them.
    for key, f, more, results in zip(("cond", "body"), functions, inputs, ((), outputs), strict=True):
        name = function_name(graph, f.name, "rewritten")
        attrs[key] = add_function(graph, f.graph, [*f.outputs, *results], name, [*f.inputs, *more])
    types, shapes = [t._dtype.base_dtype for t in start], [t._dims for t in start]
    attrs["T"] = (*attrs["T"], *types)
    if attrs["output_shapes"]:
        attrs["output_shapes"] = (*attrs["output_shapes"], *shapes)
    if "_num_original_outputs" in attrs:
        attrs["_num_original_outputs"] += len(start)
    operation._inputs = (*operation._inputs, *start)
    for t in start:
        t._consumers.append(operation)
    first = len(operation.outputs)
    operation._add_outputs(types, shapes)
    graph._version_changed()
    ends = operation.outputs[first:]
    for t, end in zip(start, ends, strict=True):
        end._handle_data = t._handle_data
    return ends
