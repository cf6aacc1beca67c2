"""A convnet with fused batch normalization, L2 decay and RMSProp with a decaying rate, regressing on images."""

import numpy as np


def block(tf, x, channels, units, stride):
    kernel = tf.get_variable("kernel", [3, 3, channels, units], initializer=tf.initializers.he_normal(seed=5))
    scale = tf.get_variable("scale", [units], initializer=tf.ones_initializer())
    offset = tf.get_variable("offset", [units], initializer=tf.zeros_initializer())
    y = tf.nn.conv2d(x, kernel, [1, stride, stride, 1], "SAME")
    y, mean, _ = tf.nn.fused_batch_norm(y, scale, offset, epsilon=1e-3)
    moving_mean = tf.get_variable("moving_mean", [units], initializer=tf.zeros_initializer(), trainable=False)
    update = tf.assign_sub(moving_mean, 0.1 * (moving_mean - mean))
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
    return tf.nn.relu(y), tf.nn.l2_loss(kernel)


def build(tf):
    tf.set_random_seed(99)
    x = tf.placeholder(tf.float32, [None, 10, 10, 2], name="x")
    target = tf.placeholder(tf.float32, [None, 1], name="target")
    with tf.variable_scope("one"):
        net, first = block(tf, x, 2, 8, 1)
    with tf.variable_scope("two"):
        net, second = block(tf, net, 8, 12, 2)
    net = tf.reduce_mean(net, [1, 2])
    weights = tf.get_variable("weights", [12, 1])
    prediction = tf.matmul(net, weights)
    loss = tf.reduce_mean(tf.squared_difference(prediction, target)) + 1e-3 * (first + second)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.01, step, 10, 0.8)
    optimizer = tf.train.RMSPropOptimizer(rate, momentum=0.5, centered=True)
    pairs = optimizer.compute_gradients(loss)
    # The loss reads the kernels, so it must be done before they are written.
    with tf.control_dependencies([loss, *tf.get_collection(tf.GraphKeys.UPDATE_OPS)]):
        train = optimizer.apply_gradients(pairs, global_step=step)
    return {"init": tf.global_variables_initializer(), "train": train, "loss": loss}


def batches():
    random = np.random.RandomState(104)
    while True:
        x = random.rand(16, 10, 10, 2).astype(np.float32)
        x[:8, 3:7, 3:7, 0] += 1.0
        target = x[:, 3:7, 3:7, 0].mean((1, 2)) - x[:, :, :, 1].mean((1, 2))
        yield {"x:0": x, "target:0": target[:, None].astype(np.float32)}
