"""Gradients of what branches and loops take rows of: which are IndexedSlices, and which rows they hold.

A program takes the module `tf`, what rows are taken of, and a predicate; it returns what is differentiated.
"""

KINDS = ("tensor", "reference", "resource")


def _long(tf, rows):
    return tf.constant(rows, tf.int64)


def _sums(tf, rows):
    """Adds up what is taken in three iterations."""
    return tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y + tf.reduce_sum(rows(i))), (0, tf.constant(0.0))
    )[1]


def rows_and_rows(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, [1, 2]), lambda: tf.gather(x, [4, 4, 0]))


def rows_and_all(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, [1, 2]), lambda: x * 2.0)


def all_and_rows(tf, x, p):
    return tf.cond(p, lambda: x * 2.0, lambda: tf.gather(x, [1, 2]))


def rows_and_none(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, [1, 2]), lambda: tf.ones([2, 2]))


def none_and_rows(tf, x, p):
    return tf.cond(p, lambda: tf.ones([2, 2]), lambda: tf.gather(x, [1, 2]))


def long_and_short(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, _long(tf, [1, 2])), lambda: tf.gather(x, [4, 4, 0]))


def short_and_long(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, [4, 4, 0]), lambda: tf.gather(x, _long(tf, [1, 2])))


def long_and_all(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, _long(tf, [1, 2])), lambda: x * 2.0)


def long_and_long(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, _long(tf, [1, 2])), lambda: tf.gather(x, _long(tf, [1])))


def twice_and_all(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, [1, 2]) * tf.gather(x, [1, 3]), lambda: x * 2.0)


def rows_with_all_and_all(tf, x, p):
    return tf.cond(p, lambda: tf.gather(x, [1, 2]) * x[:2], lambda: x * 2.0)


def branch_in_a_branch_and_rows(tf, x, p):
    def inner():
        return tf.cond(x[0, 0] > 100.0, lambda: tf.gather(x, [1, 2]), lambda: tf.gather(x, [0]))

    return tf.cond(p, inner, lambda: tf.gather(x, [3]))


def branch_in_a_branch_and_all(tf, x, p):
    def inner():
        return tf.cond(x[0, 0] > 100.0, lambda: tf.gather(x, [1, 2]), lambda: tf.gather(x, [0]))

    return tf.cond(p, inner, lambda: x * 2.0)


def three_branches(tf, x, p):
    branches = [lambda: tf.gather(x, [1, 2]), lambda: x * 3.0, lambda: tf.ones([1, 2])]
    return tf.switch_case(tf.cast(p, tf.int32), branches)


def cases(tf, x, p):
    pairs = [(p, lambda: tf.gather(x, [1, 2])), (x[0, 0] > 5.0, lambda: x * 3.0)]
    return tf.case(pairs, default=lambda: tf.gather(x, [0]))


def loop(tf, x, p):
    return _sums(tf, lambda i: tf.gather(x, [i, 1]) * 2.0)


def branch_in_a_loop(tf, x, p):
    return _sums(tf, lambda i: tf.cond(p, lambda: tf.gather(x, [i, 1]), lambda: tf.gather(x, [i])))


def branch_and_none_in_a_loop(tf, x, p):
    def rows(i):
        return tf.cond(p, lambda: tf.gather(x, [i, 1]), lambda: tf.ones([2, 2]) * tf.cast(i, tf.float32))

    return _sums(tf, rows)


def branch_and_all_in_a_loop(tf, x, p):
    return _sums(tf, lambda i: tf.cond(p, lambda: tf.gather(x, [i, 1]), lambda: x * 2.0))


def branch_by_iteration(tf, x, p):
    return _sums(tf, lambda i: tf.cond(i > 1, lambda: tf.gather(x, [i, 1]), lambda: tf.gather(x, [i])))


def loop_in_a_branch(tf, x, p):
    return tf.cond(
        p,
        lambda: _sums(tf, lambda i: tf.gather(x, [i, 1])),
        lambda: tf.reduce_sum(tf.gather(x, [1])),
    )


def loop_in_a_branch_and_none(tf, x, p):
    return tf.cond(p, lambda: _sums(tf, lambda i: tf.gather(x, [i, 1])), lambda: 1.0)


def loop_in_a_loop(tf, x, p):
    return _sums(tf, lambda i: _sums(tf, lambda j: tf.gather(x, [i + j]) * 2.0))


def branch_in_a_loop_in_a_branch(tf, x, p):
    def rows(i):
        return tf.cond(i > 1, lambda: tf.gather(x, [i, 1]), lambda: tf.gather(x, [i]))

    return tf.cond(p, lambda: _sums(tf, rows), lambda: tf.reduce_sum(tf.gather(x, [1])))


def loop_in_a_branch_in_a_loop(tf, x, p):
    def rows(i):
        return tf.cond(p, lambda: _sums(tf, lambda j: tf.gather(x, [i + j]) * 2.0), lambda: 2.0)

    return _sums(tf, rows)


def rows_and_its_shape_in_a_loop(tf, x, p):
    return _sums(tf, lambda i: tf.gather(x, [i]) * tf.cast(tf.shape(x)[0], tf.float32))


def rows_that_the_table_chooses(tf, x, p):
    def rows(i):
        scores = tf.matmul(tf.cast(tf.fill([1, 2], i), tf.float32), x, transpose_b=True)
        return tf.gather(x, tf.argmax(scores, 1))

    return _sums(tf, rows)


PROGRAMS = {k: v for k, v in list(globals().items()) if callable(v) and not k.startswith("_")}


def facts(tf, name, kind):
    """Returns the gradient's type, and for both values of the predicate its parts, as lists."""
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.bool, [])
        start = tf.reshape(tf.range(10.0), [5, 2])
        if kind == "tensor":
            x = tf.identity(start)
        else:
            x = tf.get_variable("x", initializer=start, use_resource=kind == "resource")
        y = PROGRAMS[name](tf, x, p)
        (grad,) = tf.gradients(tf.reduce_sum(y * y), x)
        session.run(tf.global_variables_initializer())
        if isinstance(grad, tf.IndexedSlices):
            found, fetches = grad.indices.dtype.name, [grad.values, grad.indices, grad.dense_shape]
        else:
            found, fetches = "dense", [grad]
        return [found, [[v.tolist() for v in session.run(fetches, {p: each})] for each in (True, False)]]
