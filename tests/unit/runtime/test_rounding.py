"""A compiled step rounds each node's result to its type, as the interpreter does (tests/golden/topics/rounding.txt)."""

import numpy as np
import pytest

import headrace as tf


def _loop(x, y):
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x - y), (0, x))[1]


PROGRAMS = {
    "product and sum": lambda x, y: x * y + x,
    "chain": lambda x, y: tf.square(x) * y / (y + 2) - x,
    "sum of three": lambda x, y: tf.add_n([x, y, x * y]),
    "functions": lambda x, y: tf.tanh(x * y) * tf.exp(x) + tf.nn.relu(y - x * y),
    "there and back": lambda x, y: tf.cast(tf.cast(tf.cast(x, tf.float32) * 3.1, x.dtype), tf.float32) * 1.7,
    "loop": _loop,
    "gradient": lambda x, y: tf.gradients(tf.tanh(x * y) * x, x)[0],
}


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16], ids=["bfloat16", "half"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_and_interpreted_steps_agree_to_the_last_bit(name, dtype, monkeypatch):
    values = [np.cos(np.arange(300.0) * k).astype(np.float32) for k in (3, 7)]
    found = []
    for tier in ("interpret", "compile"):
        monkeypatch.setenv("HEADRACE_TIER", tier)
        with tf.Graph().as_default(), tf.Session() as session:
            fed = [tf.placeholder(tf.float32, [300]) for _ in values]
            y = tf.cast(PROGRAMS[name](*[tf.cast(x, dtype) for x in fed]), tf.float32)
            found.append(session.run(y, dict(zip(fed, values, strict=True))))
    np.testing.assert_array_equal(*found)
