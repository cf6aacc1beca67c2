"""Layers, losses and metrics compute over steps what TensorFlow 1.15 answers; the numbers are recorded from it."""

import numpy as np
import pytest

import headrace as tf


def test_metrics_add_up_over_steps():
    with tf.Graph().as_default(), tf.Session() as session:
        labels = tf.placeholder(tf.int64, [None])
        predictions = tf.placeholder(tf.int64, [None])
        functions = (tf.metrics.accuracy, tf.metrics.precision, tf.metrics.recall)
        metrics = [f(labels, predictions) for f in (*functions, tf.metrics.root_mean_squared_error)]
        session.run(tf.local_variables_initializer())
        updates = [update for _, update in metrics]
        session.run(updates, {labels: [1, 0, 1], predictions: [1, 1, 1]})
        new = session.run(updates, {labels: [1, 0, 0, 1], predictions: [0, 0, 0, 1]})
        np.testing.assert_allclose(new, [0.71428573, 0.75, 0.75, 0.5345225], rtol=1e-6)
        assert session.run([value for value, _ in metrics]) == new


@pytest.mark.parametrize(
    "weights, loss",
    [([[1.0, 2.0, 0.0]], 3.25), ([[1.0], [0.0]], 1.0), (np.ones((2, 3)), 2.5), ([[1.0]], 2.5)],
)
def test_weights_of_unknown_shape_are_broadcast(weights, loss):
    with tf.Graph().as_default(), tf.Session() as session:
        values, w = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
        found = tf.losses.compute_weighted_loss(values, w)
        assert session.run(found, {values: np.arange(6.0).reshape(2, 3), w: weights}) == loss


def test_weights_that_do_not_fit_fail_in_the_step():
    with tf.Graph().as_default(), tf.Session() as session:
        values, w = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
        found = tf.losses.compute_weighted_loss(values, w)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"weights can not be broadcast.*\[3 2\].*\[2 3\]"
        ):
            session.run(found, {values: np.zeros((2, 3)), w: np.ones((3, 2))})


def test_training_may_be_fed():
    with tf.Graph().as_default(), tf.Session() as session:
        training = tf.placeholder(tf.bool, [])
        x = tf.placeholder(tf.float32, [None, 4])
        z = tf.placeholder(tf.float32, [None, 2, 2, 3])
        by_hand = tf.layers.batch_normalization(x, training=training)
        fused = tf.layers.batch_normalization(z, training=training)
        dropped = tf.layers.dropout(x, training=training)
        session.run(tf.global_variables_initializer())
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        assert len(updates) == 4
        feeds = {x: np.arange(12.0).reshape(3, 4), z: np.arange(36.0).reshape(3, 2, 2, 3)}
        first = session.run(by_hand, {**feeds, training: True})
        np.testing.assert_allclose(first[0], [-1.2246875] * 4, rtol=1e-6)
        np.testing.assert_array_equal(session.run(dropped, {**feeds, training: False}), feeds[x])
        np.testing.assert_allclose(
            session.run(fused, {**feeds, training: False})[0, 0, 0], [0, 0.9995004, 1.9990008], rtol=1e-6
        )
        session.run(updates, {**feeds, training: True})
        session.run(updates, {**feeds, training: False})
        variables = session.run(tf.global_variables())
        np.testing.assert_allclose([v[0] for v in variables[2:4]], [0.04, 1.0966667], rtol=1e-6)
        np.testing.assert_allclose([v[0] for v in variables[6:8]], [0.165, 2.16], rtol=1e-5)
