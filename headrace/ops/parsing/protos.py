"""tf.io.decode_proto and encode_proto: fields of messages that a descriptor tells of."""

from __future__ import annotations

import collections
import functools
import struct
from typing import Any

import numpy as np

from headrace import errors
from headrace.dtypes import as_dtype
from headrace.export import export
from headrace.formats import wire
from headrace.opdef import op, raw
from headrace.opdef.strings import attr_text, flat, invalid, strings
from headrace.shapes import compatible, merge, with_rank_at_least

DecodeProtoV2 = op("""
    DecodeProtoV2(bytes: string) -> (sizes: int32, values: output_types)
      message_type: string
      field_names: list(string)
      output_types: list(type) >= 0
      descriptor_source: string = "local://"
      message_format: string = "binary"
      sanitize: bool = false

    Fields of serialized messages as tensors, and how often each is there.
""", grad=None)  # fmt: skip

EncodeProto = op("""
    EncodeProto(sizes: int32, values: Tinput_types) -> (bytes: string)
      field_names: list(string)
      message_type: string
      descriptor_source: string = "local://"
      Tinput_types: list(type) >= 1

    Serialized messages made of tensors that hold fields.
""", grad=None)  # fmt: skip

_Kind = collections.namedtuple("_Kind", "name wire form dtypes")
# By a field's type in its descriptor: its name, its wire type, how its bytes are packed, and tensors that hold it.
_KINDS = {
    1: _Kind("double", wire.FIXED64, "d", ("float64",)),
    2: _Kind("float", wire.FIXED32, "f", ("float32", "float64")),
    3: _Kind("int64", wire.VARINT, "i64", ("int64",)),
    4: _Kind("uint64", wire.VARINT, "u64", ("uint64",)),
    5: _Kind("int32", wire.VARINT, "i32", ("int32", "int64")),
    6: _Kind("fixed64", wire.FIXED64, "Q", ("uint64",)),
    7: _Kind("fixed32", wire.FIXED32, "I", ("uint32", "uint64")),
    8: _Kind("bool", wire.VARINT, "bool", ("bool",)),
    9: _Kind("string", wire.BYTES, "", ("string",)),
    10: _Kind("group", wire.GROUP, "", ("string",)),
    11: _Kind("message", wire.BYTES, "", ("string",)),
    12: _Kind("bytes", wire.BYTES, "", ("string",)),
    13: _Kind("uint32", wire.VARINT, "u32", ("uint32", "uint64")),
    14: _Kind("enum", wire.VARINT, "i32", ("int32",)),
    15: _Kind("sfixed32", wire.FIXED32, "i", ("int32", "int64")),
    16: _Kind("sfixed64", wire.FIXED64, "q", ("int64",)),
    17: _Kind("sint32", wire.VARINT, "z32", ("int32", "int64")),
    18: _Kind("sint64", wire.VARINT, "z64", ("int64",)),
}


@functools.lru_cache(maxsize=32)
def _pool(source: bytes) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool

    if source in (b"", b"local://"):
        from headrace.proto import Summary

        return Summary.DESCRIPTOR.file.pool
    try:
        if source.startswith(b"bytes://"):
            data = source[8:]
        else:
            from headrace.platform.file_io import FileIO

            with FileIO(source.decode(), "rb") as file:
                data = file.read()
        files = descriptor_pb2.FileDescriptorSet.FromString(data)
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.AddSerializedFile(file.SerializeToString())
    except Exception:
        invalid("Source does not represent serialized file descriptor set proto.")
    return pool


def _source(value):
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def _message(message_type, source):
    name = attr_text(message_type)
    try:
        return _pool(_source(source)).FindMessageTypeByName(name)
    except KeyError:
        invalid(f"No descriptor found for message type {name}")


def _fields(message, names):
    out = []
    for name in map(attr_text, names):
        found = message.fields_by_name.get(name)
        if found is None:
            try:
                found = message.file.pool.FindExtensionByName(name)
            except KeyError:
                found = None
            if found is None or found.containing_type is not message:
                invalid(f"Unknown field: {name} in message type {message.full_name}")
        out.append(found)
    return out


