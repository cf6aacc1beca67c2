"""Parts of a tensor at places that a loop counts: compiled with it, with gradients, refused where there are none."""

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.cluster import Cluster

X = np.random.RandomState(0).randn(6, 4, 5).astype(np.float32)

SLICES = {
    "x[i]": lambda x, i: x[i],
    "x[-i - 1]": lambda x, i: x[-i - 1],
    "x[i, 1:3]": lambda x, i: x[i, 1:3],
    "x[:, i % 4]": lambda x, i: x[:, i % 4],
    "x[i, ..., 2]": lambda x, i: x[i, ..., 2],
    "x[i, i % 4, -1]": lambda x, i: x[i, i % 4, -1],
    "x[i][:, tf.newaxis]": lambda x, i: x[i][:, tf.newaxis],
    "x[tf.newaxis, i, :, 1:]": lambda x, i: x[tf.newaxis, i, :, 1:],
    "x[i, ::2] (a stride)": lambda x, i: x[i, ::2],
    "x[i:i + 1] (a range)": lambda x, i: tf.reshape(x[i : i + 1], [4, 5]),
}
LEFT_TO_THE_HOST = {"x[i, ::2] (a stride)", "x[i:i + 1] (a range)"}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feeds, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    with tf.Session() as sess:
        values = sess.run(fetches, feeds)
        return values, [type(stage) for plan in sess._plans.values() for stage in plan._stages or ()]


def loop(take, x, n=6):
    def body(i, total, w):
        part = take(x, i)
        return i + 1, total + tf.reduce_sum(part * part * tf.cast(i + 1, tf.float32)) * w, w * 0.9

    return tf.while_loop(lambda i, *_: i < n, body, (0, 0.0, 1.0))[1]


@pytest.mark.parametrize("name", SLICES)
def test_compiled_as_interpreted_with_gradients(name, monkeypatch):
    x = tf.placeholder(tf.float32, X.shape)
    total = loop(SLICES[name], x)
    fetches = [total, tf.gradients(total, x)[0]]
    expected, _ = run(fetches, {x: X}, "interpret", monkeypatch)
    found, stages = run(fetches, {x: X}, "compile", monkeypatch)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    # One compiled step, or the host runs the loops.
    assert (stages == [Cluster]) == (name not in LEFT_TO_THE_HOST)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("n", [7, 9])
def test_a_place_beyond_the_end_is_refused(tier, n, monkeypatch):
    x = tf.placeholder(tf.float32, X.shape)
    total = loop(SLICES["x[i]"], x, n)
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 6 of dimension 0 out of bounds"):
        run(total, {x: X}, tier, monkeypatch)
