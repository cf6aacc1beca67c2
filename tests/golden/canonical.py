"""The compact JSON form in which graphs, OpDefs and values are kept under tests/golden.

Both sides of every comparison use this module: the recording scripts run it under the oracle's Python 3.7
on TensorFlow's protos, the tests run it on headrace's. It therefore touches messages only by field name, reads
graphs only through the public API, and imports nothing but the standard library and NumPy.
"""

import base64
import hashlib
import json
import pathlib
import re

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent
PROGRAMS = GOLDEN.parent / "programs"

DATA_TYPES = dict(
    enumerate(
        "invalid float double int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 "
        "qint16 quint16 uint16 complex128 half resource variant uint32 uint64".split()
    )
)

# The NumPy type of a DataType and the TensorProto field that holds its values when tensor_content does not.
_STORAGE = {
    "float": ("float32", "float_val"),
    "double": ("float64", "double_val"),
    "half": ("float16", "half_val"),
    "bfloat16": ("uint16", "half_val"),
    "int32": ("int32", "int_val"),
    "uint8": ("uint8", "int_val"),
    "int16": ("int16", "int_val"),
    "int8": ("int8", "int_val"),
    "uint16": ("uint16", "int_val"),
    "qint8": ("int8", "int_val"),
    "quint8": ("uint8", "int_val"),
    "qint16": ("int16", "int_val"),
    "quint16": ("uint16", "int_val"),
    "qint32": ("int32", "int_val"),
    "int64": ("int64", "int64_val"),
    "uint32": ("uint32", "uint32_val"),
    "uint64": ("uint64", "uint64_val"),
    "bool": ("bool", "bool_val"),
    "complex64": ("complex64", "scomplex_val"),
    "complex128": ("complex128", "dcomplex_val"),
}

_LITERAL_LIMIT = 32  # elements: beyond this a constant is kept as bytes
_BYTES_LIMIT = 512  # bytes: beyond this a constant is kept as a digest


def type_name(number):
    """The OpDef name of a DataType number, with "_ref" for a reference type."""
    return DATA_TYPES[number] if number < 100 else DATA_TYPES[number - 100] + "_ref"


def text(value):
    """Bytes as text where they are UTF-8, else in base64 behind a tag."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(value).decode("ascii")


def shape(proto):
    """A TensorShapeProto as a list with -1 for unknown sizes, or None for unknown rank."""
    return None if proto.unknown_rank else [dim.size for dim in proto.dim]


def tensor_array(proto):
    """The value of a TensorProto as a NumPy array (object dtype for strings, uint16 bits for bfloat16)."""
    kind = type_name(proto.dtype)
    dims = [dim.size for dim in proto.tensor_shape.dim]
    if kind == "string":
        values = np.array(list(proto.string_val), dtype=object)
    else:
        dtype, field = _STORAGE[kind]
        if proto.tensor_content:
            return np.frombuffer(proto.tensor_content, dtype=dtype).reshape(dims)
        values = getattr(proto, field)
        if kind == "half":
            values = np.array(list(values), dtype=np.uint16).view(np.float16)
        elif dtype.startswith("complex"):
            part = "float32" if dtype == "complex64" else "float64"
            values = np.array(list(values), dtype=part).view(dtype)
        else:
            values = np.array(list(values), dtype=dtype)
    count = int(np.prod(dims, dtype=np.int64))
    if values.size == count:
        return values.reshape(dims)
    # A shorter list repeats its last value; an empty one means zeros.
    last = values[-1] if values.size else (b"" if kind == "string" else 0)
    padded = np.full([count], last, dtype=values.dtype)
    padded[: values.size] = values
    return padded.reshape(dims)


def _plain(value):
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return text(value)


def tensor(proto):
    """A TensorProto as [dtype, shape, value]: literals when few, then base64 of the bytes, then a digest."""
    kind = type_name(proto.dtype)
    array = tensor_array(proto)
    dims = list(array.shape)
    if array.size > 1 and array.dtype != object and len(set(array.ravel().tolist())) == 1:
        return [kind, dims, {"fill": _plain(array.ravel()[0].item())}]
    if array.size <= _LITERAL_LIMIT or array.dtype == object:
        return [kind, dims, _plain(array.tolist())]
    data = np.ascontiguousarray(array).tobytes()
    if len(data) <= _BYTES_LIMIT:
        return [kind, dims, {"base64": base64.b64encode(data).decode("ascii")}]
    return [kind, dims, {"sha256": hashlib.sha256(data).hexdigest()}]


def attr_value(value):
    """An AttrValue as JSON: numbers and booleans as themselves, the other kinds behind a one-word tag."""
    kind = value.WhichOneof("value")
    if kind == "list":
        return _list_value(value.list)
    if kind is None:
        return {"empty": True}
    return _scalar(kind, getattr(value, kind))


def _scalar(kind, value):
    if kind == "s":
        return _anonymous("s " + text(value))
    if kind == "type":
        return "type " + type_name(value)
    if kind == "shape":
        return "shape " + json.dumps(shape(value))
    if kind == "tensor":
        return {"tensor": tensor(value)}
    if kind == "func":
        return {"func": value.name, "attr": {key: attr_value(value.attr[key]) for key in sorted(value.attr)}}
    if kind == "placeholder":
        return {"placeholder": value}
    return value  # i, f, b


def _list_value(proto):
    for kind in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
        values = getattr(proto, kind)
        if len(values):
            return [_scalar(kind, value) for value in values]
    return []


def _anonymous(value):
    """tf.custom_gradient names its gradients by a counter of the process, which no two processes share."""
    return re.sub(r"^s CustomGradient-\d+$", "s CustomGradient-#", value)


def _arg_facts(arg):
    """One ArgDef as a dict, in the order name, types, numbers, ref."""
    facts = {"name": arg.name}
    for field in ("type_attr", "number_attr", "type_list_attr"):
        if getattr(arg, field):
            facts[field] = getattr(arg, field)
    if arg.type:
        facts["type"] = type_name(arg.type)
    if arg.is_ref:
        facts["ref"] = True
    return facts


def _untagged(value):
    """A canonical attr value without the tags that the attr's type makes needless."""
    if isinstance(value, list):
        return [_untagged(item) for item in value]
    if not isinstance(value, str):
        return value
    tag, content = value.split(" ", 1)
    return json.loads(content) if tag == "shape" else content


