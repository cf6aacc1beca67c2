"""Streaming metrics give TensorFlow 1.15's values (recorded by tests/golden/record/metric_values.py)."""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import metric_cases  # noqa: E402

FACTS = json.loads((GOLDEN / "metric_values.json").read_text())


def test_every_call_was_recorded():
    assert list(FACTS) == metric_cases.CALLS


@pytest.mark.parametrize("call", metric_cases.CALLS)
def test_values(call):
    found = metric_cases.run(tf, call)
    for got, want in zip(found, FACTS[call], strict=True):
        # Six digits are kept.
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


def test_scores_outside_of_0_and_1_are_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        scores = tf.placeholder(tf.float32, [2])
        _, update = tf.metrics.auc([True, False], scores)
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update, {scores: [0.5, 1.5]})


def test_classes_out_of_bounds_are_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        labels = tf.placeholder(tf.int32, [2])
        _, update = tf.metrics.mean_iou(labels, tf.constant([0, 1]), 2)
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="`labels` out of bound"):
            session.run(update, {labels: [0, 2]})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: tf.metrics.auc(x, x, curve="x"), "curve must be either ROC or PR, x unknown"),
        (lambda x: tf.metrics.auc(x, x, summation_method="x"), "Invalid summation_method: x"),
        (
            lambda x: tf.metrics.sensitivity_at_specificity(x, x, 2),
            r"`specificity` must be in the range \[0, 1\]",
        ),
        (
            lambda x: tf.metrics.recall_at_k(tf.zeros([4, 2, 3], tf.int64), tf.zeros([4, 5]), 3),
            "Unexpected labels",
        ),
    ],
)
def test_refusals(build, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        build(tf.placeholder(tf.float32, [4]))
