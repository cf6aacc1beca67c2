"""ResNet-50, its blocks of three convolutions with batch normalisation after each."""

from benchmarks.programs.layers import Layers, images


def resnet50(net, x, classes, width):
    """Returns logits."""
    y = net.max_pool(net.conv_bn(x, width, 7, 2), 3, 2)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        filters = width * 2**stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            beside = y if block else net.conv_bn(y, 4 * filters, 1, stride, relu=False)
            z = net.conv_bn(y, filters, 1, stride)
            z = net.conv_bn(z, filters, 3)
            z = net.conv_bn(z, 4 * filters, 1, relu=False)
            y = net.tf.nn.relu(z + beside)
    return net.dense(net.tf.reduce_mean(y, axis=[1, 2]), classes, stddev=0.01)


def inference(tf, batch, image, width, classes):
    tf.set_random_seed(1)
    x, _, feed = images(tf, batch, image, 3, classes)
    found = tf.nn.softmax(resnet50(Layers(tf), x, classes, width))
    return [tf.reduce_max(found), found], lambda i: {x: feed[x]}


def training(tf, batch, image, width, classes):
    tf.set_random_seed(1)
    net = Layers(tf, training=True, decay=1e-4)
    x, labels, feed = images(tf, batch, image, 3, classes)
    loss = net.cross_entropy(resnet50(net, x, classes, width), labels)
    return [loss, net.train(tf.train.MomentumOptimizer(0.01, 0.9), loss)], lambda i: feed
