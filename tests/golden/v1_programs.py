"""Small programs whose graphs TensorFlow 1.15 writes with Switch, Merge, Enter, Exit and NextIteration.

Only TensorFlow runs them, once, for `v1_control_flow.json`; the tests import the graphs. A program takes the module
`tf` and returns what is fetched (tensors, or operations to run) and a list of steps: what is fed, by placeholder. All
variables are initialized before the first step; the steps run in order in one session.
"""

import numpy as np

BOTH = (True, False, True)


def _ab(tf):
    pred = tf.placeholder(tf.bool, [], name="pred")
    x = tf.placeholder(tf.float32, [2], name="x")
    return pred, x, [{pred: p, x: [0.5 + i, -1.5]} for i, p in enumerate(BOTH)]


def _number(tf, *values):
    n = tf.placeholder(tf.int32, [], name="n")
    return n, [{n: v} for v in values]


def cond_plain(tf):
    pred, x, steps = _ab(tf)
    return [tf.cond(pred, lambda: x * 2, lambda: x + 1)], steps


def cond_passes_on_what_is_outside(tf):
    pred, x, steps = _ab(tf)
    y = x * 3
    return [tf.cond(pred, lambda: x, lambda: y), tf.cond(pred, lambda: (x, y), lambda: (y, x))[1]], steps


def cond_gradients(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.exp(x) * x, lambda: tf.sin(x))
    (first,) = tf.gradients(y, x)
    return [y, first, *tf.gradients(first, x)], steps


def cond_gradient_of_what_one_branch_leaves_out(tf):
    pred, x, steps = _ab(tf)
    z = tf.placeholder_with_default(tf.constant([3.0, 4.0]), [2])
    y = tf.cond(pred, lambda: x * z, lambda: z + 1.0)
    return [y, *tf.gradients(y, [x, z])], steps


def cond_nested(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.cond(x[0] > 1.0, lambda: tf.exp(x), lambda: x * x), lambda: tf.tanh(x))
    return [y, *tf.gradients(y, x)], steps


def cond_in_a_row(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: x * 2, lambda: x - 1)
    z = tf.cond(pred, lambda: y * y, lambda: tf.cond(tf.reduce_sum(y) > 0, lambda: y, lambda: -y))
    w = tf.cond(tf.logical_not(pred), lambda: z + x, lambda: z - y)
    return [y, z, w, *tf.gradients(w, x)], steps


def cond_outside_runs_always(tf):
    pred, _, steps = _ab(tf)
    v = tf.Variable(0.0, name="v")
    added = tf.assign_add(v, 1.0)
    y = tf.cond(pred, lambda: tf.identity(added), lambda: tf.constant(-1.0))
    with tf.control_dependencies([y]):
        read = tf.identity(v.read_value())
    return [y, read], steps


def cond_assigns(tf):
    pred, x, steps = _ab(tf)
    v = tf.Variable([1.0, 1.0], name="v")
    w = tf.Variable([2.0, 2.0], name="w", use_resource=True)
    y = tf.cond(pred, lambda: tf.assign_add(v, x), lambda: tf.assign(v, [7.0, 8.0]))
    z = tf.cond(pred, lambda: w.assign_sub(x).read_value() * 1.0, lambda: w.read_value())
    with tf.control_dependencies([y, z]):
        return [y, z, v.read_value(), w.read_value()], steps


def cond_effects_only(tf):
    pred, x, steps = _ab(tf)
    v = tf.Variable([1.0, 1.0], name="v")
    done = tf.cond(pred, lambda: tf.group(v.assign_add(x)), lambda: tf.no_op())
    with tf.control_dependencies([done]):
        return [v.read_value()], steps


def cond_types(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.constant("yes"), lambda: tf.as_string(tf.reduce_sum(x)))
    z = tf.cond(pred, lambda: tf.constant([1, 2], tf.int64), lambda: tf.constant([3], tf.int64))
    return [y, z, tf.strings.join([y, "!"])], steps


def cond_shapes_differ(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.concat([x, x], 0), lambda: x[:1])
    return [y, tf.shape(y), *tf.gradients(y, x)], steps


def case_exclusive_and_not(tf):
    n, steps = _number(tf, 0, 1, 2, 5)
    x = tf.constant([1.0, 2.0])
    a = tf.case([(n < 1, lambda: x), (n < 2, lambda: x * 10), (n < 3, lambda: x * 100)], default=lambda: -x)
    b = tf.case(
        [(tf.equal(n, 0), lambda: x), (tf.equal(n, 1), lambda: x + 1)], default=lambda: x, exclusive=True
    )
    return [a, b], steps


