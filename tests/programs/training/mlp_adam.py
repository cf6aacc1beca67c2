"""A perceptron with two hidden layers that learns exclusive-or in eight dimensions with Adam."""

import numpy as np


def build(tf):
    tf.set_random_seed(2024)
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    net = x
    for depth, (width, units) in enumerate([(8, 32), (32, 16)]):
        with tf.variable_scope(f"hidden_{depth}"):
            weights = tf.get_variable("weights", [width, units])
            biases = tf.get_variable("biases", [units], initializer=tf.constant_initializer(0.05))
            net = tf.nn.relu(tf.matmul(net, weights) + biases)
    weights = tf.Variable(tf.random_normal([16, 2], stddev=0.2), name="weights")
    biases = tf.Variable(tf.zeros([2]), name="biases")
    logits = tf.nn.xw_plus_b(net, weights, biases)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdamOptimizer(5e-3).minimize(loss, global_step=tf.train.create_global_step())
    return {"init": tf.global_variables_initializer(), "train": train, "loss": loss}


def batches():
    random = np.random.RandomState(101)
    while True:
        x = random.randn(64, 8).astype(np.float32)
        yield {"x:0": x, "labels:0": ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(np.int32)}
