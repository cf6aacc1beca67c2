"""Small programs with TensorArrays, loops over rows and their gradients, run by TensorFlow for the golden file too.

A program takes the module `tf` and returns what is fetched, in a list, and what is fed.
"""

import numpy as np

ROWS = np.arange(6.0).reshape(3, 2) / 4 - 0.5


def _x(tf, shape=(3, 2), value=ROWS):
    x = tf.placeholder(tf.float32, shape)
    return x, {x: value}


def _with_gradients(tf, y, x):
    (first,) = tf.gradients(y, x)
    return [y, first]


def array_methods(tf):
    x, feed = _x(tf)
    keep = {"clear_after_read": False}
    a = tf.TensorArray(tf.float32, 3, element_shape=[2], name="named", **keep)
    a = a.write(0, x[0]).write(2, [1.0, 2.0], name="w")
    b = tf.TensorArray(tf.float32, 3, **keep).unstack(x)
    c = tf.TensorArray(tf.float32, 2, infer_shape=False, **keep).split(x, [1, 2])
    d = tf.TensorArray(tf.float32, 4, dynamic_size=True, **keep).scatter([3, 0], x[:2])
    read = [a.read(0, name="r"), a.stack("st"), a.size(), b.gather([2, 0]), b.concat(), c.read(1), c.concat()]
    return [*read, d.stack(), d.identity().gather([0, 3], name="g")], feed


def array_gradients(tf):
    x, feed = _x(tf)
    a = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(tf.exp(x))
    y = tf.reduce_sum(a.read(1) * a.read(1)) + tf.reduce_sum(a.stack() * x) + tf.reduce_sum(a.gather([0, 2]))
    return _with_gradients(tf, y, x), feed


def pieces_gradients(tf):
    x, feed = _x(tf)
    a = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    y = tf.TensorArray(tf.float32, 4).scatter([0, 3, 1], a.concat()).stack()
    return _with_gradients(tf, y * y, x), feed


def array_in_loop(tf):
    x, feed = _x(tf, [2], [1.0, -2.0])
    a = tf.TensorArray(tf.float32, 3)
    _, a = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))), (0, a)
    )
    y = a.stack()
    return _with_gradients(tf, y * y, x), feed


def array_captured_by_loop(tf):
    x, feed = _x(tf)
    a = tf.TensorArray(tf.float32, 3).unstack(x)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + a.read(i) ** 2), (0, tf.zeros([2])))
    return _with_gradients(tf, y, x), feed


def growing_array(tf):
    x, feed = _x(tf, [2], [1.0, -2.0])
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
    _, a = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, tf.sin(x))), (0, a))
    return [a.stack(), a.size()], feed


def array_in_branch(tf):
    x, feed = _x(tf, [2], [1.0, -2.0])
    pred = tf.placeholder(tf.bool, [])
    a = tf.TensorArray(tf.float32, 2, element_shape=[2])
    b, c = tf.cond(pred, lambda: (a.write(0, x), x), lambda: (a.write(1, x * 2), x + 1))
    return [b.stack(), c], {**feed, pred: False}


def strings(tf):
    a = tf.TensorArray(tf.string, 3, element_shape=[]).write(1, "a")
    return [a.stack(), tf.map_fn(lambda s: tf.strings.join([s, "b"]), tf.constant(["x", "y"]))], {}


def loop_with_maximum(tf):
    x, feed = _x(tf, [2], [1.5, -2.0])
    _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x), (0, x), maximum_iterations=3)
    return _with_gradients(tf, y, x), feed


def loop_with_constants(tf):
    x, feed = _x(tf, [2], [0.5, -0.25])
    with tf.name_scope("outer"):
        _, y = tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, y * 2.0 + tf.constant([1.0, 2.0]) * tf.sin(y)),
            (0, x),
            name="l",
        )
    return _with_gradients(tf, y, x), feed


def loop_of_unknown_shape(tf):
    x, feed = _x(tf, None, [0.5, -0.25])
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * y), (tf.constant(0), x))
    return _with_gradients(tf, y, x), feed


def two_gradients_of_a_loop(tf):
    x, feed = _x(tf, [2], [0.5, -0.25])
    z = tf.placeholder(tf.float32, [])
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * z), (0, x))
    return [*_with_gradients(tf, y, x), *tf.gradients(y, [x, z])], {**feed, z: 0.5}


def maps(tf):
    x, feed = _x(tf)
    return _with_gradients(tf, tf.map_fn(lambda row: row * row, x), x), feed


def maps_unknown_rows(tf):
    x, feed = _x(tf, [None, 2])
    y = tf.map_fn(lambda row: tf.reduce_sum(tf.exp(row)), x, parallel_iterations=3, name="m")
    return _with_gradients(tf, y, x), feed


def maps_structures(tf):
    x, feed = _x(tf)
    y = tf.map_fn(
        lambda t: {"a": t[0] + 1.0, "b": (tf.cast(t[1], tf.int32),)},
        (x, x * 4),
        {"a": tf.float32, "b": (tf.int32,)},
    )
    return [y["a"], y["b"][0]], feed


def folds(tf):
    x, feed = _x(tf)
    left = tf.foldl(lambda a, row: a * 2.0 + row, x)
    right = tf.foldr(lambda a, row: a * row + 1.0, x, initializer=tf.ones([2]), name="r")
    return [left, right, *tf.gradients([left, right], x)], feed


def scans(tf):
    x, feed = _x(tf)
    return _with_gradients(tf, tf.scan(lambda a, row: a * row + row, x), x), feed


