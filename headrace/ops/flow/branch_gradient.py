"""The gradient of If and Case: a choice between the gradients of the branches.

What a gradient needs of its branch's inside becomes a further output of the forward node. After
`tf.enable_control_flow_v2()`, and in functions, it comes in an Optional, as in TensorFlow; branches that need less than
others give an empty one. Elsewhere, where nodes are not TensorFlow's in any case, it comes as it is: other branches
give a FakeParam in its place, as TensorFlow does where XLA compiles the graph.
"""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.autodiff import gradients_between
from headrace.autodiff.gradients import zeros_like_outside
from headrace.autodiff.paths import carries_gradient, is_trainable
from headrace.graph import IndexedSlices, Operation, Tensor, get_default_graph
from headrace.graph.automatic_control import AutomaticControl
from headrace.graph.func_graph import FuncGraph, Function
from headrace.opdef import convert_to_tensor, nodes, raw
from headrace.opdef.bodies import (
    add_function,
    branches_node,
    common_shapes,
    finish_in_order,
    function_name,
    identities,
)
from headrace.opdef.functions import arguments_of, called_functions
from headrace.ops.flow.toggles import is_functional


class GradientBody(FuncGraph):
    """The body of a gradient function, which may use tensors of the body that it is the gradient of.

    Attributes:
      forward: The function that it is the gradient of.
      needed: Tensors of the forward body that are used here, each with the tensor that stands for it.
      left: What the forward node has to give out beside its outputs, tensors of the forward body.
      wraps: Whether it comes in Optionals.
    """

    is_of_gradient = True

    def __init__(self, name: str, forward: Function, operation: Operation, wraps: bool):
        super().__init__(name)
        self.forward = forward
        self.wraps = wraps
        self.left: list[Tensor] = []
        self.operation = operation
        self.needed: dict[Tensor, Tensor] = {}
        arguments = arguments_of(operation, forward)
        self._arguments = dict(zip(forward.inputs, arguments, strict=True))
        self._given_out = dict(zip(forward.outputs, operation.outputs, strict=True))

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor of this graph that stands for one of an outer graph or of the forward body."""
        if tensor._op._graph is not self.forward.graph or tensor._op._graph is self.outer_graph:
            return super().capture(tensor, name)
        places = [self._arguments, self._given_out]
        first, second = places[::-1] if self.wraps else places
        outside = first.get(tensor)
        if outside is None:
            outside = second.get(tensor)
        if outside is not None:
            return super().capture(outside, name or tensor._op._name)
        found = self.needed.get(tensor)
        if found is None:
            op = tensor._op
            if self.wraps:
                found = self._unwrapped(tensor, name or op._name)
            elif op.type == "Const":
                with self.as_default():
                    found = raw.Const(value=op.attrs["value"], dtype=op.attrs["dtype"], name=op._name)
            else:
                found = self._leave(tensor, tensor, name or op._name)
            self.needed[tensor] = found
        return found

    def _in_outer(self, tensor: Tensor, name: str) -> Tensor:
        # The node that calls the function captures, in the order of its inputs.
        return tensor if self.wraps else super()._in_outer(tensor, name)

    def _leave(self, left: Tensor, like: Tensor, name: str) -> Tensor:
        inner = self.add_input(like, name)
        self.left.append(left)
        self._captures[left] = inner
        return inner

    def _unwrapped(self, tensor: Tensor, name: str) -> Tensor:
        """Returns what comes out of the Optional that the forward body puts a tensor into."""
        wrapped = self._wrapped(tensor)
        outside = self._given_out.get(wrapped)
        if outside is not None:
            optional = super().capture(outside, name)
        else:
            optional = self._leave(wrapped, wrapped, name)
        with self.as_default():
            value: Tensor = raw.OptionalGetValue(
                optional, output_types=[tensor._dtype.base_dtype], output_shapes=[tensor._dims]
            )[0]
        value._handle_data = tensor._handle_data
        return value

    def _wrapped(self, tensor: Tensor) -> Tensor:
        for op in tensor._consumers:
            if op.type == "OptionalFromValue" and op._outputs[0] in self._given_out:
                return op._outputs[0]
        graph = self.forward.graph
        with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None):
            wrapped: Tensor = raw.OptionalFromValue([tensor])
        return wrapped

    def connect(self, outputs: dict[Tensor, Tensor]) -> None:
        """Says which output of the forward node each needed tensor comes out of."""
        self._captures = {
            self._in_outer(outputs[outer], outer._op._name) if outer in outputs else outer: inner
            for outer, inner in self._captures.items()
        }


def branch_gradient(operation: Operation, grads: Any) -> list[Any]:
    """Returns the gradients of the inputs of an If, Case or call node."""
    functions = called_functions(operation)
    arguments = arguments_of(operation, functions[0])
    graph = get_default_graph()
    wraps = is_functional(graph)
    # Functions can't return nothing: what has no gradient has zeros in TensorFlow.
    targets = [i for i, t in enumerate(arguments) if wraps or carries_gradient(t)]
    dense = [None if g is None else convert_to_tensor(g) for g in grads]
    names = [function_name(graph, f.name, "grad") for f in functions]
    bodies = [GradientBody(name, f, operation, wraps) for name, f in zip(names, functions, strict=True)]
    automatic = [AutomaticControl(body) if wraps else None for body in bodies]
    found = [_gradients(body, dense, targets) for body in bodies]
    # Rows that only one branch takes stay rows, as without functional control flow; others all have zeros.
    sparse = [not wraps and _are_rows_of_one(each) for each in zip(*found, strict=True)]
    for body, each, control in zip(bodies, found, automatic, strict=True):
        _add_outputs(body, each, targets, sparse)
        if control is not None:
            finish_in_order(body, control)
    extend_outputs(operation, functions, bodies)

    def make(stateful: bool, inputs: list[Tensor], branches: list[Any]) -> Operation:
        attrs: dict[str, Any] = {
            "Tout": [t.dtype.base_dtype for t in bodies[0].outputs],
            "_lower_using_switch_merge": True,
        }
        if operation.type == "Case":
            attrs.update(branches=branches, output_shapes=common_shapes(bodies))
            return raw.Case.node(operation.inputs[0], inputs, name="gradient", **attrs)  # type: ignore[no-any-return]
        if operation.type in ("If", "StatelessIf"):
            attrs.update(
                then_branch=branches[0], else_branch=branches[1], output_shapes=common_shapes(bodies)
            )
            kind = raw.If if stateful else raw.StatelessIf
            return kind.node(operation.inputs[0], inputs, **attrs)  # type: ignore[no-any-return]
        del attrs["_lower_using_switch_merge"]
        kind = raw.StatefulPartitionedCall if stateful else raw.PartitionedCall
        return kind.node(inputs, f=branches[0], **attrs)  # type: ignore[no-any-return]

    results: list[Any] = [None] * len(operation.inputs)
    if targets:
        given = iter(identities(branches_node(bodies, None, make)))
        offset = len(operation.inputs) - len(arguments)
        for i, is_sparse in zip(targets, sparse, strict=True):
            value = next(given)
            results[offset + i] = _slices(value, next(given), arguments[i]) if is_sparse else value
    return results


def _gradients(body: GradientBody, grads: list[Any], targets: list[int]) -> list[Any]:
    """Adds the gradients of a branch's arguments to a body; returns for each a tensor, slices or None."""
    function = body.forward
    with body.as_default():
        pairs = [
            (y, g) for y, g in zip(function.outputs, grads, strict=True) if g is not None and is_trainable(y)
        ]
        xs = [function.inputs[i] for i in targets]
        if not pairs or not xs:
            return [None] * len(xs)
        ys, given = zip(*pairs, strict=True)
        return gradients_between(list(ys), xs, list(given), source=function.graph)


