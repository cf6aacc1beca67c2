"""Skip-grams with noise-contrastive estimation: 50,000 words, 128 units, 64 noise words, batches of 128."""

import numpy as np

GROUP = "sparse"
STEPS = 200
TINY = {"words": 100, "units": 4, "noise": 8, "batch": 4}


def build(tf, words=50_000, units=128, noise=64, batch=128):
    tf.set_random_seed(1)
    inputs = tf.placeholder(tf.int32, [batch])
    labels = tf.placeholder(tf.int64, [batch, 1])
    table = tf.Variable(tf.random_uniform([words, units], -1.0, 1.0, seed=1))
    found = tf.nn.embedding_lookup(table, inputs)
    weights = tf.Variable(tf.truncated_normal([words, units], stddev=1.0 / np.sqrt(units), seed=2))
    biases = tf.Variable(tf.zeros([words]))
    sampled = tf.random.log_uniform_candidate_sampler(labels, 1, noise, True, words, seed=3)
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=weights,
            biases=biases,
            labels=labels,
            inputs=found,
            num_sampled=noise,
            num_classes=words,
            sampled_values=sampled,
        )
    )
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    rng = np.random.RandomState(0)
    feeds = []
    for _ in range(16):
        frequent = (words ** rng.rand(2, batch) - 1).astype(np.int64)  # low numbers more often, as in text
        feeds.append({inputs: frequent[0], labels: frequent[1][:, np.newaxis]})
    return [loss, train], lambda i: feeds[i % 16]
