"""What the TensorArray ops of graphs with Switch and Merge do when they run."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.resources.tensor_array import TensorArray, invalid
from headrace.resources.tensor_list import shape_text


def as_array(value):
    """Returns the array that a handle is.

    Raises:
      InvalidArgumentError: It is something else.
    """
    if type(value) is np.ndarray and value.shape == ():
        value = value.item()
    if not isinstance(value, TensorArray):
        raise invalid("The handle is not one of a TensorArray")
    return value


_FLOW = np.float32(0)


def make(size, *, dtype, element_shape, dynamic_size, clear_after_read, tensor_array_name, ctx, **more):
    if np.ndim(size):
        raise invalid(f"TensorArray size must be scalar, but had shape: {shapes.to_text(np.shape(size))}")
    name = tensor_array_name.decode() if isinstance(tensor_array_name, bytes) else tensor_array_name
    return TensorArray(
        TensorArray.numbered(name or ctx.op.name),
        dtype,
        int(size),
        element_shape=element_shape,
        is_dynamic=dynamic_size,
        clears=clear_after_read,
        is_uniform=more.get("identical_element_shapes", False),
    )


def make_v3(
    size,
    *,
    dtype,
    element_shape,
    dynamic_size,
    clear_after_read,
    identical_element_shapes,
    tensor_array_name,
    ctx,
):
    made = make(
        size,
        dtype=dtype,
        element_shape=element_shape,
        dynamic_size=dynamic_size,
        clear_after_read=clear_after_read,
        tensor_array_name=tensor_array_name,
        identical_element_shapes=identical_element_shapes,
        ctx=ctx,
    )
    return [made, _FLOW]


def make_v2(size, *, dtype, element_shape, dynamic_size, clear_after_read, tensor_array_name, ctx):
    return make(
        size,
        dtype=dtype,
        element_shape=element_shape,
        dynamic_size=dynamic_size,
        clear_after_read=clear_after_read,
        tensor_array_name=tensor_array_name,
        ctx=ctx,
    )


def _index(value):
    if np.ndim(value):
        raise invalid(f"TensorArray index must be scalar, but had shape: {shapes.to_text(np.shape(value))}")
    return int(value)


def read(handle, index, flow_in, *, dtype):
    array = as_array(handle)
    array.check_read(dtype)
    return array.read(_index(index))


def write(handle, index, value, flow_in, *, T):
    array = as_array(handle)
    i = _index(index)
    array.check_written(T)
    array.write(i, value)
    return flow_in


def _vector(value, what):
    if value.ndim != 1:
        raise invalid(f"Expected {what} to be a vector, but received shape: {shapes.to_text(value.shape)}")
    return value.tolist()


def gather(handle, indices, flow_in, *, dtype, element_shape):
    array = as_array(handle)
    array.check_read(dtype)
    return _packed(array, _vector(indices, "indices"), dtype, element_shape)


def pack(handle, flow_in, *, dtype, element_shape):
    array = as_array(handle)
    array.check_read(dtype)
    return _packed(array, list(range(array.size)), dtype, element_shape)


def _packed(array, places, dtype, element_shape):
    if not places:
        if not shapes.is_full(element_shape):
            raise errors.UnimplementedError(
                None,
                None,
                f"TensorArray has size zero, but element shape {shape_text(element_shape)} is not fully defined. "
                "Currently only static shapes are supported when packing zero-size TensorArrays.",
            )
        return np.zeros((0, *element_shape), dtype.storage)
    items = array.read_many(places)
    first = items[0].shape
    if not shapes.compatible(first, element_shape):
        raise invalid(
            f"TensorArray was passed element_shape {shape_text(element_shape)} which does not match the Tensor at "
            f"index 0: {shapes.to_text(first)}"
        )
    for i, item in enumerate(items):
        if item.shape != first:
            raise invalid(
                f"TensorArray has inconsistent shapes.  Index 0 has shape: {shapes.to_text(first)} but index {i} has "
                f"shape: {shapes.to_text(item.shape)}"
            )
    return np.stack(items)


def scatter(handle, indices, value, flow_in, *, T):
    array = as_array(handle)
    array.check_written(T)
    if value.ndim == 0:
        raise invalid("Input value for unpack must be at least a vector but received shape: []")
    places = _vector(indices, "indices")
    if len(places) != value.shape[0]:
        raise invalid(
            f"Expected len(indices) == values.shape[0], but saw: {len(places)} vs. {value.shape[0]}"
        )
    _fill(array, places, value)
    return flow_in


def unpack(handle, value, flow_in, *, T):
    array = as_array(handle)
    array.check_written(T)
    if value.ndim == 0:
        raise invalid("Input value for unpack must be at least a vector but received shape: []")
    if not array.is_dynamic and array.size != value.shape[0]:
        raise invalid(
            "Input value must have first dimension equal to the array size "
            f"({value.shape[0]} vs. {array.size})"
        )
    _fill(array, list(range(value.shape[0])), value)
    return flow_in


def _fill(array, places, value):
    most = max(places, default=-1)
    if most >= array.size and not array.is_dynamic:
        raise invalid(f"Max scatter index must be < array size ({most} vs. {array.size})")
    for i, row in zip(places, value, strict=True):
        array.write(i, np.asarray(row, value.dtype))


def concat(handle, flow_in, *, dtype, element_shape_except0):
    array = as_array(handle)
    array.check_read(dtype)
    if not array.size:
        if not shapes.is_full(element_shape_except0):
            raise errors.UnimplementedError(
                None,
                None,
                f"TensorArray has size zero, but element_shape_except0 {shape_text(element_shape_except0)} is not "
                "fully defined. Currently only static shapes are supported when concatenating zero-size TensorArrays.",
            )
        return [np.zeros((0, *element_shape_except0), dtype.storage), np.zeros([0], np.int64)]
    items = array.read_many(range(array.size))
    for i, item in enumerate(items):
        if not item.ndim:
            raise invalid(
                f"Concat saw a scalar shape at index {i} but requires at least vectors.  Did you mean to call pack?"
            )
        rest, first = item.shape[1:], items[0].shape[1:]
        if not shapes.compatible(rest, element_shape_except0):
            raise invalid(
                f"TensorArray was passed element_shape_except0 {shape_text(element_shape_except0)} but index {i} has "
                f"(excepting dimension 0) shape: {shapes.to_text(rest)} which does not match."
            )
        if rest != first:
            raise invalid(
                "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
                f"{shapes.to_text(first)} but index {i} has (excepting dimension 0) shape: {shapes.to_text(rest)}"
            )
    return [np.concatenate(items), np.array([len(item) for item in items], np.int64)]


def split(handle, value, lengths, flow_in, *, T):
    array = as_array(handle)
    array.check_written(T)
    if lengths.ndim != 1:
        raise invalid(f"Expected lengths to be a vector, received shape: {shapes.to_text(lengths.shape)}")
    if not value.ndim:
        raise invalid("Expected value to be at least a vector, but received shape: []")
    sizes = lengths.tolist()
    if any(n < 0 for n in sizes):
        raise invalid(f"Expected lengths not to be negative, but saw: {min(sizes)}")
    if sum(sizes) != value.shape[0]:
        raise invalid(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{sum(sizes)} and value's shape is: {shapes.to_text(value.shape)}"
        )
    if len(sizes) != array.size and not (array.is_dynamic and len(sizes) > array.size):
        raise invalid(
            f"TensorArray's size is not equal to the size of lengths ({array.size} vs. {len(sizes)}), and the "
            "TensorArray is not marked as dynamically resizeable"
        )
    start = 0
    for i, n in enumerate(sizes):
        array.write(i, np.ascontiguousarray(value[start : start + n]))
        start += n
    return flow_in


def size(handle, flow_in):
    return np.int32(as_array(handle).size)


def close(handle):
    as_array(handle).close()
    return []


def _source(source):
    return source.decode() if isinstance(source, bytes) else source


def grad(handle, flow_in, *, source):
    return as_array(handle).gradient(_source(source))


def grad_v3(handle, flow_in, *, source):
    return [as_array(handle).gradient(_source(source)), flow_in]


def grad_with_shape(handle, flow_in, shape_to_prepend, *, source):
    prefix = tuple(np.asarray(shape_to_prepend).reshape(-1).tolist())
    if any(d < 0 for d in prefix):
        raise invalid(f"The dimensions to prepend must not be negative, but are {list(prefix)}")
    return [as_array(handle).gradient(_source(source), prefix), flow_in]