def scans_backwards(tf):
    x, feed = _x(tf, [None, 2])
    y = tf.scan(lambda a, row: a + tf.reduce_sum(tf.exp(row)), x, initializer=0.0, reverse=True, name="s")
    return _with_gradients(tf, y, x), feed


def scans_structures(tf):
    x, feed = _x(tf, [4], [1.0, 2.0, 3.0, 4.0])
    y = tf.scan(lambda a, row: (a[1], a[0] + a[1] * row), x, initializer=(0.0, 1.0))
    return list(y), feed


def hessians(tf):
    x, feed = _x(tf, [3], [1.0, 2.0, -1.0])
    return tf.hessians(tf.reduce_sum(x * x * x) * x[0], x), feed


def jacobian(tf):
    x, feed = _x(tf, [3], [1.0, 2.0, -1.0])
    y = tf.exp(x) * x[0]
    _, rows = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, rows: (i + 1, rows.write(i, tf.gradients(y[i], x)[0])),
        (0, tf.TensorArray(tf.float32, 3)),
    )
    return [rows.stack()], feed


# Only the values of these are compared: functions inside are nested or were rewritten more than once.


def second_derivative_of_map(tf):
    x, feed = _x(tf)
    (first,) = tf.gradients(tf.map_fn(lambda row: row * row * row, x), x)
    return [first, *tf.gradients(first, x)], feed


def second_derivative_of_scan(tf):
    x, feed = _x(tf)
    (first,) = tf.gradients(tf.scan(lambda a, row: a * row, x), x)
    return [first, *tf.gradients(first, x)], feed


def second_derivative_of_array(tf):
    x, feed = _x(tf)
    a = tf.TensorArray(tf.float32, 3).unstack(x)
    y = tf.TensorArray(tf.float32, 2).write(0, a.read(1) ** 3.0).write(1, a.read(2) ** 2.0).stack()
    (first,) = tf.gradients(y, x)
    return [first, *tf.gradients(first, x)], feed


def nested_maps(tf):
    x, feed = _x(tf)
    y = tf.map_fn(lambda row: tf.map_fn(lambda e: e * e, row), x)
    return _with_gradients(tf, y, x), feed


def gradient_of_growing_array(tf):
    x, feed = _x(tf, [2], [1.0, -2.0])
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    _, a = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))), (0, a)
    )
    return _with_gradients(tf, a.stack() ** 2.0, x), feed


def gradient_of_array_in_branch(tf):
    x, feed = _x(tf, [2], [1.0, -2.0])
    pred = tf.placeholder(tf.bool, [])
    a = tf.TensorArray(tf.float32, 2, element_shape=[2])
    b = tf.cond(pred, lambda: a.write(0, x), lambda: a.write(1, x * 2))
    return _with_gradients(tf, b.stack(), x), {**feed, pred: False}


def map_with_variable(tf):
    v = tf.get_variable("v", initializer=[2.0, 3.0], use_resource=True)
    x, feed = _x(tf)
    y = tf.map_fn(lambda row: tf.sin(row * v), x)
    return [y, *tf.gradients(y, [x, v])], feed


VALUES_ONLY = {
    each.__name__: each
    for each in (
        second_derivative_of_map,
        second_derivative_of_scan,
        second_derivative_of_array,
        nested_maps,
        gradient_of_growing_array,
        gradient_of_array_in_branch,
        map_with_variable,
    )
}
PROGRAMS = {
    name: each
    for name, each in list(globals().items())
    if callable(each) and not name.startswith("_") and name not in VALUES_ONLY
}


def build(tf, program):
    """Returns a program's graph, its fetches, and what it feeds."""
    graph = tf.Graph()
    with graph.as_default():
        fetches, feed = program(tf)
    return graph, fetches, feed


def values(tf, graph, fetches, feed):
    """Returns what a program's fetches hold."""
    with graph.as_default(), tf.Session(graph=graph) as session:
        session.run(tf.global_variables_initializer())
        return [_plain(v) for v in session.run(fetches, feed)]


def _plain(value):
    value = np.asarray(value)
    if value.dtype == object:
        return [v.decode() for v in value.ravel().tolist()]
    return value.tolist()


def facts(graph, canonical):
    """Returns a graph's nodes and functions; functions go by the order in which they are met, their nodes too."""
    definition = graph.as_graph_def()
    library = {f.signature.name: f for f in definition.library.function}
    met = []

    def number(name):
        if name not in met:
            met.append(name)
        return f"function {met.index(name)}"

    def attrs(node_def):
        out = {}
        for key in sorted(node_def.attr):
            value = node_def.attr[key]
            if value.HasField("func"):
                out[key] = number(value.func.name)
            elif value.list.func:
                out[key] = [number(f.name) for f in value.list.func]
            elif key not in ("_class", "_num_original_outputs"):
                out[key] = canonical.attr_value(value)
        return out

    nodes = [[n.op, n.name, list(n.input), attrs(n)] for n in definition.node]
    bodies = []
    for name in met:
        f = library[name]
        known = {arg.name: f"argument {i}" for i, arg in enumerate(f.signature.input_arg)}
        known.update({n.name: f"node {i}" for i, n in enumerate(f.node_def)})

        def reference(text, known=known):
            base, *rest = text.lstrip("^").split(":")
            return ("^" if text[0] == "^" else "") + ":".join([known[base], *rest])

        lines = [[n.op, [reference(t) for t in n.input], attrs(n)] for n in f.node_def]
        results = [reference(f.ret[arg.name]) for arg in f.signature.output_arg]
        types = [canonical.type_name(arg.type) for arg in f.signature.input_arg]
        bodies.append([types, lines, results])
    return {"nodes": nodes, "functions": bodies}
