"""Random ops without seeds get those that TensorFlow gives them, also within and after branches and loops."""

import json
import sys
from pathlib import Path

import pytest

import headrace as tf

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import node_number_programs  # noqa: E402

FACTS = json.loads((GOLDEN / "node_numbers.json").read_text())


def test_every_program_is_recorded():
    assert set(node_number_programs.PROGRAMS) == set(FACTS)


@pytest.mark.parametrize("name", sorted(FACTS))
def test_nodes_are_counted_as_tensorflow_makes_them(name):
    assert node_number_programs.run(tf, node_number_programs.PROGRAMS[name]) == FACTS[name]


def test_with_functional_control_flow_nodes_are_those_that_there_are():
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf.constant(1.0)
            tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))
            tf.cond(x > 0, lambda: x, lambda: x * 2)
            tf.TensorArray(tf.float32, 3).unstack(tf.ones([3, 2])).stack()
            assert graph._last_id == len(graph.get_operations())
    finally:
        tf.disable_control_flow_v2()


def test_a_body_that_cannot_be_built_leaves_no_trace():
    tf.set_random_seed(1)
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        pred = x > 0

        def fails():
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            tf.cond(pred, lambda: x, fails)
        assert graph._open_bodies == []
        before = graph._last_id
        tf.constant(1.0)
        assert graph._last_id == before + 1
