"""A step of a DCGAN on images of 64 x 64: generator and discriminator by Adam at once, batches of 32."""

import numpy as np

from benchmarks.programs.layers import Layers

GROUP = "convolutional training"
STEPS = 6
TINY = {"batch": 2, "width": 2}


def build(tf, batch=32, width=64):
    tf.set_random_seed(1)
    net = Layers(tf, training=True)
    noise = tf.placeholder(tf.float32, [batch, 100])
    real = tf.placeholder(tf.float32, [batch, 64, 64, 3])

    def up(y, filters):
        size = 2 * int(y.shape[1])
        w = net.weights([5, 5, filters, int(y.shape[3])], stddev=0.02)
        y = tf.nn.conv2d_transpose(y, w, [batch, size, size, filters], [1, 2, 2, 1])
        return tf.nn.bias_add(y, net.bias(filters))

    def discriminate(x, reuse):
        net._made = 1000  # the same names again
        with tf.variable_scope("discriminator", reuse=reuse):
            y = tf.nn.leaky_relu(net.conv(x, width, 5, 2, stddev=0.02), 0.2)
            for factor in (2, 4, 8):
                y = net.batch_norm(net.conv(y, factor * width, 5, 2, stddev=0.02))
                y = tf.nn.leaky_relu(y, 0.2)
            return net.dense(net.flat(y), 1, stddev=0.02)

    with tf.variable_scope("generator"):
        y = net.dense(noise, 16 * 8 * width, stddev=0.02)
        y = tf.nn.relu(net.batch_norm(tf.reshape(y, [batch, 4, 4, 8 * width])))
        for factor in (4, 2, 1):
            y = tf.nn.relu(net.batch_norm(up(y, factor * width)))
        fake = tf.tanh(up(y, 3))
    on_real, on_fake = discriminate(real, False), discriminate(fake, True)

    def says(logits, value):
        labels = tf.fill([batch, 1], value)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))

    losses = {"discriminator": says(on_real, 1.0) + says(on_fake, 0.0), "generator": says(on_fake, 1.0)}
    steps = []
    for name, loss in losses.items():
        optimizer = tf.train.AdamOptimizer(2e-4, beta1=0.5, name="Adam_" + name)
        variables = [v for v in tf.trainable_variables() if v.name.startswith(name)]
        steps.append((optimizer, optimizer.compute_gradients(loss, variables)))
    # Neither network moves before the gradients of both are known.
    with tf.control_dependencies([g for _, pairs in steps for g, _ in pairs] + net.updates):
        train = [optimizer.apply_gradients(pairs) for optimizer, pairs in steps]
    rng = np.random.RandomState(0)
    feed = {
        noise: rng.uniform(-1, 1, (batch, 100)).astype(np.float32),
        real: rng.uniform(-1, 1, (batch, 64, 64, 3)).astype(np.float32),
    }
    return [losses["discriminator"], losses["generator"], train], lambda i: feed
