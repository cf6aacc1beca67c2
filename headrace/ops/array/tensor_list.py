"""Tensor lists as stacks and as a whole: making, pushing, popping, resizing, joining them."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, errors, shapes
from headrace.lazy import jnp
from headrace.opdef import nodes, op, raw
from headrace.ops.array.array_places import is_checked, resized, with_flags
from headrace.ops.array.tensor_list_shapes import (
    ARRAY,
    CLOSES,
    MOST_TRACED,
    check_dtype,
    check_type,
    element_shape_of,
    fits,
    given_shape,
    held,
    held_shape,
    invalid,
    may_be_unset,
    merged,
    scalar_int,
    type_name,
    unset_as,
    zeros,
)
from headrace.resources.array_log import ArrayLog, check_scalar
from headrace.resources.stacked_list import StackedList
from headrace.resources.tensor_list import TensorList, as_list, check_length, shape_text

EmptyTensorList = op("""
    EmptyTensorList(element_shape: shape_type, max_num_elements: int32) -> (handle: variant)
      element_dtype: type
      shape_type: {int32, int64}

    Gives a list without elements.
""")  # fmt: skip


@EmptyTensorList.shape
def empty_tensor_list_shape(element_shape, max_num_elements, *, element_dtype, ctx):
    ctx.set_handle([(element_dtype, element_shape_of(ctx))])
    return ()


@EmptyTensorList.host
def empty_tensor_list(element_shape, max_num_elements, *, element_dtype):
    most = scalar_int(max_num_elements, "max_num_elements")
    return TensorList(element_dtype, given_shape(element_shape), most=most)


@EmptyTensorList.lower(static="element_shape max_num_elements", lists=True)
def empty_tensor_list_lower(element_shape, max_num_elements, *, element_dtype):
    most = scalar_int(max_num_elements, "max_num_elements")
    return StackedList(element_dtype, None, 0, None, given_shape(element_shape), most=most)


TensorListReserve = op("""
    TensorListReserve(element_shape: shape_type, num_elements: int32) -> (handle: variant)
      element_dtype: type
      shape_type: {int32, int64}

    Gives a list of elements that are not set yet.
""", shape=empty_tensor_list_shape)  # fmt: skip


@TensorListReserve.host
def tensor_list_reserve(element_shape, num_elements, *, element_dtype, ctx):
    n, facts = scalar_int(num_elements, "num_elements"), ctx.mark(ARRAY)
    if facts is not None:
        check_scalar(num_elements, "size")
    if n < 0:
        if facts is not None:
            raise invalid("Size should be >= 0.")
        raise invalid(f"The num_elements to reserve must be a non negative number, but got {n}")
    made = TensorList.reserved(element_dtype, given_shape(element_shape), n)
    made.log = None if facts is None else ArrayLog(facts, is_checked(ctx.source))
    return made


@TensorListReserve.lower(static="element_shape num_elements", bounded="num_elements", lists=True)
def tensor_list_reserve_lower(element_shape, num_elements, *, element_dtype, ctx):
    shape = given_shape(element_shape)
    if not isinstance(num_elements, np.ndarray):
        ctx.check((num_elements >= 0) & (num_elements <= ctx.room), "a length that there is no room for")
        is_set = None if shapes.is_full(shape) else jnp.zeros(ctx.room, bool)
        given = StackedList(element_dtype, None, num_elements.reshape(()), is_set, shape, True)
        if is_set is None:
            given = given.with_shape(shape, element_dtype.storage, ctx.room).all_zeros()
        return with_flags(ctx, given, ctx.room)
    n = scalar_int(num_elements, "num_elements")
    if not 0 <= n <= MOST_TRACED:
        raise NotImplementedError(f"a list of {n} elements")
    is_set = None if shapes.is_full(shape) else jnp.zeros(n, bool)
    given = StackedList(element_dtype, None, n, is_set, shape)
    if is_set is None:
        given = given.with_shape(shape, element_dtype.storage).all_zeros()
    return with_flags(ctx, given, n)


TensorListPushBack = op("""
    TensorListPushBack(input_handle: variant, tensor: element_dtype) -> (output_handle: variant)
      element_dtype: type

    Gives a list with one element more.
