"""Models with loops that TensorFlow 1.15 writes to MetaGraphDefs without gradients; these are added after the import.

Only TensorFlow builds them, once, for `imported_loops.json`. A program takes the module `tf` and returns the loss and
a list of steps: what is fed, by placeholder. `trained` is run by both, on the imported graph.
"""

import numpy as np


def trained(tf, loss):
    """Adds gradients and a training step to an imported graph; returns what to fetch first and then, in each step."""
    graph = tf.get_default_graph()
    loss = graph.get_tensor_by_name(loss)
    variables = tf.trainable_variables()
    floats = [
        op.outputs[0]
        for op in graph.get_operations()
        if op.type == "Placeholder" and op.outputs[0].dtype == tf.float32
    ]
    grads = tf.gradients(loss, floats + variables)
    found = [loss, *[tf.convert_to_tensor(g) for g in grads if g is not None]]
    return found, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)


def _values(*shape, seed=1):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def _variable(tf, name, *shape, **options):
    return tf.get_variable(name, initializer=_values(*shape, seed=len(name) + len(shape)), **options)


def _x(tf, *shape):
    return tf.placeholder(tf.float32, shape, name="x")


def _n(tf):
    return tf.placeholder(tf.int32, [], name="n")


def powers(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.sin(y * w) + x), (0, x))
    return tf.reduce_sum(y * y), [{x: _values(2), n: k} for k in (3, 0, 1)]


def resource_variable(tf):
    x, n = _x(tf, 2), _n(tf)
    w = _variable(tf, "w", 2, use_resource=True)
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(y * w.read_value())), (0, x))
    return tf.reduce_sum(y * w), [{x: _values(2), n: k} for k in (2, 0)]


def maximum_iterations(tf):
    x, n, w = _x(tf, 3), _n(tf), _variable(tf, "w", 3)
    y = tf.while_loop(
        lambda y: tf.reduce_sum(y) < 20.0, lambda y: y * 1.5 + w * w, [tf.abs(x)], maximum_iterations=n
    )
    return tf.reduce_sum(y), [{x: _values(3), n: k} for k in (4, 100)]


def no_back_prop(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * w), (0, x), back_prop=False)
    return tf.reduce_sum(y * w + x), [{x: _values(2), n: 2}]


def nested(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)

    def outer(i, y):
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, tf.sin(z * w) * y + x), (0, y))
        return i + 1, z + y

    _, y = tf.while_loop(lambda i, y: i < n, outer, (0, x))
    return tf.reduce_sum(y), [{x: _values(2), n: k} for k in (3, 1, 0)]


def branch_in_a_loop(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)

    def body(i, y):
        z = tf.cond(tf.equal(i % 2, 0), lambda: tf.exp(-y) * w, lambda: tf.sin(x * y))
        return i + 1, z + y

    _, y = tf.while_loop(lambda i, y: i < n, body, (0, x))
    return tf.reduce_sum(y), [{x: _values(2), n: k} for k in (3, 0, 2)]


def loop_in_a_branch(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)

    def loop():
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * w + x), (0, tf.exp(x)))[1]

    y = tf.cond(n > 2, loop, lambda: tf.sin(x) * w)
    return tf.reduce_sum(y), [{x: _values(2), n: k} for k in (3, 1, 4)]


def loop_in_a_branch_in_a_loop(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)

    def body(i, y):
        def inner():
            return tf.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, z * w + x), (0, y))[1]

        return i + 1, tf.cond(i > 0, inner, lambda: tf.sin(y))

    _, y = tf.while_loop(lambda i, y: i < n, body, (0, x))
    return tf.reduce_sum(y), [{x: _values(2), n: k} for k in (3, 1)]


def two_loops_of_one_count(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * w), (0, x))
    _, z = tf.while_loop(lambda i, z: i < n, lambda i, z: (i + 1, z + y * x), (0, y))
    return tf.reduce_sum(y + z * z), [{x: _values(2), n: k} for k in (2, 3)]


def arrays(tf):
    x, n, w = _x(tf, None, 2), _n(tf), _variable(tf, "w", 2)
    read = tf.TensorArray(tf.float32, n, clear_after_read=False).unstack(x)
    written = tf.TensorArray(tf.float32, n)

    def body(i, s, out):
        s = tf.tanh(s * w + read.read(i))
        return i + 1, s, out.write(i, s * read.read(n - 1 - i))

    _, s, out = tf.while_loop(lambda i, *_: i < n, body, (0, tf.zeros([2]), written))
    return tf.reduce_sum(out.stack() ** 2) + tf.reduce_sum(s), [{x: _values(k, 2), n: k} for k in (3, 1, 5)]


def array_in_a_branch_in_a_loop(tf):
    x, n, w = _x(tf, None, 2), _n(tf), _variable(tf, "w", 2)
    read = tf.TensorArray(tf.float32, n).unstack(x)
    written = tf.TensorArray(tf.float32, n, element_shape=[2])

    def body(i, out):
        y = tf.cond(tf.equal(i % 2, 0), lambda: read.read(i) * w, lambda: tf.sin(read.read(i)))
        return i + 1, out.write(i, y)

    _, out = tf.while_loop(lambda i, _: i < n, body, (0, written))
    return tf.reduce_sum(out.stack() ** 2), [{x: _values(k, 2), n: k} for k in (3, 1)]


