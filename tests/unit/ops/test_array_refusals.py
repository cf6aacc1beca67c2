"""Arrays that are changed in place accept and refuse what TensorFlow's do, in its words.

Recorded by tests/golden/record/array_refusals.py.
"""

import json
import re
import sys
from pathlib import Path

import pytest

import headrace as tf
from headrace.runtime.plan import Plan

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import array_programs  # noqa: E402

FACTS = json.loads((GOLDEN / "array_refusals.json").read_text())

# What is not as in TensorFlow, and how it is here.
OTHERWISE = {
    "split_neg": "Expected lengths not to be negative, but saw: -1",  # TensorFlow dies
    "unstack_scalar": "Tensor must be at least a vector, but saw shape: []",
    # A size that is not known while building isn't looked at.
    "unstack_few_unknown": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    "unstack_many_unknown": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
}
# TensorFlow closes the array before or after it is filled.
ANY_NODE = {"close_read"}


def without_number(message):
    return re.sub(r"TensorArray_\d+", "TensorArray_0", message)


@pytest.mark.parametrize("tier", ["interpret", "auto", "compile"])
@pytest.mark.parametrize("name", array_programs.PROGRAMS)
def test_outcome(name, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    monkeypatch.setattr(Plan, "checks_arrays", True)
    want = FACTS[name]
    with tf.Graph().as_default():
        got = array_programs.outcome(tf, array_programs.PROGRAMS[name])
    if name in OTHERWISE:
        assert (got["values"] if isinstance(got, dict) else got[1]) == OTHERWISE[name]
        return
    if isinstance(want, dict):
        assert got == want
        return
    (kind, message, node), (their_kind, their_message, their_node) = got, want
    assert kind == their_kind
    if node is None:  # refused while building, where the op's name is another
        assert their_node is None
        return
    assert without_number(message) == without_number(their_message)
    if name not in ANY_NODE:
        # Nodes in a loop's body are not in the graph, and go without its scope.
        assert node == their_node.removeprefix("while/")


def test_every_program_is_recorded():
    assert list(array_programs.PROGRAMS) == list(FACTS)
    assert sum(not isinstance(v, dict) for v in FACTS.values()) > 60


def test_the_second_run_of_a_compiled_plan_is_compiled(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    monkeypatch.setattr(Plan, "checks_arrays", True)
    made = []
    monkeypatch.setattr(Plan, "made", made)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        array = tf.TensorArray(tf.float32, 3).unstack(x)
        y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + array.read(i)), (0, 0.0))[1]
        assert [session.run(y, {x: [k, 1.0, 2.0]}) for k in (0.0, 1.0)] == [3.0, 4.0]
    (plan,) = [each for each in made if each.fetches == [y]]
    assert not plan._is_unchecked and plan._stages


def test_results_go_by_tensorflows_names():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.map_fn(lambda v: v * 2.0, tf.constant([1.0, 2.0]), name="twice")
        assert session.run("twice/TensorArrayStack/TensorArrayGatherV3:0").tolist() == [2.0, 4.0]
        array = tf.TensorArray(tf.float32, 2).write(0, 1.0)
        assert array.read(0).name == "TensorArrayReadV3:0"
        assert array.flow.name == "TensorArrayWrite/TensorArrayWriteV3:0"
        assert graph.get_operation_by_name("TensorArray").type == "TensorListReserve"
