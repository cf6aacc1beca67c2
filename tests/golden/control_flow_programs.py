"""Small programs with branches and loops, run once with TensorFlow for the golden file and again by the tests.

A program takes the module `tf` and returns what is fetched and a list of steps: what is fed, by placeholder. All
variables are initialized before the first step; the steps run in order in one session.
"""

import numpy as np

BOTH = (True, False, True, False)


def _ab(tf):
    pred = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [2])
    return pred, x, [{pred: p, x: [0.5 + i, -1.5]} for i, p in enumerate(BOTH)]


def plain(tf):
    pred, x, steps = _ab(tf)
    return [tf.cond(pred, lambda: x * 2, lambda: x + 1)], steps


def gradient(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.exp(x) * x, lambda: tf.sin(x))
    return [y, *tf.gradients(y, x)], steps


def second_gradient(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.exp(x) * x, lambda: tf.sin(x) * x)
    (first,) = tf.gradients(y, x)
    return [first, *tf.gradients(first, x)], steps


def nested(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.cond(x[0] > 1.0, lambda: tf.exp(x), lambda: x * x), lambda: tf.tanh(x))
    return [y, *tf.gradients(y, x)], steps


def structure(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: {"a": x, "b": (x * 2, x[0])}, lambda: {"a": -x, "b": (x, x[1])})
    return [y["a"], y["b"][0], y["b"][1], *tf.gradients(y["b"][0] * y["b"][1], x)], steps


def variables_read(tf):
    pred, x, steps = _ab(tf)
    v = tf.Variable([1.5, -2.0])
    w = tf.Variable([0.5, 3.0], use_resource=True)
    y = tf.cond(pred, lambda: tf.exp(v) * x, lambda: w * w * x)
    return [y, *[tf.convert_to_tensor(g) for g in tf.gradients(y, [v, w, x])]], steps


def reference_written(tf):
    pred, x, steps = _ab(tf)
    v = tf.Variable([1.0, 1.0])
    y = tf.cond(pred, lambda: tf.identity(v.assign_add(x)), lambda: tf.identity(v.assign([7.0, 8.0])))
    return [y], steps


def resource_written(tf):
    pred, x, steps = _ab(tf)
    v = tf.Variable([1.0, 1.0], use_resource=True)

    def write():
        with tf.control_dependencies([v.assign_add(x, read_value=False)]):
            return v.read_value() * 1

    return [tf.cond(pred, write, lambda: v.read_value() - 1)], steps


def outside_runs_always(tf):
    pred, _, steps = _ab(tf)
    v = tf.Variable(0.0, use_resource=True)
    before = v.read_value()
    with tf.control_dependencies([before]):
        write = v.assign_add(1.0, read_value=False)

    def waits():
        with tf.control_dependencies([write]):
            return tf.constant(1.0)

    return [tf.cond(pred, waits, lambda: tf.constant(2.0)), before], steps


def inside_runs_when_taken(tf):
    pred, _, steps = _ab(tf)
    v = tf.Variable(0.0, use_resource=True)

    def writes():
        with tf.control_dependencies([v.assign_add(1.0, read_value=False)]):
            return tf.constant(1.0)

    y = tf.cond(pred, writes, lambda: tf.constant(2.0))
    with tf.control_dependencies([y]):
        return [y, v.read_value()], steps


def operations(tf):
    pred, _, steps = _ab(tf)
    v = tf.Variable(0.0)
    y = tf.cond(pred, lambda: tf.group(v.assign_add(1.0)), lambda: tf.no_op())
    with tf.control_dependencies([y]):
        return [tf.identity(v.read_value())], steps


def shapes_differ(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: x, lambda: tf.concat([x, x], 0))
    return [y, tf.shape(y), *tf.gradients(y, x)], steps


def strings(tf):
    pred, _, steps = _ab(tf)
    return [tf.cond(pred, lambda: tf.constant("yes"), lambda: tf.constant(["n", "o"])[1])], steps


def embedding(tf):
    pred, _, steps = _ab(tf)
    table = tf.Variable(np.arange(6.0, dtype=np.float32).reshape(3, 2))
    y = tf.cond(pred, lambda: tf.nn.embedding_lookup(table, [0, 2, 2]), lambda: tf.zeros([3, 2]))
    return [y, tf.convert_to_tensor(tf.gradients(y, table)[0])], steps


