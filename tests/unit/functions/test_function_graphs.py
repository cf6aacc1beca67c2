"""Functions make TensorFlow 1.15's graphs and libraries and compute its values, built or loaded from a file.

Recorded by tests/golden/record/functions.py.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.python.framework import function

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import canonical  # noqa: E402
import function_programs  # noqa: E402

FACTS = json.loads((GOLDEN / "functions.json").read_text())
# What a file can't bring along: Python functions are of the process that made them.
ONLY_HERE = ("python_functions",)


def close(mine, theirs):
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        # float32 arithmetic, in another order: a few units in the last place.
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def test_every_program_is_recorded():
    assert set(function_programs.PROGRAMS) == set(FACTS)


@pytest.mark.parametrize("name", sorted(FACTS))
def test_nodes_and_functions_are_tensorflows(name):
    graph, _, _ = function_programs.build(tf, function, function_programs.PROGRAMS[name])
    mine, theirs = function_programs.facts(graph, canonical), FACTS[name]
    assert mine["nodes"] == theirs["nodes"]
    assert sorted(mine["functions"]) == sorted(theirs["functions"])
    for key, bodies in theirs["functions"].items():
        assert [list(body) for body in mine["functions"][key]] == bodies, key
    assert mine["gradients"] == theirs["gradients"]


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("name", sorted(FACTS))
def test_values_and_gradients_are_tensorflows(name, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    graph, fetches, feed = function_programs.build(tf, function, function_programs.PROGRAMS[name])
    close(function_programs.values(tf, graph, fetches, feed), FACTS[name]["values"])


@pytest.mark.parametrize("name", sorted(set(FACTS) - set(ONLY_HERE)))
def test_a_loaded_graph_computes_the_same(name):
    graph, fetches, feed = function_programs.build(tf, function, function_programs.PROGRAMS[name])
    message = graph.as_graph_def()
    with tf.Graph().as_default() as loaded:
        tf.import_graph_def(message, name="")
        again = loaded.as_graph_def()
        assert {f.signature.name for f in again.library.function} == {
            f.signature.name for f in message.library.function
        }
        starts = [op for op in loaded.get_operations() if "/Assign" in op.name]
        with tf.Session() as session:
            session.run(starts)
            names = [t.name for t in fetches]
            found = session.run(names, {t.name: v for t, v in feed.items()})
    close([np.asarray(v).tolist() for v in found], FACTS[name]["values"])
