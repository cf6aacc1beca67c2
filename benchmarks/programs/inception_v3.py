"""Training Inception v3 without its side branch, batches of 4 images of 299 x 299, RMSProp."""

from benchmarks.programs.layers import Layers, images

GROUP = "convolutional training"
STEPS = 5
TINY = {"batch": 2, "image": 75, "width": 1 / 16, "classes": 10}


def build(tf, batch=4, image=299, width=1, classes=1000):
    tf.set_random_seed(1)
    net = Layers(tf, training=True, decay=4e-5)
    x, labels, feed = images(tf, batch, image, 3, classes)

    def conv(y, filters, size, stride=1, padding="SAME"):
        return net.conv_bn(y, max(1, int(filters * width)), size, stride, padding)

    def pooled(y, filters):
        return conv(net.avg_pool(y, 3, 1), filters, 1)

    def block_35(y, pool_filters):
        a = conv(y, 64, 1)
        b = conv(conv(y, 48, 1), 64, 5)
        c = conv(conv(conv(y, 64, 1), 96, 3), 96, 3)
        return tf.concat([a, b, c, pooled(y, pool_filters)], 3)

    def block_17(y, filters):
        a = conv(y, 192, 1)
        b = conv(conv(conv(y, filters, 1), filters, (1, 7)), 192, (7, 1))
        c = conv(conv(conv(y, filters, 1), filters, (7, 1)), filters, (1, 7))
        c = conv(conv(c, filters, (7, 1)), 192, (1, 7))
        return tf.concat([a, b, c, pooled(y, 192)], 3)

    def block_8(y):
        a = conv(y, 320, 1)
        b = conv(y, 384, 1)
        b = tf.concat([conv(b, 384, (1, 3)), conv(b, 384, (3, 1))], 3)
        c = conv(conv(y, 448, 1), 384, 3)
        c = tf.concat([conv(c, 384, (1, 3)), conv(c, 384, (3, 1))], 3)
        return tf.concat([a, b, c, pooled(y, 192)], 3)

    y = conv(conv(conv(x, 32, 3, 2, "VALID"), 32, 3, 1, "VALID"), 64, 3)
    y = net.max_pool(y, 3, 2, "VALID")
    y = conv(conv(y, 80, 1, 1, "VALID"), 192, 3, 1, "VALID")
    y = net.max_pool(y, 3, 2, "VALID")
    for pool_filters in (32, 64, 64):
        y = block_35(y, pool_filters)
    a = conv(y, 384, 3, 2, "VALID")
    b = conv(conv(conv(y, 64, 1), 96, 3), 96, 3, 2, "VALID")
    y = tf.concat([a, b, net.max_pool(y, 3, 2, "VALID")], 3)
    for filters in (128, 160, 160, 192):
        y = block_17(y, filters)
    a = conv(conv(y, 192, 1), 320, 3, 2, "VALID")
    b = conv(conv(conv(conv(y, 192, 1), 192, (1, 7)), 192, (7, 1)), 192, 3, 2, "VALID")
    y = tf.concat([a, b, net.max_pool(y, 3, 2, "VALID")], 3)
    y = block_8(block_8(y))
    y = tf.nn.dropout(tf.reduce_mean(y, axis=[1, 2]), rate=0.2, seed=1)
    loss = net.cross_entropy(net.dense(y, classes, stddev=0.01), labels)
    return [loss, net.train(tf.train.RMSPropOptimizer(0.01, 0.9, 0.9, 1.0), loss)], lambda i: feed
