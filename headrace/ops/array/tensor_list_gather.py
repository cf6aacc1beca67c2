"""Rows and pieces of tensor lists: Gather, the three Scatters, Split and Concat."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.export import NAMES
from headrace.graph import get_default_graph, numbering
from headrace.lazy import jnp
from headrace.opdef import nodes, op, raw
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
    MOST_TRACED,
    READ,
    REFILLS,
    check_dtype,
    check_places,
    check_type,
    element_shape_of,
    fits,
    given_shape,
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
from headrace.resources import array_messages as messages
from headrace.resources.array_log import ArrayLog, check_rows, joined, log_of, packed, pieces
from headrace.resources.stacked_list import StackedList
from headrace.resources.tensor_list import TensorList, as_list, check_length, shape_text


def _shape_but_first(tensor):
    """Adds the shape of a tensor's rows."""
    return raw.Slice(nodes.shape_of(tensor), [1], [-1])


TensorListGather = op("""
    TensorListGather(input_handle: variant, indices: int32, element_shape: int32) -> (values: element_dtype)
      element_dtype: type

    Some elements of a list as the rows of one tensor.
""")  # fmt: skip


@TensorListGather.shape
def tensor_list_gather_shape(input_handle, indices, element_shape, *, element_dtype, ctx):
    known = held_shape(ctx, element_dtype, EXPECTED)
    return shapes.concatenate(indices, shapes.merge(known, element_shape_of(ctx)))


@TensorListGather.host
def tensor_list_gather(input_handle, indices, element_shape, *, element_dtype, ctx):
    given = as_list(input_handle)
    check_type(given, element_dtype)
    facts = ctx.mark(ARRAY)
    if facts is not None:
        log = log_of(given, facts)
        log.learn(given_shape(element_shape))
        items = log.read_many(given, _vector(indices))
        return packed(items, given_shape(element_shape), element_dtype)
    shape = merged(given_shape(element_shape), given.element_shape)
    items = []
    for i in indices.reshape(-1).tolist():
        if not 0 <= i < given.size:
            raise invalid(f"Index {i} out o range; list only has {given.size} elements.")
        items.append(given.get(i))
    for each in items:
        if each is not None:
            shape = merged(shape, shape_of_item(each))
    if not shapes.is_full(shape):
        if not items:
            raise invalid(
                f"Tried to gather 0-elements from a list with non-fully-defined shape: {shape_text(shape)}"
            )
        raise invalid(
            "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: "
            f"{shape_text(shape)}"
        )
    # As in TensorFlow one row after the other, whatever the indices' shape.
    return stacked(items, shape, element_dtype)


def _vector(indices):
    if indices.ndim != 1:
        raise invalid(f"Expected indices to be a vector, but received shape: {shapes.to_text(indices.shape)}")
    return indices.tolist()


@TensorListGather.lower(static="element_shape", lists=True)
def tensor_list_gather_lower(input_handle, indices, element_shape, *, element_dtype, ctx):
    given, places = input_handle, indices.reshape(-1)
    check_dtype(given, element_dtype)
    check_places(ctx, given, places)
    check_read(ctx, given, places)
    shape = given.merged_shape(given_shape(element_shape))
    if given.buffer is None and given.constant is None:
        refuse_unset(ctx, shape)
        return unset_as(given, element_shape, element_dtype, len(places))
    if not len(places) and not shapes.is_full(shape):
        raise NotImplementedError("the shape of no elements")
    if given.buffer is None:
        return jnp.broadcast_to(given.constant, (len(places), *given.constant.shape))
    if ctx.mark(ARRAY) is not None:
        check_set(ctx, given, places, shape)
    elif not may_be_unset(given, element_shape):
        ctx.check(given.is_set[places].any(), "no element is set")
    return given.buffer[places]