""")  # fmt: skip

_PUSH = (
    "Trying to push to list with wrong element dtype. List has type {found} but trying to push element with type "
    "{wanted}"
)


@TensorListPushBack.shape
def tensor_list_push_back_shape(input_handle, tensor, *, element_dtype, ctx):
    ctx.set_handle([(element_dtype, held_shape(ctx, element_dtype, _PUSH))])
    return ()


@TensorListPushBack.host(anywhere=True)
def tensor_list_push_back(input_handle, tensor, *, element_dtype):
    given = as_list(input_handle)
    check_type(given, element_dtype)
    # A handle is a scalar, whatever shape the variable behind it has.
    shape = () if element_dtype is dtypes.resource else getattr(tensor, "shape", ())
    if not fits(shape, given.element_shape):
        raise invalid(
            "Tried to append a tensor with incompatible shape to a list. Op element shape: "
            f"{shape_text(shape)} list shape: {shape_text(given.element_shape)}"
        )
    if given.most != -1 and given.size >= given.most:
        raise invalid(
            f"Tried to push item into a full list list size: {given.size} max_num_elements: {given.most}"
        )
    return given.push(tensor)


@TensorListPushBack.lower(lists=True, untouched=True)
def tensor_list_push_back_lower(input_handle, tensor, *, element_dtype, ctx):
    check_dtype(input_handle, element_dtype)
    if not fits(tensor.shape, input_handle.element_shape):
        raise NotImplementedError("an element of another shape")
    if input_handle.most != -1:
        if input_handle.has_known_size and input_handle.size >= input_handle.most:
            raise NotImplementedError("a full list")
        ctx.check(input_handle.size < input_handle.most, "a full list")
    return input_handle.push(tensor)


@TensorListPushBack.grad
def tensor_list_push_back_grad(op, dlist):
    return raw.TensorListPopBack(dlist, nodes.shape_of(op.inputs[1]), element_dtype=op.attrs["element_dtype"])


TensorListPopBack = op("""
    TensorListPopBack(input_handle: variant, element_shape: int32) -> (output_handle: variant, tensor: element_dtype)
      element_dtype: type

    Gives a list without its last element, and that element.
""")  # fmt: skip

_POP = (
    "Trying to read from list with wrong element dtype. List has type {found} but trying to push element with type "
    "{wanted}"
)


@TensorListPopBack.shape
def tensor_list_pop_back_shape(input_handle, element_shape, *, element_dtype, ctx):
    known = held_shape(ctx, element_dtype, _POP)
    if held(ctx) is not None:
        ctx.set_handle([(element_dtype, known)])
    return [(), known]


@TensorListPopBack.host(anywhere=True)
def tensor_list_pop_back(input_handle, element_shape, *, element_dtype):
    given = as_list(input_handle)
    check_type(given, element_dtype)
    if not given.size:
        raise invalid("Trying to pop from an empty list.")
    rest, last = given.pop()
    if last is None:
        shape = merged(given_shape(element_shape), given.element_shape)
        if not shapes.is_full(shape):
            raise invalid(
                "Trying to read an uninitialized tensor but element_shape is not fully defined."
                + shape_text(shape)
            )
        last = zeros(shape, element_dtype)
    return [rest, last]


@TensorListPopBack.lower(static="element_shape", lists=True)
def tensor_list_pop_back_lower(input_handle, element_shape, *, element_dtype, ctx):
    check_dtype(input_handle, element_dtype)
    if input_handle.has_known_size and not input_handle.size:
        raise NotImplementedError("an empty list")
    ctx.check(input_handle.size > 0, "an empty list")
    if input_handle.buffer is None and input_handle.constant is None:
        rest = input_handle.like_with_size(input_handle.size - 1)
        return rest, unset_as(input_handle, element_shape, element_dtype)
    input_handle.merged_shape(given_shape(element_shape))
    if not may_be_unset(input_handle, element_shape):
        ctx.check(input_handle.is_set[input_handle.size - 1], "an unset element")
    return input_handle.pop()


@TensorListPopBack.grad
def tensor_list_pop_back_grad(op, dlist, dtensor):
    if dlist is None:
        dlist = raw.EmptyTensorList(raw.Shape(dtensor), -1, element_dtype=op.attrs["element_dtype"])
    if dtensor is None:
        dtensor = nodes.zeros_like(op.outputs[1])
    return raw.TensorListPushBack(dlist, dtensor), None


TensorListPushBackBatch = op("""
    TensorListPushBackBatch(input_handles: variant, tensor: element_dtype) -> (output_handles: variant)
      element_dtype: type

    Pushes one row of `tensor` to each of a vector of lists.
