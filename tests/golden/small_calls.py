"""Calls of ops on strings and messages, whose values TensorFlow gave for the golden file.

`r` is the module of ops, `src` a descriptor of the message p.M, and `message` one of it.
"""

# ruff: noqa: E501  (a call is a line)

from google.protobuf import descriptor_pb2

TYPES = "double float int64 uint64 int32 fixed64 fixed32 bool string group message bytes uint32 enum sfixed32 sfixed64 sint32 sint64".split()
DEFAULTS = {"double": "2.5", "int32": "-7", "string": "dd", "bool": "true"}
NGRAMS = ", separator='|', left_pad='L', right_pad='R')"

CALLS = [
    "r.Fingerprint(data=[b'abc', b'', b'x' * 100], method='farmhash64')",
    "r.Fingerprint(data=[[b'abc', b'de'], [b'', b'']], method='farmhash64')",
    "r.Fingerprint(data=np.array([[[b'a'], [b'b']]]), method='farmhash64')",
    "r.Fingerprint(data=np.array([1, 2], np.int32), method='farmhash64')",
    "r.Fingerprint(data=np.array([[1.5, 2], [3, 4]]), method='farmhash64')",
    "r.Fingerprint(data=[True, False], method='farmhash64')",
    "r.Fingerprint(data=np.zeros((2, 0), np.float32), method='farmhash64')",
    "r.Fingerprint(data=[1], method=p('foo'))",
    "r.UnicodeScript(input=list(range(0, 0x110000, 997)))",
    "r.UnicodeScript(input=[[-1, 0x110000], [0x1F600, 0xD800]])",
]
CALLS += [
    "r.StringNGrams(data=list('abcdef'), data_splits=np.array(%s), ngram_widths=%s, pad_width=%d, preserve_short_sequences=%s%s"
    % (splits, widths, pad, short, NGRAMS)
    for splits, widths, pad, short in (
        ("[0, 4, 4, 6]", [2], 0, False),
        ("[0, 4, 4, 6]", [1, 3], 0, False),
        ("[0, 4, 6]", [3], -1, False),
        ("[0, 4, 6]", [3], 1, False),
        ("[0, 4, 6]", [3], 5, True),
        ("[0, 4, 4, 6]", [5], 0, True),
        ("[0, 4, 4, 6]", [5, 2], 0, True),
        ("[0, 4, 6]", [10], 2, True),
        ("[0, 4, 6]", [10], 2, False),
        ("[0, 4, 6]", [], 2, True),
        ("[1, 6]", [2], 0, False),
        ("[0]", [2], 0, False),
        ("[0, 3, 7]", [2], 0, False),
        ("[0, -1, 6]", [2], 0, False),
    )
]
CALLS += [
    "r.DecodeJSONExample(json_examples=%r)" % text
    for text in (
        '{"features":{"feature":{"b":{"int64List":{"value":[1,"2",-3]}},"a":{"floatList":{"value":[1.5,"NaN"]}},"c":{"bytesList":{"value":["aGk="]}}}}}',
        ["{}", '{"features": {}}'],
        '{"features":{"feature":{"b":{"int64_list":{"value":[1]}}}}}',
        '{"features":{"feature":{"b":{}}}}',
        '{"features":null}',
    )
]
_LIST = "'tensorflow.AttrValue.ListValue'"
_DECODE = "r.DecodeProtoV2(bytes=%s, message_type=%s, field_names=%s, output_types=%s%s)"
CALLS += [
    _DECODE % (data, _LIST, names, types, more)
    for data, names, types, more in (
        (
            "[b'\\x12\\x01x\\x1a\\x03\\x01\\x02\\x03', b'\\x18\\x07\\x18\\x08']",
            ["i", "s", "shape"],
            ["int64", "string", "string"],
            "",
        ),
        ("[[b'\\x12\\x01x'], [b'']]", ["s"], ["string"], ""),
        ("b'\\x12\\x01x'", ["s"], ["string"], ""),
        ("[b'\\x18\\x07']", ["i", "i"], ["int64", "int64"], ""),
        ("['i: [1, 2] f: 3.5']", ["i", "f"], ["int64", "float64"], ", message_format='text'"),
        ("['i: x']", ["i"], ["int64"], ", message_format='text'"),
        ("['i: x']", ["i"], ["int64"], ", message_format='foo'"),
        ("[b'\\x18\\x07']", ["i"], ["int64"], ", sanitize=True"),
        ("[b'\\x18\\x07']", ["i"], ["int32"], ""),
        ("[b'\\x18\\x07']", ["zz"], ["int32"], ""),
        ("[b'\\xff\\xff']", ["i"], ["int64"], ""),
        ("[b'']", ["i", "f"], ["int64"], ""),
        ("np.zeros(0, object)", ["i"], ["int64"], ""),
        ("[b'']", ["i"], ["int64"], ", descriptor_source='/no/such'"),
        ("[b'']", ["i"], ["int64"], ", descriptor_source='bytes://zzz'"),
    )
]
CALLS.append(_DECODE % ("[b'']", "'no.Such'", ["i"], ["int64"], ""))
HELD = {
    "double": "float64", "float": "float32", "int64": "int64", "uint64": "uint64", "int32": "int32", "fixed64": "uint64",
    "fixed32": "uint32", "bool": "bool", "string": "string", "message": "string", "bytes": "string", "enum": "int32",
    "sfixed32": "int32", "sfixed64": "int64", "sint32": "int32", "sint64": "int64",
}  # fmt: skip
CALLS += [
    _DECODE
    % (
        "[message, message[:4]]" if kind in ("double", "float") else "[message, message]",
        "'p.M'",
        ["o_" + kind, "r_" + kind],
        [held, held],
        ", descriptor_source=src",
    )
    for kind, held in sorted(HELD.items())
]
CALLS += [
    _DECODE % ("[message]", "'p.M'", names, types, ", descriptor_source=src")
    for names, types in (
        (["packed", "g"], ["int32", "string"]),
        (["p.ext"], ["int32"]),
        (["(p.ext)"], ["int32"]),
        (["r_int32", "r_sint32", "r_fixed32", "r_float"], ["int64", "int64", "uint64", "float64"]),
        (["r_uint32"], ["int64"]),
        (["r_double"], ["float32"]),
        (["r_uint32"], ["uint32"]),
    )
]
CALLS += [
    "r.EncodeProto(sizes=%s, values=[%s], field_names=%s, message_type='p.M', descriptor_source=src)"
    % (sizes, values, names)
    for sizes, values, names in (
        (
            "[[1, 2], [0, 3]]",
            "i32([[5], [6]]), s([['a', 'b', 'c'], ['d', 'e', 'f']])",
            ["o_int32", "r_string"],
        ),
        ("[[2, 1]]", "i32([[2, 300]]), f64([[1.5]])", ["packed", "o_double"]),
        ("[[2]]", "i32([[5, 6]])", ["o_int32"]),
        ("[[-1]]", "i32([[5, 6]])", ["r_int32"]),
        ("[[3]]", "i32([[5, 6]])", ["r_int32"]),
        ("[[1]]", "i64([[-5]])", ["r_int32"]),
        ("[[1]]", "i64([[2 ** 40]])", ["r_int32"]),
        ("[[1]]", "f64([[1e300]])", ["r_float"]),
        ("[[1], [1]]", "i32([[5]])", ["r_int32"]),
        ("[[1]]", "i32([[5]])", ["zz"]),
        ("[[[1]], [[0]]]", "i32([[[5]], [[6]]])", ["r_int32"]),
        ("[[2]]", "i32([[3, 77]])", ["r_enum"]),
        ("[[1]]", "np.array([[2 ** 64 - 1]], np.uint64)", ["r_uint64"]),
        ("[[1]]", "i64([[-1]])", ["r_uint64"]),
        (
            "[[1, 1, 1, 1]]",
            "i64([[-2]]), i32([[-2]]), i32([[-2]]), i64([[-2]])",
            ["r_sint64", "r_sint32", "r_sfixed32", "r_sfixed64"],
        ),
        ("[[2]]", "np.array([[True, False]])", ["r_bool"]),
        ("[[1, 1]]", "s([[b'\\x08\\x04']]), s([[b'\\xff']])", ["g", "r_string"]),
        ("[[1, 1]]", "i32([[1]]), i32([[2]])", ["r_int32", "r_int32"]),
        ("[[1]]", "np.array([[1]], np.float32)", ["r_double"]),
        ("[[1]]", "np.array([[1]], np.uint32)", ["r_uint64"]),
    )
]