@TensorListGather.grad
def tensor_list_gather_grad(op, dtensor):
    handle, indices, _ = op.inputs
    shape = raw.TensorListElementShape(handle, shape_type="int32")
    n = raw.TensorListLength(handle)
    dlist = raw.TensorListReserve(shape, n, element_dtype=dtensor.dtype.base_dtype)
    if op.__dict__.get(ARRAY) is not None:
        # What is written into the gradient of an array that is changed in place adds up, so each row of an element
        # that was taken more than once becomes the sum of its rows. TensorFlow's lists keep the last.
        with numbering.counted_as(get_default_graph(), 0):
            dtensor = raw.GatherV2(raw.UnsortedSegmentSum(dtensor, indices, n), indices, 0)
    return raw.TensorListScatterIntoExistingList(dlist, dtensor, indices), None, None


_SCATTER = """
    {name}(tensor: element_dtype, indices: int32, element_shape: shape_type{more}) -> (output_handle: variant)
      element_dtype: type
      shape_type: {{int32, int64}}

    Gives a list with the rows of a tensor at the places that `indices` says.
"""
TensorListScatter = op(_SCATTER.format(name="TensorListScatter", more=""))
TensorListScatterV2 = op(_SCATTER.format(name="TensorListScatterV2", more=", num_elements: int32"))


def tensor_list_scatter_shape(tensor, indices, element_shape, num_elements=None, *, element_dtype, ctx):
    ctx.set_handle([(element_dtype, element_shape_of(ctx))])
    return ()


TensorListScatter.shape(tensor_list_scatter_shape)
TensorListScatterV2.shape(tensor_list_scatter_shape)


@TensorListScatter.host
def tensor_list_scatter(tensor, indices, element_shape, *, element_dtype):
    return _scattered(tensor, indices, given_shape(element_shape), -1, element_dtype)


@TensorListScatterV2.host
def tensor_list_scatter_v2(tensor, indices, element_shape, num_elements, *, element_dtype):
    n = scalar_int(num_elements, "num_elements")
    if n < -1:
        raise invalid(f"TensorListScatter expects num_elements >= -1, found: {n}")
    return _scattered(tensor, indices, given_shape(element_shape), n, element_dtype)


@TensorListScatter.lower(static="indices element_shape", lists=True)
def tensor_list_scatter_lower(tensor, indices, element_shape, *, element_dtype):
    places = indices.reshape(-1)
    if places.size and places.min() < 0:
        raise NotImplementedError("a negative place")
    return _scatter_traced(tensor, places, element_shape, int(places.max(initial=-1)) + 1, element_dtype)


@TensorListScatterV2.lower(static="element_shape num_elements", lists=True)
def tensor_list_scatter_v2_lower(tensor, indices, element_shape, num_elements, *, element_dtype, ctx):
    n, places = scalar_int(num_elements, "num_elements"), indices.reshape(-1)
    if not 0 <= n <= MOST_TRACED:
        raise NotImplementedError("a list as long as the places say")
    ctx.check((places >= 0) & (places < n), "a place out of a list's range")
    return _scatter_traced(tensor, places, element_shape, n, element_dtype)


def _scatter_traced(tensor, places, element_shape, n, dtype):
    shape = given_shape(element_shape)
    if (
        n > MOST_TRACED
        or tensor.ndim == 0
        or len(places) != tensor.shape[0]
        or not fits(tensor.shape[1:], shape)
    ):
        raise NotImplementedError("rows that do not fit")
    buffer = jnp.zeros((n, *tensor.shape[1:]), tensor.dtype).at[places].set(tensor)
    is_set = None
    if not shapes.is_full(shape):
        is_set = jnp.zeros(n, bool).at[places].set(True)
    return StackedList(dtype, buffer, n, is_set, shape)


def _scattered(tensor, indices, shape, n, dtype):
    places = indices.reshape(-1).tolist()
    if tensor.ndim == 0:
        raise invalid("Tensor must be at least a vector, but saw shape: []")
    if not fits(tensor.shape[1:], shape):
        raise invalid(
            f"Specified a list with shape {shape_text(shape)} from a tensor with shape {shape_text(tensor.shape[1:])}"
        )
    if len(places) != tensor.shape[0]:
        raise invalid(
            f"Invalid number of rows in input tensor. Expected: {len(places)} Actual: {tensor.shape[0]}"
        )
    for i in places:
        if i < 0:
            raise invalid("Indices in TensorListScatter must all be non-negative.")
        if n != -1 and i >= n:
            raise invalid(f"TensorListScatter: Trying to scatter at index {i} in list with size {n}")
    n = max(places, default=-1) + 1 if n == -1 else n
    check_length(n)
    items = [None] * n
    for i, row in zip(places, tensor, strict=True):
        items[i] = np.asarray(row, tensor.dtype)
    return TensorList(dtype, shape, items)


