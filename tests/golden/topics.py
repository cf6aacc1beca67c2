"""Calls by topic, made once with TensorFlow for the golden files and again by the tests.

`tests/golden/topics/NAME.txt` holds one call a line, Python source behind a mark; `NAME.json` holds what came of
each under TensorFlow 1.15, in the same order. The marks:

    n: the nodes that the call adds to an empty graph
    v: the values of what it returns, and r: the same, which must be equal to the last bit
    t: the values of three runs in a row
    s: how Python shows what it returns
    e: the refusal, while building or while running: the class and how the message begins
    c: the refusal's class only

Besides `tf`, `np` and `raw` (every op as a function) a call may use the functions of `names`.

Of graphs of more than a few nodes a digest of each node is kept.
"""

import hashlib
import json
import pathlib
import re
import tempfile

import canonical
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent / "topics"
MARKS = ("n: ", "v: ", "r: ", "t: ", "s: ", "e: ", "c: ")
_STEM = 60  # characters of a refusal's message
SEEDS = [(1, 2), (0, 7), (87654321, 0), (-3, 2**62 + 5), (2**63 - 1, -(2**63)), (2**32, 2**32 - 1)]
STATES = [
    (3, 1, 9),
    (-1, -1, -1),
    (2**62 + 1, -(2**63), 2**63 - 1),
    (0, 0, 0),
    (-5, 7, 2**32),
    (2**32 - 1, 5, -7),
]
_SHORT = 8  # nodes; of longer graphs digests are kept


def topics():
    """Returns the names of the topics."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def calls(topic):
    """Returns the (mark, source) pairs of a topic."""
    lines = (FOLDER / (topic + ".txt")).read_text().split("\n")
    found = [line for line in lines if line.strip() and not line.startswith("#")]
    wrong = [line for line in found if not line.startswith(MARKS)]
    if wrong:
        raise ValueError("no mark: " + wrong[0])
    return [(line[0], line[3:]) for line in found]


def names(tf, raw):
    """Returns what calls may use, for this TensorFlow."""

    def f(shape, dtype=None):
        """A placeholder."""
        return tf.placeholder(dtype or tf.float32, shape)

    def h(value, shape=None):
        """A tensor of a value of which only `shape`, by default nothing, is known while building."""
        return tf.placeholder_with_default(value, shape)

    def d(function, *shapes, **options):
        """The gradients of a function of placeholders; of the type `dtype`."""
        xs = [f(shape, options.get("dtype")) for shape in shapes]
        y = function(*xs)
        if not isinstance(y, (list, tuple)) and y.dtype.is_complex:
            return tf.gradients(y, xs, f(y.shape, y.dtype))
        return tf.gradients(y, xs)

    def weights(t):
        if t.shape.is_fully_defined():
            size = int(np.prod(t.shape.as_list()))
            return np.cos(np.arange(size)).reshape(t.shape.as_list()).astype(t.dtype.as_numpy_dtype)
        numbers = tf.cos(tf.cast(tf.range(tf.size(t)), t.dtype))
        return tf.reshape(numbers, tf.shape(t))

    def dw(function, *values):
        """A function's value, its gradients with weights, and where there are such the second ones."""
        xs = [tf.constant(v) for v in values]
        y = function(*xs)
        first = [tf.convert_to_tensor(g) for g in tf.gradients(y, xs, weights(y)) if g is not None]
        try:
            second = tf.gradients(first, xs, [weights(g) for g in first])
        except LookupError:
            second = []
        return [y] + first + [tf.convert_to_tensor(g) for g in second if g is not None]

    def sq(function, *values):
        """The gradients of the weighted squares of what a function gives, and the gradients of those."""
        xs = [tf.constant(v) for v in values]
        total = 0
        for y in _flat(function(*xs)):
            if y.dtype.is_complex:
                for part in (tf.real(y), tf.imag(y)):
                    total += tf.reduce_sum(tf.cast(weights(part) * part * part, tf.float64))
            elif y.dtype.is_floating:
                total += tf.reduce_sum(tf.cast(weights(y) * y * y, tf.float64))
        first = [tf.convert_to_tensor(g) for g in tf.gradients(total, xs) if g is not None]
        second = tf.gradients(first, xs, [weights(g) for g in first])
        return first + [tf.convert_to_tensor(g) for g in second if g is not None]

    def r(value, **k):
        """A ragged tensor."""
        return tf.ragged.constant(value, **k)

    def s(indices, values, shape):
        """A sparse tensor."""
        return tf.SparseTensor(np.reshape(np.int64(indices), [-1, len(shape)]), values, np.int64(shape))

    def sp(values, shape=(3, 4)):
        """A sparse tensor of values at unknown places."""
        return tf.SparseTensor(f([None, len(shape)], tf.int64), values, np.int64(shape))

    def d2(function, *shapes, **options):
        """The gradients of twice the gradients of a function of placeholders."""

        def first(*xs):
            made = [g for g in tf.gradients(function(*xs), xs) if g is not None]
            return [2 * (g.values if isinstance(g, tf.IndexedSlices) else g) for g in made]

        return d(first, *shapes, **options)

    def state(*values):
        """A resource variable that a random generator can have its state in."""
        name = "state_%s" % abs(hash(values))
        variable = tf.get_variable(name, initializer=np.array(values, np.int64), use_resource=True)
        # One kernel does not move the state on while it shares memory with what was assigned.
        with tf.control_dependencies([variable.assign_add(np.zeros(len(values), np.int64))]):
            return tf.identity(variable.handle)

    def old(name, *operands, **attrs):
        """The results of a node in a graph of version 2, which still has the ops that were removed since."""
        graph = tf.GraphDef()
        graph.versions.producer = 2
        node, inputs = graph.node.add(name="old", op=name), {}
        for i, operand in enumerate(operands):
            node.input.append("x%d" % i)
            inputs["x%d:0" % i] = tf.convert_to_tensor(operand)
        for key, value in attrs.items():
            attr = node.attr[key]
            if isinstance(value, bool):
                attr.b = value
            elif isinstance(value, int):
                attr.i = value
            elif isinstance(value, float):
                attr.f = value
            elif isinstance(value, bytes):
                attr.s = value
            elif isinstance(value, tf.DType):
                attr.type = value.as_datatype_enum
            elif isinstance(value, tf.TensorShape):
                attr.shape.CopyFrom(value.as_proto())
            elif isinstance(value, np.ndarray):
                attr.tensor.CopyFrom(tf.make_tensor_proto(value))
            else:
                attr.list.i.extend(value)
        (node,) = tf.import_graph_def(graph, inputs, ["old"], name="")
        return node.outputs or node

    def text(*words):
        """The name of a file of words."""
        path = pathlib.Path(tempfile.gettempdir()) / ("headrace_words_" + digest([w.decode() for w in words]))
        path.write_bytes(b" ".join(words))
        return str(path).encode()

    def after(first, *tensors):
        """Tensors as they are once something has run."""
        with tf.control_dependencies([first]):
            return [tf.identity(t) for t in tensors]

    def table(*rows):
        """The reference of a variable once it has a value."""
        value = np.array(rows, np.float32)
        return raw.Assign(ref=raw.VariableV2(shape=value.shape, dtype=tf.float32), value=value)

    return {
        "tf": tf,
        "old": old,
        "text": text,
        "after": after,
        "table": table,
        "np": np,
        "raw": raw,
        "f": f,
        "h": h,
        "d": d,
        "d2": d2,
        "dw": dw,
        "sq": sq,
        "r": r,
        "s": s,
        "sp": sp,
        "S": SEEDS,
        "STATES": STATES,
        "state": state,
    }