def _attr_facts(attr):
    """One AttrDef as a dict: type, then default, allowed and minimum where the OpDef has them."""
    facts = {"type": attr.type}
    if attr.HasField("default_value"):
        facts["default"] = _untagged(attr_value(attr.default_value))
    if attr.HasField("allowed_values"):
        facts["allowed"] = _untagged(attr_value(attr.allowed_values))
    if attr.has_minimum:
        facts["minimum"] = attr.minimum
    return facts


def op_facts(op_def):
    """One OpDef as a dict whose attrs keep their declared order."""
    facts = {
        "inputs": [_arg_facts(arg) for arg in op_def.input_arg],
        "outputs": [_arg_facts(arg) for arg in op_def.output_arg],
        "attrs": {attr.name: _attr_facts(attr) for attr in op_def.attr},
    }
    for flag in ("is_stateful", "is_commutative", "is_aggregate", "allows_uninitialized_input"):
        if getattr(op_def, flag):
            facts[flag] = True
    if op_def.HasField("deprecation"):
        facts["deprecated_at_graph_version"] = op_def.deprecation.version
    return facts


def node(node_def, outputs=None):
    """A NodeDef as [name, op, inputs, attrs, output shapes, device]; an empty device is left out."""
    attrs = {key: attr_value(node_def.attr[key]) for key in sorted(node_def.attr)}
    line = [node_def.name, node_def.op, list(node_def.input), attrs, outputs]
    return line + [node_def.device] if node_def.device else line


def graph_nodes(graph):
    """Every node of a graph in the order in which it was made, with the static shapes of its outputs."""
    lines = []
    for node_def in graph.as_graph_def().node:
        outputs = graph.get_operation_by_name(node_def.name).outputs
        lines.append(node(node_def, [_static_shape(output) for output in outputs]))
    return lines


def _static_shape(output):
    known = output.shape
    if known.ndims is None:
        return None
    return [-1 if size is None else size for size in known.as_list()]


def graph_collections(graph):
    """The names in every collection whose key is a string, in order of insertion."""
    keys = sorted(key for key in graph.get_all_collection_keys() if isinstance(key, str))
    return {key: [_item_name(item) for item in graph.get_collection(key)] for key in keys}


def _item_name(item):
    if hasattr(item, "name"):
        return item.name
    return item if isinstance(item, (str, int, float, bool)) else f"<{type(item).__name__}>"


def value(array):
    """A fetched value as {dtype, shape, value or base64}; float32 and wider keep every bit."""
    # NumPy's own type for bytes would drop zeros at the end.
    array = np.array(array, dtype=object) if isinstance(array, bytes) else np.asarray(array)
    if array.dtype.kind in "OSU":
        flat = [
            item if isinstance(item, bytes) else str(item).encode("utf-8") for item in array.ravel().tolist()
        ]
        return {"dtype": "string", "shape": list(array.shape), "value": [text(item) for item in flat]}
    facts = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.size <= 64:
        facts["value"] = _plain(array.ravel().tolist())
    else:
        facts["base64"] = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return facts


def _encoded(item):
    return base64.b64decode(item[7:]) if item.startswith("base64:") else item.encode("utf-8")


def value_array(facts):
    """The NumPy array that `value` wrote down."""
    if facts["dtype"] == "string":
        encoded = [_encoded(item) for item in facts["value"]]
        return np.array(encoded, dtype=object).reshape(facts["shape"])
    dtype = np.dtype(facts["dtype"])
    if "base64" in facts:
        return np.frombuffer(base64.b64decode(facts["base64"]), dtype=dtype).reshape(facts["shape"])
    flat = facts["value"]
    if dtype.kind == "c":
        flat = [complex(*pair) for pair in flat]
    return np.array(flat, dtype=dtype).reshape(facts["shape"])


def dumps(data):
    """Compact JSON text on one line."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def write_table(path, table):
    """Writes a dict as JSON, one entry a line, sorted by key, so that git shows what changed."""
    rows = [f"{dumps(key)}:{dumps(table[key])}" for key in sorted(table)]
    _write(path, "{{\n{}\n}}\n".format(",\n".join(rows)))


def write_graph(path, facts):
    """Writes a graph's facts as JSON, one node and one collection a line."""
    nodes = ",\n".join(dumps(line) for line in facts["nodes"])
    collections = ",\n".join(f"{dumps(key)}:{dumps(names)}" for key, names in facts["collections"].items())
    _write(path, f'{{"nodes":[\n{nodes}\n],\n"collections":{{\n{collections}\n}}}}\n')


def read(path):
    """The JSON in a golden file, given relative to tests/golden."""
    return json.loads((GOLDEN / path).read_text(encoding="utf-8"))


def _write(path, content):
    path = GOLDEN / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
