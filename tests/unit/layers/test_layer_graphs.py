"""Layers and losses build and answer what TensorFlow 1.15 does.

The snippets and the facts are recorded by tests/golden/record/layer_graphs.py.
"""

import json

import numpy as np
import pytest

import headrace as tf
from tests.golden import canonical

FACTS = canonical.read("layer_graphs.json")


def text(function):
    try:
        return repr(function())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def texts(out):
    """What a snippet put out, as far as both print it alike."""
    return [str(line).replace("tf.", "") for line in out]


@pytest.mark.parametrize("name", sorted(FACTS))
def test_snippet(name):
    want = FACTS[name]
    out = []
    with tf.Graph().as_default() as graph:
        exec(want["source"], {"tf": tf, "np": np, "out": out, "text": text})
    got = json.loads(canonical.dumps(canonical.graph_nodes(graph)))
    for g, w in zip(got, want["nodes"]):
        assert g == w
    assert len(got) == len(want["nodes"])
    assert canonical.graph_collections(graph) == want["collections"]
    assert texts(out) == texts(want["out"])