def _wrapped(value, bits, signed):
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _number(kind, data):
    """Returns the number that a field's bytes hold."""
    form = kind.form
    if kind.wire != wire.VARINT:
        return wire.unpack(form, data)
    value = wire.read_varint(data, 0)[0]
    if form == "bool":
        return bool(value)
    bits = int(form[1:])
    if form[0] == "z":
        return _wrapped(wire.unzigzag(_wrapped(value, bits, False)), bits, True)
    return _wrapped(value, bits, form[0] == "i")


def _packed(kind, data):
    """Yields the bytes of each number of a packed field."""
    at = 0
    size = {wire.FIXED64: 8, wire.FIXED32: 4}.get(kind.wire)
    while at < len(data):
        end = wire.read_varint(data, at)[1] if size is None else at + size
        if end > len(data):
            raise wire.WireError("a packed field is cut off")
        yield data[at:end]
        at = end


def _collect(data, places):
    """Returns the values of the wanted fields of a message; `places` has the field's kind by number."""
    found = {number: [] for number in places}
    for number, kind, content in wire.fields(data):
        wanted = places.get(number)
        if wanted is None:
            continue
        if kind == wanted.wire:
            is_text = wanted.wire in (wire.BYTES, wire.GROUP)
            found[number].append(content if is_text else _number(wanted, content))
        elif kind == wire.BYTES and wanted.wire in (wire.VARINT, wire.FIXED32, wire.FIXED64):
            found[number] += [_number(wanted, part) for part in _packed(wanted, content)]
    return found


def _default(field):
    kind = _KINDS[field.type]
    if kind.dtypes == ("string",):
        default = b"" if field.is_repeated or field.message_type is not None else field.default_value
        return default.encode() if isinstance(default, str) else default
    return 0 if field.is_repeated else field.default_value


def _binary(data, message, message_format, sanitize):
    if message_format == "binary" and not sanitize:
        return data
    from google.protobuf import json_format, message_factory, text_format

    parsed = message_factory.GetMessageClass(message)()
    try:
        if message_format == "text":
            text_format.Parse(data.decode("utf-8", "surrogateescape"), parsed)
        else:
            parsed.ParseFromString(data)
            parsed.DiscardUnknownFields()
    except (text_format.ParseError, json_format.Error, ValueError):
        raise errors.DataLossError(None, None, "Unable to parse text protobuf") from None
    except Exception:
        raise errors.DataLossError(None, None, "Failed to parse message") from None
    return parsed.SerializePartialToString()


@DecodeProtoV2.shape
def decode_proto_shape(bytes, *, field_names, output_types):
    if bytes is None:
        return [None] * (1 + len(output_types))
    return [(*bytes, len(field_names)), *((*bytes, None) for _ in output_types)]


@DecodeProtoV2.host
def decode_proto_host(
    bytes, *, message_type, field_names, output_types, descriptor_source, message_format, sanitize
):
    message = _message(message_type, descriptor_source)
    if len(field_names) != len(output_types):
        invalid("field_names and output_types attributes must have the same length")
    wanted = _fields(message, field_names)
    dtypes = [as_dtype(t) for t in output_types]
    for field, dtype in zip(wanted, dtypes):
        if dtype.name not in _KINDS[field.type].dtypes:
            invalid(
                f"Unexpected output type for {field.full_name}: {field.cpp_type} to {dtype.as_datatype_enum}"
            )
    form = attr_text(message_format)
    if form not in ("binary", "text"):
        invalid("format must be one of binary or text")
    messages, shape = flat(bytes), np.shape(bytes)
    if not messages:
        invalid("Bufs argument must contain at least one value")
    places = {field.number: _KINDS[field.type] for field in wanted}
    try:
        found = [_collect(_binary(data, message, form, sanitize), places) for data in messages]
    except wire.WireError as e:
        if e.number is None:
            message = "CountFields: Failed to consume entire buffer"
        elif e.number in places:
            message = "ReadValue: Failed skipping field when counting"
        else:
            message = "Failed skipping unrequested field"
        raise errors.DataLossError(None, None, message) from None
    sizes = np.zeros((len(messages), len(wanted)), np.int32)
    values = []
    seen = {field.number: i for i, field in enumerate(wanted)}
    for i, (field, dtype) in enumerate(zip(wanted, dtypes)):
        # A field that is asked for twice is in the last place only.
        rows = [one[field.number] if seen[field.number] == i else [] for one in found]
        if not field.is_repeated:
            rows = [row[-1:] for row in rows]
        sizes[:, i] = [len(row) for row in rows]
        longest = int(sizes[:, i].max())
        longest = max(longest, 0 if field.is_repeated else 1) if seen[field.number] == i else max(longest, 1)
        longest = max(longest, 1)
        filled = [v for row in rows for v in row + [_default(field)] * (longest - len(row))]
        whole = (*shape, longest)
        if dtype.name == "string":
            values.append(strings(filled, whole))
        else:
            values.append(np.array(filled, dtype.storage).reshape(whole))
    return (sizes.reshape(*shape, len(wanted)), *values)


