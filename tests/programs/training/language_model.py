"""A small language model in the manner of the PTB tutorial: unrolled LSTMs, clipped gradients, a state that stays."""

import numpy as np

WORDS, UNITS, STEPS, BATCH = 20, 12, 6, 4


def build(tf):
    tf.set_random_seed(4)
    words = tf.placeholder(tf.int32, [BATCH, STEPS], name="words")
    targets = tf.placeholder(tf.int32, [BATCH, STEPS], name="targets")
    with tf.variable_scope("Model", initializer=tf.random_uniform_initializer(-0.1, 0.1)):
        embedding = tf.get_variable("embedding", [WORDS, UNITS])
        inputs = tf.nn.dropout(tf.nn.embedding_lookup(embedding, words), 0.8)

        def make_cell():
            cell = tf.contrib.rnn.BasicLSTMCell(UNITS, forget_bias=0.0, state_is_tuple=True)
            return tf.contrib.rnn.DropoutWrapper(cell, output_keep_prob=0.8)

        cell = tf.contrib.rnn.MultiRNNCell([make_cell() for _ in range(2)], state_is_tuple=True)
        state = cell.zero_state(BATCH, tf.float32)
        outputs = []
        with tf.variable_scope("RNN"):
            for step in range(STEPS):
                if step > 0:
                    tf.get_variable_scope().reuse_variables()
                output, state = cell(inputs[:, step, :], state)
                outputs.append(output)
        output = tf.reshape(tf.concat(outputs, 1), [-1, UNITS])
        logits = tf.nn.xw_plus_b(
            output, tf.get_variable("softmax_w", [UNITS, WORDS]), tf.get_variable("softmax_b", [WORDS])
        )
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
    loss = tf.reduce_sum(losses) / BATCH
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 2.0)
    train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, variables))
    return {"init": tf.global_variables_initializer(), "train": train, "loss": loss}


def batches():
    random = np.random.RandomState(2)
    text = np.cumsum(random.randint(1, 4, 4000)) % WORDS
    rows = text[: BATCH * 1000].reshape(BATCH, 1000)
    at = 0
    while True:
        yield {"words:0": rows[:, at : at + STEPS], "targets:0": rows[:, at + 1 : at + STEPS + 1]}
        at = (at + STEPS) % 900