def asserts(tf):
    n, steps = _number(tf, 3, 4)
    check = tf.group(
        tf.Assert(n > 2, [n, tf.constant("too small")]),
        tf.Assert(n > 1, [tf.cast(n, tf.float32)], name="guarded"),
    )
    with tf.control_dependencies([check, tf.assert_positive(n), tf.assert_less(n, 100)]):
        return [n * 2], steps


def loop_counts(tf):
    n, steps = _number(tf, 3, 0, 1, 7)
    i, x = tf.while_loop(
        lambda i, x: i < n, lambda i, x: (i + 1, x * 2.0 + 1.0), [0, tf.constant([1.0, 2.0])]
    )
    return [i, x], steps


def loop_gradients(tf):
    n, steps = _number(tf, 3, 0, 1)
    x = tf.placeholder_with_default(tf.constant([0.5, -0.25]), [2])
    c = tf.placeholder_with_default(tf.constant(1.5), [])
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(y * c) + x), [0, x])
    return [y, *tf.gradients(y, [x, c])], steps


def loop_second_gradients(tf):
    n, steps = _number(tf, 3, 0)
    x = tf.placeholder_with_default(tf.constant([0.5, 2.0]), [2])
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, x])
    (first,) = tf.gradients(y, x)
    return [first], steps


def loop_nested(tf):
    n, steps = _number(tf, 3, 0, 2)

    def outer(i, x):
        _, y = tf.while_loop(
            lambda j, y: j < i, lambda j, y: (j + 1, y * 1.5 + tf.cast(i, tf.float32)), [0, x]
        )
        return i + 1, y + 1.0

    return list(tf.while_loop(lambda i, x: i < n, outer, [0, tf.constant(1.0)])), steps


def loop_nested_gradients(tf):
    n, steps = _number(tf, 3, 0, 1)
    x = tf.placeholder_with_default(tf.constant(0.75), [])

    def outer(i, y):
        _, z = tf.while_loop(lambda j, z: j < i + 1, lambda j, z: (j + 1, tf.sin(z * x) + z), [0, y])
        return i + 1, z * x

    _, y = tf.while_loop(lambda i, y: i < n, outer, [0, x])
    return [y, *tf.gradients(y, x)], steps


def loop_with_maximum(tf):
    n, steps = _number(tf, 3, 0, 9)
    i, x = tf.while_loop(
        lambda i, x: x < 100.0,
        lambda i, x: (i + 1, x * 3.0),
        (0, 1.0),
        maximum_iterations=n,
        parallel_iterations=1,
    )
    return [i, x], steps


def loop_shapes_grow(tf):
    n, steps = _number(tf, 3, 0)
    x = tf.while_loop(
        lambda x: tf.size(x) < 10 * n,
        lambda x: tf.concat([x, x + 1], 0),
        [tf.constant([1, 2])],
        shape_invariants=[tf.TensorShape([None])],
    )
    return [x], steps


def cond_in_a_loop(tf):
    n, steps = _number(tf, 5, 0, 1)
    x = tf.placeholder_with_default(tf.constant(2.0), [])

    def body(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y - 0.5 * x)

    _, y = tf.while_loop(lambda i, y: i < n, body, [0, x])
    return [y, *tf.gradients(y, x)], steps


def loop_in_a_cond(tf):
    pred = tf.placeholder(tf.bool, [], name="pred")
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.placeholder_with_default(tf.constant(1.25), [])

    def looping():
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, x])[1]

    y = tf.cond(pred, looping, lambda: x * 10)
    return [y, *tf.gradients(y, x)], [{pred: True, n: 3}, {pred: False, n: 3}, {pred: True, n: 0}]


def loop_in_a_loop_in_a_cond(tf):
    pred, x, _ = _ab(tf)

    def looping():
        def outer(i, y):
            y = tf.cond(
                y[0] > 3.0,
                lambda: y - 1.0,
                lambda: tf.while_loop(lambda j, z: j < 2, lambda j, z: (j + 1, z * 1.5), [0, y])[1],
            )
            return i + 1, y

        return tf.while_loop(lambda i, y: i < 4, outer, [0, x])[1]

    y = tf.cond(pred, looping, lambda: tf.zeros_like(x))
    return [y], [{pred: p, x: [1.0, 2.0]} for p in (True, False)]


