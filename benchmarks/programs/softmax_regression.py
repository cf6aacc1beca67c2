"""Softmax regression on images of 28 x 28, batches of 100, plain gradient descent."""

import numpy as np

GROUP = "small"
STEPS = 300
TINY = {"batch": 4}


def build(tf, batch=100):
    x = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.float32, [None, 10])
    w = tf.Variable(tf.zeros([784, 10]))
    b = tf.Variable(tf.zeros([10]))
    y = tf.nn.softmax(tf.matmul(x, w) + b)
    loss = tf.reduce_mean(-tf.reduce_sum(labels * tf.log(y), axis=1))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    rng = np.random.RandomState(0)
    feeds = [
        {
            x: rng.rand(batch, 784).astype(np.float32),
            labels: np.eye(10, dtype=np.float32)[rng.randint(0, 10, batch)],
        }
        for _ in range(8)
    ]
    return [loss, train], lambda i: feeds[i % 8]