def tensor_list_scatter_grad(op, dlist):
    tensor, indices = op.inputs[:2]
    dtensor = raw.TensorListGather(
        dlist, indices, _shape_but_first(tensor), element_dtype=tensor.dtype.base_dtype
    )
    return [dtensor] + [None] * (len(op.inputs) - 1)


TensorListScatter.grad(tensor_list_scatter_grad)
TensorListScatterV2.grad(tensor_list_scatter_grad)

TensorListScatterIntoExistingList = op("""
    TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: int32) -> (output_handle: variant)
      element_dtype: type

    Gives a list with other elements at some places; it grows where that takes it.
""")  # fmt: skip  # noqa: E501


@TensorListScatterIntoExistingList.shape
def tensor_list_scatter_into_shape(input_handle, tensor, indices, *, element_dtype, ctx):
    shapes.with_rank(indices, 1)
    ctx.set_handle([(element_dtype, held_shape(ctx, element_dtype, EXPECTED))])
    return ()


@TensorListScatterIntoExistingList.host
def tensor_list_scatter_into(input_handle, tensor, indices, *, element_dtype, ctx):
    given = as_list(input_handle)
    check_type(given, element_dtype)
    facts = ctx.mark(ARRAY)
    if facts is not None:
        return _scattered_into(given, tensor, _vector(indices), facts)
    if tensor.ndim == 0:
        raise invalid("Tensor must be at least a vector, but saw shape: []")
    places = indices.reshape(-1).tolist()
    if len(places) != tensor.shape[0]:
        raise invalid(
            f"Expected len(indices) == tensor.shape[0], but saw: {len(places)} vs. {tensor.shape[0]}"
        )
    if any(i < 0 for i in places):
        raise invalid("Indices in TensorListScatter must all be non-negative.")
    n = max(places, default=-1) + 1
    check_length(n)
    items = given.items + [None] * max(0, n - given.size)
    for i, row in zip(places, tensor, strict=True):
        items[i] = np.asarray(row, tensor.dtype)
    return given.like(items)


def _scattered_into(given, tensor, places, facts):
    """Returns an array with a tensor's rows at some places."""
    check_rows(tensor, places, given.size, facts.is_dynamic)
    size = max(given.size, max(places, default=-1) + 1)
    check_length(size)
    rows = [np.asarray(row, tensor.dtype) for row in tensor]
    log_of(given, facts).write_many(places, rows, size)
    items = given.items + [None] * (size - given.size)
    for i, row in zip(places, rows, strict=True):
        items[i] = row
    return given.changed(items)


@TensorListScatterIntoExistingList.lower(lists=True)
def tensor_list_scatter_into_lower(input_handle, tensor, indices, *, element_dtype, ctx):
    places = indices.reshape(-1)
    check_dtype(input_handle, element_dtype)
    if tensor.ndim == 0 or len(places) != tensor.shape[0]:
        raise NotImplementedError("rows that do not fit")
    # The host's list grows where it has to.
    check_places(ctx, input_handle, places)
    check_written(ctx, input_handle, places)
    full = input_handle.with_shape(tensor.shape[1:], tensor.dtype)
    is_set = None if full.is_set is None else full.is_set.at[places].set(True)
    return full.like(full.buffer.at[places].set(tensor), full.size, is_set)


@TensorListScatterIntoExistingList.grad
def tensor_list_scatter_into_grad(op, dlist):
    _, tensor, indices = op.inputs
    dtensor = raw.TensorListGather(
        dlist, indices, _shape_but_first(tensor), element_dtype=tensor.dtype.base_dtype
    )
    others = raw.TensorListScatterIntoExistingList(dlist, nodes.zeros_like(tensor), indices)
    return others, dtensor, None