def assign_in_a_loop(tf):
    n, steps = _number(tf, 3, 0, 2)
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(1.0, name="w", use_resource=True)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 2.0), w.assign_add(tf.cast(i, tf.float32))]):
            return i + 1

    i = tf.while_loop(lambda i: i < n, body, [0], parallel_iterations=1)
    with tf.control_dependencies([i]):
        return [i, v.read_value(), w.read_value()], steps


def assign_in_a_cond_in_a_loop(tf):
    n, steps = _number(tf, 5, 0, 2)
    w = tf.Variable(1.0, name="w", use_resource=True)

    def body(i, s):
        x = tf.cond(tf.equal(i % 2, 1), lambda: w.assign_add(1.0).read_value(), lambda: w.read_value() * 1.0)
        return i + 1, s + x

    i, s = tf.while_loop(lambda i, s: i < n, body, [0, 0.0], parallel_iterations=1)
    with tf.control_dependencies([i]):
        return [s, w.read_value()], steps


def variable_read_anew(tf):
    n, steps = _number(tf, 3, 1)
    v = tf.Variable(1.0, name="v")

    def body(i, s):
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1, s + v.read_value()

    return list(tf.while_loop(lambda i, s: i < n, body, [0, 0.0], parallel_iterations=1)), steps


def _sum_after_writes(tf, write, start):
    """Adds up what is read outside a loop from a variable that each iteration writes to."""
    n, steps = _number(tf, 3, 0, 2)
    v = tf.Variable(start, name="v")

    def body(i, s):
        with tf.control_dependencies([write(v)]):
            return i + 1, s + v

    return [tf.while_loop(lambda i, _: i < n, body, [0, tf.zeros([3])], parallel_iterations=1)[1]], steps


def read_outside_of_what_a_loop_adds_to(tf):
    return _sum_after_writes(tf, lambda v: v.assign_add([1.0, 1.0, 1.0]), [1.0, 2.0, 3.0])


def read_outside_of_what_a_loop_assigns(tf):
    return _sum_after_writes(tf, lambda v: v.assign(v + 1.0), [1.0, 2.0, 3.0])


def read_outside_of_what_a_loop_scatters_into(tf):
    return _sum_after_writes(tf, lambda v: tf.scatter_add(v, [0], [5.0]), [1.0, 2.0, 3.0])


def read_outside_of_what_a_branch_writes(tf):
    pred, _, steps = _ab(tf)
    v = tf.Variable([1.0, 2.0], name="v")

    def write():
        with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
            return v * 1.0

    return [tf.cond(pred, write, lambda: v * 2.0)], steps


def condition_reads_what_the_body_writes(tf):
    n, steps = _number(tf, 6, 6, 0)
    v = tf.Variable(0.0, name="v")

    def body(i):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1

    return [tf.while_loop(lambda i: v < 3.0, body, [0], parallel_iterations=1, maximum_iterations=n)], steps


def random_in_a_loop(tf):
    n, steps = _number(tf, 3, 0, 2)
    _, x = tf.while_loop(
        lambda i, x: i < n, lambda i, x: (i + 1, x + tf.random_uniform([2], seed=5)), [0, tf.zeros([2])],
        parallel_iterations=1,
    )  # fmt: skip
    return [x], steps


def random_in_a_cond(tf):
    pred, x, steps = _ab(tf)
    return [
        tf.cond(pred, lambda: x + tf.random_normal([2], seed=7), lambda: tf.random_uniform([2], seed=8))
    ], steps


def arrays_written_and_read(tf):
    n, steps = _number(tf, 4, 1)
    array = tf.TensorArray(tf.float32, size=n, clear_after_read=False)
    _, array = tf.while_loop(
        lambda i, a: i < n,
        lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * tf.constant([1.0, 2.0]))),
        [0, array],
    )
    return [array.stack(), array.read(0), array.size()], steps


def map_fn(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(row), x)
    return [y, *tf.gradients(y, x)], [{x: [[1.0, 2.0], [3.0, -4.0]]}, {x: [[0.5, 0.25]]}]


