"""What the TensorArray ops of graphs with Switch and Merge do when they run."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.resources.array_log import check_rows, check_scalar, joined, packed, pieces
from headrace.resources.array_messages import invalid
from headrace.resources.tensor_array import TensorArray


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
    check_scalar(size, "size")
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
    check_scalar(value, "index")
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
    return packed(array.read_many(places), element_shape, dtype)


def scatter(handle, indices, value, flow_in, *, T):
    array = as_array(handle)
    array.check_written(T)
    places = _vector(indices, "indices")
    check_rows(value, places, array.size, array.is_dynamic)
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
    for i, row in zip(places, value, strict=True):
        array.write(i, np.asarray(row, value.dtype))


def concat(handle, flow_in, *, dtype, element_shape_except0):
    array = as_array(handle)
    array.check_read(dtype)
    return joined(array.read_many(range(array.size)), element_shape_except0, dtype)


def split(handle, value, lengths, flow_in, *, T):
    array = as_array(handle)
    array.check_written(T)
    for i, piece in enumerate(pieces(value, lengths, array.size, array.is_dynamic)):
        array.write(i, piece)
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
