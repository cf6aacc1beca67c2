"""Convolutions: padding, strides, dilation, depthwise, separable, transposed, one- and three-dimensional."""

import numpy as np

# TensorFlow's CPU kernels refuse to run these gradients; the nodes are built all the same.
NO_GRADIENT_KERNEL = {"dilated"}


def noise(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def build(tf):
    x = tf.constant(noise(1, 2, 7, 6, 3), name="x")
    kernel = tf.constant(noise(2, 3, 3, 3, 4), name="kernel")
    depth = tf.constant(noise(3, 3, 3, 3, 2), name="depth")
    point = tf.constant(noise(4, 1, 1, 6, 5), name="point")
    back = tf.constant(noise(5, 3, 3, 2, 3), name="back")
    line = tf.constant(noise(6, 2, 9, 3), name="line")
    line_kernel = tf.constant(noise(7, 4, 3, 2), name="line_kernel")
    volume = tf.constant(noise(8, 1, 4, 5, 5, 2), name="volume")
    volume_kernel = tf.constant(noise(9, 2, 3, 3, 2, 3), name="volume_kernel")
    pieces = {
        "same": (tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), [x, kernel]),
        "valid": (tf.nn.conv2d(x, kernel, [1, 2, 1, 1], "VALID"), [x, kernel]),
        "strided": (tf.nn.conv2d(x, kernel, strides=2, padding="SAME"), [x, kernel]),
        "dilated": (tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]), [x]),
        "explicit": (tf.nn.conv2d(x, kernel, [1, 1, 1, 1], [[0, 0], [2, 1], [0, 1], [0, 0]]), [x, kernel]),
        "atrous": (tf.nn.atrous_conv2d(x, kernel, 2, "VALID"), [x]),
        "convolution": (tf.nn.convolution(x, kernel, "SAME", dilation_rate=[2, 1]), [kernel]),
        "depthwise": (tf.nn.depthwise_conv2d(x, depth, [1, 1, 1, 1], "SAME"), [x, depth]),
        "separable": (tf.nn.separable_conv2d(x, depth, point, [1, 2, 2, 1], "VALID"), [x, depth, point]),
        "transposed": (tf.nn.conv2d_transpose(x, back, [2, 14, 12, 2], [1, 2, 2, 1]), [x, back]),
        "transposed_valid": (tf.nn.conv2d_transpose(x, back, [2, 9, 8, 2], 1, "VALID"), [x, back]),
        "line": (tf.nn.conv1d(line, line_kernel, 2, "VALID"), [line, line_kernel]),
        "volume": (tf.nn.conv3d(volume, volume_kernel, [1, 1, 2, 2, 1], "SAME"), [volume, volume_kernel]),
        "patches": (tf.extract_image_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), [x]),
    }
    fetches = {}
    for name, (y, sources) in pieces.items():
        fetches[name] = tf.reduce_mean(y, [0, 1])
        for source, gradient in zip(sources, tf.gradients(tf.square(y) * 0.1, sources)):
            if name not in NO_GRADIENT_KERNEL:
                fetches[f"gradient_{name}_{source.op.name}"] = tf.reduce_sum(gradient, 0)
    flipped = tf.transpose(x, [0, 3, 1, 2])
    # The CPU has no kernel for NCHW: these are there for their nodes.
    channels = tf.nn.conv2d(flipped, kernel, [1, 1, 2, 2], "SAME", data_format="NCHW", name="channels_first")
    tf.gradients(channels, [flipped, kernel])
    tf.nn.bias_add(channels, tf.zeros([4]), data_format="NCHW")
    tf.nn.max_pool(channels, [1, 1, 2, 2], [1, 1, 2, 2], "VALID", data_format="NCHW")
    return fetches
