"""tf.gradients with each of its options, second derivatives and Hessians."""


def build(tf):
    x = tf.constant([1.0, 2.0, 1.5], name="x")
    y = tf.constant([0.5, -1.0, 2.0], name="y")
    a = x * y
    b = tf.exp(a)
    c = tf.sin(b) + a * x
    fetches = {
        "plain": tf.gradients(c, [x, y])[0],
        "many": tf.gradients([a, c], [x, y])[1],
        "seeded": tf.gradients([a, b], x, grad_ys=[tf.ones([3]) * 2.0, None])[0],
        "stopped": tf.gradients(c, [x, y], stop_gradients=[a])[0],
        "gated": tf.gradients(c, [x, y], gate_gradients=True)[0],
        "accumulated": tf.gradients(
            [a, b, c], x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N
        )[0],
        "tree": tf.gradients([a, b, c], x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)[0],
        "colocated": tf.gradients(c, x, colocate_gradients_with_ops=True, name="colocated")[0],
        "intermediate": tf.gradients(c, [b, a])[0],
        "barrier": tf.gradients(tf.stop_gradient(a) * x, x)[0],
        "prevented": tf.gradients(tf.identity(a) * 2.0, y)[0],
        "zero": tf.gradients(c, tf.constant(1.0), unconnected_gradients=tf.UnconnectedGradients.ZERO)[0],
    }
    unconnected = tf.gradients(c, tf.constant(1.0))
    assert unconnected == [None]
    first = tf.gradients(tf.reduce_sum(tf.pow(x, 3)), x)[0]
    second = tf.gradients(first, x)[0]
    fetches["second"] = second
    fetches["third"] = tf.gradients(second, x)[0]
    direction = tf.placeholder_with_default([1.0, 0.0, -1.0], [3], name="direction")
    fetches["hessian_vector"] = tf.gradients(first * direction, x)[0]
    w = tf.Variable([1.5], name="w")
    pairs = tf.train.GradientDescentOptimizer(1.0).compute_gradients(
        tf.reduce_sum(w * x), gate_gradients=tf.train.Optimizer.GATE_GRAPH
    )
    fetches["graph_gated"] = pairs[0][0]
    fetches["init"] = tf.global_variables_initializer()
    return fetches
