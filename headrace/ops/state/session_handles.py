"""Tensors that stay in the session between steps: GetSessionHandle and its relatives."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.errors import InvalidArgumentError
from headrace.export import NAMES, export
from headrace.graph import colocate_with
from headrace.graph.tensor import Tensor
from headrace.opdef import op, raw
from headrace.resources.session_store import SessionStore
from headrace.shapes import scalar, with_rank

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


class KeptTensor:
    """What GetSessionHandleV2 gives: the handle as a resource."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name


def _store(ctx):
    return ctx.resources.lookup_or_create("", "session_store", SessionStore, SessionStore)


def _put(ctx, value):
    # A fed array stays the caller's, who may write to it.
    return _store(ctx).put(ctx.op.name, ctx.op.device or _DEVICE, np.array(value))


def _text(handle):
    return handle.item().decode()


GetSessionHandle = op("""
    GetSessionHandle(value: T) -> (handle: string)
      T: type
      stateful

    Keeps a tensor in the session and gives its handle.
""", shape=scalar, grad=None)  # fmt: skip


@GetSessionHandle.host
def get_session_handle_host(value, *, ctx):
    return np.array(_put(ctx, value).encode(), object)


GetSessionHandleV2 = op("""
    GetSessionHandleV2(value: T) -> (handle: resource)
      T: type
      stateful

    Keeps a tensor in the session and gives its handle as a resource.
""", shape=scalar, grad=None)  # fmt: skip


@GetSessionHandleV2.host
def get_session_handle_v2_host(value, *, ctx):
    return KeptTensor(_put(ctx, value))


GetSessionTensor = op("""
    GetSessionTensor(handle: string) -> (value: dtype)
      dtype: type
      stateful

    The tensor of a handle.
""", grad=None)  # fmt: skip


@GetSessionTensor.shape
def get_session_tensor_shape(handle):
    with_rank(handle, 0)


@GetSessionTensor.host
def get_session_tensor_host(handle, *, dtype, ctx):
    value = _store(ctx).get(_text(handle))
    if value is None:
        raise InvalidArgumentError(
            None, None, f"The tensor with handle '{_text(handle)}' is not in the session store."
        )
    found = dtypes.string if value.dtype == object else as_dtype(value.dtype)
    if found is not dtype:
        raise InvalidArgumentError(
            None,
            None,
            f"The tensor with handle '{_text(handle)}' is of type {found.wire_name}, not {dtype.wire_name}.",
        )
    return value


DeleteSessionTensor = op("""
    DeleteSessionTensor(handle: string) -> ()
      stateful

    Forgets the tensor of a handle.
""", grad=None)  # fmt: skip


@DeleteSessionTensor.shape
def delete_session_tensor_shape(handle):
    with_rank(handle, 0)
    return []


@DeleteSessionTensor.host
def delete_session_tensor_host(handle, *, ctx):
    if not _store(ctx).delete(_text(handle)):
        raise InvalidArgumentError(
            None, None, f"Failed to delete a tensor with handle '{_text(handle)}' in the session store."
        )
    return ()


@GetSessionHandle.cases
@GetSessionTensor.cases
@DeleteSessionTensor.cases
def session_handle_cases(case):
    @case.program
    def is_kept_until_deleted(step):
        handle = raw.Identity(raw.GetSessionHandle([1.0, 2.0]))
        kept = step(handle)
        text = raw.Placeholder(dtype="string", shape=[])
        value = raw.GetSessionTensor(text, dtype="float32")
        step(value, gives=[1.0, 2.0], feed={text: kept})
        other = raw.GetSessionTensor(text, dtype="int32")
        step(other, fails=InvalidArgumentError, match="is of type float, not int32", feed={text: kept})
        step(raw.DeleteSessionTensor(text), feed={text: kept})
        step(value, fails=InvalidArgumentError, match="is not in the session store", feed={text: kept})
        step(
            raw.DeleteSessionTensor(text),
            fails=InvalidArgumentError,
            match="Failed to delete a tensor with handle",
            feed={text: kept},
        )


@GetSessionHandleV2.cases
def session_handle_v2_cases(case):
    @case.program
    def runs(step):
        handle = raw.GetSessionHandleV2([1.0, 2.0])
        step(raw.Shape(raw.Identity(np.float32([1.0]))), gives=np.int32([1]))
        step(handle.op)


@export("get_session_handle")
def get_session_handle(data, name=None):
    """Returns a handle of a tensor, which stays in the session when the step is over.

    A run that fetches it gives a TensorHandle, which may be fed in place of a value.

    Args:
      data: The tensor.
      name: The node's name.

    Raises:
      TypeError: `data` is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        return raw.GetSessionHandle(data, name=name)


def _device_of(handle):
    return str(handle).split(";")[-1]


@export("get_session_tensor")
def get_session_tensor(handle, dtype, name=None):
    """Returns a placeholder for a handle's text, and the tensor of the handle that is fed to it.

    Args:
      handle: A handle's text, which says on which device the tensor is.
      dtype: The tensor's type.
      name: The node's name.
    """
    with NAMES["device"](None), NAMES["device"](_device_of(handle)):
        holder = NAMES["placeholder"](dtypes.string)
        return holder, raw.GetSessionTensor(holder, dtype=as_dtype(dtype), name=name)


@export("delete_session_tensor")
def delete_session_tensor(handle, name=None):
    """Returns a placeholder for a handle's text, and the operation that deletes the tensor of the handle fed to it.

    Args:
      handle: A handle's text, which says on which device the tensor is.
      name: The node's name.
    """
    with NAMES["device"](None), NAMES["device"](_device_of(handle)):
        holder = NAMES["placeholder"](dtypes.string)
        return holder, raw.DeleteSessionTensor(holder, name=name)
