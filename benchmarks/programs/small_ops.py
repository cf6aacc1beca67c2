"""A graph of ten thousand small operations on vectors of 64 numbers."""

import numpy as np

GROUP = "overhead"
STEPS = 15
TINY = {"count": 100}


def build(tf, count=10_000):
    x = tf.placeholder(tf.float32, [64])
    w = tf.Variable(np.linspace(0.5, 1.5, 64).astype(np.float32))
    a, b = x, x
    for i in range(count // 6):
        c = tf.tanh(a * w) + x
        a, b = tf.maximum(c * 0.5, b) if i % 2 else c - b * 0.5, c * 0.25
    batch = np.random.RandomState(0).rand(64).astype(np.float32)
    return [tf.reduce_sum(a)], lambda i: {x: batch}
