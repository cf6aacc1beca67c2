"""Reads handwritten digits with the smallest model there is: softmax regression by gradient descent.

headrace run examples/softmax_regression.py
"""

import gzip
import os

import numpy as np
import tensorflow as tf

HELD_OUT = 360


def load_digits():
    """The digits in a shuffled order: images as rows of 64 numbers in [0, 1], and labels as one-hot rows."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "digits.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    np.random.RandomState(0).shuffle(table)
    return table[:, :64] / 16.0, np.eye(10, dtype=np.float32)[table[:, 64].astype(int)]


def main():
    x = tf.placeholder(tf.float32, [None, 64])
    labels = tf.placeholder(tf.float32, [None, 10])
    weights = tf.Variable(tf.zeros([64, 10]))
    biases = tf.Variable(tf.zeros([10]))
    logits = tf.matmul(x, weights) + biases

    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    correct = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

    images, answers = load_digits()
    random = np.random.RandomState(1)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(1, 1001):
            chosen = random.randint(HELD_OUT, len(images), 100)
            value, _ = sess.run([loss, train], {x: images[chosen], labels: answers[chosen]})
            if step % 200 == 0:
                print(f"step {step:4d}: loss {value:.4f}")
        result = sess.run(accuracy, {x: images[:HELD_OUT], labels: answers[:HELD_OUT]})
    print(f"accuracy on {HELD_OUT} held-out digits: {result:.2%}")


if __name__ == "__main__":
    main()
