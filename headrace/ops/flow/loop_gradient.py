"""The gradient of While: a loop that runs as often, backwards, over what the forward loop has put on stacks."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.autodiff import gradients_between
from headrace.autodiff.gradients import zeros_like_outside
from headrace.autodiff.paths import CARRIES, carries_gradient, is_trainable
from headrace.graph import Operation, Tensor, get_default_graph
from headrace.graph.automatic_control import AutomaticControl
from headrace.graph.func_graph import FuncGraph, Function
from headrace.graph.functional import is_functional
from headrace.opdef import constant_node, convert_to_tensor, raw
from headrace.opdef.bodies import add_function, finish_in_order, function_name, identities, more_variables
from headrace.opdef.element_shapes import as_operand
from headrace.opdef.functions import called_functions
from headrace.ops.flow.loop_slices import GatheredRows, is_only_gathered, is_zero

_FIRST = 3  # a gradient loop's own variables: its counter, the forward loop's maximum, how often that ran


class LoopGradientBody(FuncGraph):
    """The body of a loop's gradient, which may use tensors of the forward loop's body.

    Attributes:
      taken: What the body takes beside its own variables, in order: placeholder -> the outer tensor that it stands
        for, or the tensor of the forward body whose values it is a stack of.
      stacked: Tensors of the forward body that differ from one iteration to the next -> (stack after one was taken
        off it, what was taken off).
    """

    is_of_gradient = True

    def __init__(self, name: str, forward: Function, operation: Operation, stacks: Stacks):
        super().__init__(name)
        self.forward = forward
        self.gradient_of = forward.graph
        self._stacks = stacks
        self.taken: dict[Tensor, Tensor] = {}
        self.stacked: dict[Tensor, tuple[Tensor, Tensor]] = {}
        self._constants: dict[Tensor, Tensor] = {}
        # What stays the same in all iterations comes out of the loop as it went in.
        self._unchanged = {
            a: operation.inputs[i] if a._dtype is dtypes.resource or a._dtype.is_ref else operation.outputs[i]
            for i, (a, b) in enumerate(zip(forward.inputs, forward.outputs, strict=True))
            if a is b
        }

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor of this graph that stands for one of an outer graph or of the forward body."""
        if tensor._op._graph is self:
            return tensor
        name = name or tensor._op._name
        if tensor._op._graph is not self.forward.graph or tensor._op._graph is self.outer_graph:
            return self._take(tensor, name)
        outside = self._unchanged.get(tensor)
        if outside is not None:
            return self._take(outside, name)
        op = tensor._op
        if op.type == "Const":
            if tensor not in self._constants:
                with self.as_default():
                    value, dtype = op.attrs["value"], op.attrs["dtype"]
                    self._constants[tensor] = raw.Const(value=value, dtype=dtype, name="Const")
            return self._constants[tensor]
        if tensor not in self.stacked:
            self._stacks.leave(tensor)
            before = self.placeholder(dtypes.variant, (), name)
            before._handle_data = ((tensor._dtype.base_dtype, tensor._dims),)
            self.taken[before] = tensor
            with self.as_default():
                after, value = raw.TensorListPopBack(before, -1, element_dtype=tensor._dtype.base_dtype)
            value._dims = tensor._dims
            value._handle_data = tensor._handle_data
            self.stacked[tensor] = after, value
        return self.stacked[tensor][1]

    def _take(self, tensor: Tensor, name: str) -> Tensor:
        inner = super().capture(tensor, name)
        self.taken.setdefault(inner, tensor)
        return inner

    def handed_on(self) -> list[Tensor]:
        """Returns what becomes of all that was taken: a stack without its top, anything else as it is."""
        return [
            self.stacked[source][0] if source in self.stacked else inner
            for inner, source in self.taken.items()
        ]


