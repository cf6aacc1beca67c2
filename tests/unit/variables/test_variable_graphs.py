"""Variables, scopes and initializers build and answer what TensorFlow 1.15 does.

The snippets and the facts are recorded by tests/golden/record/variable_graphs.py.
"""

import json

import numpy as np
import pytest

import headrace as tf
from tests.golden import canonical

FACTS = canonical.read("variable_graphs.json")

# Where more is known of a shape here than in TensorFlow, which does not look through VariableShape.
MORE_KNOWN = ("ScatterNd",)


def text(function):
    try:
        return repr(function())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def found(line):
    """A node without what is better known here."""
    return [*line[:4], *([] if line[1] in MORE_KNOWN else line[4:])]


@pytest.mark.parametrize("name", sorted(FACTS))
def test_snippet(name):
    want = FACTS[name]
    out = []
    with tf.Graph().as_default() as graph:
        exec(want["source"], {"tf": tf, "np": np, "out": out, "text": text})
    got = [found(line) for line in json.loads(canonical.dumps(canonical.graph_nodes(graph)))]
    for g, w in zip(got, want["nodes"]):
        assert g == found(w)
    assert len(got) == len(want["nodes"])
    assert canonical.graph_collections(graph) == want["collections"]
    assert json.loads(json.dumps(out, default=str)) == want["out"]
