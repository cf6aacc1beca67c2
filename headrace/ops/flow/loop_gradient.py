"""The gradient of While: a loop that runs as often, backwards, over what the forward loop has put on stacks."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.autodiff import gradients_between
from headrace.autodiff.gradients import zeros_like_outside
from headrace.autodiff.paths import is_trainable
from headrace.graph import Operation, Tensor, get_default_graph
from headrace.graph.func_graph import FuncGraph, Function
from headrace.opdef import constant_node, convert_to_tensor, raw
from headrace.opdef.bodies import add_function, function_name, identities, loop_node
from headrace.opdef.functions import called_functions


class LoopGradientBody(FuncGraph):
    """The body of a loop's gradient, which may use tensors of the forward loop's body.

    Attributes:
      stacked: Tensors of the forward body that differ from one iteration to the next -> (stack before, stack after
        one was taken off it, what was taken off).
    """

    def __init__(self, name: str, forward: Function, operation: Operation):
        super().__init__(name)
        self.forward = forward
        self.stacked: dict[Tensor, tuple[Tensor, Tensor, Tensor]] = {}
        self._constants: dict[Tensor, Tensor] = {}
        pairs = zip(forward.inputs, forward.outputs, operation.inputs, strict=True)
        self._unchanged = {a: outer for a, b, outer in pairs if a is b}

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor of this graph that stands for one of an outer graph or of the forward body."""
        if tensor._op._graph is not self.forward.graph or tensor._op._graph is self.outer_graph:
            return super().capture(tensor, name)
        outside = self._unchanged.get(tensor)
        if outside is not None:
            return super().capture(outside, name or tensor._op._name)
        op = tensor._op
        if op.type == "Const":
            if tensor not in self._constants:
                with self.as_default():
                    value, dtype = op.attrs["value"], op.attrs["dtype"]
                    self._constants[tensor] = raw.Const(value=value, dtype=dtype, name=op._name)
            return self._constants[tensor]
        if tensor not in self.stacked:
            before = self.placeholder(dtypes.variant, (), name or op._name)
            with self.as_default(), self.control_dependencies(None):
                after, value = raw.TensorListPopBack(
                    before, constant_node(-1, dtypes.int32), element_dtype=tensor._dtype.base_dtype
                )
            value._dims = tensor._dims
            value._handle_data = tensor._handle_data
            self.stacked[tensor] = before, after, value
        return self.stacked[tensor][2]


def loop_gradient(operation: Operation, grads: Any) -> list[Any]:
    """Returns the gradients of what a While node starts with.

    Raises:
      NotImplementedError: The loop has not the counter that `tf.while_loop` gives it.
    """
    test, work = called_functions(operation)
    n = len(operation.inputs)
    if n < 2 or operation.attrs["T"][0] is not dtypes.int32:
        raise NotImplementedError(
            f"The loop '{operation.name}' does not count its iterations: it has no gradient"
        )
    graph = get_default_graph()
    targets = [i for i, t in enumerate(operation.inputs) if i > 1 and is_trainable(t)]
    dys = [
        zeros_like_outside(operation.outputs[i]) if grads[i] is None else convert_to_tensor(grads[i])
        for i in targets
    ]
    names = [function_name(graph, work.name, "grad"), function_name(graph, test.name, "grad")]
    counter = constant_node(0, dtypes.int32, name="grad_counter")
    body = LoopGradientBody(names[0], work, operation)
    # The count is an output of the forward loop: how often its body ran.
    count = operation.outputs[0]
    with body.as_default():
        first = [body.placeholder(dtypes.int32, (), "Placeholder") for _ in range(2)]
        given = [
            body.placeholder(dy.dtype, _dims_of(operation, i, dy), "Placeholder")
            for i, dy in zip(targets, dys, strict=True)
        ]
        ys = [work.outputs[i] for i in targets]
        xs = [work.inputs[i] for i in targets]
        found = gradients_between(ys, xs, given, source=work.graph) if xs else []
        out = [
            zeros_like_outside(x) if g is None else convert_to_tensor(g)
            for x, g in zip(xs, found, strict=True)
        ]
        out = [raw.Identity(body.capture(g)) for g in out]
        body.outputs = [raw.Identity(raw.AddV2(first[0], 1)), raw.Identity(first[1]), *out]
    stacks = list(body.stacked.values())
    body.outputs += [after for _, after, _ in stacks]
    body.inputs = [*first, *given, *[before for before, _, _ in stacks], *[t for _, t in body.captures]]
    full = _leave_stacks(operation, test, work, list(body.stacked))
    start = [counter, count, *dys, *full]
    condition = FuncGraph(names[1])
    with condition.as_default():
        for t in body.inputs[: len(start)]:
            condition.inputs.append(condition.placeholder(t.dtype, t._dims, "Placeholder"))
        condition.outputs = [raw.Identity(raw.Less(*condition.inputs[:2]))]
    dims = [t._dims for t in body.inputs[2 : len(start)]]
    node = loop_node([condition, body], start, dims, operation.attrs["parallel_iterations"], None)
    results: list[Any] = [None] * n
    for i, t in zip(targets, identities(node)[2 : 2 + len(targets)], strict=True):
        results[i] = t
    return results


def _dims_of(operation: Operation, i: int, dy: Tensor) -> Any:
    t = operation.outputs[i]
    return dy._dims if t._dtype is dtypes.resource else t._dims


def _leave_stacks(
    operation: Operation, test: Function, work: Function, tensors: list[Tensor]
) -> list[Tensor]:
    """Has a forward loop put tensors of its body on stacks; returns the stacks as they are at its end."""
    if not tensors:
        return []
    graph = operation.graph
    inner: FuncGraph = work.graph
    empty: list[Tensor] = []
    test_inputs, work_inputs, work_outputs = list(test.inputs), list(work.inputs), list(work.outputs)
    for t in tensors:
        dtype = t._dtype.base_dtype
        with graph.as_default(), graph.control_dependencies(None):
            empty.append(
                raw.EmptyTensorList(
                    constant_node(-1, dtypes.int32), -1, element_dtype=dtype, name="accumulator"
                )
            )
        test_inputs.append(test.graph.placeholder(dtypes.variant, (), "accumulator"))
        stack = inner.placeholder(dtypes.variant, (), "accumulator")
        work_inputs.append(stack)
        with inner.as_default(), inner.name_scope(None), inner.control_dependencies(None):
            work_outputs.append(raw.TensorListPushBack(stack, t))
    attrs = operation.attrs
    # The node's functions change with its inputs; the old ones stay for other nodes that may call them.
    test_name = function_name(graph, test.name, "rewritten")
    attrs["cond"] = add_function(graph, test.graph, test.outputs, test_name, test_inputs)
    work_name = function_name(graph, work.name, "rewritten")
    attrs["body"] = add_function(graph, work.graph, work_outputs, work_name, work_inputs)
    attrs["T"] = (*attrs["T"], *[dtypes.variant] * len(empty))
    if attrs["output_shapes"]:
        attrs["output_shapes"] = (*attrs["output_shapes"], *[()] * len(empty))
    if "_num_original_outputs" in attrs:
        attrs["_num_original_outputs"] += len(empty)
    operation._inputs = (*operation._inputs, *empty)
    for t in empty:
        t._consumers.append(operation)
    last = len(operation.outputs)
    operation._add_outputs([dtypes.variant] * len(empty), [()] * len(empty))
    graph._version_changed()
    return operation.outputs[last:]
