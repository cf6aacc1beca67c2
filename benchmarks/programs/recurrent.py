"""What the recurrent programs share: an LSTM cell written out, so that it runs where TensorFlow's is gone."""

import numpy as np


def lstm(tf, name, inputs, units):
    """Returns a function (x, (c, h)) -> (c, h) with variables of its own."""
    with tf.variable_scope(name):
        start = tf.random_uniform_initializer(-0.08, 0.08, seed=1)
        kernel = tf.get_variable("kernel", [inputs + units, 4 * units], initializer=start)
        bias = tf.get_variable("bias", [4 * units], initializer=tf.zeros_initializer())

    def cell(x, state):
        c, h = state
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), kernel), bias)
        i, j, f, o = tf.split(gates, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        return c, tf.tanh(c) * tf.sigmoid(o)

    return cell


def over_time(tf, cell, x, units):
    """Returns the last output of a cell that is run over [batch, time, features] by a while loop."""
    batch = tf.shape(x)[0]
    by_time = tf.transpose(x, [1, 0, 2])
    steps = tf.shape(by_time)[0]
    rows = tf.TensorArray(tf.float32, steps).unstack(by_time)
    zero = tf.zeros(tf.stack([batch, units]))
    zero.set_shape([x.shape[0], units])
    outputs = tf.TensorArray(tf.float32, steps, element_shape=zero.shape)

    def body(t, c, h, outputs):
        row = rows.read(t)
        row.set_shape([x.shape[0], x.shape[2]])
        c, h = cell(row, (c, h))
        return t + 1, c, h, outputs.write(t, h)

    _, _, h, outputs = tf.while_loop(lambda t, *_: t < steps, body, (0, zero, zero, outputs))
    return h, outputs.stack()


def classifier(tf, time, units=128):
    """Returns the fetches of a training step of an LSTM classifier of 32 sequences, and the input placeholder."""
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [32, time, units])
    h, outputs = over_time(tf, lstm(tf, "lstm", units, units), x, units)
    w = tf.get_variable("w", [units, 10], initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=2))
    loss = tf.reduce_mean(tf.square(tf.matmul(h, w))) + 1e-3 * tf.reduce_mean(tf.square(outputs))
    return [loss, tf.train.AdamOptimizer(1e-3).minimize(loss)], x


def random_batch(time, seed=0, units=128):
    """Returns 32 sequences."""
    return np.random.RandomState(seed).randn(32, time, units).astype(np.float32)
