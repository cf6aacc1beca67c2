"""Tensor lists as stacks: what a loop leaves for its gradient."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import op, raw


class TensorList:
    """A list of tensors that is never changed: pushing gives a longer one that shares the rest.

    Attributes:
      rest: The list without its last element, None for the empty list.
      last: The last element.
      size: How many elements there are.
    """

    __slots__ = ("last", "rest", "size")

    def __init__(self, rest=None, last=None):
        self.rest = rest
        self.last = last
        self.size = 0 if rest is None else rest.size + 1


def _list_of(value):
    value = value.item() if isinstance(value, np.ndarray) and value.shape == () else value
    if not isinstance(value, TensorList):
        raise errors.InvalidArgumentError(None, None, "Input handle is not a list. Saw: '<unknown type>'")
    return value


EmptyTensorList = op("""
    EmptyTensorList(element_shape: shape_type, max_num_elements: int32) -> (handle: variant)
      element_dtype: type
      shape_type: {int32, int64}

    Gives a list without elements.
""", shape=shapes.scalar)  # fmt: skip


@EmptyTensorList.host
def empty_tensor_list(element_shape, max_num_elements):
    return TensorList()


TensorListPushBack = op("""
    TensorListPushBack(input_handle: variant, tensor: element_dtype) -> (output_handle: variant)
      element_dtype: type

    Gives a list with one element more.
""", shape=shapes.scalar)  # fmt: skip


@TensorListPushBack.host
def tensor_list_push_back(input_handle, tensor):
    return TensorList(_list_of(input_handle), tensor)


@TensorListPushBack.grad
def tensor_list_push_back_grad(op, dlist):
    return raw.TensorListPopBack(dlist, raw.Shape(op.inputs[1]), element_dtype=op.attrs["element_dtype"])


TensorListPopBack = op("""
    TensorListPopBack(input_handle: variant, element_shape: int32) -> (output_handle: variant, tensor: element_dtype)
      element_dtype: type

    Gives a list without its last element, and that element.
""")  # fmt: skip


@TensorListPopBack.shape
def tensor_list_pop_back_shape(input_handle, element_shape, *, ctx):
    return [(), ctx.as_shape("element_shape")]


@TensorListPopBack.host
def tensor_list_pop_back(input_handle, element_shape):
    given = _list_of(input_handle)
    if given.rest is None:
        raise errors.InvalidArgumentError(None, None, "Trying to pop from an empty list.")
    return [given.rest, given.last]


@TensorListPopBack.grad
def tensor_list_pop_back_grad(op, dlist, dtensor):
    if dlist is None:
        dlist = raw.EmptyTensorList(raw.Shape(dtensor), -1, element_dtype=op.attrs["element_dtype"])
    return raw.TensorListPushBack(dlist, dtensor), None


def _cases(case):
    @case.program
    def last_in_first_out(step):
        stack = raw.EmptyTensorList(-1, -1, element_dtype="float32")
        for value in ([1.0], [2.0, 3.0]):
            stack = raw.TensorListPushBack(stack, value)
        rest, top = raw.TensorListPopBack(stack, -1, element_dtype="float32")
        empty, bottom = raw.TensorListPopBack(rest, -1, element_dtype="float32")
        step([top, bottom], gives=([2, 3], [1]))
        _, nothing = raw.TensorListPopBack(empty, -1, element_dtype="float32")
        step(nothing, fails=errors.InvalidArgumentError, match="empty list")


for _kind in (EmptyTensorList, TensorListPushBack, TensorListPopBack):
    _kind.cases(_cases)
