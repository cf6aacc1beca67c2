"""Examples spelt as JSON."""

from __future__ import annotations

import json

import numpy as np

from headrace.export import export
from headrace.formats.wire import field, varint
from headrace.opdef import op, raw
from headrace.opdef.strings import each, invalid
from headrace.shapes import unchanged

DecodeJSONExample = op("""
    DecodeJSONExample(json_examples: string) -> (binary_examples: string)

    The serialized Example that each string spells as JSON.
""", shape=unchanged)  # fmt: skip


def _feature(feature) -> bytes:
    """Serializes a feature as TensorFlow's translator does: numbers one by one, not packed."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return b""
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return field(1, b"".join(field(1, v) for v in values))
    if kind == "float_list":
        import struct

        return field(2, b"".join(b"\x0d" + struct.pack("<f", v) for v in values))
    return field(3, b"".join(b"\x08" + varint(v) for v in values))


def _translated(text: bytes) -> bytes:
    from google.protobuf import json_format

    from headrace.proto import Example

    try:
        spelt = json.loads(text)
        if not isinstance(spelt, dict):
            raise ValueError(": Root element must be a message.")
        example = json_format.ParseDict(spelt, Example())
    except (ValueError, json_format.ParseError, RecursionError) as e:
        invalid(f"Error while parsing JSON: {e}")
    if not example.HasField("features"):
        return b""
    # Features keep the order that they are spelt in.
    order = (spelt.get("features") or {}).get("feature") or {}
    features = example.features.feature
    entries = [field(1, field(1, key.encode()) + field(2, _feature(features[key]))) for key in order]
    return field(1, b"".join(entries))


@DecodeJSONExample.host
def decode_json_example_host(json_examples):
    return each(_translated, json_examples)


@DecodeJSONExample.cases
def decode_json_example_cases(case):
    text = '{"features":{"feature":{"b":{"int64List":{"value":[1,"2",-3]}},"a":{"floatList":{"value":[1.5,"NaN"]}},'
    text += '"c":{"bytesList":{"value":["aGk="]}}}}}'
    case(text.encode(), gives=(
        b"\n8\n\x16\n\x01b\x12\x11\x1a\x0f\x08\x01\x08\x02\x08\xfd" + b"\xff" * 8 + b"\x01\n\x11\n\x01a\x12\x0c\x12\n\r"
        b"\0\0\xc0?\r\0\0\xc0\x7f\n\x0b\n\x01c\x12\x06\n\x04\n\x02hi"))  # fmt: skip
    case([b"{}", b'{"features": {}}'], gives=np.array([b"", b"\n\0"], object))
    case.shapes("[2,?]", "[2,?]")
    case.fails((b"{",), match="Error while parsing JSON: ")
    case.fails((b'{"a": 1}',), match="Error while parsing JSON: ")


@export("decode_json_example", "io.decode_json_example")
def decode_json_example(json_examples, name=None):
    """Returns the serialized Example messages that strings spell as JSON.

    Args:
      json_examples: A string tensor.
      name: The node's name.
    """
    return raw.DecodeJSONExample(json_examples, name=name)
