"""The beginner's program: softmax regression by gradient descent, with the accuracy measured."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    labels = tf.placeholder(tf.float32, [None, 3], name="labels")
    weights = tf.Variable(tf.zeros([6, 3]), name="weights")
    biases = tf.Variable(tf.zeros([3]), name="biases")
    y = tf.nn.softmax(tf.matmul(x, weights) + biases)
    cross_entropy = tf.reduce_mean(-tf.reduce_sum(labels * tf.log(y), reduction_indices=[1]))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
    correct = tf.equal(tf.argmax(y, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "loss": cross_entropy,
        "accuracy": accuracy,
        "y": y,
        "weights": weights,
        "biases": biases,
    }


def feeds():
    random = np.random.RandomState(0)
    labels = random.randint(0, 3, 12)
    return {"x:0": random.rand(12, 6).astype(np.float32), "labels:0": np.eye(3, dtype=np.float32)[labels]}
