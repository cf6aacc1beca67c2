"""Training LeNet (5x5 convolutions of 32 and 64 filters) on images of 28 x 28, batches of 64, Adam."""

from benchmarks.programs.layers import Layers, images

GROUP = "convolutional training"
STEPS = 40
TINY = {"batch": 2, "width": 2}


def build(tf, batch=64, width=32):
    tf.set_random_seed(1)
    net = Layers(tf, training=True)
    x, labels, feed = images(tf, batch, 28, 1, 10)
    y = net.max_pool(net.conv_relu(x, width, 5), 2, 2)
    y = net.max_pool(net.conv_relu(y, 2 * width, 5), 2, 2)
    y = tf.nn.dropout(net.dense_relu(net.flat(y), 16 * width), rate=0.5, seed=1)
    loss = net.cross_entropy(net.dense(y, 10), labels)
    return [loss, tf.train.AdamOptimizer(1e-4).minimize(loss)], lambda i: feed
