"""Metrics add TensorFlow 1.15's nodes (recorded by tests/golden/record/metric_graphs.py)."""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import metric_calls  # noqa: E402
import nn_calls  # noqa: E402

FACTS = json.loads((GOLDEN / "metric_graphs.json").read_text())


def test_every_call_was_recorded():
    assert list(FACTS) == metric_calls.CALLS


@pytest.mark.parametrize("call", metric_calls.CALLS)
def test_nodes(call):
    graph, message = nn_calls.build(tf, np, call)
    assert message is None
    assert metric_calls.compared(nn_calls.row(node, {}) for node in graph.get_operations()) == FACTS[call]


def test_collections():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4])
        value, update = tf.metrics.auc(x, x, metrics_collections=["m"], updates_collections=["u"])
        assert tf.get_collection("m") == [value]
        assert tf.get_collection("u") == [update]
        names = [v.op.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)]
        assert names == [
            f"auc/{n}" for n in "true_positives false_negatives true_negatives false_positives".split()
        ]
        assert tf.local_variables() == tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)