def descriptors():
    """Returns a FileDescriptorSet with a message of fields of every type, once optional and once repeated."""
    file = descriptor_pb2.FileDescriptorProto(name="small.proto", package="p", syntax="proto2")
    message = file.message_type.add(name="M")
    kinds = file.enum_type.add(name="E")
    kinds.value.add(name="A", number=3)
    kinds.value.add(name="B", number=-1)
    number = 0
    for kind, name in enumerate(TYPES, 1):
        for prefix, label in (("o_", 1), ("r_", 3)):
            if name == "group":
                continue
            number += 1
            field = message.field.add(name=prefix + name, number=number, label=label, type=kind)
            if name in ("message", "enum"):
                field.type_name = ".p.M" if name == "message" else ".p.E"
            if label == 1 and name in DEFAULTS:
                field.default_value = DEFAULTS[name]
    message.field.add(name="packed", number=35, label=3, type=5).options.packed = True
    message.nested_type.add(name="G").field.add(name="x", number=1, label=1, type=5)
    message.field.add(name="g", number=36, label=1, type=10, type_name=".p.M.G")
    message.extension_range.add(start=1000, end=2000)
    file.extension.add(name="ext", number=1000, label=1, type=5, extendee=".p.M")
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def _varint(value):
    value %= 2**64
    out = bytearray()
    while value > 127:
        out.append(value % 128 + 128)
        value //= 128
    out.append(value)
    return bytes(out)


