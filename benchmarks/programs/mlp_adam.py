"""A perceptron of two hidden layers of 512 units with dropout, batches of 128, Adam."""

import numpy as np

from benchmarks.programs.layers import Layers

GROUP = "small"
STEPS = 100
TINY = {"batch": 4, "units": 8}


def build(tf, batch=128, units=512):
    tf.set_random_seed(1)
    net = Layers(tf)
    x = tf.placeholder(tf.float32, [batch, 784])
    labels = tf.placeholder(tf.int32, [batch])
    y = net.dense_relu(x, units)
    y = tf.nn.dropout(y, rate=0.2, seed=1)
    y = net.dense_relu(y, units)
    y = tf.nn.dropout(y, rate=0.2, seed=2)
    loss = net.cross_entropy(net.dense(y, 10), labels)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    rng = np.random.RandomState(0)
    feed = {x: rng.rand(batch, 784).astype(np.float32), labels: rng.randint(0, 10, batch)}
    return [loss, train], lambda i: feed
