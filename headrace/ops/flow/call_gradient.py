"""The gradient of a call of tf.function: a call of a backward function.

What the backward function needs of the forward body becomes further outputs of the call, which from then on calls
another function with the same body: TensorFlow rewrites calls in the same way.
"""

from __future__ import annotations

import re
from typing import Any

from headrace import dtypes
from headrace.autodiff import gradients_between
from headrace.autodiff.paths import is_trainable
from headrace.graph import Operation, Tensor, get_default_graph
from headrace.graph.automatic_control import AutomaticControl
from headrace.graph.func_graph import FuncGraph, Function, function_named, next_function_number
from headrace.graph.structure import flatten, pack_like
from headrace.opdef import convert_to_tensor_or_indexed_slices, raw
from headrace.opdef.attrs import FuncRef
from headrace.opdef.bodies import finish_in_order, returned
from headrace.opdef.inlining import pass_handles_on

# The ConfigProto that TensorFlow runs functions with: one CPU, soft placement; and that of calls without results.
CONFIG = b"\n\x07\n\x03CPU\x10\x01\n\x07\n\x03GPU\x10\x002\x02J\x008\x01"
CONFIG_WITHOUT_RESULTS = b"R\x05R\x03\x98\x01\x01"


class BackwardBody(FuncGraph):
    """The body of a backward function, which may use tensors of the forward body.

    Attributes:
      forward: The forward function.
      needed: Tensors of the forward body that are used here, each with the placeholder that stands for it.
    """

    def __init__(self, name: str, forward: Function):
        super().__init__(name)
        self._automatic_control = True
        self.forward = forward
        self.needed: dict[Tensor, Tensor] = {}

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor of this graph that stands for one of an outer graph or of the forward body."""
        if tensor._op._graph is not self.forward.graph:
            return super().capture(tensor, name)
        found = self.needed.get(tensor)
        if found is None:
            found = self.needed[tensor] = self.add_input(tensor, name or tensor._op._name)
        return found


def base_name(name: str) -> str:
    """Returns what a function is called without what TensorFlow puts around it: __inference_f_12 -> f."""
    match = re.fullmatch(r"__(?:inference|forward)_(.*)_\d+", name)
    return match[1] if match else name


def new_name(graph: Any, role: str, base: str) -> str:
    """Returns a name for a new function: `__inference_f_12`."""
    while True:
        name = f"__{role}_{base}_{next_function_number(graph)}"
        if name not in graph._functions:
            return name


def add_call(graph: Any, function: Function, arguments: Any, **marks: Any) -> Operation:
    """Adds the node that calls a function, as TensorFlow's tf.function does."""
    stateful = is_stateful(function)
    kind = raw.StatefulPartitionedCall if stateful else raw.PartitionedCall
    if not function.outputs:
        marks.setdefault("name", "PartitionedFunctionCall")
    config = CONFIG if function.outputs else CONFIG_WITHOUT_RESULTS
    function.add_to_graph(graph)
    waits = list(function.graph.control_captures)
    with graph.control_dependencies(waits):
        node: Operation = kind.node(
            list(arguments),
            Tout=[t._dtype.base_dtype for t in function.outputs],
            f=FuncRef(function.name),
            config_proto=config,
            _gradient_op_type=f"PartitionedCall-{next_function_number(graph)}",
            **marks,
        )
    pass_handles_on(function, node)
    return node


def is_stateful(function: Function) -> bool:
    """Whether TensorFlow would call a function with an op that may have effects."""
    known = function.facts.get("stateful")
    if known is None:
        known = function.facts["stateful"] = any(op.kind.is_stateful for op in function.graph._ops)
    return known  # type: ignore[no-any-return]