def loop_gradient(operation: Operation, grads: Any) -> list[Any]:
    """Returns the gradients of what a While node starts with.

    Raises:
      NotImplementedError: The loop has not the counter that `tf.while_loop` gives it.
    """
    test, work = called_functions(operation)
    n = len(operation.inputs)
    if n < 2 or operation.attrs["T"][:2] != (dtypes.int32, dtypes.int32):
        raise NotImplementedError(
            f"The loop '{operation.name}' does not count its iterations: it has no gradient"
        )
    graph = get_default_graph()
    targets = [
        i
        for i, t in enumerate(operation.inputs)
        if i > 1 and carries_gradient(t) and not _holds_no_floats(work.outputs[i])
    ]
    if not is_functional(graph):
        # TensorFlow 1 has no gradient for what leads to nothing that has one.
        leading = _leading_to([i for i, g in enumerate(grads) if g is not None], work)
        targets = [i for i in targets if i in leading]
    sparse = [
        i for i in targets if not is_functional(graph) and is_zero(grads[i]) and is_only_gathered(work, i)
    ]
    targets = [i for i in targets if i not in sparse]
    dys = [
        zeros_like_outside(operation.outputs[i]) if grads[i] is None else convert_to_tensor(grads[i])
        for i in targets
    ]
    counter = constant_node(0, dtypes.int32, name="grad_counter")
    names = [function_name(graph, work.name, "grad"), function_name(graph, test.name, "grad")]
    stacks = Stacks(operation, test, work)
    body = LoopGradientBody(names[0], work, operation, stacks)
    automatic = AutomaticControl(body) if is_functional(graph) else None
    with body.as_default():
        first = [body.placeholder(dtypes.int32, (), "Placeholder") for _ in range(_FIRST)]
        given = [_placeholder_for(body, operation, i, dy) for i, dy in zip(targets, dys, strict=True)]
        ys = [work.outputs[i] for i in targets]
        xs = [work.inputs[i] for i in (*targets, *sparse)]
        found = gradients_between(ys, xs, given, source=work.graph) if xs else []
        out = [
            zeros_like_outside(x) if g is None else convert_to_tensor(g)
            for x, g in zip(xs, found[: len(targets)], strict=False)
        ]
        out = [body.capture(g) for g in out]
        gathered = {
            i: GatheredRows(body, work.inputs[i], g)
            for i, g in zip(sparse, found[len(targets) :], strict=True)
            if g is not None
        }
        counted: Any = first[0] + 1  # type: ignore[operator]
        body.outputs = [_same(t) for t in (counted, *first[1:], *out)]
        if automatic is not None:
            finish_in_order(body, automatic)
    body.outputs += [t for each in gathered.values() for t in each.results]
    body.outputs += body.handed_on()
    lists = [t for each in gathered.values() for t in each.arguments]
    body.inputs = [*first, *given, *lists, *body.taken]
    ends = stacks.finish()
    # The count is an output of the forward loop: how often its body ran.
    start = [counter, operation.inputs[1], operation.outputs[0], *dys]
    start += [t for each in gathered.values() for t in each.start()]
    start += [ends.get(source, source) for source in body.taken.values()]
    body._captures = {}
    condition = FuncGraph(names[1])
    with condition.as_default():
        for t in body.inputs:
            condition.inputs.append(condition.placeholder(t.dtype, t._dims, "Placeholder"))
        condition.outputs = [raw.Identity(raw.Less(condition.inputs[0], condition.inputs[2]))]
    node = _loop(operation, condition, body, start)
    results: list[Any] = [None] * n
    same = identities(node)[_FIRST:]
    for i, t in zip(targets, same, strict=False):
        results[i] = t
    for k, (i, each) in enumerate(gathered.items()):
        at = len(targets) + 2 * k
        results[i] = each.slices(same[at : at + 2], operation.inputs[i])
    return results


def _leading_to(wanted: list[int], work: Function) -> set[int]:
    """Returns which of a loop's variables have to do with some of its results, after any number of iterations."""
    places = {t: i for i, t in enumerate(work.inputs)}
    found: set[int] = set(wanted)
    seen: set[Operation] = set()
    todo = [work.outputs[i] for i in wanted]
    while todo:
        t = todo.pop()
        place = places.get(t)
        if place is not None:
            if place not in found:
                found.add(place)
                todo.append(work.outputs[place])
        elif t._op not in seen:
            seen.add(t._op)
            todo += [each for each in t._op._inputs if each._dtype.base_dtype in CARRIES]
    return found


def _holds_no_floats(after: Tensor) -> bool:
    """Whether a loop variable is a stack that elements without gradients are taken off, as a gradient loop's may be."""
    op = after._op
    return op.type == "TensorListPopBack" and after._value_index == 0 and not is_trainable(op._outputs[1])


