"""The functions on numbers, and their gradients, add TensorFlow 1.15's nodes (tests/golden/record/math_graphs.py)."""

import json
import pathlib

import numpy as np
import pytest

import headrace as tf
from tests.conformance import graph_diff
from tests.golden import canonical

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "math_graphs.json"
FACTS = json.loads(GOLDEN.read_text())


def f(shape, dtype=tf.float32):
    return tf.placeholder(dtype, shape)


def d(function, *shapes):
    xs = [f(shape) for shape in shapes]
    return tf.gradients(function(*xs), xs)


@pytest.mark.parametrize("fact", FACTS, ids=[fact["call"] for fact in FACTS])
def test_nodes(fact):
    with tf.Graph().as_default() as graph:
        eval(fact["call"], {"tf": tf, "np": np, "f": f, "d": d})
    difference = graph_diff.compare(canonical.graph_nodes(graph), fact["nodes"])
    assert not difference, difference