def mapped(tf):
    x, w = _x(tf, None, 2), _variable(tf, "w", 2)
    return tf.reduce_sum(tf.map_fn(lambda r: tf.sin(r * w), x) ** 2), [{x: _values(k, 2)} for k in (3, 1)]


def scanned(tf):
    x, w = _x(tf, None, 2), _variable(tf, "w", 2)
    y = tf.scan(lambda a, r: tf.tanh(a * w + r), x, tf.ones([2]))
    z = tf.foldl(lambda a, r: a * 0.5 + r * w, x)
    return tf.reduce_sum(y * y) + tf.reduce_sum(z), [{x: _values(k, 2)} for k in (4, 2)]


def embedded(tf):
    ids, w = tf.placeholder(tf.int32, [None], name="ids"), _variable(tf, "w", 5, 2)

    def body(i, y):
        return i + 1, y * 0.5 + tf.nn.embedding_lookup(w, ids[i])

    _, y = tf.while_loop(lambda i, y: i < tf.size(ids), body, (0, tf.zeros([2])))
    return tf.reduce_sum(y * y), [{ids: v} for v in ([1, 3, 1], [4])]


def assigns(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), trainable=False)

    def body(i, y):
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1, y * w

    _, y = tf.while_loop(lambda i, y: i < n, body, (0, x))
    with tf.control_dependencies([y]):
        return tf.reduce_sum(y) + v.read_value(), [{x: _values(2), n: k} for k in (3, 2)]


def control_dependency_on_a_loop(tf):
    x, n, w = _x(tf, 2), _n(tf), _variable(tf, "w", 2)
    with tf.control_dependencies([tf.Assert(n >= 0, [n])]):
        _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * w), (0, tf.identity(x)))
    with tf.control_dependencies([y]):
        z = w * 2.0
    return tf.reduce_sum(y) + tf.reduce_sum(z), [{x: _values(2), n: k} for k in (3, 2)]


def _rnn(tf, cell, dynamic_lengths=True, **options):
    x = _x(tf, 2, None, 3)
    n = tf.placeholder(tf.int32, [2], name="n")
    init = tf.random_uniform_initializer(-0.5, 0.5, seed=3)
    with tf.variable_scope("rnn", initializer=init):
        outputs, state = tf.nn.dynamic_rnn(
            cell(tf), x, n if dynamic_lengths else None, dtype=tf.float32, **options
        )
    parts = [tf.reduce_sum(part**2) for part in tf.contrib.framework.nest.flatten(state)]
    steps = [{x: _values(2, k, 3), n: [k, max(k - 2, 0)]} for k in (4, 2, 5, 4)]
    return tf.reduce_sum(outputs**2) + tf.add_n(parts), steps


def basic_rnn(tf):
    return _rnn(tf, lambda tf: tf.nn.rnn_cell.BasicRNNCell(4))


def lstm(tf):
    return _rnn(tf, lambda tf: tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True, num_proj=3, cell_clip=2.0))


def lstm_without_lengths(tf):
    return _rnn(tf, lambda tf: tf.nn.rnn_cell.LSTMCell(4), dynamic_lengths=False)


def gru_swapping(tf):
    return _rnn(tf, lambda tf: tf.nn.rnn_cell.GRUCell(4), swap_memory=True)


def two_layers(tf):
    def cell(tf):
        layers = [tf.nn.rnn_cell.BasicLSTMCell(4) for _ in range(2)]
        return tf.nn.rnn_cell.MultiRNNCell([layers[0], tf.nn.rnn_cell.ResidualWrapper(layers[1])])

    return _rnn(tf, cell)


def dropout_cell(tf):
    def cell(tf):
        one = tf.nn.rnn_cell.GRUCell(4)
        return tf.nn.rnn_cell.DropoutWrapper(one, output_keep_prob=0.5, state_keep_prob=0.75, seed=7)

    return _rnn(tf, cell, parallel_iterations=1)


def bidirectional(tf):
    x = _x(tf, 2, None, 3)
    n = tf.placeholder(tf.int32, [2], name="n")
    init = tf.random_uniform_initializer(-0.5, 0.5, seed=3)
    with tf.variable_scope("rnn", initializer=init):
        cells = [tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(4)]
        both, _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, n, dtype=tf.float32)
    return tf.reduce_sum(tf.concat(both, 2) ** 2), [{x: _values(2, k, 3), n: [k, 1]} for k in (4, 2)]


def attention_decoder(tf):
    x, n, w = _x(tf, 2, 3, 4), _n(tf), _variable(tf, "w", 4, 4)
    init = tf.random_uniform_initializer(-0.5, 0.5, seed=3)
    with tf.variable_scope("rnn", initializer=init):
        cell = tf.nn.rnn_cell.GRUCell(4)

        def loop_fn(time, output, state, loop_state):
            state = cell.zero_state(2, tf.float32) if output is None else state
            scores = tf.nn.softmax(tf.einsum("bth,bh->bt", x, tf.matmul(state, w)))
            context = tf.einsum("bt,bth->bh", scores, x)
            done = tf.fill([2], time >= n)
            return done, context, state, output, None

        outputs, state, _ = tf.nn.raw_rnn(cell, loop_fn)
        out = outputs.stack()
    return tf.reduce_sum(out**2) + tf.reduce_sum(state), [{x: _values(2, 3, 4), n: k} for k in (3, 2)]


PROGRAMS = {
    k: v for k, v in list(globals().items()) if callable(v) and not k.startswith("_") and k != "trained"
}
