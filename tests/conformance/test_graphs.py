"""Each program's graph is, node for node and in order, the one that TensorFlow 1.15 builds."""

import pytest

import headrace as tf
from tests.conformance import graph_diff
from tests.golden import canonical
from tests.programs import programs


@pytest.mark.parametrize("name", programs.names("graphs"))
def test_graph_equals_tensorflows(name):
    golden = canonical.read(f"graphs/{name}.json")
    graph, _ = programs.build(tf, programs.load("graphs", name))
    difference = graph_diff.compare(canonical.graph_nodes(graph), golden["nodes"])
    assert not difference, difference
    difference = graph_diff.compare_names(canonical.graph_collections(graph), golden["collections"])
    assert not difference, difference


def test_every_golden_graph_has_its_program():
    recorded = sorted(path.stem for path in (canonical.GOLDEN / "graphs").glob("*.json"))
    assert recorded == programs.names("graphs")


NODE = ["y", "Add", ["a", "b"], {"T": "type float", "N": 1}, [[2]]]


@pytest.mark.parametrize(
    ("got", "says"),
    [
        (["y", "Add", ["b", "a"], {"T": "type float", "N": 1}, [[2]]], 'inputs: ["b","a"]'),
        (["y", "Add", ["a", "b"], {"T": "type float", "N": True}, [[2]]], "attr N: true"),
        (["y", "Add", ["a", "b"], {"T": "type float", "N": 1.0}, [[2]]], "attr N: 1.0"),
        (["y", "Add", ["a", "b"], {"T": "type float"}, [[2]]], 'attr N: "absent"'),
        (["y", "Add", ["a", "b"], {"T": "type float", "N": 1}, [[-1]]], "output shapes: [[-1]]"),
        (["y", "Add", ["a", "b"], {"T": "type float", "N": 1}, [[2]], "/cpu:0"], 'device: "/cpu:0"'),
        (["z", "Add", ["a", "b"], {"T": "type float", "N": 1}, [[2]]], "1 missing"),
    ],
)
def test_the_difference_names_what_differs(got, says):
    assert says in graph_diff.compare([got], [NODE])


def test_the_difference_sees_order():
    other = ["x", "NoOp", [], {}, []]
    assert not graph_diff.compare([NODE, other], [NODE, other])
    assert "x comes where TensorFlow makes y" in graph_diff.compare([other, NODE], [NODE, other])
