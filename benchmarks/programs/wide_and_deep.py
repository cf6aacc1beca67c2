"""Wide and deep: sparse features over 100,000 rows each, FTRL for the wide part and Adagrad for the deep one."""

import numpy as np

from benchmarks.programs.layers import Layers

GROUP = "sparse"
STEPS = 60
TINY = {"batch": 4, "rows": 50, "units": 4, "features": 2, "hidden": 8}


def build(tf, batch=512, rows=100_000, units=16, features=4, hidden=128):
    tf.set_random_seed(1)
    net = Layers(tf)
    dense = tf.placeholder(tf.float32, [batch, 13])
    labels = tf.placeholder(tf.float32, [batch, 1])
    bags = [tf.sparse_placeholder(tf.int64) for _ in range(features)]
    with tf.variable_scope("wide"):
        wide = 0.0
        for bag in bags:
            weights = net.weights([rows, 1], stddev=1e-3)
            wide += tf.nn.embedding_lookup_sparse(weights, bag, None, combiner="sum")
        wide += net.bias(1)
    with tf.variable_scope("deep"):
        parts = [dense]
        for bag in bags:
            table = net.weights([rows, units], stddev=units**-0.5)
            part = tf.nn.embedding_lookup_sparse(table, bag, None, combiner="mean")
            part.set_shape([batch, units])
            parts.append(part)
        y = tf.concat(parts, 1)
        y = net.dense_relu(net.dense_relu(y, hidden), hidden // 2)
        deep = net.dense(y, 1)
    logits = wide + deep
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    wide_part = [v for v in tf.trainable_variables() if v.name.startswith("wide")]
    deep_part = [v for v in tf.trainable_variables() if v.name.startswith("deep")]
    found = tf.gradients(loss, wide_part + deep_part)
    ftrl = tf.train.FtrlOptimizer(0.05, l1_regularization_strength=1e-3, l2_regularization_strength=1e-3)
    adagrad = tf.train.AdagradOptimizer(0.05)
    train = tf.group(
        ftrl.apply_gradients(zip(found[: len(wide_part)], wide_part)),
        adagrad.apply_gradients(zip(found[len(wide_part) :], deep_part)),
    )
    rng = np.random.RandomState(0)

    def bag_of_ids():
        """Three ids for every example."""
        places = np.stack([np.repeat(np.arange(batch), 3), np.tile(np.arange(3), batch)], 1)
        ids = rows ** rng.rand(3 * batch) - 1  # low numbers more often
        return tf.SparseTensorValue(places.astype(np.int64), ids.astype(np.int64), (batch, 3))

    feeds = []
    for _ in range(STEPS):  # how many distinct ids a batch has differs from step to step
        feed = {bag: bag_of_ids() for bag in bags}
        feed[dense] = rng.rand(batch, 13).astype(np.float32)
        feed[labels] = rng.randint(0, 2, (batch, 1)).astype(np.float32)
        feeds.append(feed)
    return [loss, train], lambda i: feeds[i % STEPS]
