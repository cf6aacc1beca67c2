"""Single elements of tensor lists, and lists as one tensor: GetItem, SetItem, FromTensor, Stack."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.opdef import constant_value, nodes, op, raw
from headrace.opdef.element_shapes import as_operand
from headrace.ops.array.array_places import (
    check_all_read,
    check_read,
    check_set,
    check_written,
    is_checked,
    refuse_unset,
    with_flags,
)
from headrace.ops.array.tensor_list_shapes import (
    ARRAY,
    EXPECTED,
    READ,
    check_dtype,
    check_places,
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
    shape_of_item,
    stacked,
    unset_as,
    zeros,
)
from headrace.resources.array_log import ArrayLog, check_rows, check_scalar, log_of, packed
from headrace.resources.stacked_list import StackedList
from headrace.resources.tensor_list import TensorList, as_list, shape_text
from headrace.tensor_shape import to_tuple

TensorListGetItem = op("""
    TensorListGetItem(input_handle: variant, index: int32, element_shape: int32) -> (item: element_dtype)
      element_dtype: type

    One element of a list; zeros where it is not set and its shape is known.
""")  # fmt: skip


@TensorListGetItem.shape
def tensor_list_get_item_shape(input_handle, index, element_shape, *, element_dtype, ctx):
    known = held_shape(ctx, element_dtype, EXPECTED)
    return shapes.merge(known, element_shape_of(ctx))


@TensorListGetItem.host
def tensor_list_get_item(input_handle, index, element_shape, *, element_dtype, ctx):
    given, i = as_list(input_handle), scalar_int(index, "index")
    check_type(given, element_dtype)
    facts = ctx.mark(ARRAY)
    if facts is not None:
        check_scalar(index, "index")
        return log_of(given, facts).read_many(given, [i])[0]
    if not 0 <= i < given.size:
        raise invalid(f"Trying to access element {i} in a list with {given.size} elements.")
    item = given.get(i)
    if item is not None:
        return item
    shape = merged(given_shape(element_shape), given.element_shape)
    if not shapes.is_full(shape):
        for each in given.items:
            if each is not None:
                shape = merged(shape, shape_of_item(each))
    if not shapes.is_full(shape):
        raise invalid(
            f"Trying to read an uninitialized tensor but element_shape is not fully defined: {shape_text(shape)} and "
            "no list element is set."
        )
    return zeros(shape, element_dtype)


@TensorListGetItem.lower(static="element_shape", lists=True)
def tensor_list_get_item_lower(input_handle, index, element_shape, *, element_dtype, ctx):
    given, i = input_handle, index.reshape(-1)[0]
    check_dtype(given, element_dtype)
    check_places(ctx, given, i)
    check_read(ctx, given, i)
    if given.buffer is None and given.constant is None:
        refuse_unset(ctx)
        return unset_as(given, element_shape, element_dtype)
    given.merged_shape(given_shape(element_shape))
    if ctx.mark(ARRAY) is not None:
        check_set(ctx, given, i)
    elif not may_be_unset(given, element_shape):
        ctx.check(given.is_set.any() | given.is_set[i], "an unset element")
    return given.get(i)


@TensorListGetItem.grad
def tensor_list_get_item_grad(op, ditem):
    handle, index, _ = op.inputs
    n = raw.TensorListLength(handle)
    shape = raw.TensorListElementShape(handle, shape_type="int32")
    dtype = op.attrs["element_dtype"]
    empty = raw.TensorListReserve(shape, n, element_dtype=dtype)
    return raw.TensorListSetItem(empty, index, ditem), None, None


TensorListSetItem = op("""
    TensorListSetItem(input_handle: variant, index: int32, item: element_dtype) -> (output_handle: variant)
      element_dtype: type

    Gives a list with another element at a place.
