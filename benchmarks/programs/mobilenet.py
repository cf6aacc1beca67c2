"""Inference by MobileNet v1 (depthwise convolutions), batches of 8."""

from benchmarks.programs.layers import Layers, images

GROUP = "convolutional inference"
STEPS = 12
TINY = {"batch": 1, "image": 32, "width": 2, "classes": 10}

BLOCKS = ((2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2)) + ((16, 1),) * 5 + ((32, 2), (32, 1))
"""Filters (in units of the width) and stride of each pair of a depthwise and a pointwise convolution."""


def build(tf, batch=8, image=224, width=32, classes=1000):
    tf.set_random_seed(1)
    net = Layers(tf)
    x, _, feed = images(tf, batch, image, 3, classes)
    y = tf.nn.relu6(net.conv_bn(x, width, 3, 2, relu=False))
    for filters, stride in BLOCKS:
        y = tf.nn.relu6(net.batch_norm(net.depthwise(y, stride)))
        y = tf.nn.relu6(net.conv_bn(y, filters * width, 1, relu=False))
    found = tf.nn.softmax(net.dense(tf.reduce_mean(y, axis=[1, 2]), classes, stddev=0.01))
    return [tf.reduce_max(found), found], lambda i: {x: feed[x]}
