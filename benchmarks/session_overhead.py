"""What `sess.run` costs beyond the arithmetic, and how soon a first step answers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

import headrace as tf
from benchmarks.calibration import wall_seconds


def tiny_graph() -> float:
    """Returns microseconds of a compiled run of sum(placeholder * 2 + 1)."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [10])
        y = tf.reduce_sum(x * 2.0 + 1.0)
        feed = {x: np.ones(10, np.float32)}
        with tf.Session() as sess:
            for _ in range(3):
                sess.run(y, feed)
            n = 2000

            def loop() -> None:
                for _ in range(n):
                    sess.run(y, feed)

            return wall_seconds(loop, 5) / n * 1e6


def import_seconds() -> float:
    """Returns CPU seconds of `import headrace` in a fresh process."""
    code = "import time; t = time.process_time(); import headrace; print(time.process_time() - t)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return min(
        float(subprocess.check_output([sys.executable, "-c", code], env=environment)) for _ in range(5)
    )


LENET = """
import sys, time
import numpy as np
{install}
import tensorflow as tf

def build():
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    t = tf.placeholder(tf.int64, [None])
    keep = tf.placeholder(tf.float32, [])
    def weights(shape): return tf.Variable(tf.truncated_normal(shape, stddev=0.1))
    h = tf.nn.relu(tf.nn.conv2d(x, weights([5, 5, 1, 32]), [1, 1, 1, 1], "SAME") + tf.Variable(tf.zeros([32])))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.nn.relu(tf.nn.conv2d(h, weights([5, 5, 32, 64]), [1, 1, 1, 1], "SAME") + tf.Variable(tf.zeros([64])))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.reshape(h, [-1, 7 * 7 * 64])
    h = tf.nn.relu(tf.matmul(h, weights([7 * 7 * 64, 512])) + tf.Variable(tf.zeros([512])))
    h = tf.nn.dropout(h, keep_prob=keep)
    y = tf.matmul(h, weights([512, 10])) + tf.Variable(tf.zeros([10]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=y))
    return x, t, keep, loss, tf.train.AdamOptimizer(1e-4).minimize(loss)

x, t, keep, loss, step = build()
feed = {{x: np.random.rand(64, 28, 28, 1), t: np.random.randint(0, 10, 64), keep: 0.5}}
sess = tf.Session()
start = time.time()
sess.run(tf.global_variables_initializer())
init = time.time() - start
times = []
for _ in range(12):
    start = time.time()
    sess.run([loss, step], feed)
    times.append(time.time() - start)
print(init, times[0], times[1], sorted(times)[len(times) // 2])
"""
"""One step of LeNet, as a program of its own for any implementation of TensorFlow 1."""


def lenet(
    python: str = sys.executable, install: str = "import headrace.compat; headrace.compat.install()"
) -> list[float]:
    """Returns seconds of LeNet's initialisation, first step, second step, and median step."""
    out = subprocess.check_output([python, "-c", LENET.format(install=install)], stderr=subprocess.DEVNULL)
    return [float(v) for v in out.split()]