def matmul(tf):
    pred = tf.placeholder(tf.bool, [])
    a = tf.placeholder(tf.float32, [None, 3])
    w = tf.Variable(np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(3, 2))
    y = tf.cond(pred, lambda: tf.nn.relu(tf.matmul(a, w)), lambda: tf.nn.softmax(tf.matmul(a, w)) * 2)
    fetches = [y, *tf.gradients(y, [a, w])]
    steps = [{pred: p, a: np.linspace(-1.0, 2.0, 3 * (i + 1)).reshape(i + 1, 3)} for i, p in enumerate(BOTH)]
    return fetches, steps


def training(tf):
    """Two steps each of two losses that are switched between."""
    pred, x, steps = _ab(tf)
    v = tf.Variable([1.5, -2.0], use_resource=True)
    loss = tf.cond(pred, lambda: tf.reduce_sum(tf.square(v - x)), lambda: tf.reduce_sum(tf.abs(v)))
    (g,) = tf.gradients(loss, v)
    with tf.control_dependencies([v.assign_sub(0.1 * g)]):
        return [loss, tf.identity(g)], steps


def ignored_branch_gradient(tf):
    pred, x, steps = _ab(tf)
    y = tf.cond(pred, lambda: tf.constant([1.0, 2.0]), lambda: x * x)
    return [y, *tf.gradients(y * x, x)], steps


def case(tf):
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [])
    y = tf.case([(n < 1, lambda: x * x), (n < 3, lambda: tf.exp(x))], default=lambda: -x)
    return [y, *tf.gradients(y, x)], [{n: k, x: 1.5} for k in range(5)]


def case_exclusive(tf):
    n = tf.placeholder(tf.int32, [])
    y = tf.case(
        [(n < 1, lambda: tf.constant(1)), (n > 2, lambda: tf.constant(2))], lambda: tf.constant(3), True
    )
    return [y], [{n: k} for k in range(5)]


def piecewise(tf):
    n = tf.placeholder(tf.int64, [])
    return [tf.train.piecewise_constant(n, [2, 5], [0.1, 0.01, 0.001])], [{n: k} for k in range(8)]


def initialized_value(tf):
    v = tf.Variable([2.0, 3.0])
    w = tf.Variable(v.initialized_value() * 2)
    return [tf.identity(w), tf.identity(w.initialized_value())], [{}]


def zero_fraction(tf):
    x = tf.placeholder(tf.float32, [None])
    return [tf.nn.zero_fraction(x)], [{x: [0.0, 1.0, 0.0]}, {x: [2.0]}]


def loop(tf):
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [2])
    i, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x + 1.0), (tf.constant(0), x))
    return [i, y], [{n: k, x: [0.5, -1.5]} for k in (0, 1, 4)]


def loop_grows(tf):
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [2])
    i, y = tf.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, tf.concat([y, y[:1] * 2], 0)),
        (tf.constant(0), x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )
    return [i, y], [{n: k, x: [0.5, -1.5]} for k in (0, 1, 4)]


def loop_limited(tf):
    n = tf.placeholder(tf.int32, [])
    return [tf.while_loop(lambda i: i < n, lambda i: i + 2, [0], maximum_iterations=3)], [
        {n: k} for k in (0, 1, 4, 90)
    ]


def loop_nested(tf):
    n = tf.placeholder(tf.int32, [])

    def row(i, total):
        inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), (tf.constant(0), total))
        return i + 1, inner[1]

    return list(tf.while_loop(lambda i, t: i < n, row, (tf.constant(0), tf.constant(0)))), [
        {n: k} for k in (0, 3, 6)
    ]


def loop_with_branches(tf):
    n = tf.placeholder(tf.int32, [])

    def collatz(i, steps):
        return tf.cond(tf.equal(i % 2, 0), lambda: i // 2, lambda: 3 * i + 1), steps + 1

    return list(tf.while_loop(lambda i, s: i > 1, collatz, (n, tf.constant(0)))), [{n: k} for k in (1, 6, 27)]


def loop_counts_in_variable(tf):
    n = tf.placeholder(tf.int32, [])
    v = tf.Variable(0.0, use_resource=True)

    def body(i):
        with tf.control_dependencies([v.assign_add(1.0, read_value=False)]):
            return i + 1

    i = tf.while_loop(lambda i: i < n, body, [tf.constant(0)], parallel_iterations=1)
    with tf.control_dependencies([i]):
        return [i, v.read_value()], [{n: k} for k in (0, 3, 2)]


def branch_around_loop(tf):
    n = tf.placeholder(tf.int32, [])
    count = lambda: tf.while_loop(lambda i: i < n, lambda i: i + 2, [tf.constant(0)])  # noqa: E731
    return [tf.cond(n > 3, count, lambda: tf.constant(-1))], [{n: k} for k in (0, 4, 7)]


def _counted(tf):
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [2])
    return n, x, [{n: k, x: [0.7, 0.4]} for k in (0, 1, 3)]


