"""Programs that note down, here and there, how many nodes there are: what random ops without a seed are seeded with.

A program takes the module `tf` and a function to note down with. All are built with TensorFlow 1's own control flow.
"""


def _inputs(tf):
    pred = tf.placeholder_with_default(True, [])
    return pred, tf.placeholder_with_default(False, []), tf.constant(3), tf.constant([1.0, 2.0])


def branches(tf, note):
    pred, other, _, x = _inputs(tf)

    def noted(value):
        note()
        return value * 2 + x

    tf.cond(pred, lambda: noted(x), lambda: noted(x + 1))
    note()
    tf.cond(pred, lambda: x, lambda: noted(x))
    note()
    tf.cond(pred, lambda: tf.cond(other, lambda: noted(x), lambda: 2 * noted(x)), lambda: x)
    note()
    tf.cond(pred, lambda: {"a": x, "b": (1.0, other)}, lambda: {"a": x, "b": (2.0, pred)})
    note()


def branches_of_operations(tf, note):
    pred, _, _, _ = _inputs(tf)
    v, w = tf.Variable(1.0), tf.Variable(1.0, use_resource=True)
    tf.cond(pred, lambda: tf.group(v.assign_add(1.0), w.assign_add(1.0)), lambda: tf.no_op())
    note()
    tf.cond(pred, lambda: v, lambda: w * 2)
    note()
    v.initialized_value()
    note()


def cases(tf, note):
    _, _, n, x = _inputs(tf)
    tf.case([(n < 1, lambda: x), (n < 3, lambda: x * 2)], default=lambda: x + 1)
    note()
    tf.case([(n < 1, lambda: x), (n < 3, lambda: x * 2)], default=lambda: x + 1, exclusive=True)
    note()
    tf.switch_case(n, [lambda: x, lambda: x * 2, lambda: x + 1])
    note()
    tf.train.piecewise_constant(n, [2, 5], [0.1, 0.2, 0.3])
    note()
    tf.nn.zero_fraction(x)
    note()


def assertions(tf, note):
    pred, _, n, x = _inputs(tf)
    tf.Assert(pred, [x, n])
    note()
    with tf.control_dependencies([tf.assert_positive(x), tf.assert_less(n, 5), tf.assert_rank(x, 1)]):
        tf.identity(x)
    note()


def loops(tf, note):
    _, _, n, x = _inputs(tf)
    w = tf.Variable([0.5, 0.25])

    def body(i, y):
        note()
        return i + 1, y * w + x

    for options in ({}, {"maximum_iterations": 4}, {"maximum_iterations": n}):
        tf.while_loop(lambda i, y: i < n, body, (0, x), **options)
        note()
    tf.while_loop(lambda i, y: tf.reduce_sum(y) < 10.0, lambda i, y: (n, y), (0, x))
    note()
    tf.while_loop(lambda i: i[0] < n, lambda i: [(i[0] + 1, i[1])], [(0, x)])
    note()


def loops_in_loops(tf, note):
    pred, other, n, x = _inputs(tf)

    def inner(j, z):
        note()
        return j + 1, tf.cond(z[0] > 1.0, lambda: z * x, lambda: z + 1)

    def outer(i, y):
        return i + 1, tf.while_loop(lambda j, z: j < i, inner, (0, y), maximum_iterations=n)[1]

    def branch():
        return tf.while_loop(lambda i, y: i < n, outer, (0, x))[1]

    branch()
    note()
    tf.cond(pred, branch, lambda: tf.cond(other, lambda: x, branch))
    note()


def arrays(tf, note):
    _, _, n, x = _inputs(tf)
    rows = tf.ones([3, 2])
    for size in (3, n):
        a = tf.TensorArray(tf.float32, size, clear_after_read=False, infer_shape=False)
        note()
        for array in (a.unstack(rows), a.scatter([0, 1], rows[:2]), a.split(rows, [1, 1, 1]), a.write(0, x)):
            note()
            array.read(n)
            note()
            array.gather([0, 1])
            array.stack()
            note()
            array.concat()
            array.size()
            array.identity()
            array.close()
            note()


def arrays_in_loops(tf, note):
    _, _, n, x = _inputs(tf)
    given = tf.TensorArray(tf.float32, 3).unstack(tf.ones([3, 2]))

    def body(i, array):
        value = tf.cond(i > 1, lambda: given.read(i), lambda: given.read(i) * 2)
        note()
        array = array.write(i, value + x)
        note()
        return i + 1, array

    for dynamic in (False, True):
        made = tf.TensorArray(tf.float32, n, dynamic_size=dynamic)
        tf.while_loop(lambda i, a: i < n, body, (0, made))[1].stack()
        note()