def _are_rows_of_one(grads: tuple[Any, ...]) -> bool:
    return sum(g is not None for g in grads) == 1 < len(grads) and any(
        isinstance(g, IndexedSlices) for g in grads
    )


def _add_outputs(body: GradientBody, grads: list[Any], targets: list[int], sparse: list[bool]) -> None:
    """Has a body return the gradients, zeros where there is none; two tensors for those that are sparse."""
    with body.as_default():
        out: list[Tensor] = []
        for i, g, is_sparse in zip(targets, grads, sparse, strict=True):
            x = body.forward.inputs[i]
            if not is_sparse:
                out.append(zeros_like_outside(x) if g is None else convert_to_tensor(g))
            elif g is not None:
                out += [g.values, raw.Cast(g.indices, DstT=dtypes.int64)]
            else:
                zeros = zeros_like_outside(x)
                n = raw.StridedSlice(nodes.shape_of(zeros), [0], [1], [1], shrink_axis_mask=1)
                out += [zeros, raw.Cast(raw.Range(0, n, 1), DstT=dtypes.int64)]
        body.outputs = [raw.Identity(body.capture(g)) for g in out]


def _slices(values: Tensor, indices: Tensor, source: Tensor) -> IndexedSlices:
    is_handle = source._dtype is dtypes.resource
    shape = raw.VariableShape(source) if is_handle else nodes.shape_of(source)
    return IndexedSlices(values=values, indices=indices, dense_shape=shape)


def extend_outputs(operation: Operation, functions: list[Function], bodies: list[GradientBody]) -> None:
    """Has a forward node give out what the gradients of its branches need."""
    new, outputs, places = (
        _wrapped_outputs(functions, bodies) if bodies[0].wraps else _outputs(functions, bodies)
    )
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
    for t, source in zip(operation.outputs[first:], new, strict=True):
        t._handle_data = source._handle_data
    for body in bodies:
        body.connect({t: operation.outputs[first + places[t]] for t in body.left})


def _outputs(
    functions: list[Function], bodies: list[GradientBody]
) -> tuple[list[Tensor], list[list[Tensor]], dict[Tensor, int]]:
    """Returns what a forward node gives out further: one tensor for each output, all outputs of each function, and
    which of the further outputs a tensor is."""
    new: list[Tensor] = []
    outputs: list[list[Tensor]] = [list(f.outputs) for f in functions]
    for i, body in enumerate(bodies):
        for t in body.left:
            new.append(t)
            for k, f in enumerate(functions):
                if k == i or f.graph is functions[i].graph:
                    outputs[k].append(t)
                else:
                    with f.graph.as_default(), f.graph.name_scope(None), f.graph.control_dependencies(None):
                        outputs[k].append(raw.FakeParam(dtype=t.dtype.base_dtype, shape=t._dims))
    return new, outputs, {t: i for i, t in enumerate(new)}


def _wrapped_outputs(
    functions: list[Function], bodies: list[GradientBody]
) -> tuple[list[Tensor], list[list[Tensor]], dict[Tensor, int]]:
    """Returns the same as `_outputs` for Optionals, of which branches may share outputs."""
    most = max(len(body.left) for body in bodies)
    outputs: list[list[Tensor]] = []
    for f, body in zip(functions, bodies, strict=True):
        more = list(body.left)
        with f.graph.as_default(), f.graph.name_scope(None), f.graph.control_dependencies(None):
            more += [raw.OptionalNone() for _ in range(most - len(more))]
        outputs.append([*f.outputs, *more])
    places = {t: i for body in bodies for i, t in enumerate(body.left)}
    return outputs[0][len(functions[0].outputs) :], outputs, places
