"""Training a Transformer encoder of four layers as a tagger: 256 units, 8 heads, 64 words, batches of 16, Adam."""

import numpy as np

from benchmarks.programs.layers import Layers

GROUP = "text"
STEPS = 15
TINY = {"batch": 2, "time": 4, "units": 16, "layers": 1, "words": 50}
HEADS = 8


def build(tf, batch=16, time=64, units=256, layers=4, words=8000):
    tf.set_random_seed(1)
    net = Layers(tf)
    tokens = tf.placeholder(tf.int32, [batch, time])
    labels = tf.placeholder(tf.int32, [batch, time])
    lengths = tf.placeholder(tf.int32, [batch])
    mask = tf.sequence_mask(lengths, time, dtype=tf.float32)
    far = (1.0 - mask[:, tf.newaxis, tf.newaxis, :]) * -1e9
    count = 0

    def dropout(y):
        nonlocal count
        count += 1
        return tf.nn.dropout(y, rate=0.1, seed=count)

    def normalised(y, name):
        with tf.variable_scope(name):
            scale = tf.get_variable("scale", [units], initializer=tf.ones_initializer())
            offset = tf.get_variable("offset", [units], initializer=tf.zeros_initializer())
        mean, variance = tf.nn.moments(y, [1], keep_dims=True)
        return tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-6)

    def heads(y):
        return tf.transpose(tf.reshape(y, [batch, time, HEADS, units // HEADS]), [0, 2, 1, 3])

    def attention(y):
        q, k, v = (heads(net.dense(y, units, stddev=units**-0.5)) for _ in range(3))
        scores = tf.matmul(q, k, transpose_b=True) * (units // HEADS) ** -0.5 + far
        mixed = tf.matmul(dropout(tf.nn.softmax(scores)), v)
        mixed = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch * time, units])
        return net.dense(mixed, units, stddev=units**-0.5)

    table = net.weights([words, units], stddev=units**-0.5)
    places = net.weights([time, units], stddev=0.02)
    y = tf.nn.embedding_lookup(table, tokens) * units**0.5 + places
    y = dropout(tf.reshape(y, [batch * time, units]))
    for i in range(layers):
        y = normalised(y + dropout(attention(y)), f"attended{i}")
        y = normalised(y + dropout(net.dense(net.dense_relu(y, 4 * units), units)), f"fed{i}")
    logits = tf.matmul(y, table, transpose_b=True)
    flat_labels, flat_mask = tf.reshape(labels, [-1]), tf.reshape(mask, [-1])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=flat_labels, logits=logits)
    loss = tf.reduce_sum(each * flat_mask) / tf.reduce_sum(flat_mask)
    optimizer = tf.train.AdamOptimizer(1e-4, beta2=0.98, epsilon=1e-9)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    train = optimizer.apply_gradients(zip(gradients, variables))
    rng = np.random.RandomState(0)
    feed = {
        tokens: rng.randint(0, words, (batch, time)),
        labels: rng.randint(0, words, (batch, time)),
        lengths: rng.randint(time // 2, time + 1, batch),
    }
    return [loss, train], lambda i: feed