def _placeholder_for(body: FuncGraph, operation: Operation, i: int, dy: Tensor) -> Tensor:
    t = operation.outputs[i]
    inner = body.placeholder(dy.dtype, dy._dims if t._dtype is dtypes.resource else t._dims, "Placeholder")
    inner._handle_data = dy._handle_data
    return inner


def _same(tensor: Tensor) -> Tensor:
    same: Tensor = raw.Identity(tensor)
    same._handle_data = tensor._handle_data
    return same


def _loop(operation: Operation, condition: FuncGraph, body: FuncGraph, start: list[Tensor]) -> Operation:
    graph = get_default_graph()
    references = [add_function(graph, each) for each in (condition, body)]
    with graph.control_dependencies(list(dict.fromkeys(body.control_captures))):
        node: Operation = raw.While.node(
            start,
            cond=references[0],
            body=references[1],
            output_shapes=[t._dims for t in body.inputs],
            parallel_iterations=operation.attrs["parallel_iterations"],
            _lower_using_switch_merge=True,
            name=f"{operation.name}_grad",
        )
    for t, source in zip(node.outputs, node.inputs, strict=True):
        t._handle_data = source._handle_data
    return node


# -- what the forward loop leaves ----------------------------------------------------------------------------


class Stacks:
    """The stacks that a forward loop puts tensors of its body on.

    Args:
      operation: The loop.
      test: The function of its condition.
      work: The function of its body.
    """

    def __init__(self, operation: Operation, test: Function, work: Function):
        self._operation, self._test, self._work = operation, test, work
        self._found: dict[Tensor, Tensor] = {}
        self._empty: list[Tensor] = []
        self._new: list[Tensor] = []
        self._inputs: tuple[list[Tensor], list[Tensor]] = (
            [],
            [],
        )  # the stacks in the condition and in the body
        self._outputs: list[Tensor] = []
        self._names: dict[Any, str] | None = None

    def leave(self, t: Tensor) -> None:
        """Has the loop put a tensor on a stack."""
        operation, work = self._operation, self._work
        at = _stack_of(t, work)
        if at is not None:
            self._found[t] = operation.outputs[at]
            return
        if self._names is None:
            self._names = _names_in(work)
        names, graph = self._names, operation.graph
        inner: FuncGraph = work.graph
        dtype = t._dtype.base_dtype
        key = t if t in names else t._op
        name = f"{names.get(key, t._op._name)}_{0 if key is t else t._value_index}/accumulator"
        with graph.as_default(), graph.control_dependencies(None):
            empty = raw.EmptyTensorList(
                as_operand(t._dims), operation.inputs[1], element_dtype=dtype, name=name
            )
        self._empty.append(empty)
        for inputs, f in zip(self._inputs, (self._test, work), strict=True):
            stack = f.graph.placeholder(dtypes.variant, (), empty._op._name)
            stack._handle_data = empty._handle_data
            inputs.append(stack)
        with inner.as_default(), inner.name_scope(None), inner.control_dependencies(None):
            self._outputs.append(raw.TensorListPushBack(stack, t))
        self._new.append(t)

    def finish(self) -> dict[Tensor, Tensor]:
        """Gives the loop the stacks as further variables; returns them as they are at its end."""
        if self._empty:
            functions = (self._test, self._work)
            ends = more_variables(self._operation, functions, self._empty, self._inputs, self._outputs)
            self._found.update(zip(self._new, ends, strict=True))
        return self._found


def _stack_of(tensor: Tensor, work: Function) -> int | None:
    """Returns the position among a loop's variables of the stack that a tensor is put on already, or None."""
    for op in tensor._consumers:
        if op.type == "TensorListPushBack" and op._inputs[1] is tensor:
            for i, (before, after) in enumerate(zip(work.inputs, work.outputs, strict=True)):
                if before is op._inputs[0] and after is op._outputs[0]:
                    return i
    return None


def _names_in(function: Function) -> dict[Any, str]:
    """Returns the names that a function's arguments (tensors) and nodes have in its definition."""
    definition = function.definition
    names: dict[Any, str] = {
        t: arg.name for t, arg in zip(function.inputs, definition.signature.input_arg, strict=True)
    }
    arguments = {t._op for t in function.inputs}
    nodes = [op for op in function.graph._ops if op not in arguments and op.type != "Placeholder"]
    if len(nodes) == len(definition.node_def):
        names.update(zip(nodes, (node.name for node in definition.node_def), strict=True))
    return names
