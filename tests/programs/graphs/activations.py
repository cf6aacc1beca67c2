"""Activations and elementwise mathematics of floats, each with its gradient."""


def build(tf):
    x = tf.constant([-2.5, -0.5, 0.25, 1.0, 3.0], name="x")
    positive = tf.constant([0.1, 0.5, 0.75, 1.5, 2.0], name="positive")
    small = tf.constant([-0.9, -0.3, 0.0, 0.4, 0.8], name="small")
    on = [
        (x, "relu relu6 elu selu crelu leaky_relu softplus softsign sigmoid tanh", tf.nn),
        (x, "exp expm1 square sin cos tan sinh cosh sigmoid tanh negative abs sign", tf),
        (x, "atan asinh erf erfc floor ceil round rint", tf),
        (positive, "log log1p sqrt rsqrt lgamma digamma reciprocal", tf),
        (small, "asin acos atanh", tf),
    ]
    fetches = {}
    for source, names, module in on:
        for name in names.split():
            key = module.__name__.rsplit(".", 1)[-1] + "." + name if module is tf.nn else name
            y = getattr(module, name)(source)
            fetches[key] = y
            gradient = tf.gradients(y, source)[0]
            if gradient is not None:
                fetches["gradient_" + key] = gradient
    two = {
        "pow": tf.pow(positive, x),
        "maximum": tf.maximum(x, positive),
        "minimum": tf.minimum(x, small),
        "atan2": tf.atan2(x, positive),
        "squared_difference": tf.squared_difference(x, positive),
        "floormod": tf.floormod(x, positive),
        "truncatediv": tf.realdiv(x, positive),
        "addn": tf.add_n([x, positive, small]),
        "accumulate": tf.accumulate_n([x, positive]),
        "igamma": tf.igamma(positive, positive),
        "zeta": tf.zeta(positive + 1.0, positive),
    }
    for name, y in two.items():
        fetches[name] = y
        fetches["gradient_" + name] = (
            tf.gradients(y, positive)[0] if name != "minimum" else tf.gradients(y, x)[0]
        )
    del fetches["gradient_zeta"], fetches["gradient_igamma"]
    fetches["finite"] = tf.stack([tf.is_finite(x / 0.0), tf.is_nan(x), tf.is_inf(x / 0.0)])
    return fetches
