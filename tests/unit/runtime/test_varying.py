"""Steps in which shapes depend on values: what meets them goes to the host, the rest is compiled once."""

import numpy as np
import pytest

import headrace as tf
from headrace.runtime import varying
from headrace.runtime.cluster import Cluster


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "auto")
    monkeypatch.setenv("HEADRACE_BACKGROUND", "off")
    monkeypatch.setattr(varying, "_WORTH_A_PROGRAM_S", 0.0)
    with tf.Graph().as_default() as g:
        yield g


def wide_and_deep():
    """Returns the loss, the training step, the variables, and what makes feeds."""
    tf.set_random_seed(1)
    ids = tf.sparse_placeholder(tf.int64)
    labels = tf.placeholder(tf.float32, [4, 1])
    table = tf.get_variable("table", [20, 3], initializer=tf.random_normal_initializer(seed=1))
    part = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
    part.set_shape([4, 3])
    w = tf.get_variable("w", [3, 1], initializer=tf.random_normal_initializer(seed=2))
    y = tf.matmul(tf.tanh(part), w)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=y))
    train = tf.train.AdagradOptimizer(0.5).minimize(loss)
    rng = np.random.RandomState(3)
    places = np.array([[i // 2, i % 2] for i in range(8)], np.int64)

    def feed(step):
        numbers = rng.randint(0, 1 + step % 7, 8).astype(np.int64)
        return {ids: (places, numbers, (4, 2)), labels: rng.randint(0, 2, (4, 1))}

    return loss, train, [table, w], feed


def _run(steps=24):
    loss, train, variables, feed = wide_and_deep()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = [sess.run([loss, train], feed(i))[0] for i in range(steps)]
        plan = max(sess._plans.values(), key=lambda p: len(p.ops))
        return losses, sess.run(variables), plan


def test_what_keeps_its_shapes_is_compiled_once(monkeypatch):
    losses, values, plan = _run()
    clusters = [s for s in plan._stages if isinstance(s, Cluster)]
    assert clusters
    assert all(len(c._programs) == 1 and not c._spent for c in clusters)
    compiled = {op.type for c in clusters for op in c.ops}
    assert {"MatMul", "Tanh", "ApplyAdagrad"} <= compiled
    hosts = {ins.op.type for s in plan._stages if not isinstance(s, Cluster) for ins in s}
    assert {"Unique", "SparseSegmentMean", "SparseApplyAdagrad", "GatherV2"} <= hosts
    # Reading a table is left to the host with the node that asks for it: as a result of a cluster it would be copied.
    assert not any(t._dims == (20, 3) for c in clusters for t in c.outputs)
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Graph().as_default():
        expected_losses, expected, _ = _run()
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for a, b in zip(values, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_takes_long_may_have_a_program_for_each_shape(monkeypatch):
    monkeypatch.setattr(varying, "_WORTH_PROGRAMS_S", 0.0)
    _, _, plan = _run()
    assert not plan._forced
    assert plan._varying is None


def test_what_is_left_may_not_be_worth_a_program(monkeypatch):
    monkeypatch.setattr(varying, "_WORTH_A_PROGRAM_S", 10.0)
    _, _, plan = _run()
    assert not any(isinstance(s, Cluster) for s in plan._stages)
    assert varying.TOO_FEW in plan._forced.values()


def test_a_size_that_follows_from_such_a_shape_goes_with_it():
    rows = tf.placeholder(tf.int32, [6])
    labels = tf.placeholder(tf.int32, [2])
    different, _ = tf.unique(rows)
    n = tf.shape(different)[0]
    y = tf.reduce_sum(tf.tanh(tf.cast(labels, tf.float32))) * 2.0 + tf.reduce_sum(tf.ones([n, 2]))
    with tf.Session() as sess:
        for i in range(20):
            k = 1 + i % 5
            got = sess.run(y, {rows: np.arange(6) % k, labels: [i, 2 * i]})
            np.testing.assert_allclose(got, 2 * (np.tanh(i) + np.tanh(2 * i)) + 2 * k, rtol=1e-5)
        (plan,) = sess._plans.values()
    clusters = [s for s in plan._stages if isinstance(s, Cluster)]
    compiled = {op.type for c in clusters for op in c.ops}
    assert "Tanh" in compiled  # of a number that differs, but is no size
    assert "Fill" not in compiled
    assert all(len(c._programs) == 1 and not c._spent for c in clusters)


def test_feeds_of_many_shapes_are_another_matter():
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(tf.tanh(x) * 2.0)
    with tf.Session() as sess:
        for i in range(30):
            sess.run(y, {x: np.ones(1 + i)})
        (plan,) = sess._plans.values()
    assert not plan._looks
    assert not plan._forced


@pytest.mark.parametrize("resource", [False, True])
def test_a_table_that_the_host_changes_stays_where_it_is(resource, monkeypatch):
    def run():
        tf.set_random_seed(1)
        ids = tf.placeholder(tf.int32, [6])
        start = tf.random_normal_initializer(seed=1)
        table = tf.get_variable("table", [5000, 4], initializer=start, use_resource=resource)
        w = tf.get_variable("w", [4, 3], initializer=start, use_resource=resource)
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.embedding_lookup(table, ids), w) - 1.0))
        train = tf.train.AdagradOptimizer(0.5).minimize(loss)
        places = []
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for i in range(24):
                got = sess.run([loss, train], {ids: np.arange(6) % (1 + i % 6) * 700})[0]
                states = [s for s in sess._state.resources._items.values() if np.shape(s.value) == (5000, 4)]
                places.append([np.asarray(s.value).__array_interface__["data"][0] for s in states])
            assert len(places[0]) == 2
            plan = max(sess._plans.values(), key=lambda p: len(p.ops))
            return got, sess.run([table, w]), places[16:], plan

    got, values, places, plan = run()
    clusters = [s for s in plan._stages if isinstance(s, Cluster)]
    assert any(op.type == "MatMul" for c in clusters for op in c.ops)
    assert not any(op.type in ("Gather", "GatherV2", "ResourceGather") for c in clusters for op in c.ops)
    assert all(p == places[0] for p in places)
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Graph().as_default():
        expected, expected_values, *_ = run()
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    for a, b in zip(values, expected_values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_updates_of_distinct_rows_are_never_compiled(monkeypatch, needs_library):
    monkeypatch.setattr(varying, "_STEPS", 1000)  # nothing is learned from steps
    _, _, plan = _run(6)
    compiled = {op.type for s in plan._stages if isinstance(s, Cluster) for op in s.ops}
    assert "MatMul" in compiled
    assert "SparseApplyAdagrad" not in compiled
