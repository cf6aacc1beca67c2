"""Gradients of branches and loops have TensorFlow's nodes and values (recorded by record/branch_programs.py)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import branch_programs  # noqa: E402
import canonical  # noqa: E402
import list_programs  # noqa: E402

FACTS = json.loads((GOLDEN / "branch_programs.json").read_text())


def build(name):
    graph = tf.Graph()
    with graph.as_default():
        return graph, branch_programs.PROGRAMS[name](tf)


def test_every_program_is_recorded():
    assert set(branch_programs.PROGRAMS) == set(FACTS)


@pytest.mark.usefixtures("functional_control_flow")
@pytest.mark.parametrize("name", sorted(FACTS))
def test_nodes_are_tensorflows(name):
    graph, _ = build(name)
    found = json.loads(json.dumps(list_programs.facts(graph, canonical)))
    assert found["nodes"] == FACTS[name]["nodes"]
    for mine, theirs in zip(found["functions"], FACTS[name]["functions"], strict=True):
        assert mine == theirs


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("functional", [True, False])
@pytest.mark.parametrize("name", sorted(FACTS))
def test_values_are_tensorflows(name, functional, tier, request):
    if functional:
        request.getfixturevalue("functional_control_flow")
    found = branch_programs.values(tf, *build(name))
    for step, (mine, theirs) in enumerate(zip(found, FACTS[name]["values"], strict=True)):
        for a, b in zip(mine, theirs, strict=True):
            # float32 arithmetic, in another order: a few units in the last place.
            np.testing.assert_allclose(a, b, rtol=3e-6, atol=1e-6, err_msg=f"step {step}")


@pytest.mark.usefixtures("functional_control_flow")
@pytest.mark.parametrize("name", ["branch_in_a_branch", "second_gradient", "many_branches"])
def test_what_comes_in_optionals_is_compiled(name, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    made = []
    monkeypatch.setattr("headrace.runtime.plan.Plan.made", made)
    graph, fetches = build(name)
    branch_programs.values(tf, graph, fetches)
    plans = [plan for plan in made if plan.fetches == fetches]
    assert plans and not any(plan._forced for plan in plans)


@pytest.mark.parametrize("functional", [True, False])
def test_two_gradients_of_branches_in_a_loop(functional, tier, request):
    if functional:
        request.getfixturevalue("functional_control_flow")
    with tf.Graph().as_default(), tf.Session() as session:
        x, n = tf.constant([1.0, 2.0]), tf.placeholder(tf.int32, [])

        def body(i, y):
            return i + 1, tf.cond(i > 1, lambda: tf.exp(-y) * x, lambda: tf.sin(y))

        y = tf.while_loop(lambda i, y: i < n, body, (0, x))[1]
        first, second = tf.gradients(y, x)[0], tf.gradients(y * 2.0, x)[0]
        for k in range(4):
            a, b = session.run([first, second], {n: k})
            np.testing.assert_allclose(2 * a, b, rtol=1e-6)