""", grad=None)  # fmt: skip


@TensorListPushBackBatch.shape
def tensor_list_push_back_batch_shape(input_handles, tensor, *, element_dtype, ctx):
    (n,) = shapes.with_rank(input_handles, 1)
    rows = shapes.with_rank_at_least(tensor, 1)
    if rows is not None:
        if None not in (n, rows[0]) and n != rows[0]:
            raise ValueError(f"Dimensions must be equal, but are {rows[0]} and {n}")
        n = rows[0] if n is None else n
    ctx.set_handle([(element_dtype, held_shape(ctx, element_dtype, _PUSH, "input_handles"))])
    return (n,)


@TensorListPushBackBatch.host
def tensor_list_push_back_batch(input_handles, tensor, *, element_dtype):
    if tensor.ndim == 0:
        raise invalid("Expected tensor to be at least a vector, but saw shape: []")
    handles = np.asarray(input_handles, object)
    if tensor.shape[0] != handles.size:
        raise invalid(
            f"Expected tensor.shape[0] == input_handles.size, but saw {tensor.shape[0]} vs. {handles.size}"
        )
    out = np.empty(handles.shape, object)
    for i, (handle, row) in enumerate(zip(handles.reshape(-1), tensor, strict=True)):
        given = as_list(handle)
        check_type(given, element_dtype)
        if not fits(tensor.shape[1:], given.element_shape):
            raise invalid(
                f"Tried to append a tensor with incompatible shape to a list at index {i}. Op element shape: "
                f"{shape_text(tensor.shape[1:])} list shape: {shape_text(given.element_shape)}"
            )
        out.reshape(-1)[i] = given.push(np.asarray(row))
    return out


TensorListLength = op("""
    TensorListLength(input_handle: variant) -> (length: int32)

    The number of a list's elements.
""", shape=shapes.scalar, grad=None)  # fmt: skip


@TensorListLength.host
def tensor_list_length(input_handle, *, ctx):
    given = as_list(input_handle)
    if given.log is not None and ctx.is_marked(CLOSES):
        given.log.close()
    return np.int32(given.size)


@TensorListLength.lower(lists=True)
def tensor_list_length_lower(input_handle):
    return np.asarray(input_handle.size, np.int32) if input_handle.has_known_size else input_handle.size


TensorListElementShape = op("""
    TensorListElementShape(input_handle: variant) -> (element_shape: shape_type)
      shape_type: {int32, int64}

    What a list knows of its elements' shape; -1 stands for what it doesn't.
""", grad=None)  # fmt: skip


@TensorListElementShape.shape
def tensor_list_element_shape_shape(input_handle, *, ctx):
    known = held(ctx)
    return (None,) if known is None or known[1] is None else (len(known[1]),)


@TensorListElementShape.as_shape
def tensor_list_element_shape_as_shape(op):
    data = op.inputs[0]._handle_data
    return data[0][1] if data else None


@TensorListElementShape.host
def tensor_list_element_shape(input_handle, *, shape_type):
    shape = as_list(input_handle).element_shape
    value = -1 if shape is None else [-1 if d is None else d for d in shape]
    return np.array(value, shape_type.storage)


@TensorListElementShape.lower(lists=True)
def tensor_list_element_shape_lower(input_handle, *, shape_type):
    shape = input_handle.element_shape
    return np.array(-1 if shape is None else [-1 if d is None else d for d in shape], shape_type.storage)


TensorListResize = op("""
    TensorListResize(input_handle: variant, size: int32) -> (output_handle: variant)
      stateful

    Gives a list of another length: the last elements are dropped, or unset ones added.
