"""Gradients of branches and loops, built after `tf.enable_control_flow_v2()`: graphs and values are recorded.

A program takes the module `tf` and returns what is fetched.
"""


def _pred(tf):
    return tf.placeholder(tf.bool, [], name="p")


def _number(tf):
    return tf.placeholder(tf.int32, [], name="n")


def _x(tf):
    return tf.constant([1.0, 2.0], name="x")


def two_branches(tf):
    p, x = _pred(tf), _x(tf)
    return tf.gradients(tf.cond(p, lambda: tf.exp(x) * x, lambda: tf.sin(x)), x)


def branch_in_a_branch(tf):
    p, x = _pred(tf), _x(tf)

    def inner():
        return tf.cond(x[0] > 1.0, lambda: tf.exp(x) * x, lambda: tf.tanh(x))

    return tf.gradients(tf.cond(p, inner, lambda: tf.sin(x)), x)


def branch_in_a_loop(tf):
    x, n = _x(tf), _number(tf)

    def body(i, y):
        return i + 1, tf.cond(i > 1, lambda: tf.exp(y) * x, lambda: tf.sin(y))

    return tf.gradients(tf.while_loop(lambda i, y: i < n, body, (0, x))[1], x)


def loop_in_a_branch(tf):
    p, x, n = _pred(tf), _x(tf), _number(tf)

    def loop():
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, x))[1]

    return tf.gradients(tf.cond(p, loop, lambda: tf.sin(x)), x)


def branch_in_a_branch_in_a_loop(tf):
    p, x, n = _pred(tf), _x(tf), _number(tf)

    def body(i, y):
        def inner():
            return tf.cond(p, lambda: tf.exp(y) * x, lambda: y * y)

        return i + 1, tf.cond(i > 1, inner, lambda: tf.sin(y))

    return tf.gradients(tf.while_loop(lambda i, y: i < n, body, (0, x))[1], x)


def loop_in_a_loop(tf):
    x, n = _x(tf), _number(tf)

    def body(i, y):
        return i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * tf.sin(x)), (0, y))[1]

    return tf.gradients(tf.while_loop(lambda i, y: i < n, body, (0, x))[1], x)


def constants_in_branches(tf):
    p, x = _pred(tf), _x(tf)
    y = tf.cond(
        p, lambda: x * 3.0 + tf.constant([1.0, 2.0]) * tf.exp(x), lambda: tf.sin(x) * tf.constant(2.0)
    )
    return tf.gradients(y, x)


def many_branches(tf):
    n, x = _number(tf), _x(tf)
    y = tf.switch_case(n, [lambda: tf.exp(x) * x, lambda: tf.sin(x), lambda: tf.tanh(x) * x * x])
    return tf.gradients(y, x)


def cases(tf):
    n, x = _number(tf), _x(tf)
    y = tf.case([(n < 1, lambda: tf.exp(x) * x), (n < 3, lambda: x * x)], default=lambda: tf.tanh(x))
    return tf.gradients(y, x)


def second_gradient(tf):
    p, x = _pred(tf), _x(tf)
    (first,) = tf.gradients(tf.cond(p, lambda: tf.exp(x) * x, lambda: tf.sin(x)), x)
    return tf.gradients(first, x)


def two_gradients(tf):
    p, x = _pred(tf), _x(tf)
    y = tf.cond(p, lambda: tf.exp(x) * x, lambda: tf.sin(x))
    return [tf.gradients(y, x)[0], tf.gradients(y, x)[0]]


def two_results(tf):
    p, x, z = _pred(tf), _x(tf), tf.constant([3.0, 2.0], name="z")
    a, b = tf.cond(p, lambda: (tf.exp(x) * z, x), lambda: (z, tf.sin(x) * tf.cos(z)))
    return tf.gradients(a * b, [x, z])


def writes_in_a_branch(tf):
    p, x = _pred(tf), _x(tf)
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)

    def write():
        with tf.control_dependencies([v.assign_add(x)]):
            return tf.exp(x) * x

    return tf.gradients(tf.cond(p, write, lambda: tf.sin(x)), x)


def dropout_in_a_branch(tf):
    p, x = _pred(tf), _x(tf)
    return tf.gradients(tf.cond(p, lambda: tf.nn.dropout(x, rate=0.5, seed=1), lambda: x), x)


def unknown_shapes(tf):
    p, b = _pred(tf), tf.constant([1.0, 2.0, 3.0])
    x = tf.placeholder_with_default(tf.constant([[1.0, -2.0, 3.0]]), [None, 3], name="x")
    return tf.gradients(tf.cond(p, lambda: tf.nn.relu(x + b), lambda: x * b - 1.0), [x, b])


def branches_in_a_row(tf):
    p, x = _pred(tf), _x(tf)
    y = tf.cond(p, lambda: tf.exp(x) * x, lambda: tf.sin(x))
    return tf.gradients(tf.cond(p, lambda: y * y, lambda: tf.tanh(y) * x), x)


