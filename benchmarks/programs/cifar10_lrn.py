"""The small network of the old CIFAR-10 tutorials: overlapping pools and local response normalisation."""

from benchmarks.programs.layers import Layers, images

GROUP = "convolutional training"
STEPS = 15
TINY = {"batch": 2, "width": 4}


def build(tf, batch=128, width=64):
    tf.set_random_seed(1)
    net = Layers(tf, training=True, decay=1e-4)
    x, labels, feed = images(tf, batch, 24, 3, 10)

    def normalised(y):
        return tf.nn.local_response_normalization(y, depth_radius=4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)

    y = normalised(net.max_pool(net.conv_relu(x, width, 5, stddev=0.05), 3, 2))
    y = net.max_pool(normalised(net.conv_relu(y, width, 5, stddev=0.05)), 3, 2)
    y = net.dense_relu(net.flat(y), 6 * width, stddev=0.04, bias=0.1)
    y = net.dense_relu(y, 3 * width, stddev=0.04, bias=0.1)
    loss = net.cross_entropy(net.dense(y, 10, stddev=1.0 / 192.0), labels)
    step = tf.Variable(0, trainable=False, name="global_step")
    rate = tf.train.exponential_decay(0.1, step, 350, 0.1, staircase=True)
    apply = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
    averages = tf.train.ExponentialMovingAverage(0.9999, step)
    with tf.control_dependencies([apply]):
        train = averages.apply(tf.trainable_variables())
    return [loss, train], lambda i: feed
