"""Calls of functions: their bodies run as if they stood in the call's place."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.graph import get_default_graph
from headrace.graph.func_graph import check_arguments, function_named
from headrace.graphdef.functions import CALL_RULES
from headrace.opdef import GRADIENTS, op, raw
from headrace.opdef.attrs import FuncRef
from headrace.opdef.bodies import add_function, body_of, function_name
from headrace.opdef.functions import CALLEES
from headrace.opdef.inlining import pass_handles_on, result_shapes
from headrace.ops.flow.call_gradient import call_gradient
from headrace.ops.flow.symbolic_gradient import gradient_of_call
from headrace.resources.devices import device_called

_TEXT = """
    {name}(args: Tin) -> (output: Tout)
      Tin: list(type) >= 0
      Tout: list(type) >= 0
      f: func
      config: string = ""
      config_proto: string = ""
      executor_type: string = ""
      {flag}

    Calls a function.
"""


def _shape(args, *, f, Tout, ctx):
    graph = ctx.op._graph
    if f.name not in graph._functions:
        return [None] * len(Tout)
    try:
        function = function_named(graph, f.name)
    except (ValueError, KeyError, errors.OpError):
        return [None] * len(Tout)  # a malformed one is for the step to refuse
    if len(function.inputs) != len(args) or len(function.outputs) != len(Tout):
        return [None] * len(Tout)
    pass_handles_on(function, ctx.op)
    return result_shapes(function, args)


def _callee(node):
    name = node.attrs["f"].name
    try:
        return [function_named(node._graph, name)]
    except errors.NotFoundError:
        message = f'Failed to find function "{name}" in function library: '
        raise errors.InvalidArgumentError(None, None, message) from None


def _call(args, *, f, ctx):
    node = ctx.op
    (function,) = _callee(node)
    if len(function.inputs) > len(args):
        n = len(args)
        raise errors.InternalError(
            None, None, f"Function instantiation included invalid input index: {n} not in [0, {n})."
        )
    check_arguments(function, len(args))
    for i, (t, inner) in enumerate(zip(node._inputs, function.inputs, strict=True)):
        if t._dtype.base_dtype is not inner._dtype.base_dtype:
            want, got = inner._dtype.base_dtype.name, t._dtype.base_dtype.name
            raise errors.InvalidArgumentError(
                None, None, f"Expects arg[{i}] to be {want} but {got} is provided"
            )
    if len(function.outputs) > len(node._outputs):
        n = len(node._outputs)
        raise errors.InternalError(
            None, None, f"Function instantiation included invalid output index: {n} not in [0, {n})."
        )
    if len(function.outputs) < len(node._outputs):
        raise errors.InternalError(
            None, None, f"Missing {len(function.outputs)}-th output from node {node.name}"
        )
    return ctx.call(f, args)


def _gradient(operation, *grads):
    mark = operation.attrs.get("_gradient_op_type", "")
    if mark.startswith("PartitionedCall-"):
        return call_gradient(operation, grads)
    return gradient_of_call(operation, grads, operation.attrs["f"])


def _declare(name, flag):
    declared = op(_TEXT.format(name=name, flag=flag), shape=_shape)
    declared.host(_call, untouched=True, calls=True)
    declared.lower(_call, untouched=True, calls=True)
    # TensorFlow declares no gradient for calls; its tf.gradients looks into them by itself.
    GRADIENTS[name] = _gradient
    CALLEES[name] = _callee
    return declared


PartitionedCall = _declare("PartitionedCall", "")
StatefulPartitionedCall = _declare("StatefulPartitionedCall", "stateful")


def _cases(kind):
    @kind.cases
    def cases(case):
        @case.program
        def calls(step):
            graph = get_default_graph()
            x = raw.Placeholder(dtype="float32", shape=[2])
            body = body_of(function_name(graph, "f", "body"), lambda: [x * x, x + 1.0])
            square, more = kind([x], Tout=["float32", "float32"], f=add_function(graph, body))
            step([square, more], feed={x: [2, 3]}, gives=([4, 9], [3, 4]))
            step([square, more], feed={x: [1, 0]}, gives=([1, 0], [2, 1]))


_cases(PartitionedCall)
_cases(StatefulPartitionedCall)


# -- calls whose op is the function itself ---------------------------------------------------------------------


def _named_shape(*args, ctx):
    node = ctx.op
    rule = getattr(node._graph._functions.get(node.type), "shape_function", None)
    if rule is None:
        return [None] * len(node._outputs)
    from headrace.tensor_shape import to_tuple

    return [to_tuple(s) for s in rule(node)]


def _named_call(*args, ctx):
    found = ctx.call(FuncRef(ctx.op.type), args)
    return found[0] if len(found) == 1 else found


def _named_gradient(operation, *grads):
    function = operation._graph._functions[operation.type]
    python = getattr(function, "python_grad_func", None)
    if python is not None:
        return python(operation, *grads)
    marks = dict(operation.attrs)
    return gradient_of_call(operation, grads, FuncRef(operation.type, marks))


_RUNS = {"untouched": True, "calls": True}
CALL_RULES.update(
    shape=(_named_shape, {}),
    host=(_named_call, _RUNS),
    lower=(_named_call, _RUNS),
    grad=(_named_gradient, {}),
)


# -- calls on another device -----------------------------------------------------------------------------------

RemoteCall = op("""
    RemoteCall(target: string, args: Tin) -> (output: Tout)
      Tin: list(type) >= 1
      Tout: list(type) >= 1
      f: func
      stateful

    Calls a function on the device that `target` names.
""", shape=lambda target, args, *, Tout: [None] * len(Tout))  # fmt: skip


@RemoteCall.host(untouched=True, calls=True)
def remote_call(target, args, *, f, ctx):
    if np.size(target) != 1:
        raise errors.InvalidArgumentError(None, None, "target must be a single name of a device")
    device_called(np.ravel(target)[0].decode())
    return ctx.call(f, args)


@RemoteCall.cases
def remote_call_cases(case):
    @case.program
    def calls_on_this_machine(step):
        graph = get_default_graph()
        x = raw.Placeholder(dtype="float32", shape=[2])
        body = body_of(function_name(graph, "f", "body"), lambda: [x * x])
        y = raw.RemoteCall("/device:CPU:0", [x], Tout=["float32"], f=add_function(graph, body))
        step(y, feed={x: [2, 3]}, gives=[[4, 9]])
        away = raw.RemoteCall("/job:worker", [x], Tout=["float32"], f=FuncRef(body.name))
        step(
            away,
            feed={x: [2, 3]},
            fails=errors.InternalError,
            match="Currently don't support instantiating functions on device: /job:worker/replica:0/task:0/device",
        )
