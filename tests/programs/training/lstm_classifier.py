"""An LSTM that says whether a noisy sequence of its own length rises or falls, trained with Adam."""

import numpy as np


def build(tf):
    tf.set_random_seed(3)
    x = tf.placeholder(tf.float32, [None, None, 2], name="x")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-0.3, 0.3, seed=5)):
        cell = tf.nn.rnn_cell.BasicLSTMCell(8, forget_bias=1.0)
        _, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
        logits = tf.layers.dense(state.h, 2, name="out")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    return {"init": tf.global_variables_initializer(), "train": train, "loss": loss}


def batches():
    random = np.random.RandomState(12)
    while True:
        labels = random.randint(0, 2, 12)
        lengths = random.randint(1, 8, 12)
        slope = np.where(labels == 1, 0.2, -0.2)[:, None] * np.arange(7)
        x = np.stack([slope + 0.1 * random.randn(12, 7), random.rand(12, 7)], 2)
        yield {"x:0": x.astype(np.float32), "lengths:0": lengths, "labels:0": labels}
