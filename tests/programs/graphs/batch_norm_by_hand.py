"""tf.nn.moments, batch_normalization and a moving average kept by hand."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [None, 4, 4, 3], name="x")
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    kept_mean, kept_variance = tf.nn.moments(x, [1, 2], keep_dims=True)
    scale = tf.Variable(tf.ones([3]) * 1.5, name="scale")
    offset = tf.Variable(tf.zeros([3]), name="offset")
    moving_mean = tf.Variable(tf.zeros([3]), trainable=False, name="moving_mean")
    y = tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)
    instance = tf.nn.batch_normalization(x, kept_mean, kept_variance, None, None, 1e-3)
    weighted = tf.nn.weighted_moments(x, [0], tf.ones([4, 4, 3]) * 2.0)
    counts = tf.nn.sufficient_statistics(x, [0, 1])
    normalized = tf.nn.normalize_moments(counts[0], counts[1], counts[2], counts[3])
    update = tf.assign(moving_mean, moving_mean * 0.9 + mean * 0.1)
    loss = tf.reduce_mean(tf.pow(y, 3.0)) + tf.reduce_sum(tf.square(instance)) * 0.01
    with tf.control_dependencies([update]):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "y": y,
        "loss": loss,
        "moments": tf.stack([mean, variance]),
        "weighted": tf.stack(weighted),
        "normalized": tf.stack(normalized),
        "input_gradient": tf.gradients(loss, x)[0],
        "moving_mean": moving_mean,
        "scale": scale,
        "lrn": tf.nn.local_response_normalization(x, depth_radius=1),
        "l2": tf.nn.l2_normalize(x, -1),
    }


def feeds():
    return {"x:0": np.random.RandomState(3).randn(2, 4, 4, 3).astype(np.float32)}