@EncodeProto.shape
def encode_proto_shape(sizes, values):
    sizes = with_rank_at_least(sizes, 2)
    batch = None
    for value in values:
        value = with_rank_at_least(value, 2)
        batch = merge(batch, None if value is None else value[:-1])
    if sizes is not None and compatible(batch, sizes[:-1]):
        # Sizes of another shape are refused in the step only, as in TensorFlow.
        return merge(batch, sizes[:-1])
    return batch


def _written(kind, number, value):
    """Returns a field with its tag."""
    tag = wire.varint(number << 3 | kind.wire)
    if kind.wire == wire.BYTES:
        return wire.field(number, value)
    if kind.wire == wire.GROUP:
        return tag + value + wire.varint(number << 3 | wire.END)
    return tag + _spelt(kind, value)


def _spelt(kind, value):
    if kind.form == "f":
        with np.errstate(over="ignore"):
            return np.array(value, "<f4").tobytes()
    if kind.form == "d":
        return struct.pack("<d", value)
    if kind.wire != wire.VARINT:
        bits = 32 if kind.wire == wire.FIXED32 else 64
        return (int(value) & (1 << bits) - 1).to_bytes(bits // 8, "little")
    if kind.form == "bool":
        return wire.varint(int(bool(value)))
    bits = int(kind.form[1:])
    value = _wrapped(int(value), bits, kind.form[0] != "u")
    return wire.varint(wire.zigzag(value) if kind.form[0] == "z" else value)


@EncodeProto.host
def encode_proto_host(sizes, values, *, field_names, message_type, descriptor_source):
    message = _message(message_type, descriptor_source)
    wanted = _fields(message, field_names)
    if len(wanted) != len(values):
        invalid("field_names and Tinput_types attributes must have the same length")
    sizes = np.asarray(sizes)
    values = [np.asarray(v) for v in values]
    batch = values[0].shape[:-1]
    if sizes.shape != (*batch, len(wanted)):
        saw, expected = (",".join(map(str, s)) for s in (sizes.shape, (*batch, len(wanted))))
        invalid(f"sizes should be batch_size + [len(field_names)].  Saw: [{saw}] but expected: [{expected}]")
    for field, value in zip(wanted, values):
        kind = _KINDS[field.type]
        dtype = "string" if value.dtype == object else value.dtype.name
        if value.shape[:-1] != batch:
            invalid(
                f"Values must match up to the last dimension. Found: {list(value.shape)} expected: {list(batch)}"
            )
        if dtype not in kind.dtypes:
            saw = {"float32": "float", "float64": "double"}.get(dtype, dtype)
            invalid(
                f"Incompatible type for field {field.name}.  Saw dtype: {saw} but field type is: {kind.name}"
            )
    order = sorted(range(len(wanted)), key=lambda i: wanted[i].number)
    counts = sizes.reshape(-1, len(wanted)).tolist()
    rows = [v.reshape(len(counts), -1) if v.size else np.zeros((len(counts), 0), v.dtype) for v in values]
    out = []
    for n, row in enumerate(counts):
        parts = []
        for i in order:
            field, count = wanted[i], row[i]
            if count > rows[i].shape[1]:
                invalid(
                    "Size to write must not be larger than value tensor; but saw: "
                    f"{count} > {rows[i].shape[1]} at message {n} field {i}"
                )
            kind, held = _KINDS[field.type], rows[i][n, : max(count, 0)].tolist()
            if held and field.is_packed and kind.wire not in (wire.BYTES, wire.GROUP):
                parts.append(wire.field(field.number, b"".join(_spelt(kind, v) for v in held)))
            else:
                parts += [_written(kind, field.number, v) for v in held]
        out.append(b"".join(parts))
    return strings(out, batch)


_LIST = "tensorflow.AttrValue.ListValue"


@DecodeProtoV2.cases
def decode_proto_cases(case):
    attrs = {
        "message_type": _LIST,
        "field_names": ["i", "s", "f"],
        "output_types": ["int64", "string", "float32"],
    }
    message = b"\x12\x01x\x1a\x03\x01\x02\x03\x22\x04\0\0\xc0?"
    case([message, b"\x18\x07"], **attrs, gives=(
        np.array([[3, 1, 1], [1, 0, 0]], np.int32), np.array([[1, 2, 3], [7, 0, 0]]),
        np.array([[b"x"], [b""]], object), np.array([[1.5], [0]], np.float32)))  # fmt: skip
    case([b"i: [4, 5]"], **attrs, message_format="text", gives=(
        np.array([[2, 0, 0]], np.int32), np.array([[4, 5]]), np.array([[b""]], object),
        np.array([[0.0]], np.float32)))  # fmt: skip
    case.shapes("[2,?]", "[2,?,3];[2,?,?];[2,?,?];[2,?,?]", **attrs)
    case.fails(
        ([b"\xff\xff"],), **attrs, raises=errors.DataLossError, match="Failed to consume entire buffer"
    )
    case.fails(
        ([message],),
        **dict(attrs, message_type="no.Such"),
        match="No descriptor found for message type no.Such",
    )
    case.fails(
        ([message],), **dict(attrs, field_names=["i", "s", "zz"]), match="Unknown field: zz in message type"
    )
    case.fails(([message],), **attrs, descriptor_source="bytes://zzz", match="Source does not represent")


@EncodeProto.cases
def encode_proto_cases(case):
    attrs = {"message_type": _LIST, "field_names": ["s", "i"]}
    case(np.array([[1, 2], [0, 0]], np.int32),
         (np.array([["x"], ["y"]], object), np.array([[1, 300], [5, 6]])), **attrs,
         gives=np.array([b"\x12\1x\x1a\3\1\xac\2", b""], object))  # fmt: skip
    case.shapes("[2,?,2];[2,3,4];?", "[2,3]", Tinput_types=["string", "int64"], **attrs)
    case.fails("[1];[1];?", Tinput_types=["string", "int64"], match="must be at least rank 2", **attrs)
    case.fails((np.array([[3, 0]], np.int32), (np.array([["x"]], object), np.array([[1]]))),
               match="Size to write must not be larger than value tensor; but saw: 3 > 1", **attrs)  # fmt: skip


@export("io.decode_proto")
def decode_proto(
    bytes,
    message_type,
    field_names,
    output_types,
    descriptor_source="local://",
    message_format="binary",
    sanitize=False,
    name=None,
):
    """Returns fields of serialized messages.

    Args:
      bytes: A string tensor.
      message_type: The message's full name.
      field_names: The fields' names, full ones for extensions.
      output_types: The type of each field's values; smaller numbers may become larger ones.
      descriptor_source: What tells of the message: "local://" for TensorFlow's own messages, "bytes://" before a
        serialized FileDescriptorSet, or the path of a file with one.
      message_format: "binary" or "text".
      sanitize: Whether messages are parsed and serialized anew first.
      name: The node's name.

    Returns:
      Named outputs `sizes`, int32 with how often each field is there, and `values`, a tensor a field whose last axis
      is as long as the longest and filled with the field's default.
    """
    return raw.DecodeProtoV2(
        bytes,
        message_type=message_type,
        field_names=field_names,
        output_types=output_types,
        descriptor_source=descriptor_source,
        message_format=message_format,
        sanitize=sanitize,
        name=name,
    )


@export("io.encode_proto")
def encode_proto(sizes, values, field_names, message_type, descriptor_source="local://", name=None):
    """Returns messages, serialized, that are made of fields.

    Args:
      sizes: int32, how many values each field has; the last axis is the fields'.
      values: A tensor a field, whose last axis holds its values.
      field_names: The fields' names.
      message_type: The message's full name.
      descriptor_source: See `decode_proto`.
      name: The node's name.
    """
    return raw.EncodeProto(
        sizes,
        values,
        field_names=field_names,
        message_type=message_type,
        descriptor_source=descriptor_source,
        name=name,
    )
