"""Reads handwritten digits: a convnet with dropout, trained with Adam, watched in TensorBoard.

    headrace run examples/digits.py            # or, with TensorFlow 1.15:  python examples/digits.py

Shows a progress bar, writes scalars, histograms and images to a TensorBoard log, reports the accuracy on digits
that were held out of training, and draws a picture of those it got wrong.
"""

import gzip
import os
import sys
import time

import numpy as np
import tensorflow as tf
from digits_picture import draw_mistakes

flags = tf.app.flags
flags.DEFINE_integer("epochs", 20, "How many times to go through the training digits.")
flags.DEFINE_integer("steps", 0, "Stop after so many steps; 0 means when the epochs are over.")
flags.DEFINE_integer("batch_size", 32, "Digits in a training step.")
flags.DEFINE_integer("seed", 1, "Fixes the weights, the dropout and the order of the digits.")
flags.DEFINE_float("learning_rate", 2e-3, "Step size of Adam.")
flags.DEFINE_float("keep_prob", 0.6, "The share of units that dropout keeps.")
flags.DEFINE_string("logdir", os.path.join("logs", "digits"), "Where the TensorBoard log and the picture go.")
flags.DEFINE_string("losses", "", "A file to write the loss of every step to, one a line.")
FLAGS = flags.FLAGS

HELD_OUT = 360


def load_digits(seed):
    """The 1,797 digits in a shuffled order: images in [0, 1] of shape [n, 8, 8, 1], and their labels."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "digits.csv.gz")
    with gzip.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    table = table[np.random.RandomState(seed).permutation(len(table))]
    return table[:, :64].reshape(-1, 8, 8, 1) / 16.0, table[:, 64].astype(np.int64)


def batches(images, labels, size, seed):
    """Yields one epoch of (images, labels) after another, each in an order of its own."""
    random = np.random.RandomState(seed)
    while True:
        order = random.permutation(len(images))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield images[chosen], labels[chosen]


def convolution(x, channels, units, name):
    """A 3x3 convolution, ReLU and 2x2 pooling, with a histogram of the kernel."""
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [3, 3, channels, units])
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        tf.summary.histogram("kernel", kernel)
        y = tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME") + bias)
        return tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def dense(x, inputs, units, name):
    """A fully connected layer without activation, with a histogram of the kernel."""
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [inputs, units])
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        tf.summary.histogram("kernel", kernel)
        return tf.matmul(x, kernel) + bias


class Model:
    """The graph: placeholders, the convnet, its loss, accuracy, training step and summaries."""

    def __init__(self, learning_rate):
        self.images = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
        self.labels = tf.placeholder(tf.int64, [None], name="labels")
        self.keep_prob = tf.placeholder_with_default(1.0, [], name="keep_prob")
        tf.summary.image("digits", self.images, max_outputs=6)

        net = convolution(self.images, 1, 16, "conv1")
        net = convolution(net, 16, 32, "conv2")
        net = tf.reshape(net, [-1, 2 * 2 * 32])
        net = tf.nn.relu(dense(net, 128, 64, "hidden"))
        net = tf.nn.dropout(net, keep_prob=self.keep_prob)
        logits = dense(net, 64, 10, "logits")
        self.prediction = tf.argmax(logits, 1)

        with tf.name_scope("loss"):
            cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits)
            self.loss = tf.reduce_mean(cross_entropy)
        with tf.name_scope("accuracy"):
            correct = tf.equal(self.prediction, self.labels)
            self.accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
        tf.summary.scalar("loss", self.loss)
        tf.summary.scalar("accuracy", self.accuracy)

        self.step = tf.train.get_or_create_global_step()
        self.train = tf.train.AdamOptimizer(learning_rate).minimize(self.loss, global_step=self.step)
        self.summary = tf.summary.merge_all()


class ProgressBar:
    """A bar on standard error; one line in ten per cent where that is not a terminal."""

    def __init__(self, total, width=30):
        self.total = total
        self.width = width
        self.started = time.time()
        self.terminal = sys.stderr.isatty()

    def show(self, done, loss, accuracy):
        if not self.terminal and done % max(1, self.total // 10) and done != self.total:
            return
        filled = self.width * done // self.total
        rate = done / max(time.time() - self.started, 1e-9)
        text = "[{}{}] {}/{}  loss {:.4f}  accuracy {:6.2%}  {:.0f} steps/s".format(
            "#" * filled, "." * (self.width - filled), done, self.total, loss, accuracy, rate
        )
        last = done == self.total
        sys.stderr.write("\r" + text + ("\n" if last else "") if self.terminal else text + "\n")
        sys.stderr.flush()


def train(sess, model, images, labels, held_out):
    """Trains to the end and logs to TensorBoard; returns the loss of every step."""
    size = FLAGS.batch_size
    per_epoch = len(images) // size
    steps = FLAGS.steps or FLAGS.epochs * per_epoch
    bar = ProgressBar(steps)
    losses = []
    train_log = tf.summary.FileWriter(os.path.join(FLAGS.logdir, "train"), sess.graph)
    held_out_log = tf.summary.FileWriter(os.path.join(FLAGS.logdir, "held_out"))
    for step, (some_images, some_labels) in zip(
        range(1, steps + 1), batches(images, labels, size, FLAGS.seed)
    ):
        feed = {model.images: some_images, model.labels: some_labels, model.keep_prob: FLAGS.keep_prob}
        fetches = [model.loss, model.accuracy, model.train]
        if step % 20 == 0:
            loss, accuracy, _, summary = sess.run(fetches + [model.summary], feed)
            train_log.add_summary(summary, step)
        else:
            loss, accuracy, _ = sess.run(fetches, feed)
        losses.append(float(loss))
        bar.show(step, loss, accuracy)
        if step % per_epoch == 0 or step == steps:
            summary = sess.run(model.summary, {model.images: held_out[0], model.labels: held_out[1]})
            held_out_log.add_summary(summary, step)
    train_log.close()
    held_out_log.close()
    return losses


def main(unused_argv):
    tf.set_random_seed(FLAGS.seed)
    images, labels = load_digits(FLAGS.seed)
    held_out = images[:HELD_OUT], labels[:HELD_OUT]
    model = Model(FLAGS.learning_rate)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = train(sess, model, images[HELD_OUT:], labels[HELD_OUT:], held_out)
        accuracy, predicted = sess.run(
            [model.accuracy, model.prediction], {model.images: held_out[0], model.labels: held_out[1]}
        )
    if FLAGS.losses:
        with open(FLAGS.losses, "w") as out:
            out.writelines(f"{loss!r}\n" for loss in losses)
    picture = os.path.join(FLAGS.logdir, "mistakes.png")
    wrong = np.flatnonzero(predicted != held_out[1])
    draw_mistakes(picture, held_out[0][wrong, :, :, 0], held_out[1][wrong], predicted[wrong])
    print(f"accuracy on {HELD_OUT} held-out digits: {accuracy:.2%}")
    print(f"the {len(wrong)} it got wrong, as true>read: {picture}")
    print(f"log: tensorboard --logdir {FLAGS.logdir}")


if __name__ == "__main__":
    tf.app.run()
