"""Recurrent nets build what TensorFlow 1.15 does, node for node, inside loops and branches too.

The snippets are in tests/golden/rnn_graphs.txt, the facts recorded by tests/golden/record/rnn_graphs.py.
"""

import importlib
import sys

import pytest

import headrace as tf
from tests.golden import canonical

sys.path.insert(0, str(canonical.GOLDEN))
import rnn_snippets

FACTS = canonical.read("rnn_graphs.json")


@pytest.mark.usefixtures("functional_control_flow")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(FACTS))
def test_snippet(name):
    want = FACTS[name]
    inside = importlib.import_module("headrace.contrib.rnn.python.ops.core_rnn_cell")
    got = rnn_snippets.run(tf, rnn_snippets.snippets()[name], inside)
    for kind in ("nodes", "bodies"):
        for g, w in zip(got[kind], want[kind], strict=False):
            assert g == w
        assert len(got[kind]) == len(want[kind])
    assert got["collections"] == want["collections"]
    assert got["out"] == want["out"]
