"""The medium of PTB: two LSTM layers of 200 units, unrolled over 20 steps, a vocabulary of 10,000, batches of 20."""

import numpy as np

from benchmarks.programs.recurrent import lstm

STEPS = 20
UNITS, LENGTH, BATCH, WORDS = 200, 20, 20, 10_000


def build(tf):
    tf.set_random_seed(1)
    words = tf.placeholder(tf.int32, [BATCH, LENGTH])
    targets = tf.placeholder(tf.int32, [BATCH, LENGTH])
    start = tf.random_uniform_initializer(-0.1, 0.1, seed=3)
    table = tf.get_variable("embedding", [WORDS, UNITS], initializer=start)
    x = tf.nn.embedding_lookup(table, words)
    cells = [lstm(tf, "first", UNITS, UNITS), lstm(tf, "second", UNITS, UNITS)]
    states = [(tf.zeros([BATCH, UNITS]), tf.zeros([BATCH, UNITS])) for _ in cells]
    outputs = []
    for t in range(LENGTH):
        row = x[:, t, :]
        for k, cell in enumerate(cells):
            states[k] = cell(row, states[k])
            row = states[k][1]
        outputs.append(row)
    flat = tf.reshape(tf.stack(outputs, 1), [-1, UNITS])
    w = tf.get_variable("softmax_w", [UNITS, WORDS], initializer=start)
    b = tf.get_variable("softmax_b", [WORDS], initializer=tf.zeros_initializer())
    logits = tf.nn.xw_plus_b(flat, w, b)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
    )
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, variables))
    rng = np.random.RandomState(0)
    feed = {words: rng.randint(0, WORDS, (BATCH, LENGTH)), targets: rng.randint(0, WORDS, (BATCH, LENGTH))}
    return [loss, train], lambda i: feed
