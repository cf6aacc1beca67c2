"""Nested structures: what counts as one, its leaves, and putting it together again."""

import collections

import numpy as np
import pytest

import headrace as tf
from headrace.graph.structure import flatten, is_nested, map_leaves

NUMBERS = {"b": 1, "a": 2}


@pytest.mark.parametrize(
    ("structure", "leaves", "rebuilt"),
    [
        (NUMBERS, [2, 1], NUMBERS),
        (NUMBERS.values(), [1, 2], [1, 2]),
        (NUMBERS.keys(), ["b", "a"], ["b", "a"]),
        (NUMBERS.items(), ["b", 1, "a", 2], [("b", 1), ("a", 2)]),
        (range(2), [0, 1], [0, 1]),
        (collections.deque([1, 2]), [1, 2], collections.deque([1, 2])),
        ({"x": NUMBERS.values()}, [1, 2], {"x": [1, 2]}),
    ],
)
def test_nested(structure, leaves, rebuilt):
    assert is_nested(structure)
    assert flatten(structure) == leaves
    again = map_leaves(lambda leaf: leaf, structure)
    assert again == rebuilt and type(again) is type(rebuilt)


@pytest.mark.parametrize("leaf", ["ab", b"ab", 1, {1, 2}, iter([1]), np.zeros(2)])
def test_leaves(leaf):
    assert not is_nested(leaf)
    assert flatten(leaf)[0] is leaf


def test_the_variables_of_a_dictionary_can_be_trained():
    with tf.Graph().as_default():
        weights = {"w": tf.Variable(1.0), "b": tf.Variable(2.0)}
        loss = weights["w"] * weights["b"]
        pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss, weights.values())
    assert [variable for _, variable in pairs] == list(weights.values())
