"""What the convolutional programs share: layers of variables with seeds, so that all runtimes start alike."""

import numpy as np


class Layers:
    """Builds layers one after the other, each with a seed and a name of its own.

    Args:
      tf: What the program takes for TensorFlow.
      training: Whether batch normalisation uses the batch's own moments (and keeps moving averages).
      decay: Weight decay, added to `losses`; 0 for none.
    """

    def __init__(self, tf, training=False, decay=0.0):
        self.tf = tf
        self.training = training
        self.decay = decay
        self.losses = []
        self.updates = []
        self._made = 0

    def weights(self, shape, stddev=None):
        """Returns a variable of truncated normal values; the deviation is He's unless given."""
        tf = self.tf
        self._made += 1
        if stddev is None:
            stddev = float(np.sqrt(2.0 / np.prod(shape[:-1])))
        start = tf.truncated_normal_initializer(stddev=stddev, seed=self._made)
        found = tf.get_variable(f"weights{self._made}", shape, initializer=start)
        if self.decay:
            self.losses.append(self.decay * tf.nn.l2_loss(found))
        return found

    def bias(self, units, value=0.0):
        self._made += 1
        start = self.tf.constant_initializer(value)
        return self.tf.get_variable(f"bias{self._made}", [units], initializer=start)

    def conv(self, x, filters, size, stride=1, padding="SAME", stddev=None):
        """A convolution without bias; `size` is a number or (height, width)."""
        height, width = size if isinstance(size, tuple) else (size, size)
        w = self.weights([height, width, int(x.shape[3]), filters], stddev)
        return self.tf.nn.conv2d(x, w, strides=[1, stride, stride, 1], padding=padding)

    def conv_relu(self, x, filters, size, stride=1, padding="SAME", stddev=None):
        y = self.conv(x, filters, size, stride, padding, stddev)
        return self.tf.nn.relu(self.tf.nn.bias_add(y, self.bias(filters)))

    def conv_bn(self, x, filters, size, stride=1, padding="SAME", relu=True):
        y = self.batch_norm(self.conv(x, filters, size, stride, padding))
        return self.tf.nn.relu(y) if relu else y

    def depthwise(self, x, stride=1):
        w = self.weights([3, 3, int(x.shape[3]), 1], stddev=0.3)
        return self.tf.nn.depthwise_conv2d(x, w, strides=[1, stride, stride, 1], padding="SAME")

    def batch_norm(self, x, momentum=0.99, epsilon=1e-3):
        tf = self.tf
        units = int(x.shape[3])
        self._made += 1
        with tf.variable_scope(f"norm{self._made}"):
            scale = tf.get_variable("scale", [units], initializer=tf.ones_initializer())
            offset = tf.get_variable("offset", [units], initializer=tf.zeros_initializer())
            mean = tf.get_variable("mean", [units], initializer=tf.zeros_initializer(), trainable=False)
            variance = tf.get_variable(
                "variance", [units], initializer=tf.ones_initializer(), trainable=False
            )
            if not self.training:
                return tf.nn.fused_batch_norm(
                    x, scale, offset, mean, variance, epsilon=epsilon, is_training=False
                )[0]
            y, now_mean, now_variance = tf.nn.fused_batch_norm(x, scale, offset, epsilon=epsilon)
            for average, now in ((mean, now_mean), (variance, now_variance)):
                self.updates.append(tf.assign_sub(average, (1.0 - momentum) * (average - now)))
            return y

    def max_pool(self, x, size, stride, padding="SAME"):
        return self.tf.nn.max_pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)

    def avg_pool(self, x, size, stride, padding="SAME"):
        return self.tf.nn.avg_pool(x, [1, size, size, 1], [1, stride, stride, 1], padding)

    def flat(self, x):
        return self.tf.reshape(x, [int(x.shape[0]), int(np.prod(x.shape.as_list()[1:]))])

    def dense(self, x, units, stddev=None, bias=0.0):
        w = self.weights([int(x.shape[1]), units], stddev)
        return self.tf.nn.bias_add(self.tf.matmul(x, w), self.bias(units, bias))

    def dense_relu(self, x, units, stddev=None, bias=0.0):
        return self.tf.nn.relu(self.dense(x, units, stddev, bias))

    def cross_entropy(self, logits, labels):
        """Returns the mean cross entropy, with weight decay where there is some."""
        tf = self.tf
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return tf.add_n([loss] + self.losses) if self.losses else loss

    def train(self, optimizer, loss):
        """Returns an op that takes a step and moves the averages of batch normalisation."""
        with self.tf.control_dependencies(self.updates):
            return optimizer.minimize(loss)


def images(tf, batch, size, channels, classes, seed=0):
    """Returns placeholders of images and of labels, and a feed of random ones."""
    x = tf.placeholder(tf.float32, [batch, size, size, channels])
    labels = tf.placeholder(tf.int32, [batch])
    rng = np.random.RandomState(seed)
    pixels = rng.standard_normal((batch, size, size, channels)).astype(np.float32)
    return x, labels, {x: pixels, labels: rng.randint(0, classes, batch).astype(np.int32)}
