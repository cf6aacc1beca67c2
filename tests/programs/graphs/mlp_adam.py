"""A two-layer perceptron trained by Adam, its weights drawn from the graph's seed."""

import numpy as np


def build(tf):
    tf.set_random_seed(1234)
    x = tf.placeholder(tf.float32, [None, 5], name="x")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    with tf.name_scope("hidden"):
        weights = tf.Variable(tf.truncated_normal([5, 8], stddev=0.1), name="weights")
        biases = tf.Variable(tf.constant(0.1, shape=[8]), name="biases")
        hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights), biases))
    with tf.variable_scope("output"):
        weights = tf.get_variable("weights", [8, 3], initializer=tf.random_normal_initializer(stddev=0.3))
        biases = tf.get_variable("biases", [3], initializer=tf.zeros_initializer())
        logits = tf.nn.xw_plus_b(hidden, weights, biases)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    step = tf.Variable(0, name="global_step", trainable=False)
    train = tf.train.AdamOptimizer(1e-2).minimize(loss, global_step=step)
    top = tf.nn.in_top_k(logits, labels, 1)
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "loss": loss,
        "step": step,
        "logits": logits,
        "hits": tf.reduce_sum(tf.cast(top, tf.int32)),
        "weights": weights,
    }


def feeds():
    random = np.random.RandomState(1)
    return {"x:0": random.randn(9, 5).astype(np.float32), "labels:0": random.randint(0, 3, 9)}
