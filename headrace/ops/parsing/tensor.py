"""Tensors as serialized TensorProto messages."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import as_dtype
from headrace.graphdef.tensor_proto import make_ndarray, make_tensor_proto, proto_from_array
from headrace.opdef import export, op, raw
from headrace.opdef.strings import invalid
from headrace.shapes import scalar, unknown

SerializeTensor = op("""
    SerializeTensor(tensor: T) -> (serialized: string)
      T: type

    A tensor as a serialized TensorProto.
""", shape=scalar, grad=None)  # fmt: skip

ParseTensor = op("""
    ParseTensor(serialized: string) -> (output: out_type)
      out_type: type

    The tensor that a serialized TensorProto holds.
""", shape=unknown, grad=None)  # fmt: skip

_SPELT = {"float32": "float", "float64": "double", "float16": "half"}


@SerializeTensor.host
def serialize_tensor_host(tensor):
    message = proto_from_array(tensor, as_dtype("string" if tensor.dtype == object else tensor.dtype))
    if tensor.dtype != object:
        # Numbers go as bytes, however few there are.
        for field in [f.name for f, _ in message.ListFields() if f.name.endswith("_val")]:
            message.ClearField(field)
        message.tensor_content = np.ascontiguousarray(tensor).tobytes()
    return np.array(message.SerializeToString(deterministic=True), object)


@ParseTensor.host
def parse_tensor_host(serialized, *, out_type):
    from headrace import proto

    try:
        message = proto.TensorProto.FromString(serialized.item())
    except Exception:
        shown = serialized.item().decode("utf-8", "backslashreplace")
        invalid(f"Could not parse `serialized` as TensorProto: '{shown}'")
    found, wanted = as_dtype(message.dtype), as_dtype(out_type)
    if found is not wanted:
        names = [_SPELT.get(t.name, t.name) for t in (found, wanted)]
        invalid(f"Type mismatch between parsed tensor ({names[0]}) and dtype ({names[1]})")
    try:
        return make_ndarray(message)
    except (MemoryError, ValueError):
        invalid(f"Cannot parse tensor from proto: {message}")


@SerializeTensor.cases
def serialize_tensor_cases(case):
    case(
        [1.0, 2.0], gives=np.array(b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@', object)
    )
    case.shapes("[2,?]", "[]")


@ParseTensor.cases
def parse_tensor_cases(case):
    message = np.array(make_tensor_proto(np.float32([1.0, 2.0])).SerializeToString(), object)

    @case.program
    def parsed(step):
        step(raw.ParseTensor(message, out_type="float32"), gives=[1.0, 2.0])
        step(
            raw.ParseTensor(raw.SerializeTensor(["a", "b"]), out_type="string"),
            gives=np.array([b"a", b"b"], object),
        )

    case.shapes("[]", "?", out_type="float32")
    case.fails(
        (message,), out_type="int32", match="Type mismatch between parsed tensor .float. and dtype .int32."
    )


@export("serialize_tensor", "io.serialize_tensor")
def serialize_tensor(tensor, name=None):
    """Returns a tensor as a serialized TensorProto.

    Args:
      tensor: The tensor.
      name: The node's name.
    """
    return raw.SerializeTensor(tensor, name=name)


@export("parse_tensor", "io.parse_tensor")
def parse_tensor(serialized, out_type, name=None):
    """Returns the tensor that a serialized TensorProto holds.

    Args:
      serialized: A scalar string.
      out_type: The tensor's type.
      name: The node's name.
    """
    return raw.ParseTensor(serialized, out_type=out_type, name=name)
