"""What `sess.run` costs beyond the arithmetic, and what it costs to import headrace."""

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
