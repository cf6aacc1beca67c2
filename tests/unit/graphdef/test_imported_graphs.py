"""Imported graphs are TensorFlow's node for node, and wrong calls fail as they do there."""

import pytest

import headrace as tf
from tests.conformance import graph_diff
from tests.golden import canonical
from tests.unit.graphdef import import_builders

GOLDEN = canonical.read("imported_graphs.json")


def test_all_builders_are_recorded():
    assert sorted(GOLDEN) == sorted(import_builders.BUILDERS)


@pytest.mark.parametrize("name", sorted(import_builders.BUILDERS))
def test_graph_equals_tensorflows(name):
    want = GOLDEN[name]
    graph = tf.Graph()
    error = None
    with graph.as_default():
        try:
            import_builders.BUILDERS[name](tf, graph)
        except Exception as e:
            if want["error"] is None:
                raise
            error = [type(e).__name__, str(e)]
    assert error == want["error"]
    difference = graph_diff.compare(canonical.graph_nodes(graph), want["nodes"])
    assert not difference, difference