TensorListSplit = op("""
    TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> (output_handle: variant)
      element_dtype: type
      shape_type: {int32, int64}

    Gives a list of pieces of a tensor: as many rows each as `lengths` says.
""")  # fmt: skip


@TensorListSplit.shape
def tensor_list_split_shape(tensor, element_shape, lengths, *, element_dtype, ctx):
    tensor = shapes.with_rank_at_least(tensor, 1)
    shapes.with_rank(lengths, 1)
    shape = element_shape_of(ctx)
    shapes.merge(None if tensor is None else (None, *tensor[1:]), shape)
    ctx.set_handle([(element_dtype, shape)])
    return ()


@TensorListSplit.host
def tensor_list_split(tensor, element_shape, lengths, *, element_dtype, ctx):
    shape, facts = given_shape(element_shape), ctx.mark(ARRAY)
    if facts is not None:
        size = lengths.size if facts.size is None else facts.size
        items, log = pieces(tensor, lengths, size, facts.is_dynamic), ArrayLog(facts, is_checked(ctx.source))
        if ctx.is_marked(REFILLS):
            raise messages.not_written(log.name, 0, messages.WAS_WRITTEN)
        log.write_many(range(len(items)), items, len(items))
        made = TensorList(element_dtype, facts.shape, items)
        made.log = log
        return made
    if tensor.ndim == 0:
        raise invalid("Tensor must be at least a vector, but saw shape: []")
    if lengths.ndim != 1:
        raise invalid(f"Expected lengths to be a vector, received shape: {shapes.to_text(lengths.shape)}")
    # What an element's shape says of its first dimension is not asked here.
    if not fits((None, *tensor.shape[1:]), shape):
        raise invalid(
            f"tensor shape {shapes.to_text(tensor.shape)} is not compatible with element_shape {shape_text(shape)}"
        )
    items, start = [], 0
    for n in lengths.tolist():
        end = start + n
        if n < 0 or end > tensor.shape[0]:
            raise invalid(f"Attempting to slice [{start}, {end}] from tensor with length {tensor.shape[0]}")
        items.append(np.ascontiguousarray(tensor[start:end]))
        start = end
    if start != tensor.shape[0]:
        raise invalid(f"Unused values in tensor. Length of tensor: {tensor.shape[0]} Values used: {start}")
    return TensorList(element_dtype, shape, items)


@TensorListSplit.lower(static="element_shape lengths", lists=True)
def tensor_list_split_lower(tensor, element_shape, lengths, *, element_dtype, ctx):
    facts = ctx.mark(ARRAY)
    if facts is not None and (facts.size not in (None, lengths.size) or ctx.is_marked(REFILLS)):
        raise NotImplementedError("pieces that the array has no room for")
    shape, known = given_shape(element_shape), set(lengths.reshape(-1).tolist())
    if tensor.ndim == 0 or lengths.ndim != 1 or len(known) != 1 or not fits((None, *tensor.shape[1:]), shape):
        raise NotImplementedError("pieces of different lengths")
    (n,) = known
    if n < 0 or n * lengths.size != tensor.shape[0] or (shape and shape[0] not in (None, n)):
        raise NotImplementedError("pieces that do not make up the tensor")
    rows = tensor.reshape(lengths.size, n, *tensor.shape[1:])
    given = StackedList(element_dtype, rows, lengths.size, None, shape)
    return with_flags(ctx, given, lengths.size, True)


@TensorListSplit.grad
def tensor_list_split_grad(op, dlist):
    tensor, _, lengths = op.inputs
    rows = _shape_but_first(tensor)
    shape = NAMES["concat"]([[-1], rows], 0)
    dtensor = raw.TensorListConcatV2(dlist, shape, lengths, element_dtype=op.attrs["element_dtype"])[0]
    return dtensor, None, None


TensorListConcat = op("""
    TensorListConcat(input_handle: variant) -> (tensor: element_dtype, lengths: int64)
      element_dtype: type
      element_shape: shape = ?

    A list's elements one after the other, and how many rows each has.
""")  # fmt: skip

