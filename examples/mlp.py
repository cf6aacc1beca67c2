"""Learns a spiral with a perceptron of two hidden layers, saves it, and reads it back into a new session.

headrace run examples/mlp.py
"""

import os
import tempfile

import numpy as np
import tensorflow as tf


def spiral(count, seed):
    """Points on two spiral arms with some noise, and which arm each lies on."""
    random = np.random.RandomState(seed)
    arm = random.randint(0, 2, count)
    turn = np.sqrt(random.rand(count)) * 2.5 * np.pi
    angle = turn + np.pi * arm
    points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], 1) / 4.0
    return (points + 0.03 * random.randn(count, 2)).astype(np.float32), arm.astype(np.int32)


def layer(x, inputs, units, name, activation=tf.identity):
    """A fully connected layer in a variable scope of its own."""
    with tf.variable_scope(name):
        weights = tf.get_variable("weights", [inputs, units])
        biases = tf.get_variable("biases", [units], initializer=tf.zeros_initializer())
        return activation(tf.nn.xw_plus_b(x, weights, biases))


def main():
    tf.set_random_seed(4)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    hidden = layer(layer(x, 2, 32, "one", tf.nn.tanh), 32, 32, "two", tf.nn.tanh)
    logits = layer(hidden, 32, 2, "logits")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.float32))

    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.01, step, 500, 0.7)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    saver = tf.train.Saver()

    points, arms = spiral(2000, seed=0)
    random = np.random.RandomState(1)
    path = os.path.join(tempfile.mkdtemp(), "spiral")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for number in range(1, 1501):
            chosen = random.randint(0, len(points), 64)
            value, _ = sess.run([loss, train], {x: points[chosen], labels: arms[chosen]})
            if number % 300 == 0:
                print(f"step {number:4d}: loss {value:.4f}")
        path = saver.save(sess, path, global_step=step)

    points, arms = spiral(500, seed=2)
    with tf.Session() as sess:
        saver.restore(sess, path)
        result = sess.run(accuracy, {x: points, labels: arms})
    print(f"accuracy on 500 new points, read back from {path}: {result:.2%}")


if __name__ == "__main__":
    main()