def message():
    """Returns a message with every field but defaults, some of them twice."""
    out = b""
    names = [name for name in TYPES if name != "group"]
    for i, name in enumerate(names):
        for number in (2 * i + 1, 2 * i + 2):
            if name in ("double", "fixed64", "sfixed64"):
                values = [(1, b"\0\0\0\0\0\0\xf4\x3f"), (1, b"\xfe" + b"\xff" * 7)]
            elif name in ("float", "fixed32", "sfixed32"):
                values = [(5, b"\0\0\xc0?"), (5, b"\0\0\x20\xc0")]
            elif name in ("string", "message", "bytes"):
                values = [(2, b"\2\x48\3"), (2, b"\2\x48\4")]
            else:
                values = [(0, _varint(-5)), (0, _varint(2**35 + 3))]
            for kind, data in values:
                out += _varint(number * 8 + kind) + data
    return out + b"\x9a\2\3\1\2\3" + b"\x98\2\7" + b"\xa3\2\x08\4\xa4\2" + b"\xc0\x3e\5"


def run(tf, ops, np, call):
    """Makes the call in a new graph and runs it; returns the outputs, or the refusal."""
    feeds = {}

    def p(value):
        tensor = tf.placeholder(tf.string)
        feeds[tensor] = value
        return tensor

    names = {
        "r": ops, "np": np, "p": p, "src": b"bytes://" + descriptors(), "message": message(),
        "i32": lambda v: np.array(v, np.int32), "i64": lambda v: np.array(v, np.int64), "f64": lambda v: np.array(v, np.float64),
        "s": lambda v: np.array(v, object),
    }  # fmt: skip
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            found = eval(call, names)
            values = session.run(_flat(found), feeds)
        except tf.errors.OpError as e:
            return "%s: %s" % (type(e).__name__, e.message.split("\n")[0])
        except ValueError as e:
            return "ValueError: %s" % e
    values = [np.asarray(v) for v in (values if isinstance(values, list) else [values])]
    return [[v.dtype.name, list(v.shape), _plain(v.ravel().tolist())] for v in values]


def _flat(found):
    return [t for part in found for t in _flat(part)] if isinstance(found, (list, tuple)) else [found]


def _plain(values):
    if values and isinstance(values[0], bytes):
        return [v.decode("latin-1") for v in values]
    return values
