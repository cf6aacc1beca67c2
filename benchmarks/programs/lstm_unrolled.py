"""The medium of PTB: two LSTM layers of 200 units, unrolled over 20 steps, a vocabulary of 10,000, batches of 20."""

import numpy as np

from benchmarks.programs.recurrent import lstm

GROUP = "recurrent"
STEPS = 20
TINY = {"units": 4, "length": 3, "batch": 2, "words": 20}


def build(tf, units=200, length=20, batch=20, words=10_000):
    tf.set_random_seed(1)
    tokens = tf.placeholder(tf.int32, [batch, length])
    targets = tf.placeholder(tf.int32, [batch, length])
    start = tf.random_uniform_initializer(-0.1, 0.1, seed=3)
    table = tf.get_variable("embedding", [words, units], initializer=start)
    x = tf.nn.embedding_lookup(table, tokens)
    cells = [lstm(tf, "first", units, units), lstm(tf, "second", units, units)]
    states = [(tf.zeros([batch, units]), tf.zeros([batch, units])) for _ in cells]
    outputs = []
    for t in range(length):
        row = x[:, t, :]
        for k, cell in enumerate(cells):
            states[k] = cell(row, states[k])
            row = states[k][1]
        outputs.append(row)
    flat = tf.reshape(tf.stack(outputs, 1), [-1, units])
    w = tf.get_variable("softmax_w", [units, words], initializer=start)
    b = tf.get_variable("softmax_b", [words], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(flat, w, b)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
    )
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, variables))
    rng = np.random.RandomState(0)
    feed = {tokens: rng.randint(0, words, (batch, length)), targets: rng.randint(0, words, (batch, length))}
    return [loss, train], lambda i: feed