""")  # fmt: skip


@TensorListSetItem.shape
def tensor_list_set_item_shape(input_handle, index, item, *, element_dtype, ctx):
    known = held(ctx)
    shape = None if known is None else known[1]
    shapes.merge(item, shape)
    ctx.set_handle([(element_dtype if known is None else known[0], shape)])
    return ()


@TensorListSetItem.host(anywhere=True)
def tensor_list_set_item(input_handle, index, item, *, element_dtype, ctx):
    given, i = as_list(input_handle), scalar_int(index, "index")
    check_type(given, element_dtype)
    facts = ctx.mark(ARRAY)
    if facts is not None:
        check_scalar(index, "index")
        log_of(given, facts).write(i, shape_of_item(item), given.size)
        return given.set(i, item)
    if not 0 <= i < given.size:
        raise invalid(f"Trying to modify element {i} in a list with {given.size} elements.")
    shape = shape_of_item(item)
    if not fits(shape, given.element_shape):
        raise invalid(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
            f"{shape_text(shape)} list shape: {shape_text(given.element_shape)}"
        )
    return given.set(i, item)


@TensorListSetItem.lower(lists=True)
def tensor_list_set_item_lower(input_handle, index, item, *, element_dtype, ctx):
    i = index.reshape(-1)[0]
    check_dtype(input_handle, element_dtype)
    check_places(ctx, input_handle, i)
    check_written(ctx, input_handle, i)
    if _is_zeros(ctx.op.inputs[2]):
        return input_handle.cleared(i, item.shape, item.dtype)
    return input_handle.set(i, item)


def _is_zeros(tensor):
    """Whether a tensor holds zeros whatever happens, as what a gradient puts in the place of an element does."""
    op = tensor.op
    if op.type == "Fill":
        value = constant_value(op.inputs[1])
        return value is not None and not np.any(value)
    return op.type == "ZerosLike"


@TensorListSetItem.grad
def tensor_list_set_item_grad(op, dlist):
    _, index, item = op.inputs
    others = raw.TensorListSetItem(dlist, index, nodes.zeros_like(item))
    mine = raw.TensorListGetItem(dlist, index, nodes.shape_of(item), element_dtype=item.dtype.base_dtype)
    return others, None, mine


TensorListFromTensor = op("""
    TensorListFromTensor(tensor: element_dtype, element_shape: shape_type) -> (output_handle: variant)
      element_dtype: type
      shape_type: {int32, int64}

    Gives a list of a tensor's rows.
""")  # fmt: skip


@TensorListFromTensor.shape
def tensor_list_from_tensor_shape(tensor, element_shape, *, element_dtype, ctx):
    shape = element_shape_of(ctx)
    shapes.merge(tensor[1:] if tensor else None, shape)
    ctx.set_handle([(element_dtype, shape)])
    return ()


@TensorListFromTensor.host
def tensor_list_from_tensor(tensor, element_shape, *, element_dtype, ctx):
    shape = given_shape(element_shape)
    if tensor.ndim == 0:
        raise invalid("Tensor must be at least a vector, but saw shape: []")
    facts = ctx.mark(ARRAY)
    if facts is not None:
        return _unstacked(tensor, ArrayLog(facts, is_checked(ctx.source)), element_dtype)
    if not fits(tensor.shape[1:], shape):
        raise invalid(
            f"Specified a list with shape {shape_text(shape)} from a tensor with shape {shape_text(tensor.shape[1:])}"
        )
    return TensorList(element_dtype, shape, [np.asarray(row, tensor.dtype) for row in tensor])


def _unstacked(tensor, log, dtype):
    """Returns a new array of a tensor's rows."""
    n, facts = len(tensor), log.facts
    size = n if facts.size is None else facts.size
    check_rows(tensor, range(n), size, facts.is_dynamic)
    size = max(size, n)
    rows = [np.asarray(row, tensor.dtype) for row in tensor]
    log.write_many(range(n), rows, size)
    made = TensorList(dtype, facts.shape, rows + [None] * (size - n))
    made.log = log
    return made


@TensorListFromTensor.lower(static="element_shape", lists=True)
def tensor_list_from_tensor_lower(tensor, element_shape, *, element_dtype, ctx):
    shape, facts = given_shape(element_shape), ctx.mark(ARRAY)
    if tensor.ndim == 0 or not fits(tensor.shape[1:], shape):
        raise NotImplementedError("a tensor that has not the elements' shape")
    if facts is not None and facts.size not in (None, tensor.shape[0]):
        raise NotImplementedError("as many rows as the array has not")
    return with_flags(
        ctx, StackedList(element_dtype, tensor, tensor.shape[0], None, shape), len(tensor), True
    )


@TensorListFromTensor.grad
def tensor_list_from_tensor_grad(op, dlist):
    tensor = op.inputs[0]
    n = tensor._dims[0] if tensor._dims and tensor._dims[0] is not None else -1
    shape = raw.Slice(nodes.shape_of(tensor), [1], [-1])
    return raw.TensorListStack(dlist, shape, element_dtype=tensor.dtype.base_dtype, num_elements=n), None


TensorListStack = op("""
    TensorListStack(input_handle: variant, element_shape: int32) -> (tensor: element_dtype)
      element_dtype: type
      num_elements: int = -1

    A list's elements, all of one shape, as the rows of one tensor; zeros for those that are not set.
""")  # fmt: skip


@TensorListStack.shape
def tensor_list_stack_shape(input_handle, element_shape, *, element_dtype, num_elements, ctx):
    known = held_shape(ctx, element_dtype, READ)
    shape = shapes.merge(known, element_shape_of(ctx))
    if shape is None:
        return None
    return (None if num_elements < 0 else num_elements, *shape)


