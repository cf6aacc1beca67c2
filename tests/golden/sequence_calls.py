"""SequenceExamples to parse, read once by TensorFlow for sequence_examples.json and again by the tests."""


def _feature(tf, value):
    feature = tf.train.Feature()
    if value is not None:
        kind, values = value
        getattr(feature, kind + "_list").SetInParent()
        getattr(feature, kind + "_list").value.extend(values)
    return feature


def message(tf, context, lists):
    made = tf.train.SequenceExample()
    for key, value in context.items():
        made.context.feature[key].CopyFrom(_feature(tf, value))
    for key, values in lists.items():
        made.feature_lists.feature_list[key].SetInParent()
        made.feature_lists.feature_list[key].feature.extend([_feature(tf, value) for value in values])
    return made.SerializeToString()


def _i(*values):
    return ("int64", values)


def _f(*values):
    return ("float", values)


def _b(*values):
    return ("bytes", values)


# name -> (context, lists)
EXAMPLES = {
    "full": (
        {"c": _i(7), "v": _b(b"x", b"y")},
        {"a": [_i(1), _i(2)], "b": [_f(1, 2)], "w": [_i(1, 2), _i(), _i(3)]},
    ),
    "default": ({"c": _i(8), "d": _f(5, 6)}, {"a": [_i(4)], "w": []}),
    "no_context": ({}, {"a": []}),
    "no_list": ({"c": _i(7)}, {"w": []}),
    "context_kind": ({"c": _f(7)}, {"a": []}),
    "context_size": ({"c": _i(7, 8)}, {"a": []}),
    "context_empty": ({"c": _i()}, {"a": []}),
    "context_without_kind": ({"c": None}, {"a": []}),
    "context_short": ({"c": _i(7), "d": _f(5)}, {"a": []}),
    "sparse_kind": ({"c": _i(7), "v": _i(3)}, {"a": []}),
    "list_size": ({"c": _i(7)}, {"a": [_i(1, 2)]}),
    "list_kind": ({"c": _i(7)}, {"a": [_f(1)]}),
    "list_without_kind": ({"c": _i(7)}, {"a": [None]}),
    "list_second_empty": ({"c": _i(7)}, {"a": [_i(1), _i()]}),
    "list_short": ({"c": _i(7)}, {"a": [], "b": [_f(1)]}),
    "list_empty": ({"c": _i(7)}, {"a": [], "b": []}),
    "sparse_list_kind": ({"c": _i(7)}, {"a": [], "w": [_f(1)]}),
    "sparse_list_without_kind": ({"c": _i(7)}, {"a": [], "w": [None, _i(2)]}),
}


def features(tf):
    context = {
        "c": tf.FixedLenFeature([], tf.int64),
        "d": tf.FixedLenFeature([2], tf.float32, default_value=[1.0, 2.0]),
        "v": tf.VarLenFeature(tf.string),
    }
    lists = {
        "a": tf.FixedLenSequenceFeature([], tf.int64),
        "b": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
        "w": tf.VarLenFeature(tf.int64),
    }
    return context, lists


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if hasattr(value, "dense_shape"):
        return [_plain(part) for part in value]
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return [str(value.dtype), repr(value.tolist())]


def parse(tf, names, single=False, labels=None):
    """Returns what comes of some of `EXAMPLES`, or the first line of the error."""
    serialized = [message(tf, *EXAMPLES[name]) for name in names]
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            if single:
                made = tf.parse_single_sequence_example(serialized[0], *features(tf), example_name=labels)
            else:
                made = tf.io.parse_sequence_example(serialized, *features(tf), example_names=labels)
            return _plain(session.run(made))
        except tf.errors.InvalidArgumentError as error:
            return error.message.split("\n")[0]


def outcomes(tf, name):
    return [
        parse(tf, [name]),
        parse(tf, [name], labels=["nm"]),
        parse(tf, [name], True),
        parse(tf, [name], True, "nm"),
    ]


REFUSED = {
    "nothing": lambda tf: tf.parse_single_sequence_example("x"),
    "nothing_batched": lambda tf: tf.io.parse_sequence_example(["x"]),
    "sequence_as_context": lambda tf: tf.parse_single_sequence_example(
        "x", {"c": tf.FixedLenSequenceFeature([], tf.int64)}
    ),
    "context_as_sequence": lambda tf: tf.io.parse_sequence_example(
        ["x"], None, {"c": tf.FixedLenFeature([], tf.int64)}
    ),
    "default": lambda tf: tf.parse_single_sequence_example(
        "x", None, {"c": tf.FixedLenSequenceFeature([], tf.int64, default_value=3)}
    ),
    "sparse": lambda tf: tf.io.parse_sequence_example(
        ["x"], {"q": tf.SparseFeature("i", "v", tf.float32, 10)}, {}
    ),
}


def refusal(tf, name):
    with tf.Graph().as_default():
        try:
            REFUSED[name](tf)
        except ValueError as error:
            # How a type is written is told elsewhere.
            return str(error).split("(")[0]
    return None


def graphs(tf):
    """Returns the nodes of the public functions' graphs: op, name, inputs, output shapes."""
    made = []
    for name in (None, "nn"):
        for single in (True, False):
            with tf.Graph().as_default() as graph:
                serialized = tf.placeholder(tf.string, [] if single else [None])
                if single:
                    tf.parse_single_sequence_example(serialized, *features(tf), name=name)
                    tf.parse_single_sequence_example("x", sequence_features=features(tf)[1])
                else:
                    tf.io.parse_sequence_example(serialized, *features(tf), name=name)
                made.append(
                    [
                        [op.type, op.name, list(op.node_def.input), [str(t.shape) for t in op.outputs]]
                        for op in graph.get_operations()
                    ]
                )
    return made
