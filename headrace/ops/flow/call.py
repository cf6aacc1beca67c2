"""Calls of functions: their bodies run as if they stood in the call's place."""

from __future__ import annotations

from headrace.opdef import GRADIENTS, op
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
