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
from headrace.autodiff.aggregation import aggregate_with_slices
from headrace.autodiff.gradients import zeros_like_outside
from headrace.autodiff.paths import carries_gradient, is_trainable
from headrace.export import NAMES
from headrace.graph import IndexedSlices, Operation, Tensor, get_default_graph
from headrace.graph.automatic_control import AutomaticControl
from headrace.graph.func_graph import FuncGraph, Function
from headrace.graph.functional import is_functional
from headrace.opdef import convert_to_tensor, nodes, raw
from headrace.opdef.bodies import (
    branches_node,
    common_shapes,
    finish_in_order,
    function_name,
    give_out,
    identities,
    outputs_with,
)
from headrace.opdef.functions import arguments_of, called_functions


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
        self.gradient_of = forward.graph
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
    # A Case node is TensorFlow's whether or not the program asked for functional control flow.
    in_any = wraps or operation.type == "Case"
    if not in_any:
        # What no branch has a gradient for has none in TensorFlow 1, whose branches are no functions.
        some = [k for k in range(len(targets)) if any(each[k] is not None for each in found)]
        targets = [targets[k] for k in some]
        found = [[each[k] for k in some] for each in found]
    sparse = [_are_slices(each, in_any) for each in zip(*found, strict=True)]
    for k, (body, control) in enumerate(zip(bodies, automatic, strict=True)):
        if in_any:
            _add_outputs(body, found[k], targets, sparse)
        else:
            _add_joined_outputs(bodies, found, k, targets, sparse)
        if control is not None:
            finish_in_order(body, control)
    if in_any and any(sparse):
        give_slices(bodies, found, sparse)
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
            results[offset + i] = IndexedSlices(value, next(given), next(given)) if is_sparse else value
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


def _are_slices(grads: tuple[Any, ...], in_any: bool) -> bool:
    """Whether the gradient for one argument is IndexedSlices: where any branch has them, or all that have any."""
    given = [g for g in grads if g is not None]
    is_slices = [isinstance(g, IndexedSlices) for g in given]
    return len(grads) > 1 and bool(given) and (any(is_slices) if in_any else all(is_slices))


def _add_outputs(body: GradientBody, grads: list[Any], targets: list[int], sparse: list[bool]) -> None:
    """Has a body return the gradients, zeros where there is none; slices as their parts."""
    with body.as_default():
        out: list[Tensor] = []
        for i, g, is_sparse in zip(targets, grads, sparse, strict=True):
            if g is None:
                out.append(zeros_like_outside(body.forward.inputs[i]))
            elif is_sparse and isinstance(g, IndexedSlices):
                out += [g.values, g.indices, g.dense_shape]
            else:
                out.append(convert_to_tensor(g))
        body.outputs = [raw.Identity(body.capture(g)) for g in out]


def _add_joined_outputs(
    bodies: list[GradientBody], found: list[list[Any]], k: int, targets: list[int], sparse: list[bool]
) -> None:
    """Has the k-th body return the gradients as they are without functional control flow.

    There every branch passes on what it takes by a node of its own, whose gradient is the branch's, or else zeros for
    all rows; and the gradients of those nodes are joined.
    """
    body = bodies[k]
    with body.as_default():
        out: list[Tensor] = []
        for at, (i, is_sparse) in enumerate(zip(targets, sparse, strict=True)):
            g = found[k][at]
            x = body.forward.inputs[i]
            if not is_sparse:
                out.append(zeros_like_outside(x) if g is None else convert_to_tensor(g))
                continue
            given = [each[at] for each in found]
            dtype = _index_type(given)
            parts = []
            for other in range(len(bodies) - 1, -1, -1):
                if other == k and g is not None:
                    parts.append(IndexedSlices(g.values, _cast(g.indices, dtype), g.dense_shape))
                elif given[other] is not None:
                    zeros = zeros_like_outside(x)
                    parts.append(_all_rows(zeros, dtype))
            joined = parts[0] if len(parts) == 1 else aggregate_with_slices(parts)
            out += [joined.values, joined.indices, parts[0].dense_shape]
        body.outputs = [raw.Identity(body.capture(g)) for g in out]


def _index_type(grads: Any) -> dtypes.DType:
    types = [g.indices.dtype.base_dtype for g in grads if isinstance(g, IndexedSlices)]
    return dtypes.int64 if dtypes.int64 in types else types[0]


def _cast(indices: Tensor, dtype: dtypes.DType) -> Tensor:
    same: bool = indices.dtype.base_dtype is dtype
    return indices if same else raw.Cast(indices, DstT=dtype)


def _all_rows(values: Tensor, dtype: dtypes.DType | None) -> IndexedSlices:
    """Returns a dense gradient as slices, one for each row."""
    shape = nodes.shape_of(values)
    n = raw.StridedSlice(shape, [0], [1], [1], shrink_axis_mask=1, name="strided_slice")
    rows = NAMES["range"](n)
    return IndexedSlices(values, rows if dtype is None else _cast(rows, dtype), shape)


def give_slices(bodies: list[GradientBody], found: list[list[Any]], sparse: list[bool]) -> None:
    """Has all bodies return slices where one does: dense gradients become slices of all rows."""
    for body, grads in zip(bodies, found, strict=True):
        given = iter(body.outputs)
        out: list[Tensor] = []
        with body.as_default():
            for at, is_sparse in enumerate(sparse):
                value = next(given)
                if not is_sparse:
                    out.append(value)
                elif isinstance(grads[at], IndexedSlices):
                    out += [value, next(given), next(given)]
                else:
                    slices = _all_rows(value, None)
                    out += [value, slices.indices, slices.dense_shape]
        body.outputs = out
    at = 0
    for is_sparse, of_all in zip(sparse, zip(*found, strict=True), strict=True):
        if is_sparse:
            dtype = _index_type(of_all)
            for body in bodies:
                with body.as_default():
                    body.outputs[at + 1] = _cast(body.outputs[at + 1], dtype)
        at += 3 if is_sparse else 1


def extend_outputs(operation: Operation, functions: list[Function], bodies: list[GradientBody]) -> None:
    """Has a forward node give out what the gradients of its branches need."""
    new, outputs, places = (
        _wrapped_outputs(functions, bodies) if bodies[0].wraps else _outputs(functions, bodies)
    )
    if not new:
        return
    # TensorFlow says then what the first branch gives, whatever the others do.
    shapes = [t._dims for t in functions[0].outputs] if bodies[0].wraps else None
    first = give_out(operation, functions, new, outputs, shapes)
    for body in bodies:
        body.connect({t: operation.outputs[first + places[t]] for t in body.left})


def _outputs(
    functions: list[Function], bodies: list[GradientBody]
) -> tuple[list[Tensor], list[list[Tensor]], dict[Tensor, int]]:
    """Returns what a forward node gives out further: one tensor for each output, all outputs of each function, and
    which of the further outputs a tensor is."""
    new, outputs = outputs_with(functions, [body.left for body in bodies])
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