def scan_and_folds(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.scan(lambda a, v: a * 0.5 + v, x)
    z = tf.foldl(lambda a, v: a * v + 1.0, x)
    w = tf.foldr(lambda a, v: a - v, x, initializer=1.0)
    return [y, z, w, *tf.gradients([y, z, w], x)], [{x: [1.0, 2.0, 3.0]}, {x: [0.5]}]


def _matrix(rows, columns, seed):
    return (np.random.RandomState(seed).randint(-8, 9, (rows, columns)) / 8.0).astype(np.float32)


def dynamic_rnn_lengths(tf):
    x = tf.placeholder(tf.float32, [None, None, 3], name="x")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    cell = tf.nn.rnn_cell.BasicRNNCell(2, reuse=False)
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.25)):
        y, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    values = np.arange(36, dtype=np.float32).reshape(3, 4, 3) / 36.0
    grads = tf.gradients([y, state], [x, *tf.trainable_variables()])
    return [y, state, *grads], [{x: values, lengths: [0, 2, 4]}, {x: values[:, :2], lengths: [1, 0, 2]}]


def dynamic_rnn_zero_steps(tf):
    x = tf.placeholder(tf.float32, [2, None, 3], name="x")
    lengths = tf.placeholder(tf.int32, [2], name="lengths")
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.25)):
        y, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), x, lengths, dtype=tf.float32)
    return [y, state], [
        {x: np.ones([2, 3, 3], np.float32), lengths: [0, 0]},
        {x: np.ones([2, 1, 3], np.float32), lengths: [1, 0]},
    ]


def _lstm_training(tf, dynamic):
    x = tf.placeholder(tf.float32, [4, 5, 3], name="x")
    target = tf.placeholder(tf.float32, [4, 2], name="target")
    cell = tf.nn.rnn_cell.BasicLSTMCell(6)
    with tf.variable_scope("lstm", reuse=tf.AUTO_REUSE):
        if dynamic:
            outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, sequence_length=[5, 3, 1, 4])
            last = outputs[:, -1] + outputs[:, 0]
        else:
            outputs, _ = tf.nn.static_rnn(
                cell, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=[5, 3, 1, 4]
            )
            last = outputs[-1] + outputs[0]
        w = tf.get_variable("w", initializer=_matrix(6, 2, 4))
        loss = tf.reduce_mean(tf.square(tf.matmul(last, w) - target))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    random = np.random.RandomState(1)
    steps = [{x: random.rand(4, 5, 3).round(3), target: random.rand(4, 2).round(3)} for _ in range(3)]
    return [loss, train], steps


def lstm_training_dynamic(tf):
    tf.set_random_seed(3)
    return _lstm_training(tf, True)


def lstm_training_static(tf):
    tf.set_random_seed(3)
    return _lstm_training(tf, False)


def clipped_adam_over_a_loop(tf):
    n, steps = _number(tf, 3, 0, 2)
    v = tf.get_variable("v", initializer=np.array([0.5, -1.0], np.float32))
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.nn.relu(y * v) + v), [0, v * 1.0])
    loss = tf.reduce_sum(y * y)
    optimizer = tf.train.AdamOptimizer(0.1)
    grads, variables = zip(*optimizer.compute_gradients(loss))
    grads, norm = tf.clip_by_global_norm(grads, 1.0)
    train = optimizer.apply_gradients(list(zip(grads, variables)))
    return [loss, norm, train], steps


def switch_training_and_testing(tf):
    training = tf.placeholder(tf.bool, [], name="training")
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    y = tf.layers.batch_normalization(x, training=training, momentum=0.5)
    y = tf.layers.dropout(y, 0.0, training=training)
    update = tf.group(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    values = _matrix(4, 3, 5)
    return [y, update], [{training: t, x: values} for t in (True, True, False)]


def smart_condition_on_a_constant(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.cond(tf.constant(True), lambda: x * 2, lambda: x / 0.0)
    return [y], [{x: [1.0, 2.0]}]


def accumulated_in_a_loop_of_vectors(tf):
    n, steps = _number(tf, 4, 1)
    table = tf.placeholder_with_default(tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2)), [4, 2])

    def body(i, total):
        return i + 1, total + tf.gather(table, i) * tf.nn.embedding_lookup(table, 3 - i)

    _, total = tf.while_loop(lambda i, _: i < n, body, [0, tf.zeros([2])])
    grad = tf.gradients(total, table)[0]
    return [total, tf.convert_to_tensor(grad)], steps


PROGRAMS = {k: v for k, v in list(globals().items()) if callable(v) and not k.startswith("_") and k != "np"}
