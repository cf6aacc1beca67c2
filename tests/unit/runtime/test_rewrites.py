"""Which patterns a session uses: the environment, ConfigProto as TensorFlow heeds it, and what stays as it is."""

import json
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.passes.patterns import TABLES
from headrace.runtime.policies import policies_of, with_policies
from headrace.runtime.rewrites import Rewrites
from tests.golden import optimizer_programs as programs

RECORDED = json.loads((Path(__file__).resolve().parents[2] / "golden" / "optimizers.json").read_text())


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv("HEADRACE_OPTIMIZE", raising=False)
    monkeypatch.setenv("HEADRACE_CACHE_DIR", "")
    tf.reset_default_graph()


def _plan(session):
    return list(session._plans.values())[-1]


@pytest.mark.parametrize("label", list(RECORDED))
def test_options_are_heeded_as_in_tensorflow(label):
    fetch, feed = programs.build(tf)
    with tf.Session(config=programs.config(tf, programs.OPTIONS[label])) as session:
        session.run(fetch, feed)
        ran = {op.name: op.type for op in _plan(session)._rest}
    # A batch norm that went into its convolution leaves a sum under its name.
    found = [name for name in programs.WATCHED if ran.get(name, "BiasAdd") != "BiasAdd"]
    assert found == RECORDED[label]


def test_the_environment(monkeypatch):
    for text, names in (
        ("on", set(TABLES)),
        ("off", set()),
        ("remapping, constant_folding", {"remapping", "constant_folding"}),
    ):
        monkeypatch.setenv("HEADRACE_OPTIMIZE", text)
        assert policies_of(with_policies(optimize="off")).rewrites == Rewrites(frozenset(names))
    monkeypatch.setenv("HEADRACE_OPTIMIZE", "speed")
    with pytest.raises(
        ValueError, match="HEADRACE_OPTIMIZE is on, off, or some of arithmetic_optimization, .*'speed'"
    ):
        tf.Session()


def test_the_largest_constant():
    y = tf.tanh(tf.placeholder(tf.float32, [1000]) + tf.sqrt(tf.constant(np.ones(1000, np.float32))))
    for most, fires in ((0, 1), (4000, 1), (3999, 0)):
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.max_folded_constant_in_bytes = most
        with tf.Session(config=config) as session:
            session.run(y, {y.op.inputs[0].op.inputs[0]: np.ones(1000)})
            assert _plan(session).rewritten["known operands"] == fires


def test_what_is_fetched_fed_or_asked_to_run_stays():
    x = tf.placeholder(tf.float32, [2], name="x")
    two = tf.constant(2.0)
    four = tf.square(two)
    y = tf.identity(x * 1.0)
    z = y + four
    same = y + four
    with tf.Session() as session:
        assert session.run([z, same, y, four], {x: [1, 2]})[2].tolist() == [1.0, 2.0]
        assert _plan(session).rewritten == {"times one": 1}
        assert session.run(z, {x: [1, 2], four: 1.0}).tolist() == [2.0, 3.0]
        assert session.run(z, {x: [1, 2], two: 3.0}).tolist() == [10.0, 11.0]
        assert session.run(z, {y: [5, 6]}).tolist() == [9.0, 10.0]
        assert session.run([z, four.op], {x: [1, 2]})[0].tolist() == [5.0, 6.0]
        assert four.op in _plan(session).ops


def test_control_edges_hold():
    v = tf.Variable(1.0, use_resource=True)
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([v.assign_add(x)]):
        after = tf.identity(x) * 1.0
    with tf.control_dependencies([after]):
        read = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(read + 0.0 * after, {x: 2.0}) for _ in range(3)] == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_reads_of_variables_are_not_one(tier, use_resource):
    v = tf.Variable(1.0, use_resource=use_resource)
    first = tf.multiply(v.read_value(), 3.0)
    with tf.control_dependencies([first]):
        more = v.assign_add(1.0).op
    with tf.control_dependencies([more]):
        second = tf.multiply(v.read_value(), 3.0)
    both = tf.stack([first, second])
    with tf.Session(config=with_policies(tier=tier)) as session:
        session.run(v.initializer)
        assert session.run(both).tolist() == [3.0, 6.0]
        assert session.run(both).tolist() == [6.0, 9.0]


def test_what_would_fail_fails():
    x = tf.placeholder(tf.float32, [2])
    bad = tf.reshape(
        tf.constant([1.0, 2.0, 3.0]), tf.abs(tf.placeholder_with_default([2, 2], [2]), name="sizes")
    )
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)3 values.*Reshape"):
            session.run(tf.reduce_sum(bad) + x, {x: [1, 2]})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor"
        ):
            session.run(tf.stack([tf.identity(x) * 1.0]))


def test_a_device_that_does_not_exist():
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:3"):
        y = tf.identity(x)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="(?i)gpu:3"):
        session.run(tf.tanh(y), {x: [1, 2]})


def test_the_graph_is_as_it_was():
    fetch, feed = programs.build(tf)
    before = tf.get_default_graph().as_graph_def()
    with tf.Session() as session:
        session.run(fetch, feed)
        assert _plan(session).rewritten
        assert tf.get_default_graph().as_graph_def() == before
        assert tf.get_default_graph().version == session.graph.version


def test_steps_that_are_looked_at_node_by_node():
    fetch, feed = programs.build(tf)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE, output_partition_graphs=True)
    with tf.Session() as session:
        expected = session.run(fetch, feed)
        np.testing.assert_allclose(session.run(fetch, feed, options, metadata), expected, rtol=1e-6)
    names = {n.node_name for n in metadata.step_stats.dev_stats[0].node_stats}
    assert {"folded", "again", "normal"} <= names
    graph = {op.name for op in tf.get_default_graph().get_operations()}
    assert {n.name for n in metadata.partition_graphs[0].node} == graph - {"x"}


def test_runs_in_parts():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    a = tf.identity(x * 1.0)
    b = a * tf.sqrt(4.0) + y
    with tf.Session() as session:
        handle = session.partial_run_setup([a, b], [x, y])
        assert session.partial_run(handle, a, {x: 3.0}) == 3.0
        assert session.partial_run(handle, b, {y: 1.0}) == 7.0


def test_explain(capsys):
    fetch, feed = programs.build(tf)
    with tf.Session() as session:
        session.run(fetch, feed)
        told = tf.explain(fetch)
    assert "  rewritten: 2 equal nodes, 1 known operands, 1 batch norm into a convolution\n" in told


def test_sums_of_products_of_what_was_rewritten():
    """A step that adds up several transposed products takes their factors, which may be others than the graph's."""
    x = tf.placeholder(tf.float32, [4, 3])
    rows = [tf.identity(x * 1.0), tf.tanh(x), tf.identity(x + 1.0)]
    total = tf.add_n([tf.matmul(r, tf.identity(r), transpose_a=True) for r in rows])
    value = np.arange(12, dtype=np.float32).reshape(4, 3) / 12
    with tf.Session(config=with_policies(tier="compile")) as session:
        found = session.run(total, {x: value})
        assert _plan(session).rewritten["a copy"] == 5
    wanted = sum(r.T @ r for r in (value, np.tanh(value), value + 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_bodies_of_loops():
    x = tf.placeholder(tf.float32, [])

    def body(i, y):
        return i + 1, tf.identity(y) * 1.0 + tf.sqrt(4.0)

    _, y = tf.while_loop(lambda i, y: i < 3, body, (0, tf.identity(x)))
    for tier in ("interpret", "compile"):
        with tf.Session(config=with_policies(tier=tier)) as session:
            assert session.run(y, {x: 1.0}) == 7.0