""")  # fmt: skip


@TensorListResize.shape
def tensor_list_resize_shape(input_handle, size, *, ctx):
    shapes.with_rank(size, 0)
    known = held(ctx)
    if known is not None:
        ctx.set_handle([known])
    return ()


@TensorListResize.host
def tensor_list_resize(input_handle, size):
    given, n = as_list(input_handle), scalar_int(size, "size")
    if n < 0:
        raise invalid(f"TensorListSlice expects size to be non-negative. Got: {n}")
    check_length(n)
    if n == given.size:
        return given
    return given.changed(given.items[:n] + [None] * max(0, n - given.size))


@TensorListResize.lower(static="size", lists=True)
def tensor_list_resize_lower(input_handle, size, *, ctx):
    given, n = input_handle, scalar_int(size, "size")
    if not 0 <= n <= MOST_TRACED or given.is_fixed:
        raise NotImplementedError(f"a list of {n} elements")
    before = given.known_size()
    resized(ctx, given, n)
    is_set = given.is_set
    if is_set is None and n > before and not shapes.is_full(given.element_shape):
        is_set = jnp.ones(before, bool)
    if is_set is not None:
        is_set = jnp.concatenate([is_set[:n], jnp.zeros(max(0, n - before), bool)])
    if given.buffer is None:
        return given.like(None, n, is_set)
    buffer = given.buffer[: min(n, before)]
    more = jnp.zeros((max(0, n - before), *buffer.shape[1:]), buffer.dtype)
    return given.like(jnp.concatenate([buffer, more]), n, is_set)


@TensorListResize.grad
def tensor_list_resize_grad(op, dlist):
    n = raw.TensorListLength(op.inputs[0])
    return raw.TensorListResize(dlist, n), None


TensorListConcatLists = op("""
    TensorListConcatLists(input_a: variant, input_b: variant) -> (output: variant)
      element_dtype: type

    Gives a list with the elements of one list and then those of another, or many such lists.
