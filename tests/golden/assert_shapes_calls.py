"""Calls of tf.debugging.assert_shapes, made once by TensorFlow for assert_shapes.json and again by the tests."""


def _u(tf, *shape, name="u"):
    return tf.placeholder(tf.float32, *shape, name=name)


# name -> (shapes, further arguments, values of `u` to run with)
CALLS = {
    "known": (lambda tf: [(tf.zeros([2, 3]), ("N", "Q")), (tf.zeros([3, 4]), ("Q", "D"))], {}, ()),
    "dictionary": (lambda tf: {tf.zeros([2, 3]): ("N", 3)}, {}, ()),
    "nothing": (lambda tf: [], {}, ()),
    "symbol": (lambda tf: [(tf.zeros([2, 3]), ("N", "Q")), (tf.zeros([3, 4]), ("N", "D"))], {}, ()),
    "number": (lambda tf: [(tf.zeros([2, 3]), (2, 4))], {"message": "hello"}, ()),
    "digits": (lambda tf: [(tf.zeros([2, 3]), ("4", 3))], {}, ()),
    "float": (lambda tf: [(tf.zeros([2, 3]), (2.5, 3))], {}, ()),
    "negative": (lambda tf: [(tf.zeros([2, 3]), (-1, 3))], {}, ()),
    "rank": (lambda tf: [(tf.zeros([2, 3]), ("N",))], {}, ()),
    "scalar": (
        lambda tf: [(tf.constant(1.0), ()), (tf.constant(1.0), (1,)), (tf.constant(1.0), (2,))],
        {},
        (),
    ),
    "no_sequence": (lambda tf: [(tf.zeros([2, 3]), 3)], {}, ()),
    "text": (lambda tf: [(tf.zeros([2, 3]), "NQ")], {}, ()),
    "list": (lambda tf: [([[1, 2]], ["N", 3])], {}, ()),
    "any_size": (lambda tf: [(tf.zeros([2, 3]), (".", None)), (tf.zeros([4, 3]), (".", 3))], {}, ()),
    "open": (lambda tf: [(tf.zeros([2, 3]), (Ellipsis, 3)), (tf.zeros([2, 3]), ("*", 4))], {}, ()),
    "open_rank": (lambda tf: [(tf.zeros([3]), ("*", 2, 3))], {}, ()),
    "open_late": (lambda tf: [(tf.zeros([2, 3]), (".", "*"))], {}, ()),
    "open_scalar": (
        lambda tf: [(tf.zeros([]), ("*", 1)), (tf.zeros([]), ("*",)), (tf.zeros([]), ("*", 3))],
        {},
        (),
    ),
    "rank_first": (lambda tf: [(tf.zeros([2, 2]), (1, 2)), (tf.zeros([3, 3]), ("a",))], {}, ()),
    "tensor_symbol": (lambda tf: [(_u(tf, [2, None]), (tf.constant(2), "Q"))], {}, ()),
    "unknown_size": (
        lambda tf: [(_u(tf, [None, 3]), (4, "N")), (tf.zeros([3]), ("N"))],
        {},
        ([[0.0] * 3] * 4, [[0.0] * 3] * 2),
    ),
    "unknown_rank": (
        lambda tf: [(_u(tf), ("N", 2)), ([1.0, 2.0, 3.0], ("N",))],
        {"message": "mm"},
        ([[1.0, 2.0]] * 3, [[1.0, 2.0]] * 2, [[1.0]] * 3, [1.0, 2.0]),
    ),
    "unknown_scalar": (lambda tf: [(_u(tf), (1,))], {}, (1.0, [1.0], [1.0, 2.0], [[1.0]])),
    "unknown_open": (
        lambda tf: [(_u(tf), ("*", "a", 3))],
        {},
        ([[1.0] * 3], [[[1.0] * 3]], [1.0] * 3, [[1.0]]),
    ),
    "data": (
        lambda tf: [(_u(tf, [None]), (2,))],
        {"data": ["shown"], "summarize": 1, "name": "zz"},
        ([1.0, 2.0], [1.0]),
    ),
}


def _nodes(tf, graph):
    return [
        [node.op, node.name, list(node.input)]
        for node in graph.as_graph_def().node
        if "cond" not in node.name.split("/")  # how a condition is built is told elsewhere
    ]


def run(tf, name):
    """Returns what a call of `CALLS` gives: an error, or the graph's nodes and each run's outcome."""
    shapes, options, values = CALLS[name]
    with tf.Graph().as_default() as graph:
        try:
            done = tf.debugging.assert_shapes(shapes(tf), **options)
        except (ValueError, TypeError) as error:
            return {"error": [type(error).__name__, str(error)]}
        outcomes = []
        with tf.Session() as session:
            for value in values:
                try:
                    outcomes.append(session.run(done, {"u:0": value}))
                except tf.errors.InvalidArgumentError as error:
                    outcomes.append(error.message.split("\n")[0])
        return {"nodes": _nodes(tf, graph), "runs": outcomes}
