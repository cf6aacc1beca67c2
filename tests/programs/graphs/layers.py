"""tf.layers: dense, conv2d, pooling, flatten, dropout and batch normalization in training."""

import numpy as np


def build(tf):
    tf.set_random_seed(8)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    net = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    net = tf.layers.batch_normalization(net, training=True)
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.conv2d(net, 6, [3, 3], strides=(2, 2), use_bias=False, name="second")
    net = tf.layers.average_pooling2d(net, 1, 1)
    net = tf.layers.flatten(net)
    net = tf.layers.dense(net, 10, tf.nn.tanh, kernel_regularizer=lambda w: 0.1 * tf.nn.l2_loss(w))
    net = tf.layers.dropout(net, rate=0.4, training=True)
    logits = tf.layers.dense(net, 3, name="logits")
    with tf.variable_scope("logits", reuse=True):
        kernel = tf.get_variable("kernel")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    total = tf.losses.get_total_loss()
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(total)
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "logits": logits,
        "loss": loss,
        "total": total,
        "kernel": kernel,
    }


def feeds():
    random = np.random.RandomState(12)
    return {"x:0": random.rand(5, 8, 8, 1).astype(np.float32), "labels:0": random.randint(0, 3, 5)}
