"""Training AlexNet with local response normalisation, batches of 16, momentum."""

from benchmarks.programs.layers import Layers, images

GROUP = "convolutional training"
STEPS = 5
TINY = {"batch": 2, "image": 67, "width": 4, "units": 8, "classes": 10}


def build(tf, batch=16, image=227, width=32, units=4096, classes=1000):
    tf.set_random_seed(1)
    net = Layers(tf, training=True, decay=5e-4)
    x, labels, feed = images(tf, batch, image, 3, classes)
    y = net.conv_relu(x, 3 * width, 11, 4, "VALID")
    y = net.max_pool(tf.nn.lrn(y, 2, bias=1.0, alpha=2e-5, beta=0.75), 3, 2, "VALID")
    y = net.conv_relu(y, 8 * width, 5)
    y = net.max_pool(tf.nn.lrn(y, 2, bias=1.0, alpha=2e-5, beta=0.75), 3, 2, "VALID")
    y = net.conv_relu(y, 12 * width, 3)
    y = net.conv_relu(y, 12 * width, 3)
    y = net.max_pool(net.conv_relu(y, 8 * width, 3), 3, 2, "SAME" if image < 100 else "VALID")
    y = tf.nn.dropout(net.dense_relu(net.flat(y), units), rate=0.5, seed=1)
    y = tf.nn.dropout(net.dense_relu(y, units), rate=0.5, seed=2)
    loss = net.cross_entropy(net.dense(y, classes, stddev=0.01), labels)
    return [loss, tf.train.MomentumOptimizer(1e-3, 0.9).minimize(loss)], lambda i: feed
