"""The tf.nn functions and their gradients add TensorFlow 1.15's nodes.

Recorded by tests/golden/record/nn_graphs.py.
"""

import json
import pathlib
import re
import sys

import numpy as np
import pytest

import headrace as tf

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import nn_calls  # noqa: E402

FACTS = json.loads((GOLDEN / "nn_graphs.json").read_text())


def describe(operation):
    attrs = {}
    for key in operation.node_def.attr:
        found = operation.get_attr(key)
        if key == "value":
            found = operation.attrs["value"].tolist()
        attrs[key] = nn_calls.plain(found)
    return nn_calls.row(operation, attrs)


def test_every_call_was_recorded():
    assert list(FACTS) == nn_calls.CALLS


def _static(row):
    """Returns a row without what is not compared: the static length of BroadcastGradientArgs' outputs."""
    return re.sub(r"(BroadcastGradientArgs .*) -> .*", r"\1", row)


@pytest.mark.parametrize("call", nn_calls.CALLS)
def test_nodes(call):
    expected = FACTS[call]
    graph, message = nn_calls.build(tf, np, call)
    if isinstance(expected, str):
        assert message == expected
        return
    assert message is None
    rows = [_static(describe(operation)) for operation in graph.get_operations()]
    assert rows == [_static(row) for row in expected]
