"""SymbolicGradient: the gradient of a function that is known by its name only."""

from __future__ import annotations

from headrace.autodiff import gradients_between
from headrace.autodiff.gradients import zeros_like_outside
from headrace.autodiff.paths import is_trainable
from headrace.graph import get_default_graph
from headrace.graph.func_graph import FuncGraph, Function, function_named
from headrace.opdef import convert_to_tensor, op, raw
from headrace.opdef.attrs import FuncRef
from headrace.opdef.bodies import add_function, body_of, function_name
from headrace.opdef.functions import CALLEES
from headrace.opdef.inlining import copy_body

SymbolicGradient = op("""
    SymbolicGradient(input: Tin) -> (output: Tout)
      Tin: list(type) >= 1
      Tout: list(type) >= 1
      f: func

    Given a function's arguments and the gradients of its results, computes the gradients of the arguments.
""")  # fmt: skip


@SymbolicGradient.shape
def symbolic_gradient_shape(input, *, Tout, ctx):
    # A gradient has its argument's shape.
    shapes = []
    for t, dtype in zip(ctx.op._inputs, Tout, strict=False):
        shapes.append(t._dims if t._dtype.name != "resource" and t._dtype.base_dtype is dtype else None)
    return shapes + [None] * (len(Tout) - len(shapes))


def _gradient_name(graph, name: str) -> str:
    """Returns the name of a function's gradient: the one it was given, or one that is made when first asked for."""
    function = graph._functions.get(name)
    given = getattr(function, "gradient_name", None) or graph._function_gradients.get(name)
    if given is not None:
        return given
    derived = f"SymbolicGradient of {name}"
    if derived not in graph._derived_functions:
        graph._derived_functions[derived] = _derive(function_named(graph, name), derived)
    return derived


def _derive(function: Function, name: str) -> Function:
    """Returns the gradient of a function: it computes the function again, and then goes back."""
    body = FuncGraph(name, function.graph.root)
    body.outer_graph = None  # it captures nothing, and sessions that run need not plan anew
    body._control_stack = []
    with body.as_default():
        arguments = [body.add_input(t, "x") for t in function.inputs]
        grads = [body.add_input(_value(t), "dy") for t in function.outputs]
        copied = copy_body(function, body, arguments)
        pairs = [(y, g) for y, g in zip(copied, grads, strict=True) if is_trainable(y)]
        found = [None] * len(arguments)
        if pairs:
            ys, dys = zip(*pairs, strict=True)
            found = gradients_between(list(ys), arguments, list(dys), source=body)
        for x, g in zip(arguments, found, strict=True):
            g = zeros_like_outside(x) if g is None else convert_to_tensor(g)
            body.outputs.append(raw.Identity(g))
    return Function(name, body, body.inputs, body.outputs)


class _value:
    """What a gradient looks like: a value of the type and shape of a result."""

    def __init__(self, tensor):
        self._dtype, self._dims, self._handle_data = tensor._dtype.base_dtype, tensor._dims, None


CALLEES["SymbolicGradient"] = lambda node: [
    function_named(node._graph, _gradient_name(node._graph, node.attrs["f"].name))
]


@SymbolicGradient.host(untouched=True, calls=True)
@SymbolicGradient.lower(untouched=True, calls=True)
def symbolic_gradient_rule(input, *, f, ctx):
    return ctx.call(FuncRef(_gradient_name(ctx.op._graph, f.name)), input)


@SymbolicGradient.cases
def symbolic_gradient_cases(case):
    @case.program
    def goes_back_through_a_function(step):
        graph = get_default_graph()
        x = raw.Placeholder(dtype="float32", shape=[2])
        body = body_of(function_name(graph, "f", "body"), lambda: [x * x])
        f = add_function(graph, body)
        dx = raw.SymbolicGradient([x, [1.0, 10.0]], Tout=["float32"], f=f)
        step(dx, feed={x: [2, 3]}, gives=[[4, 60]])


def gradient_of_call(operation, grads, reference: FuncRef):
    """Returns the gradients of a call's inputs, as one SymbolicGradient node gives them."""
    types = [t._dtype.base_dtype for t in operation._inputs]
    dense = [
        convert_to_tensor(g) if g is not None else raw.ZerosLike(t)
        for g, t in zip(grads, operation._outputs, strict=True)
    ]
    return raw.SymbolicGradient([*operation._inputs, *dense], Tout=types, f=reference)