@TensorListStack.host
def tensor_list_stack(input_handle, element_shape, *, element_dtype, num_elements, ctx):
    given = as_list(input_handle)
    check_type(given, element_dtype)
    facts = ctx.mark(ARRAY)
    if facts is not None:
        log = log_of(given, facts)
        log.learn(given_shape(element_shape))
        items = log.read_many(given, range(given.size))
        return packed(items, given_shape(element_shape), element_dtype)
    if num_elements not in (-1, given.size):
        raise invalid(
            f"Operation expected a list with {num_elements} elements but got a list with {given.size} elements."
        )
    shape = merged(given_shape(element_shape), given.element_shape)
    items = given.items
    for each in items:
        if each is not None:
            shape = merged(shape, shape_of_item(each))
    if not shapes.is_full(shape):
        if not items:
            raise invalid(
                f"Tried to stack elements of an empty list with non-fully-defined element_shape: {shape_text(shape)}"
            )
        raise invalid(
            "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape: "
            f"{shape_text(shape)}"
        )
    return stacked(items, shape, element_dtype)


@TensorListStack.lower(static="element_shape", lists=True)
def tensor_list_stack_lower(input_handle, element_shape, *, element_dtype, num_elements, ctx):
    given, n = input_handle, input_handle.known_size()
    check_dtype(given, element_dtype)
    if num_elements not in (-1, n):
        raise NotImplementedError(f"a list of {n} elements")
    shape = given.merged_shape(given_shape(element_shape))
    check_all_read(ctx, given)
    if given.buffer is None and given.constant is None:
        refuse_unset(ctx, shape)
        return unset_as(given, element_shape, element_dtype, n)
    if n == 0 and not shapes.is_full(shape):
        raise NotImplementedError("the shape of an empty list's elements")
    if n and ctx.mark(ARRAY) is not None:
        check_set(ctx, given, slice(n), shape)
    elif n and not may_be_unset(given, element_shape):
        ctx.check(given.is_set[:n].any(), "no element is set")
    return given.stacked()


@TensorListStack.grad
def tensor_list_stack_grad(op, dtensor):
    dims = to_tuple(dtensor.shape)
    shape = as_operand(dims[1:] if dims else None)
    return raw.TensorListFromTensor(dtensor, shape), None


def _cases(case):
    @case.program
    def elements(step):
        rows = raw.TensorListFromTensor([[1.0, 2.0], [3.0, 4.0]], -1)
        i = raw.PlaceholderWithDefault(1, shape=[])
        step(raw.TensorListGetItem(rows, i, -1, element_dtype="float32"), gives=[3, 4])
        changed = raw.TensorListSetItem(rows, i, [5.0, 6.0])
        step(raw.TensorListStack(changed, -1, element_dtype="float32"), gives=[[1, 2], [5, 6]])
        step(raw.TensorListStack(rows, -1, element_dtype="float32"), gives=[[1, 2], [3, 4]])
        beyond = raw.TensorListGetItem(rows, i, -1, element_dtype="float32")
        step(
            beyond, feed={i: 2}, fails=errors.InvalidArgumentError, match="access element 2 in a list with 2"
        )
        beyond = raw.TensorListLength(raw.TensorListSetItem(rows, i, [5.0, 6.0]))
        step(
            beyond,
            feed={i: -1},
            fails=errors.InvalidArgumentError,
            match="modify element -1 in a list with 2",
        )

    @case.program
    def unset_elements_are_zeros(step):
        three = raw.TensorListReserve([2], 3, element_dtype="float32")
        one = raw.TensorListSetItem(three, 1, [1.0, 2.0])
        step(raw.TensorListStack(one, [2], element_dtype="float32"), gives=[[0, 0], [1, 2], [0, 0]])
        step(raw.TensorListGetItem(one, 0, -1, element_dtype="float32"), gives=[0, 0])
        unknown = raw.TensorListReserve(-1, 1, element_dtype="float32")
        item = raw.TensorListGetItem(unknown, 0, -1, element_dtype="float32")
        step(item, fails=errors.InvalidArgumentError, match="no list element is set")
        whole = raw.TensorListStack(unknown, -1, element_dtype="float32")
        step(whole, fails=errors.InvalidArgumentError, match="only contains uninitialized")

    @case.program
    def lists_of_lists(step):
        inner = raw.TensorListFromTensor([1, 2], np.zeros([0], np.int32))
        scalar = np.zeros([0], np.int32)
        outer = raw.TensorListReserve(scalar, 2, element_dtype="variant")
        outer = raw.TensorListSetItem(outer, 1, inner)
        back = raw.TensorListGetItem(outer, 1, scalar, element_dtype="variant")
        step(raw.TensorListStack(back, -1, element_dtype="int32"), gives=[1, 2])


for _kind in (TensorListGetItem, TensorListSetItem, TensorListFromTensor, TensorListStack):
    _kind.cases(_cases)
