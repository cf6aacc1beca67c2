"""The gradient of If and Case: a choice between the gradients of the branches.

What a gradient needs of its branch's inside becomes a further output of the forward node. The other branches give a
FakeParam in its place, as TensorFlow does where XLA compiles the graph.
"""

from __future__ import annotations

from typing import Any

from headrace.autodiff import gradients_between
from headrace.autodiff.gradients import zeros_like_outside
from headrace.autodiff.paths import carries_gradient, is_trainable
from headrace.graph import Operation, Tensor, get_default_graph
from headrace.graph.func_graph import FuncGraph, Function
from headrace.opdef import convert_to_tensor, raw
from headrace.opdef.bodies import add_function, branches_node, common_shapes, function_name, identities
from headrace.opdef.functions import arguments_of, called_functions


class GradientBody(FuncGraph):
    """The body of a gradient function, which may use tensors of the body that it is the gradient of.

    Attributes:
      forward: The function that it is the gradient of.
      needed: Tensors of the forward body that are used here, each with the placeholder that stands for it.
    """

    def __init__(self, name: str, forward: Function, operation: Operation):
        super().__init__(name)
        self.forward = forward
        self.operation = operation
        self.needed: dict[Tensor, Tensor] = {}
        arguments = arguments_of(operation, forward)
        self._arguments = dict(zip(forward.inputs, arguments, strict=True))
        self._known = dict(zip(forward.outputs, operation.outputs, strict=True))

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor of this graph that stands for one of an outer graph or of the forward body."""
        if tensor._op._graph is not self.forward.graph or tensor._op._graph is self.outer_graph:
            return super().capture(tensor, name)
        outside = self._arguments.get(tensor)
        if outside is None:
            outside = self._known.get(tensor)
        if outside is not None:
            return super().capture(outside, name or tensor._op._name)
        found = self.needed.get(tensor)
        if found is None:
            op = tensor._op
            if op.type == "Const":
                with self.as_default():
                    found = raw.Const(value=op.attrs["value"], dtype=op.attrs["dtype"], name=op._name)
            else:
                found = self.add_input(tensor, name or op._name)
                self._captures[tensor] = found
            self.needed[tensor] = found
        return found

    def connect(self, outputs: dict[Tensor, Tensor]) -> None:
        """Says which output of the forward node each needed tensor comes out of."""
        self._captures = {
            self._in_outer(outputs[outer], outer._op._name) if outer in outputs else outer: inner
            for outer, inner in self._captures.items()
        }

    def missing(self) -> list[Tensor]:
        """Returns the needed tensors that the forward node does not give."""
        return [t for t in self.needed if t in self._captures]


def branch_gradient(operation: Operation, grads: Any) -> list[Any]:
    """Returns the gradients of the inputs of an If, Case or call node."""
    functions = called_functions(operation)
    arguments = arguments_of(operation, functions[0])
    targets = [i for i, t in enumerate(arguments) if carries_gradient(t)]
    dense = [None if g is None else convert_to_tensor(g) for g in grads]
    graph = get_default_graph()
    bodies = [_body(operation, f, function_name(graph, f.name, "grad"), dense, targets) for f in functions]
    extend_outputs(operation, functions, bodies)

    def make(stateful: bool, inputs: list[Tensor], branches: list[Any]) -> Operation:
        attrs: dict[str, Any] = {
            "Tout": [t.dtype.base_dtype for t in bodies[0].outputs],
            "_lower_using_switch_merge": True,
        }
        if operation.type == "Case":
            attrs.update(branches=branches, output_shapes=common_shapes(bodies))
            return raw.Case.node(operation.inputs[0], inputs, **attrs)  # type: ignore[no-any-return]
        if operation.type in ("If", "StatelessIf"):
            attrs.update(
                then_branch=branches[0], else_branch=branches[1], output_shapes=common_shapes(bodies)
            )
            kind = raw.If if stateful else raw.StatelessIf
            return kind.node(operation.inputs[0], inputs, **attrs)  # type: ignore[no-any-return]
        del attrs["_lower_using_switch_merge"]
        kind = raw.StatefulPartitionedCall if stateful else raw.PartitionedCall
        return kind.node(inputs, f=branches[0], **attrs)  # type: ignore[no-any-return]

    found: list[Any] = [None] * len(operation.inputs)
    if targets:
        node = branches_node(bodies, None, make)
        offset = len(operation.inputs) - len(arguments)
        for i, t in zip(targets, identities(node), strict=True):
            found[offset + i] = t
    return found


def _body(
    operation: Operation, function: Function, name: str, grads: list[Any], targets: list[int]
) -> GradientBody:
    body = GradientBody(name, function, operation)
    with body.as_default():
        pairs = [
            (y, g) for y, g in zip(function.outputs, grads, strict=True) if g is not None and is_trainable(y)
        ]
        xs = [function.inputs[i] for i in targets]
        found: list[Any] = [None] * len(xs)
        if pairs and xs:
            ys, given = zip(*pairs, strict=True)
            found = gradients_between(list(ys), xs, list(given), source=function.graph)
        for x, g in zip(xs, found, strict=True):
            g = zeros_like_outside(x) if g is None else convert_to_tensor(g)
            body.outputs.append(raw.Identity(body.capture(g)))
    return body


def extend_outputs(operation: Operation, functions: list[Function], bodies: list[GradientBody]) -> None:
    """Has a forward node give out what the gradients of its branches need."""
    new: list[Tensor] = []
    outputs: list[list[Tensor]] = [list(f.outputs) for f in functions]
    for i, body in enumerate(bodies):
        for t in body.missing():
            new.append(t)
            for k, f in enumerate(functions):
                if k == i or f.graph is functions[i].graph:
                    outputs[k].append(t)
                else:
                    with f.graph.as_default(), f.graph.name_scope(None), f.graph.control_dependencies(None):
                        outputs[k].append(raw.FakeParam(dtype=t.dtype.base_dtype, shape=t._dims))
    if not new:
        return
    graph = operation.graph
    references = {}
    for f, each in zip(functions, outputs, strict=True):
        references[f.name] = add_function(
            graph, f.graph, each, function_name(graph, f.name, "rewritten"), f.inputs
        )
    first = len(operation.outputs)
    operation._add_outputs([t.dtype.base_dtype for t in new], [t._dims for t in new])
    attrs = operation.attrs
    attrs["Tout"] = (*attrs["Tout"], *[t.dtype.base_dtype for t in new])
    if attrs.get("output_shapes"):
        attrs["output_shapes"] = (*attrs["output_shapes"], *[t._dims for t in new])
    for key, value in attrs.items():
        if getattr(value, "name", None) in references and not isinstance(value, str):
            attrs[key] = references[value.name]
        elif key == "branches":
            attrs[key] = tuple(references[each.name] for each in value)
    graph._version_changed()
    given = dict(zip(new, operation.outputs[first:], strict=True))
    for body in bodies:
        body.connect(given)