def kept_nodes(nodes):
    """Returns nodes as they are kept: themselves if they are few, else a digest of each."""
    nodes = json.loads(json.dumps(nodes), object_hook=_without_number)
    return nodes if len(nodes) <= _SHORT else [digest(node) for node in nodes]


def _without_number(value):
    """Returns a node's attr without the number that a function's name ends with: it counts all that were made."""
    if isinstance(value.get("func"), str):
        name = re.sub(r"^(cond|body)_\w{11}_Wrapper$", r"\1_Wrapper", value["func"])  # a random name
        return {**value, "func": re.sub(r"_\d+$", "", name)}
    return value


def digest(node):
    """Returns a few letters that tell a node from others."""
    return hashlib.sha256(json.dumps(node, sort_keys=True).encode()).hexdigest()[:8]


def _flat(result):
    if isinstance(result, dict):
        result = [result[key] for key in sorted(result)]
    kind = type(result).__name__
    if kind in ("RaggedTensor", "RaggedTensorValue"):
        result = [*result.nested_row_splits, result.flat_values]
    if kind in ("SparseTensor", "SparseTensorValue"):
        result = [result.indices, result.values, result.dense_shape]
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in _flat(part)]
    return [] if result is None else [result]


def outcome(tf, raw, mark, source, prepare=None):
    """Makes one call and returns what came of it, as it is kept.

    Args:
      tf: TensorFlow, or what stands for it.
      raw: Its ops as functions.
      mark: The call's mark.
      source: The call.
      prepare: Called with the session before it runs.

    Returns:
      Nodes; or values; or text; or a refusal as {"raises": class, "message": the first line}.
    """
    try:
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(3)
            result = eval(source, names(tf, raw))
            if mark == "n":
                return kept_nodes(canonical.graph_nodes(graph))
            if mark == "s":
                return [repr(result)]
            with tf.Session() as session:
                if prepare is not None:
                    prepare(session)
                session.run(tf.global_variables_initializer())
                fetches = _flat(result)
                return [_value(v) for _ in range(3 if mark == "t" else 1) for v in session.run(fetches)]
    except Exception as error:
        return {"raises": type(error).__name__, "message": str(error).split("\n")[0]}


def _value(value):
    if value is None:
        return None
    if isinstance(value, bytes):
        value = np.array(value, object)
    value = np.asarray(value)
    if value.dtype.name == "bfloat16":
        return ["bfloat16", list(value.shape), value.astype(np.float32).tolist()]
    if value.dtype.kind == "c":
        return [value.dtype.name, list(value.shape), [value.real.tolist(), value.imag.tolist()]]
    if value.dtype.kind in "OS":
        decoded = [canonical.text(v) for v in value.ravel().tolist()]
        return ["object", list(value.shape), decoded]
    return [value.dtype.name, list(value.shape), value.tolist()]


def array(kept):
    """Returns a kept value as an array; bfloat16 as float32."""
    dtype, shape, value = kept
    if dtype == "bfloat16":
        dtype = "float32"
    if dtype == "object":
        return np.array(value, object).reshape(shape)
    if dtype.startswith("complex"):
        return (np.array(value[0]) + 1j * np.array(value[1])).astype(dtype).reshape(shape)
    return np.array(value, dtype).reshape(shape)


def stem(refusal):
    """Returns what is compared of a refusal's message."""
    return refusal["message"][:_STEM]
