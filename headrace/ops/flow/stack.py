"""The Stack ops, on which loops with frames leave what their gradients need."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import op, raw
from headrace.resources.tensor_array import Stack as StackState
from headrace.resources.tensor_array import TensorArray, invalid


def _state(value):
    if type(value) is np.ndarray and value.shape == ():
        value = value.item()
    if not isinstance(value, StackState):
        raise invalid("The handle is not one of a stack")
    return value


def _name(stack_name, ctx):
    name = stack_name.decode() if isinstance(stack_name, bytes) else stack_name
    return TensorArray.numbered(name or ctx.op.name)


def _push(handle, elem, *, T):
    _state(handle).push(elem, T)
    return elem


def _pop(handle):
    return _state(handle).pop()


def _close(handle):
    _state(handle).close()
    return []


StackV2 = op("""
    StackV2(max_size: int32) -> (handle: resource)
      elem_type: type
      stack_name: string = ""
      stateful

    Makes a stack of tensors, which lives until the step ends.
""", shape=lambda max_size: (2,))  # fmt: skip


@StackV2.host
def stack_v2(max_size, *, elem_type, stack_name, ctx):
    if np.ndim(max_size):
        raise invalid(f"Stack size must be a scalar, but had shape: {shapes.to_text(np.shape(max_size))}")
    return StackState(_name(stack_name, ctx), elem_type, int(max_size))


Stack = op("""
    Stack() -> (handle: Ref(string))
      elem_type: type
      stack_name: string = ""
      stateful

    The same in older graphs, whose handle is a reference to a string.
""", shape=lambda: (2,), grad=None)  # fmt: skip


@Stack.host
def stack(*, elem_type, stack_name, ctx):
    return StackState(_name(stack_name, ctx), elem_type)


StackPushV2 = op("""
    StackPushV2(handle: resource, elem: T) -> (output: T)
      T: type
      swap_memory: bool = false

    Puts a tensor on top of a stack, and hands it on.
""", shape=lambda handle, elem: elem, host=_push)  # fmt: skip

StackPush = op("""
    StackPush(handle: Ref(string), elem: T) -> (output: T)
      T: type
      swap_memory: bool = false

    Puts a tensor on top of a stack, and hands it on.
""", shape=lambda handle, elem: elem, grad=None, host=_push)  # fmt: skip

StackPopV2 = op("""
    StackPopV2(handle: resource) -> (elem: elem_type)
      elem_type: type

    Takes the top off a stack.
""", shape=lambda handle: None, host=_pop)  # fmt: skip

StackPop = op("""
    StackPop(handle: Ref(string)) -> (elem: elem_type)
      elem_type: type

    Takes the top off a stack.
""", shape=lambda handle: None, grad=None, host=_pop)  # fmt: skip

StackCloseV2 = op("""
    StackCloseV2(handle: resource) -> ()

    Forgets a stack.
""", host=_close)  # fmt: skip

StackClose = op("""
    StackClose(handle: Ref(string)) -> ()

    Forgets a stack.
""", grad=None, host=_close)  # fmt: skip


def _cases(case):
    @case.program
    def last_in_first_out(step):
        from headrace.graph import control_dependencies

        n = raw.PlaceholderWithDefault(2, shape=[])
        handle = raw.StackV2(n, elem_type="float32")
        one = raw.StackPushV2(handle, 1.0)
        with control_dependencies([one]):
            two = raw.StackPushV2(handle, [2.0, 3.0])
        with control_dependencies([two]):
            top = raw.StackPopV2(handle, elem_type="float32")
        with control_dependencies([top]):
            bottom = raw.StackPopV2(handle, elem_type="float32")
        step([one, top, bottom], gives=(1, [2, 3], 1))
        step(top, feed={n: 1}, fails=errors.InvalidArgumentError, match="overflowed its max_size")
        with control_dependencies([raw.StackCloseV2(handle)]):
            closed = raw.StackPopV2(handle, elem_type="float32")
        step(closed, fails=errors.InvalidArgumentError, match="already been closed")
        empty = raw.StackPopV2(raw.StackV2(-1, elem_type="float32"), elem_type="float32")
        step(empty, fails=errors.InvalidArgumentError, match="is empty when calling Pop")


def _old_cases(case):
    @case.program
    def last_in_first_out(step):
        from headrace.graph import control_dependencies

        handle = raw.Stack(elem_type="int32")
        one = raw.StackPush(handle, 1)
        with control_dependencies([one]):
            top = raw.StackPop(handle, elem_type="int32")
        step([one, top], gives=(1, 1))
        with control_dependencies([raw.StackClose(handle)]):
            closed = raw.StackPop(handle, elem_type="int32")
        step(closed, fails=errors.InvalidArgumentError, match="already been closed")


for _kind in (StackV2, StackPushV2, StackPopV2, StackCloseV2):
    _kind.cases(_cases)
for _kind in (Stack, StackPush, StackPop, StackClose):
    _kind.cases(_old_cases)