""", grad=None)  # fmt: skip


@TensorListConcatLists.shape
def tensor_list_concat_lists_shape(input_a, input_b, *, element_dtype, ctx):
    out = shapes.merge(input_a, input_b)
    shape = None
    for operand in ("input_a", "input_b"):
        known = held(ctx, operand)
        if known is not None:
            if known[0] is not element_dtype:
                raise ValueError(
                    f"{operand}.type != element_dtype: {type_name(known[0])} vs. {type_name(element_dtype)}"
                )
            shape = shapes.merge(shape, known[1])
    ctx.set_handle([(element_dtype, shape)])
    return out


@TensorListConcatLists.lower(lists=True)
def tensor_list_concat_lists_lower(input_a, input_b, *, element_dtype):
    if not isinstance(input_a, StackedList) or input_a.element_shape != input_b.element_shape:
        raise NotImplementedError("tensors of lists")
    check_dtype(input_a, element_dtype)
    check_dtype(input_b, element_dtype)
    n = input_a.known_size() + input_b.known_size()
    if (
        input_a.buffer is None
        or input_b.buffer is None
        or input_a.is_set is not None
        or input_b.is_set is not None
    ):
        raise NotImplementedError("lists whose elements may be unset")
    if input_a.buffer.shape[1:] != input_b.buffer.shape[1:]:
        raise NotImplementedError("elements of different shapes in a list")
    return input_a.like(jnp.concatenate([input_a.stacked(), input_b.stacked()]), n)


@TensorListConcatLists.host
def tensor_list_concat_lists(input_a, input_b, *, element_dtype):
    if np.shape(input_a) == () == np.shape(input_b):
        return _joined(as_list(input_a), as_list(input_b), element_dtype, 0)
    if np.shape(input_a) != np.shape(input_b):
        raise invalid(
            "input_a and input_b must have the same shape, but saw: "
            f"{shapes.to_text(np.shape(input_a))} vs. {shapes.to_text(np.shape(input_b))}"
        )
    out = np.empty(input_a.shape, object)
    for i, (a, b) in enumerate(zip(input_a.reshape(-1), input_b.reshape(-1), strict=True)):
        out.reshape(-1)[i] = _joined(as_list(a), as_list(b), element_dtype, i)
    return out


def _joined(a, b, dtype, index):
    for each in (a, b):
        check_type(each, dtype)
    if a.element_shape != b.element_shape:
        raise invalid(
            f"input_a and input_b TensorList element shapes are not identical at index {index}.  Saw "
            f"{shape_text(a.element_shape)} vs. {shape_text(b.element_shape)}"
        )
    return a.like(a.items + b.items)


def _stack_cases(case):
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

    @case.program
    def full(step):
        stack = raw.EmptyTensorList(-1, 1, element_dtype="float32")
        one = raw.TensorListPushBack(stack, 1.0)
        step(raw.TensorListLength(one), gives=1)
        two = raw.TensorListLength(raw.TensorListPushBack(one, 1.0))
        step(two, fails=errors.InvalidArgumentError, match="list size: 1 max_num_elements: 1")

    @case.program
    def older_versions_stay(step):
        a = raw.TensorListPushBack(raw.EmptyTensorList(np.zeros([0], np.int32), -1, element_dtype="int32"), 1)
        b = raw.TensorListPushBack(a, 2)
        c = raw.TensorListPushBack(a, 3)
        read = [raw.TensorListStack(x, -1, element_dtype="int32") for x in (a, b, c)]
        step(read, gives=([1], [1, 2], [1, 3]))


for _kind in (EmptyTensorList, TensorListPushBack, TensorListPopBack):
    _kind.cases(_stack_cases)


def _whole_cases(case):
    @case.program
    def lengths_and_shapes(step):
        four = raw.TensorListReserve([2, -1], 4, element_dtype="float32")
        step(raw.TensorListLength(four), gives=4)
        step(raw.TensorListElementShape(four, shape_type="int64"), gives=np.array([2, -1]))
        fewer = raw.TensorListResize(four, 3)
        step(raw.TensorListLength(fewer), gives=3)
        n = raw.PlaceholderWithDefault(-1, shape=[])
        step(
            raw.TensorListLength(raw.TensorListResize(four, n)),
            fails=errors.InvalidArgumentError,
            match="negat",
        )
        reserved = raw.TensorListReserve([2], n, element_dtype="float32")
        step(raw.TensorListLength(reserved), fails=errors.InvalidArgumentError, match="negative")

    @case.program
    def joining(step):
        a = raw.TensorListFromTensor([[1.0], [2.0]], [1])
        b = raw.TensorListFromTensor([[3.0]], [1])
        both = raw.TensorListConcatLists(a, b, element_dtype="float32")
        step(raw.TensorListStack(both, -1, element_dtype="float32"), gives=[[1], [2], [3]])
        other = raw.TensorListConcatLists(
            a, raw.EmptyTensorList(-1, -1, element_dtype="float32"), element_dtype="float32"
        )
        step(raw.TensorListLength(other), fails=errors.InvalidArgumentError, match="not identical at index 0")

    @case.program
    def one_row_for_each(step):
        empty = raw.EmptyTensorList(np.zeros([0], np.int32), -1, element_dtype="float32")
        handles = raw.Pack([empty, raw.TensorListPushBack(empty, 1.0)])
        pushed = raw.TensorListPushBackBatch(handles, [5.0, 6.0])
        second = raw.StridedSlice(pushed, [1], [2], [1], shrink_axis_mask=1)
        step(raw.TensorListStack(second, -1, element_dtype="float32"), gives=[1, 6])


for _kind in (
    TensorListReserve,
    TensorListLength,
    TensorListElementShape,
    TensorListResize,
    TensorListConcatLists,
    TensorListPushBackBatch,
):
    _kind.cases(_whole_cases)