TensorListConcatV2 = op("""
    TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: int64) -> (tensor: element_dtype, lengths: int64)
      element_dtype: type
      shape_type: {int32, int64}

    A list's elements one after the other, and how many rows each has; `leading_dims` says it for those not set.
""")  # fmt: skip  # noqa: E501


@TensorListConcat.shape
def tensor_list_concat_shape(input_handle, *, element_dtype, element_shape, ctx):
    return _concat_shape(element_shape, element_dtype, ctx)


@TensorListConcatV2.shape
def tensor_list_concat_v2_shape(input_handle, element_shape, leading_dims, *, element_dtype, ctx):
    return _concat_shape(element_shape_of(ctx), element_dtype, ctx)


def _concat_shape(shape, dtype, ctx):
    shape = shapes.merge(shape, held_shape(ctx, dtype, READ))
    return [None if shape is None else (None, *shape[1:]), (None,)]


@TensorListConcat.host
def tensor_list_concat(input_handle, *, element_dtype, element_shape):
    given = as_list(input_handle)
    check_type(given, element_dtype)
    # The first dimension is not asked of the attr, nor anything of the list's own element shape.
    shape = None if element_shape is None else (None, *element_shape[1:])
    if given.size and not any(x is not None for x in given.items) and shapes.is_full(shape and shape[1:]):
        raise invalid(_OLD)
    lengths = {shape_of_item(x)[:1] for x in given.items if x is not None}
    if len(lengths) > 1 and any(x is None for x in given.items):
        raise invalid(_OLD)
    return _joined(given, shape, (), element_dtype)


@TensorListConcat.lower(lists=True)
def tensor_list_concat_lower(input_handle, *, element_dtype, element_shape):
    return _join_traced(input_handle, element_dtype)


@TensorListConcatV2.lower(static="element_shape leading_dims", lists=True)
def tensor_list_concat_v2_lower(input_handle, element_shape, leading_dims, *, element_dtype, ctx):
    input_handle.merged_shape(given_shape(element_shape))
    check_all_read(ctx, input_handle)
    return _join_traced(input_handle, element_dtype)


def _join_traced(given, dtype):
    check_dtype(given, dtype)
    n = given.known_size()
    if not n or given.buffer is None or given.is_set is not None or given.buffer.ndim < 2:
        raise NotImplementedError("elements that may be unset")
    rows = given.stacked()
    return rows.reshape(n * rows.shape[1], *rows.shape[2:]), np.full(n, rows.shape[1], np.int64)


_OLD = (
    "Concating lists with uninitialized tensors is not supported in this version of TensorListConcat. Consider "
    "updating your GraphDef to run the newer version."
)


@TensorListConcatV2.host
def tensor_list_concat_v2(input_handle, element_shape, leading_dims, *, element_dtype, ctx):
    given = as_list(input_handle)
    check_type(given, element_dtype)
    shape, facts = given_shape(element_shape), ctx.mark(ARRAY)
    if facts is not None:
        items = log_of(given, facts).read_many(given, range(given.size))
        return joined(items, shape and shape[1:], element_dtype)
    expected = shape[0] if shape else None
    shape = merged(shape, given.element_shape)
    return _joined(given, shape, leading_dims.reshape(-1).tolist(), element_dtype, expected)


def _joined(given, shape, leading, dtype, expected=None):
    if shape is not None and not shape:
        raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
    first, rest = (None, None) if shape is None else (shape[0], shape[1:])
    items = given.items
    if not items and not shapes.is_full(rest):
        raise invalid(
            "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: "
            f"{shape_text(shape)}"
        )
    lengths = [None] * len(items)
    for i, x in enumerate(items):
        if x is None:
            continue
        if not shape_of_item(x):
            raise invalid(f"Concat saw a scalar shape at index {i} but requires at least vectors.")
        lengths[i] = x.shape[0]
        if expected is not None and x.shape[0] != expected:
            raise invalid(
                "First entry of element_shape input does not match the first dim of list element at index: "
                f"{i} Expected: {expected} Actual: {x.shape[0]}"
            )
        rest = merged(rest, x.shape[1:])
    if not shapes.is_full(rest):
        raise invalid(
            "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim_ is not fully "
            f"defined: {shape_text(rest)}"
        )
    known = {n for n in lengths if n is not None}
    if first is None and not leading and len(known) == 1:
        (first,) = known
    for i, n in enumerate(lengths):
        if n is None:
            if first is None and i >= len(leading):
                raise invalid(
                    f"List contains uninitialized tensor at index {i} but leading_dims has only {len(leading)} "
                    "elements."
                )
            lengths[i] = leading[i] if first is None else first
            if lengths[i] < 0:
                raise invalid(f"leading_dims must not be negative, but is {lengths[i]} at index {i}")
    parts = [zeros((n, *rest), dtype) if x is None else x for x, n in zip(items, lengths, strict=True)]
    whole = np.concatenate(parts) if parts else zeros((0, *rest), dtype)
    return [whole, np.array(lengths, np.int64)]