def reference_variable_in_a_branch(tf):
    p, x = _pred(tf), _x(tf)
    w = tf.get_variable("w", initializer=[3.0, 4.0], use_resource=False)
    return tf.gradients(tf.cond(p, lambda: tf.exp(x) * w, lambda: w * w), [x, w])


def _dense(tf, rows):
    if not isinstance(rows, tf.IndexedSlices):
        return [rows, tf.constant([5, 2])]
    return [tf.unsorted_segment_sum(rows.values, rows.indices, 5), rows.dense_shape]


def _rows(tf, x, *branches):
    p = _pred(tf)
    y = tf.cond(p, *branches) if len(branches) == 2 else tf.switch_case(tf.cast(p, tf.int32), branches)
    (rows,) = tf.gradients(y * y, x)
    return _dense(tf, rows)


def rows_in_both_branches(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")
    return _rows(tf, x, lambda: tf.gather(x, [1, 2]), lambda: tf.gather(x, [4, 4, 0]))


def rows_and_all(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")
    return _rows(tf, x, lambda: x * 2.0, lambda: tf.gather(x, [1, 1]))


def rows_and_none(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")
    return _rows(tf, x, lambda: tf.gather(x, [1, 2]), lambda: tf.ones([2, 2]))


def rows_by_two_types_of_indices(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")
    long = tf.constant([3, 3], tf.int64)
    return _rows(tf, x, lambda: tf.gather(x, [1, 2]), lambda: tf.gather(x, long))


def rows_by_long_indices_and_all(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")
    long = tf.constant([3, 3], tf.int64)
    return _rows(tf, x, lambda: tf.gather(x, long), lambda: x * 2.0)


def rows_in_three_branches(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")
    return _rows(tf, x, lambda: tf.gather(x, [1, 2]), lambda: x * 3.0, lambda: tf.ones([1, 2]))


def rows_in_a_branch_of_a_branch(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")

    def inner():
        return tf.cond(x[0, 1] > 0.0, lambda: tf.gather(x, [1, 2]), lambda: tf.gather(x, [0]))

    return _rows(tf, x, inner, lambda: tf.gather(x, [3]))


def rows_of_two(tf):
    x = tf.reshape(tf.range(10.0), [5, 2], name="x")
    w = tf.identity(x, name="w")
    p = _pred(tf)
    y = tf.cond(p, lambda: tf.gather(x, [1, 2]) * w[:2], lambda: tf.gather(w, [4, 0]))
    return [t for g in tf.gradients(y, [x, w]) for t in _dense(tf, g)]


def computed_again(tf):
    x = tf.constant([[1.0, 2.0]], name="x")

    @tf.recompute_grad
    def layer(x):
        w = tf.get_variable("w", [2, 2], initializer=tf.ones_initializer(), use_resource=True)
        return tf.tanh(tf.matmul(x, w))

    with tf.variable_scope("s", use_resource=True):
        y = layer(x)
    return tf.gradients(y, x)


def computed_again_with_a_variable(tf):
    x = tf.constant([[1.0, 2.0]], name="x")
    with tf.variable_scope("s", use_resource=True):
        w = tf.get_variable("w", [2, 2], initializer=tf.ones_initializer())
        y = tf.recompute_grad(lambda x: tf.tanh(tf.matmul(x, w)) * x)(x)
    return tf.gradients(y * 2.0, [x, w])


def tape(tf):
    x = tf.constant([[1.0, 2.0]], name="x")
    w = tf.get_variable("w", [2, 2], initializer=tf.ones_initializer(), use_resource=True)
    with tf.GradientTape() as recorded:
        recorded.watch(x)
        y = tf.reduce_sum(tf.tanh(tf.matmul(x, w)) * x + x)
    return recorded.gradient(y, [x, w])


def tape_of_parts(tf):
    x = _x(tf)
    with tf.GradientTape() as recorded:
        recorded.watch(x)
        a, b = tf.split(x, 2)
        y = a * b + a
    return [recorded.gradient(y, x)]


def tape_with_given_gradients(tf):
    x = _x(tf)
    with tf.GradientTape(persistent=True) as recorded:
        recorded.watch(x)
        y = tf.exp(x)
        z = y * x
    return recorded.gradient([y, z], [x, y], output_gradients=[tf.ones([2]), tf.constant([3.0, 4.0])])


PROGRAMS = {k: v for k, v in list(globals().items()) if callable(v) and not k.startswith("_")}
STEPS = tuple((p, n) for n in range(4) for p in (True, False))


def values(tf, graph, fetches):
    """Returns what is fetched in each step, as flat lists."""
    names = {op.name for op in graph.get_operations()}
    out = []
    with graph.as_default(), tf.Session(graph=graph) as session:
        session.run(tf.global_variables_initializer())
        for p, n in STEPS:
            feed = {k: v for k, v in (("p:0", p), ("n:0", n)) if k[0] in names}
            out.append([v.ravel().tolist() for v in session.run(fetches, feed)])
            if not feed:
                break
    return out
