"""Softmax regression on three noisy clusters by gradient descent."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [None, 10], name="x")
    labels = tf.placeholder(tf.float32, [None, 3], name="labels")
    weights = tf.Variable(tf.zeros([10, 3]))
    biases = tf.Variable(tf.zeros([3]))
    logits = tf.matmul(x, weights) + biases
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    return {"init": tf.global_variables_initializer(), "train": train, "loss": loss}


def batches():
    random = np.random.RandomState(100)
    centers = random.randn(3, 10)
    while True:
        classes = random.randint(0, 3, 32)
        x = centers[classes] + random.randn(32, 10)
        yield {"x:0": x.astype(np.float32), "labels:0": np.eye(3, dtype=np.float32)[classes]}
