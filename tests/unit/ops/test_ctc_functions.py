"""The functions around CTC give TensorFlow 1.15's values, which stand here as recorded."""

import numpy as np
import pytest

import headrace as tf

LOGITS = np.random.RandomState(0).standard_normal((6, 2, 4)).astype(np.float32)
LABELS = np.array([[1, 2, 1], [3, 3, 0]], np.int32)


def run(build):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize(
    ("labels", "blank", "losses"),
    [
        (LABELS, None, [7.100662, 6.0803185]),
        (np.array([[0, 1, 0], [3, 3, 0]], np.int32), 2, [6.703557, 6.4139743]),
        (LABELS - 1, -1, [3.211589, 6.374717]),
    ],
)
def test_loss_of_dense_labels(labels, blank, losses, time_major):
    logits = LOGITS if time_major else LOGITS.transpose(1, 0, 2)

    def build():
        return tf.nn.ctc_loss_v2(
            tf.constant(labels), tf.constant(logits), tf.constant([3, 2]), tf.constant([6, 5]),
            logits_time_major=time_major, blank_index=blank,
        )  # fmt: skip

    np.testing.assert_allclose(run(build), losses, rtol=1e-6)


def test_unique_labels():
    values, places = run(lambda: tf.nn.ctc_unique_labels(tf.constant(LABELS)))
    np.testing.assert_array_equal(values, [[1, 2, 0], [3, 0, 0]])
    np.testing.assert_array_equal(places, [[0, 1, 0], [0, 0, 1]])
    assert (values.dtype, places.dtype) == (np.int64, np.int32)


def test_collapsed_labels():
    labels = np.array([[1, 1, 2, 2, 1], [3, 3, 3, 0, 0]], np.int32)
    found, lengths = run(lambda: tf.nn.collapse_repeated(tf.constant(labels), tf.constant([5, 3], tf.int64)))
    np.testing.assert_array_equal(found, [[1, 2, 1], [3, 0, 0]])
    np.testing.assert_array_equal(lengths, [3, 1])
    assert lengths.dtype == np.int64


def test_the_loss_is_the_same_when_compiled():
    places = tf.SparseTensorValue(
        np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 2, 0], np.int32), np.array([2, 2])
    )

    def results(**options):
        with tf.Graph().as_default(), tf.Session(**options) as session:
            x = tf.placeholder(tf.float32, [6, 2, 4])
            labels = tf.SparseTensor(*(tf.constant(v) for v in places))
            loss = tf.nn.ctc_loss(labels, x, tf.constant([6, 5]))
            fetches = [loss, tf.gradients(loss, x)[0]]
            return [session.run(fetches, {x: LOGITS}) for _ in range(30)]

    first, *rest = results()
    for later in rest:
        for a, b in zip(first, later, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
