"""Constants that live in the host's memory, or in a file."""

from __future__ import annotations

import math
import os

import numpy as np

from headrace import errors
from headrace.dtypes import from_numpy
from headrace.opdef import op

HostConst = op("""
    HostConst() -> (output: dtype)
      value: tensor
      dtype: type

    Holds a fixed tensor in the host's memory.
""")  # fmt: skip


@HostConst.shape
def host_const_shape(*, value):
    return None


@HostConst.host
@HostConst.lower
def host_const_compute(*, value, dtype):
    if value.dtype != dtype.storage:
        names = f"value ({from_numpy(value.dtype).wire_name}) and dtype ({dtype.wire_name})"
        raise errors.InvalidArgumentError(None, None, f"Type mismatch between {names}")
    return value


@HostConst.cases
def host_const_cases(case):
    case(value=np.array([1.0, 2.0], np.float32), dtype="float32", gives=[1.0, 2.0])


ImmutableConst = op("""
    ImmutableConst() -> (tensor: dtype)
      dtype: type
      shape: shape
      memory_region_name: string

    The tensor that a file's first bytes are.
""")  # fmt: skip


@ImmutableConst.shape
def immutable_const_shape(*, shape):
    return shape


@ImmutableConst.host
def immutable_const_host(*, dtype, shape, memory_region_name):
    path = memory_region_name.decode() if isinstance(memory_region_name, bytes) else memory_region_name
    if not os.path.exists(path):
        raise errors.NotFoundError(None, None, f"{path}; No such file or directory")
    if shape is None or None in shape:
        raise errors.InvalidArgumentError(None, None, "The shape of an ImmutableConst must be known")
    storage = np.dtype(dtype.storage)
    if storage.kind == "O":
        raise errors.UnimplementedError(
            None, None, f"Sorry, DT_{dtype.name.upper()} is not currently supported for ImmutableConst."
        )
    count = math.prod(shape)
    size = os.path.getsize(path)
    if size < count * storage.itemsize:
        raise errors.InternalError(
            None,
            None,
            f"Readonly memory region has wrong length ({size}) when allocating {count * storage.itemsize}",
        )
    try:
        return np.fromfile(path, storage, count).reshape(shape)
    except OSError as e:
        raise errors.NotFoundError(None, None, f"{path}; {e.strerror}") from None


@ImmutableConst.cases
def immutable_const_cases(case):
    import tempfile

    from headrace.opdef import raw

    @case.program
    def reads_a_file(step):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "numbers")
            np.float32([1, 2, 3]).tofile(path)
            step(
                raw.ImmutableConst(dtype="float32", shape=[3], memory_region_name=path), gives=[1.0, 2.0, 3.0]
            )
            step(
                raw.ImmutableConst(dtype="float32", shape=[0], memory_region_name=path),
                gives=np.zeros(0, np.float32),
            )
            large = raw.ImmutableConst(dtype="float64", shape=[2**40], memory_region_name=path)
            step(
                large, fails=errors.InternalError, match=r"wrong length \(12\) when allocating 8796093022208"
            )
            text = raw.ImmutableConst(dtype="string", shape=[1], memory_region_name=path)
            step(text, fails=errors.UnimplementedError, match="DT_STRING is not currently supported")
            nowhere = raw.ImmutableConst(dtype="float32", shape=[1], memory_region_name=path + "x")
            step(nowhere, fails=errors.NotFoundError, match="No such file or directory")
