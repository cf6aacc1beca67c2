"""tf.custom_gradient, RegisterGradient with gradient_override_map, NotDifferentiable and PreventGradient."""


def build(tf):
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(dy):
            return dy * (1 - 1 / (1 + e))

        return tf.log(1 + e), grad

    @tf.custom_gradient
    def two(x, y):
        def grad(da, db):
            return da * 10.0, db * 100.0

        return [x * y, x + y], grad

    def halved(op, dy):
        return dy * 0.5 * op.inputs[0]

    try:
        tf.RegisterGradient("HalvedSquare")(halved)
    except KeyError:
        pass  # the process has built this program before
    x = tf.constant([100.0, 0.0, -1.0], name="x")
    y = tf.constant([1.0, 2.0, 3.0], name="y")
    value = log1pexp(x)
    pair = two(x, y)
    with tf.get_default_graph().gradient_override_map({"Square": "HalvedSquare", "Identity": "HalvedSquare"}):
        squared = tf.square(y)
        kept = tf.identity(y)
    return {
        "value": value,
        "gradient": tf.gradients(value, x)[0],
        "pair": tf.gradients(pair, [x, y])[0],
        "second_of_pair": tf.gradients(pair[1], [x, y])[1],
        "overridden": tf.gradients(squared, y)[0],
        "identity": tf.gradients(kept, y)[0],
        "plain": tf.gradients(tf.square(y), y)[0],
    }
