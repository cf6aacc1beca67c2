"""FusedBatchNorm in training and in inference, in both layouts, with its gradient."""

import numpy as np


def build(tf):
    x = tf.constant(np.random.RandomState(4).randn(3, 4, 4, 2).astype(np.float32), name="x")
    scale = tf.Variable([1.0, 2.0], name="scale")
    offset = tf.Variable([0.5, -0.5], name="offset")
    mean = tf.Variable([0.1, 0.2], trainable=False, name="mean")
    variance = tf.Variable([0.9, 1.1], trainable=False, name="variance")
    y, batch_mean, batch_variance = tf.nn.fused_batch_norm(x, scale, offset)
    fixed, _, _ = tf.nn.fused_batch_norm(x, scale, offset, mean, variance, epsilon=1e-2, is_training=False)
    weights = tf.constant(np.random.RandomState(5).randn(3, 4, 4, 2).astype(np.float32))
    loss = tf.reduce_sum(y * weights)
    fixed_loss = tf.reduce_sum(fixed * weights)
    gradients = tf.gradients(loss, [x, scale, offset])
    fixed_gradients = tf.gradients(fixed_loss, [x, scale, offset])
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss + fixed_loss)
    return {
        "init": tf.global_variables_initializer(),
        "train": train,
        "y": y,
        "fixed": fixed,
        "batch_mean": batch_mean,
        "batch_variance": batch_variance,
        "dx": gradients[0],
        "dscale": gradients[1],
        "doffset": gradients[2],
        "fixed_dx": fixed_gradients[0],
        "fixed_dscale": fixed_gradients[1],
        "scale": scale,
    }
