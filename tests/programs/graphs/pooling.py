"""Max and average pooling, strided and overlapping, with argmax, in two and three dimensions, and gradients."""

import numpy as np


def build(tf):
    x = tf.constant(np.random.RandomState(10).randn(2, 6, 7, 3).astype(np.float32), name="x")
    volume = tf.constant(np.random.RandomState(11).randn(1, 4, 4, 4, 2).astype(np.float32), name="volume")
    pieces = {
        "max": tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        "max_overlap": tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
        "average": tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        "average_overlap": tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 2, 1], "VALID"),
        "max_v2": tf.nn.max_pool2d(x, 2, 1, "SAME"),
        "pool": tf.nn.pool(x, [2, 2], "AVG", "VALID", strides=[2, 2]),
        "argmax": tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")[0],
    }
    fetches = {}
    for name, y in pieces.items():
        fetches[name] = tf.reduce_sum(y, -1)
        gradient = tf.gradients(tf.square(y), x)[0]
        fetches["gradient_" + name] = tf.reduce_sum(gradient, 0)
    second = tf.gradients(tf.square(tf.gradients(tf.square(pieces["max"]), x)[0]), x)[0]
    fetches["second"] = tf.reduce_sum(second, -1)
    for name, y in [
        ("max3d", tf.nn.max_pool3d(volume, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID")),
        ("average3d", tf.nn.avg_pool3d(volume, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")),
    ]:
        fetches[name] = y
        fetches["gradient_" + name] = tf.gradients(tf.square(y), volume)[0]
    fetches["indices"] = tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[1]
    return fetches
