"""Graphs written with TensorFlow 1's control flow: they compute what they did."""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace import errors
from headrace.opdef import raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]

import control_flow_programs  # noqa: E402

VALUES = json.loads((GOLDEN / "control_flow.json").read_text())
FUNCTIONAL = {"If", "StatelessIf", "Case", "While", "StatelessWhile"}


def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    return np.asarray(value).tolist()


def check(got, want):
    if isinstance(want, str):
        assert plain(got) == want
    else:
        np.testing.assert_allclose(plain(got), want, rtol=2e-5, atol=2e-6)


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # as in TensorFlow
@pytest.mark.parametrize("name", control_flow_programs.PROGRAMS)
def test_exported_programs(name):
    with tf.Graph().as_default() as graph:
        fetches, steps = control_flow_programs.PROGRAMS[name](tf)
        names = [tf.convert_to_tensor(f).name for f in fetches]
        init = tf.global_variables_initializer()
    exported = tf.export(graph, control_flow="v1")
    ops = {node.op for node in exported.node}
    assert not ops & FUNCTIONAL
    assert ops & {"Merge", "Exit"} or not FUNCTIONAL & {op.type for op in graph.get_operations()}
    assert {op.name for op in graph.get_operations()} <= {node.name for node in exported.node}
    assert not exported.library.function
    with tf.Graph().as_default(), tf.Session() as session:
        session._tier = "interpret"
        tf.import_graph_def(exported, name="")
        session.run(init.name)
        for feed, wanted in zip(steps, VALUES[name], strict=True):
            got = session.run(names, {t.name: v for t, v in feed.items()})
            for value, want in zip(got, wanted, strict=True):
                check(value, want)


def test_effects_of_a_loop_come_once_an_iteration():
    with tf.Graph().as_default() as graph:
        v = tf.Variable(0.0, use_resource=True)
        i = tf.while_loop(lambda i: i < 3, lambda i: _add(v, i), [0])
        init = v.initializer
        read = v.read_value()
    exported = tf.export(graph, control_flow="v1")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(exported, name="")
        session.run(init.name)
        assert session.run(i.name) == 3
        assert session.run(read.name) == 3.0


def _add(v, i):
    with tf.control_dependencies([v.assign_add(1.0, read_value=False)]):
        return i + 1


def test_v2_is_the_graph_as_it_is():
    with tf.Graph().as_default() as graph:
        tf.cond(tf.placeholder(tf.bool, []), lambda: 1.0, lambda: 2.0)
        assert tf.export() == tf.export(graph, control_flow="v2") == graph.as_graph_def()
    with pytest.raises(ValueError, match="v1"):
        tf.export(graph, control_flow="v3")


def test_a_predicate_without_a_v1_form():
    with tf.Graph().as_default() as graph:
        branch = tf.cond(tf.placeholder(tf.bool, []), lambda: 1.0, lambda: 2.0).op.inputs[0].op
        attrs = {k: branch.attrs[k] for k in ("Tout", "then_branch", "else_branch")}
        raw.StatelessIf(tf.placeholder(tf.string, []), [], **attrs)
    with pytest.raises(errors.UnimplementedError, match="only a boolean or a number"):
        tf.export(graph, control_flow="v1")
