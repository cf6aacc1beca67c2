"""Skip-gram-like embeddings: sparse Adagrad for one table, sparse momentum for the other."""

import numpy as np


def build(tf):
    tf.set_random_seed(31)
    words = tf.placeholder(tf.int32, [None], name="words")
    contexts = tf.placeholder(tf.int32, [None], name="contexts")
    near = tf.placeholder(tf.float32, [None], name="near")
    inputs = tf.Variable(tf.random_uniform([20, 12], -0.5, 0.5), name="inputs")
    outputs = tf.get_variable("outputs", [20, 12], initializer=tf.truncated_normal_initializer(stddev=0.3))
    bias = tf.Variable(tf.zeros([20]), name="bias")
    rows = tf.nn.embedding_lookup(inputs, words)
    others = tf.nn.embedding_lookup(outputs, contexts)
    logits = tf.reduce_sum(rows * others, 1) + tf.gather(bias, contexts)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=near, logits=logits))
    adagrad = tf.train.AdagradOptimizer(0.5)
    momentum = tf.train.MomentumOptimizer(0.5, 0.9)
    d_inputs, d_bias, d_outputs = tf.gradients(loss, [inputs, bias, outputs])
    # Neither optimizer may write a table while gradients are still computed from it.
    with tf.control_dependencies([d_inputs.values, d_bias.values, d_outputs.values, loss]):
        sparse = [tf.IndexedSlices(tf.identity(d.values), d.indices) for d in (d_inputs, d_bias, d_outputs)]
    train = tf.group(
        adagrad.apply_gradients([(sparse[0], inputs), (sparse[1], bias)]),
        momentum.apply_gradients([(sparse[2], outputs)]),
    )
    return {"init": tf.global_variables_initializer(), "train": train, "loss": loss}


def batches():
    random = np.random.RandomState(103)
    while True:
        words = random.randint(0, 20, 64)
        contexts = random.randint(0, 20, 64)
        near = (words % 3 == contexts % 3).astype(np.float32)
        yield {"words:0": words.astype(np.int32), "contexts:0": contexts.astype(np.int32), "near:0": near}
