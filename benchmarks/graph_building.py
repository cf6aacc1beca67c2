"""How fast graphs are built, differentiated and imported, in nodes a second of CPU time."""

from __future__ import annotations

import headrace as tf
from benchmarks.calibration import cpu_seconds
from headrace.opdef import raw

N = 20_000


def raw_ops() -> float:
    """Returns nodes a second for raw ops on tensors."""

    def build() -> None:
        with tf.Graph().as_default():
            x = y = tf.placeholder(tf.float32, [2, 3])
            for _ in range(N):
                y = raw.AddV2(y, x)

    return N / cpu_seconds(build, 3)


def wrappers() -> float:
    """Returns public calls a second, a mixture of what programs use."""

    def build() -> None:
        with tf.Graph().as_default():
            x = y = tf.placeholder(tf.float32, [4, 4])
            for _ in range(N // 8):
                y = y + x
                y = tf.nn.relu(y)
                y = tf.multiply(y, x)
                y = tf.reshape(y, [4, 4])
                y = tf.matmul(y, x)
                y = tf.square(y)
                y = tf.reduce_sum(y, axis=1, keepdims=True)
                y = tf.identity(y)

    return N / cpu_seconds(build, 3)


def gradients() -> float:
    """Returns gradient nodes a second."""
    made = 0

    def build() -> None:
        nonlocal made
        with tf.Graph().as_default() as graph:
            x = y = tf.placeholder(tf.float32, [4, 4])
            for _ in range(N // 20):
                y = tf.tanh(tf.matmul(y, x) + x)
            before = len(graph.get_operations())
            tf.gradients(y, x)
            made = len(graph.get_operations()) - before

    def forward_only() -> None:
        with tf.Graph().as_default():
            x = y = tf.placeholder(tf.float32, [4, 4])
            for _ in range(N // 20):
                y = tf.tanh(tf.matmul(y, x) + x)

    both = cpu_seconds(build, 3)
    return made / max(1e-9, both - cpu_seconds(forward_only, 3))


def imports() -> float:
    """Returns nodes a second of `import_graph_def`."""
    with tf.Graph().as_default() as graph:
        x = y = tf.placeholder(tf.float32, [4, 4])
        for _ in range(N // 2):
            y = tf.tanh(raw.AddV2(y, x))
        graph_def = graph.as_graph_def()

    def load() -> None:
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")

    return len(graph_def.node) / cpu_seconds(load, 3)


ROWS = (
    ("raw ops", raw_ops, 40_000),
    ("public wrappers", wrappers, 20_000),
    ("gradient nodes", gradients, 20_000),
    ("import_graph_def nodes", imports, 40_000),
)
