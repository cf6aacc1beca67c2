"""The tf.image functions add TensorFlow 1.15's nodes.

Recorded by tests/golden/record/image_graphs.py.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import image_calls  # noqa: E402

FACTS = json.loads((GOLDEN / "image_graphs.json").read_text())


def test_every_call_was_recorded():
    assert list(FACTS) == image_calls.CALLS


@pytest.mark.parametrize("call", image_calls.CALLS)
def test_nodes(call, functional_control_flow):
    expected = FACTS[call]
    graph, message = image_calls.build(tf, np, call)
    if isinstance(expected, str):
        assert message == expected
        return
    assert message is None
    assert image_calls.nodes(tf, graph) == expected
