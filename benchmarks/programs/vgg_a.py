"""Inference by VGG-A (11 layers with weights), batches of 4."""

from benchmarks.programs.layers import Layers, images

GROUP = "convolutional inference"
STEPS = 6
TINY = {"batch": 1, "image": 32, "width": 2, "units": 8, "classes": 10}


def build(tf, batch=4, image=224, width=64, units=4096, classes=1000):
    tf.set_random_seed(1)
    net = Layers(tf)
    x, _, feed = images(tf, batch, image, 3, classes)
    y = x
    for filters, convolutions in ((1, 1), (2, 1), (4, 2), (8, 2), (8, 2)):
        for _ in range(convolutions):
            y = net.conv_relu(y, filters * width, 3)
        y = net.max_pool(y, 2, 2)
    y = net.dense_relu(net.flat(y), units)
    y = net.dense_relu(y, units)
    found = tf.nn.softmax(net.dense(y, classes, stddev=0.01))
    return [tf.reduce_max(found), found], lambda i: {x: feed[x]}
