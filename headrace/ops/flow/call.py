"""Calls of functions: their bodies run as if they stood in the call's place."""

from __future__ import annotations

from headrace.graph import get_default_graph
from headrace.opdef import GRADIENTS, op, raw
from headrace.opdef.bodies import add_function, body_of, function_name
from headrace.ops.flow.branch_gradient import branch_gradient

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


def _shape(args, *, Tout):
    return [None] * len(Tout)


def _call(args, *, f, ctx):
    return ctx.call(f, args)


def _gradient(operation, *grads):
    return branch_gradient(operation, grads)


def _declare(name, flag):
    declared = op(_TEXT.format(name=name, flag=flag), shape=_shape)
    declared.host(_call, untouched=True, calls=True)
    declared.lower(_call, untouched=True, calls=True)
    # TensorFlow declares no gradient for calls; its tf.gradients looks into them by itself.
    GRADIENTS[name] = _gradient
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
