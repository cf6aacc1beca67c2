"""LeNet with dropout behind a keep_prob placeholder, trained by Adam."""

import numpy as np


def weight(tf, shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


def bias(tf, shape):
    return tf.Variable(tf.constant(0.1, shape=shape))


def pool(tf, x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def build(tf):
    tf.set_random_seed(42)
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    labels = tf.placeholder(tf.float32, [None, 4], name="labels")
    keep_prob = tf.placeholder(tf.float32, name="keep_prob")
    image = tf.reshape(x, [-1, 8, 8, 1])
    conv1 = tf.nn.relu(
        tf.nn.conv2d(image, weight(tf, [3, 3, 1, 4]), strides=[1, 1, 1, 1], padding="SAME") + bias(tf, [4])
    )
    conv2 = tf.nn.relu(
        tf.nn.conv2d(pool(tf, conv1), weight(tf, [3, 3, 4, 6]), strides=[1, 1, 1, 1], padding="SAME")
        + bias(tf, [6])
    )
    flat = tf.reshape(pool(tf, conv2), [-1, 2 * 2 * 6])
    dense = tf.nn.relu(tf.matmul(flat, weight(tf, [24, 10])) + bias(tf, [10]))
    dropped = tf.nn.dropout(dense, keep_prob)
    logits = tf.matmul(dropped, weight(tf, [10, 4])) + bias(tf, [4])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    correct = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "loss": loss,
        "dropped": dropped,
        "accuracy": tf.reduce_mean(tf.cast(correct, tf.float32)),
    }


def feeds():
    random = np.random.RandomState(2)
    return {
        "x:0": random.rand(6, 64).astype(np.float32),
        "labels:0": np.eye(4, dtype=np.float32)[random.randint(0, 4, 6)],
        "keep_prob:0": 0.5,
    }
