"""tf.debugging.assert_shapes builds the nodes and says the words that TensorFlow's does."""

import json
import pathlib

import pytest

import headrace as tf
from tests.golden import assert_shapes_calls

FACTS = json.loads(pathlib.Path(assert_shapes_calls.__file__).with_name("assert_shapes.json").read_text())


@pytest.mark.parametrize("name", sorted(assert_shapes_calls.CALLS))
def test_is_what_tensorflow_does(name):
    assert assert_shapes_calls.run(tf, name) == FACTS[name]


def test_version_2_returns_nothing():
    with tf.Graph().as_default() as graph:
        check = tf.compat.v2.debugging.assert_shapes
        assert check([(tf.placeholder(tf.float32, [None]), (2,))]) is None
        assert "assert_shapes/group_deps" in [op.name for op in graph.get_operations()]