def rows(tf, note):
    x = tf.ones([3, 2])
    tf.map_fn(lambda v: v * 2, x)
    note()
    tf.map_fn(lambda v: (v[0], v[1] + 1), (x, x), dtype=(tf.float32, tf.float32))
    note()
    tf.foldl(lambda a, v: a + v, x)
    tf.foldr(lambda a, v: a * v, x, initializer=tf.ones([2]))
    note()
    tf.scan(lambda a, v: a + v, x)
    tf.scan(lambda a, v: (a[0] + v, a[1]), x, initializer=(tf.zeros([2]), 1.0))
    note()


def recurrent_nets(tf, note):
    cells = tf.nn.rnn_cell
    x = tf.ones([2, 3, 4])
    with tf.variable_scope("a"):
        tf.nn.dynamic_rnn(cells.LSTMCell(5), x, dtype=tf.float32)
    note()
    with tf.variable_scope("b"):
        tf.nn.dynamic_rnn(
            cells.GRUCell(5), tf.placeholder(tf.float32, [None, None, 4]), [1, 2], dtype=tf.float32
        )
    note()
    with tf.variable_scope("c"):
        both = cells.GRUCell(3), cells.LSTMCell(3, use_peepholes=True, num_proj=2)
        tf.nn.bidirectional_dynamic_rnn(*both, x, [2, 3], dtype=tf.float32)
    note()
    with tf.variable_scope("d"):
        layers = [cells.DropoutWrapper(cells.BasicLSTMCell(4), output_keep_prob=0.5) for _ in range(2)]
        tf.nn.dynamic_rnn(cells.MultiRNNCell(layers), x, time_major=True, dtype=tf.float32)
    note()
    with tf.variable_scope("e"):
        tf.nn.static_rnn(
            cells.BasicRNNCell(3), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=[1, 3]
        )
    note()


def raw_net(tf, note):
    cell = tf.nn.rnn_cell.LSTMCell(5)
    given = tf.TensorArray(tf.float32, 3).unstack(tf.ones([3, 2, 4]))

    def step(time, output, state, _):
        note()
        state = cell.zero_state(2, tf.float32) if output is None else state
        finished = time >= [2, 3]
        done = tf.reduce_all(finished)
        return (
            finished,
            tf.cond(done, lambda: tf.zeros([2, 4]), lambda: given.read(time)),
            state,
            output,
            None,
        )

    tf.nn.raw_rnn(cell, step)[0].stack()
    note()


def functions(tf, note):
    """Bodies of functions have numbers of their own, and functional control flow."""
    pred, _, _, x = _inputs(tf)

    def f(x):
        y = tf.cond(x[0] > 0, lambda: x * 2, lambda: x)
        note()
        return tf.while_loop(lambda y: y[0] < 3.0, lambda y: y + 1, [y])

    tf.function(f)(x)
    note()
    tf.cond(pred, lambda: tf.function(lambda x: x * 2)(x), lambda: x)
    note()


def layers(tf, note):
    training = tf.placeholder_with_default(True, [])
    x = tf.ones([2, 3])
    tf.layers.dropout(x, training=training)
    note()
    tf.layers.batch_normalization(x, training=training)
    note()
    tf.layers.batch_normalization(tf.ones([2, 3, 3, 4]), training=training)
    note()
    with tf.variable_scope("resources", use_resource=True):
        tf.layers.batch_normalization(x, training=training)
    note()


def training(tf, note):
    w = tf.get_variable("w", initializer=[1.0, 2.0])
    tf.train.ExponentialMovingAverage(0.9).apply([w])
    note()
    tf.Variable(w.initialized_value() * 2)
    note()
    tf.train.maybe_batch([tf.constant(1)], tf.constant(True), 2)
    note()
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(w * w))
    note()
    tf.losses.mean_squared_error([1.0], [2.0], weights=[0.5])
    tf.metrics.mean([1.0, 2.0])
    note()


PROGRAMS = {name: f for name, f in sorted(globals().items()) if callable(f) and name[0] != "_"}


def run(tf, program):
    """Returns the numbers that a program notes down."""
    numbers = []
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        program(tf, lambda: numbers.append(tf.get_seed(None)[1]))
    return numbers