def call_gradient(operation: Operation, grads: Any) -> list[Any]:
    """Returns the gradients of the inputs of a call."""
    graph = get_default_graph()
    function = function_named(operation._graph, operation.attrs["f"].name)
    pair = _forward_and_backward(function, graph)
    forward, backward, structure = pair
    if forward.name != operation.attrs["f"].name:
        _rewrite(operation, forward)
    given = [g for g, t in zip(grads, function.outputs, strict=False) if is_trainable(t)]
    kept = dict(zip(forward.outputs, operation._outputs, strict=False))
    body: BackwardBody = backward.graph  # type: ignore[assignment]
    stands_for = {inner: kept[t] for t, inner in body.needed.items()}
    stands_for.update({inner: outer for outer, inner in body.captures})
    rest = [stands_for[t] for t in backward.inputs[len(given) :]]
    node = add_call(graph, backward, [*given, *rest])
    flat = iter(node._outputs)
    out: list[Any] = []
    for each in structure:
        parts = [next(flat) for _ in flatten([each], composites=True)] if each is not None else []
        out.append(pack_like([each], parts, composites=True)[0] if each is not None else None)
    return out


def _forward_and_backward(function: Function, graph: Any) -> tuple[Function, Function, list[Any]]:
    """Returns the functions that a call of `function` becomes and is followed by, and the gradients' structure."""
    family = function.facts.setdefault("gradients", {})
    key = (len(function.outputs), graph.root if isinstance(graph, FuncGraph) else graph)
    if key not in family:
        family[key] = _make(function, graph)
    for each in family[key][:2]:
        each.add_to_graph(graph)
    return family[key]  # type: ignore[no-any-return]


def _make(function: Function, graph: Any) -> tuple[Function, Function, list[Any]]:
    base = base_name(function.name)
    body = BackwardBody(f"__backward_{base}_{next_function_number(graph)}", function)
    automatic = AutomaticControl(body)
    with body.as_default():
        ys = [t for t in function.outputs if is_trainable(t)]
        dys = []
        for y in ys:
            dy = body.placeholder(*_type_of_gradient(y))
            body.inputs.append(dy)
            dys.append(dy)
        found = gradients_between(ys, list(function.inputs), dys, source=function.graph) if ys else None
        structure = [None] * len(function.inputs) if found is None else found
        structure = [None if g is None else convert_to_tensor_or_indexed_slices(g) for g in structure]
        known = [g for g in structure if g is not None]
        body.outputs = [returned(t) for t in flatten(known, composites=True)]
        body.structured_outputs = structure
        finish_in_order(body, automatic)
    outputs = [*function.outputs, *[t for t in body.needed if t not in set(function.outputs)]]
    forward = Function(
        new_name(graph, "forward", base), function.graph, function.inputs, outputs, function.controls
    )
    backward = Function(
        new_name(graph, "inference", body.name), body, body.inputs, body.outputs, body.control_outputs
    )
    family = forward.facts["gradients"] = function.facts["gradients"]
    inherited = family.setdefault("attrs", dict(function.attrs))
    forward.attrs.update(inherited, backward_function_name=backward.name)
    backward.attrs.update({"forward_function_name": forward.name, **inherited})
    return forward, backward, structure


def _type_of_gradient(y: Tensor) -> tuple[Any, Any]:
    if y._dtype is not dtypes.resource:
        return y._dtype.base_dtype, y._dims
    handle = y._handle_data
    return handle[0] if handle else (dtypes.float32, None)


def _rewrite(operation: Operation, forward: Function) -> None:
    """Has a call call the forward function, which returns more."""
    graph = operation._graph
    forward.add_to_graph(graph)
    keep_definitions(graph)
    new = forward.outputs[len(operation._outputs) :]
    operation.attrs["f"] = FuncRef(forward.name)
    operation.attrs["Tout"] = tuple(t._dtype.base_dtype for t in forward.outputs)
    operation._add_outputs([t._dtype.base_dtype for t in new], [t._dims for t in new])
    pass_handles_on(forward, operation)
    graph._version_changed()


def keep_definitions(graph: Any) -> None:
    """Has the functions whose body a graph is keep their FunctionDefs, before a node of the body is rewritten."""
    if not isinstance(graph, FuncGraph):
        return
    for each in graph._functions.values():
        if isinstance(each, Function) and each.graph is graph:
            each.freeze()
            for fact in [key for key in each.facts if key != "gradients"]:
                del each.facts[fact]
