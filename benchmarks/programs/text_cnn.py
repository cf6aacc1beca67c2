"""A convolutional classifier of sentences: windows of 3, 4 and 5 words, 128 filters each, batches of 64, Adam."""

import numpy as np

from benchmarks.programs.layers import Layers

GROUP = "text"
STEPS = 30
TINY = {"batch": 2, "time": 8, "words": 50, "units": 4, "filters": 4}


def build(tf, batch=64, time=56, words=20_000, units=128, filters=128):
    tf.set_random_seed(1)
    net = Layers(tf)
    tokens = tf.placeholder(tf.int32, [None, time])
    labels = tf.placeholder(tf.float32, [None, 2])
    keep = tf.placeholder(tf.float32, [])
    table = tf.Variable(tf.random_uniform([words, units], -1.0, 1.0, seed=1))
    x = tf.expand_dims(tf.nn.embedding_lookup(table, tokens), -1)
    pooled = []
    for size in (3, 4, 5):
        y = net.conv_relu(x, filters, (size, units), padding="VALID", stddev=0.1)
        pooled.append(tf.nn.max_pool(y, [1, time - size + 1, 1, 1], [1, 1, 1, 1], "VALID"))
    y = tf.reshape(tf.concat(pooled, 3), [-1, 3 * filters])
    y = tf.nn.dropout(y, keep, seed=1)
    w = net.weights([3 * filters, 2], stddev=0.1)
    logits = tf.nn.xw_plus_b(y, w, net.bias(2, 0.1))
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses) + 1e-3 * tf.nn.l2_loss(w)
    right = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    rng = np.random.RandomState(0)
    feed = {
        tokens: rng.randint(0, words, (batch, time)),
        labels: np.eye(2, dtype=np.float32)[rng.randint(0, 2, batch)],
        keep: 0.5,
    }
    return [loss, accuracy, train], lambda i: feed