def _repeated(tf, n, x, f, **options):
    return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, f(i, a)), (tf.constant(0), x), **options)[1]


def loop_gradient(tf):
    n, x, steps = _counted(tf)
    v = tf.Variable([1.0, 0.3])
    w = tf.Variable([[0.2, 0.1], [0.5, 0.4]], use_resource=True)
    y = _repeated(tf, n, x, lambda i, a: tf.tanh(tf.reshape(tf.matmul(tf.reshape(a, [1, 2]), w), [2]) + v))
    return [y, *tf.gradients(y, [x, v, w])], steps


def loop_gradient_through_branch(tf):
    n, x, steps = _counted(tf)
    y = _repeated(tf, n, x, lambda i, a: tf.cond(a[0] > 0.6, lambda: a * a, lambda: tf.exp(a) * x))
    return [y, *tf.gradients(y, x)], steps


def loop_gradient_nested(tf):
    n, x, steps = _counted(tf)
    y = _repeated(tf, n, x, lambda i, a: _repeated(tf, i, a, lambda j, b: b * x))
    return [y, *tf.gradients(y, x)], steps


def loop_gradient_in_branch(tf):
    n, x, steps = _counted(tf)
    y = tf.cond(n > 2, lambda: _repeated(tf, n, x, lambda i, a: tf.sin(a) * x), lambda: x * 2)
    return [y, *tf.gradients(y, x)], steps


def loop_gradient_growing(tf):
    n, x, steps = _counted(tf)
    any_size = (tf.TensorShape([]), tf.TensorShape([None]))
    y = _repeated(tf, n, x, lambda i, a: tf.concat([a * a, a[:1] * 2], 0), shape_invariants=any_size)
    return [y, *tf.gradients(y, x)], steps


def loop_gradient_slices(tf):
    n, _, steps = _counted(tf)
    table = tf.Variable(np.arange(6.0, dtype=np.float32).reshape(3, 2), use_resource=True)
    y = _repeated(tf, n, tf.zeros([2]), lambda i, a: a + tf.gather(table, i % 2) ** 2)
    return [y, tf.convert_to_tensor(tf.gradients(y, table)[0])], [{n: step[n]} for step in steps if step[n]]


def loop_gradient_custom(tf):
    n, x, steps = _counted(tf)

    @tf.custom_gradient
    def square(a):
        return a * a, lambda dy: dy * 7

    y = _repeated(tf, n, x, lambda i, a: square(a) + 0.1)
    return [y, *tf.gradients(y, x)], steps


def loop_gradient_stopped(tf):
    n, x, steps = _counted(tf)
    y = _repeated(tf, n, x, lambda i, a: a * tf.stop_gradient(a) + x)
    return [y, *tf.gradients(y, x), *tf.gradients(y * x, [x, y], stop_gradients=[y])], steps


def loop_gradient_limited(tf):
    n, x, steps = _counted(tf)
    y = _repeated(tf, n, x, lambda i, a: tf.sin(a) * x, maximum_iterations=2)
    return [y, *tf.gradients(y, x)], steps


def branch_gradient_slices(tf):
    pred, _, steps = _ab(tf)
    table = tf.Variable(np.arange(6.0, dtype=np.float32).reshape(3, 2), use_resource=True)
    y = tf.cond(pred, lambda: tf.gather(table, [0, 0, 1]) * 2, lambda: table * table)
    return [y, tf.convert_to_tensor(tf.gradients(y, table)[0])], [{pred: step[pred]} for step in steps]


def array_written_in_a_loop(tf):
    n, x, steps = _counted(tf)
    rows = tf.TensorArray(tf.float32, n, element_shape=[2])
    rows = tf.while_loop(lambda i, _: i < n, lambda i, r: (i + 1, r.write(i, x * x)), (0, rows))[1]
    y = tf.reduce_sum(rows.stack(), 0)
    return [y, rows.size(), *tf.gradients(y, x)], [step for step in steps if step[n]]


