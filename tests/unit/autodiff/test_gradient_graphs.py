"""Gradient graphs are TensorFlow's node for node, and wrong calls fail as they do there."""

import pytest

import headrace as tf
from tests.conformance import graph_diff
from tests.golden import canonical
from tests.unit.autodiff import gradient_builders

GOLDEN = canonical.read("gradient_graphs.json")


@pytest.fixture(scope="module", autouse=True)
def registered():
    gradient_builders.register(tf)


def test_all_builders_are_recorded():
    assert sorted(GOLDEN) == sorted(gradient_builders.BUILDERS)


@pytest.mark.parametrize("name", sorted(gradient_builders.BUILDERS))
def test_graph_equals_tensorflows(name):
    want = GOLDEN[name]
    graph = tf.Graph()
    error = None
    with graph.as_default():
        try:
            gradient_builders.BUILDERS[name](tf, graph)
        except Exception as e:
            if want["error"] is None:
                raise
            error = [type(e).__name__, str(e)]
    if want["error"] is None:
        assert error is None
    else:
        assert error is not None, f"TensorFlow raises {want['error']}"
        # A NodeDef inside a message prints its attrs in the order of a map, which is no fact.
        assert [error[0], error[1].split("\n")[0]] == [want["error"][0], want["error"][1].split("\n")[0]]
    difference = graph_diff.compare(canonical.graph_nodes(graph), want["nodes"])
    assert not difference, difference