def tensor_list_concat_grad(op, dtensor, _):
    handle = op.inputs[0]
    shape = raw.TensorListElementShape(handle, shape_type="int32")
    dlist = raw.TensorListSplit(dtensor, shape, op.outputs[1])
    return [dlist] + [None] * (len(op.inputs) - 1)


TensorListConcat.grad(tensor_list_concat_grad)
TensorListConcatV2.grad(tensor_list_concat_grad)


def _cases(case):
    @case.program
    def rows(step):
        whole = raw.TensorListFromTensor([[1.0], [2.0], [3.0]], [1])
        i = raw.PlaceholderWithDefault([2, 0, 2], shape=[None])
        some = raw.TensorListGather(whole, i, -1, element_dtype="float32")
        step(some, gives=[[3], [1], [3]])
        step(some, feed={i: [3]}, fails=errors.InvalidArgumentError, match="list only has 3 elements")
        spread = raw.TensorListScatter([[1.0], [2.0], [3.0]], i, [1])
        step(raw.TensorListStack(spread, -1, element_dtype="float32"), gives=[[2], [0], [3]])
        n = raw.TensorListLength(spread)
        step(n, feed={i: [-1, 0, 1]}, fails=errors.InvalidArgumentError, match="non-negative")
        longer = raw.TensorListScatterV2([[1.0], [2.0], [3.0]], i, [1], 4)
        step(raw.TensorListStack(longer, -1, element_dtype="float32"), gives=[[2], [0], [3], [0]])
        into = raw.TensorListScatterIntoExistingList(whole, [[7.0]], [1])
        step(raw.TensorListStack(into, -1, element_dtype="float32"), gives=[[1], [7], [3]])
        step(raw.TensorListStack(whole, -1, element_dtype="float32"), gives=[[1], [2], [3]])

    @case.program
    def pieces(step):
        lengths = raw.PlaceholderWithDefault(np.array([2, 0, 1]), shape=[None])
        split = raw.TensorListSplit([[1.0], [2.0], [3.0]], [-1, 1], lengths)
        joined = raw.TensorListConcatV2(split, [-1, 1], np.zeros([0], np.int64), element_dtype="float32")
        step(list(joined), gives=([[1], [2], [3]], np.array([2, 0, 1])))
        old = raw.TensorListConcat(split, element_dtype="float32", element_shape=[None, 1])
        step(list(old), gives=([[1], [2], [3]], np.array([2, 0, 1])))
        step(joined[0], feed={lengths: [4]}, fails=errors.InvalidArgumentError, match="length 3")
        step(joined[0], feed={lengths: [2]}, fails=errors.InvalidArgumentError, match="Unused values")

    @case.program
    def unset_pieces(step):
        three = raw.TensorListReserve([-1, 1], 3, element_dtype="float32")
        one = raw.TensorListSetItem(three, 1, [[5.0]])
        joined = raw.TensorListConcatV2(one, -1, np.array([1, 1, 2]), element_dtype="float32")
        step(list(joined), gives=([[0], [5], [0], [0]], np.array([1, 1, 2])))


for _kind in (
    TensorListGather,
    TensorListScatter,
    TensorListScatterV2,
    TensorListScatterIntoExistingList,
    TensorListSplit,
    TensorListConcat,
    TensorListConcatV2,
):
    _kind.cases(_cases)