def array_read_in_a_loop(tf):
    x = tf.placeholder(tf.float32, [3])
    rows = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * rows.read(i) + rows.read(0)), (0, 1.0))[1]
    return [y, *tf.gradients(y, x)], [{x: [1.0, 2.0, 3.0]}, {x: [0.5, 0.0, -1.0]}]


def sequences_of_all_lengths(tf):
    """A recurrent net over sequences of 0, 1, 2 and 3 steps."""
    x = tf.placeholder(tf.float32, [4, 3, 2])
    weights = tf.constant_initializer(np.linspace(-1.0, 1.0, 20).reshape(5, 4))
    with tf.variable_scope("net", initializer=weights):
        cell = tf.nn.rnn_cell.BasicLSTMCell(1)
        y, state = tf.nn.dynamic_rnn(cell, tf.concat([x, x], 2), [0, 1, 2, 3], dtype=tf.float32)
    return [y, state.h, *tf.gradients(tf.reduce_sum(y * y), x)], [
        {x: np.linspace(-2, 1, 24).reshape(4, 3, 2)}
    ]


def _tallied(tf, v, value):
    """A value that leaves a trace of having been computed."""
    with tf.control_dependencies([v.assign_add(1.0)]):
        return tf.identity(value)


def unused_result_of_a_branch(tf):
    pred, x, steps = _ab(tf)
    v = tf.Variable(0.0)
    a, _ = tf.cond(pred, lambda: (x + 1, _tallied(tf, v, x)), lambda: (_tallied(tf, v, x), x))
    with tf.control_dependencies([a]):
        return [a, tf.identity(v.read_value())], steps


def unused_variable_of_a_loop(tf):
    n = tf.placeholder(tf.int32, [])
    v = tf.Variable(0.0)
    i, _, c = tf.while_loop(
        lambda i, b, c: i < n,
        lambda i, b, c: (i + 1, _tallied(tf, v, b), c + 1),
        (0, 0, 0),
        parallel_iterations=1,
    )
    with tf.control_dependencies([i]):
        return [i, c, tf.identity(v.read_value())], [{n: k} for k in (0, 3, 1)]


def unused_condition_of_another(tf):
    """The second branch's predicate comes out of the first one."""
    pred, x, steps = _ab(tf)
    v = tf.Variable(0.0)
    go, _ = tf.cond(pred, lambda: (x[0] > 1.0, _tallied(tf, v, 1.0)), lambda: (x[0] > 0.0, 2.0))
    y, _ = tf.cond(go, lambda: (x * 2, _tallied(tf, v, 1.0)), lambda: (_tallied(tf, v, x), 0.0))
    with tf.control_dependencies([y]):
        return [y, tf.identity(v.read_value())], steps


def unused_results_inside(tf):
    pred, x, steps = _ab(tf)
    v = tf.Variable(0.0)

    def inside():
        a, b = tf.cond(x[0] > 1.0, lambda: (x, _tallied(tf, v, x)), lambda: (_tallied(tf, v, x), x))
        i, _ = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, _tallied(tf, v, z)), (0, b))
        return tf.identity(a) * tf.cast(i, tf.float32)

    y = tf.cond(pred, inside, lambda: x)
    with tf.control_dependencies([y]):
        return [y, tf.identity(v.read_value())], steps


def value_without_its_gradient(tf):
    """What only the gradient needs does not run for the value's sake."""
    n, x, steps = _counted(tf)
    v = tf.Variable(0.0)
    _, y, z = tf.while_loop(
        lambda i, y, z: i < n,
        lambda i, y, z: (i + 1, y * tf.stop_gradient(_tallied(tf, v, y)), z * x),
        (0, x, x),
        parallel_iterations=1,
    )
    tf.gradients([y, z], x)
    with tf.control_dependencies([z]):
        return [z, tf.identity(v.read_value())], steps


PROGRAMS = {name: f for name, f in sorted(globals().items()) if callable(f) and name[0] != "_"}


def run(tf, program):
    """Returns the values of each step as nested lists."""
    with tf.Graph().as_default(), tf.Session() as session:
        fetches, steps = program(tf)
        session.run(tf.global_variables_initializer())
        return [[_plain(v) for v in session.run(fetches, feed)] for feed in steps]


def _plain(value):
    if isinstance(value, bytes):
        return value.decode()
    return np.asarray(value).tolist()
