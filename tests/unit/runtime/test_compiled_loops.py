"""Loops with lists, random numbers and checks are part of one compiled step, and give what the interpreter gives."""

import threading
import time

import numpy as np
import pytest

import headrace as tf
from headrace.graph.structure import flatten
from headrace.opdef import raw
from headrace.runtime.cluster import Cluster
from headrace.runtime.trip_count import trip_count


def both(build, feeds):
    """Runs a program on each tier; returns the values of both and the compiled session."""
    values, session = [], None
    for tier in ("interpret", "compile"):
        with pytest.MonkeyPatch.context() as patch, tf.Graph().as_default():
            patch.setenv("HEADRACE_TIER", tier)
            tf.set_random_seed(7)
            placeholders, fetches = build()
            session = tf.Session()
            session.run(tf.global_variables_initializer())
            values.append([session.run(fetches, dict(zip(placeholders, f, strict=True))) for f in feeds])
    for a, b in zip(*values, strict=True):
        for x, y in zip(flatten(a), flatten(b), strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)
    return values[1], session


def stages_of(session):
    """Returns the stages of the plan with most nodes."""
    plan = max(session._plans.values(), key=lambda p: len(p.ops))
    assert plan.only_interpret == ""
    return plan._stages


def assert_one_cluster(session):
    assert [type(stage) for stage in stages_of(session)] == [Cluster]


def recurrent(length):
    def build():
        x = tf.placeholder(tf.float32, [length, 2, 3])
        w = tf.get_variable("w", initializer=np.linspace(-1, 1, 9).astype("f").reshape(3, 3))
        state = tf.while_loop(
            lambda t, s: t < tf.shape(x)[0],
            lambda t, s: (t + 1, tf.tanh(tf.matmul(s, w) + tf.gather(x, t))),
            (0, tf.zeros([2, 3])),
        )[1]
        loss = tf.reduce_sum(state * state)
        return [x], [loss, *tf.gradients(loss, [x, w])]

    return build


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("length", [None, 4])
def test_gradient_of_a_recurrence_is_one_cluster(length):
    feeds = [[np.sin(np.arange(24.0)).reshape(4, 2, 3)]]
    _, session = both(recurrent(length), feeds)
    assert_one_cluster(session)


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
def test_recurrence_of_many_lengths():
    rng = np.random.RandomState(0)
    both(recurrent(None), [[rng.randn(n, 2, 3)] for n in (1, 5, 2, 7, 0)])


def test_loop_with_limit_that_stops_early():
    def build():
        x = tf.placeholder(tf.float32, [3])
        y = tf.while_loop(
            lambda a: tf.reduce_sum(a) < 100.0, lambda a: a * x + 1.0, [x], maximum_iterations=20
        )
        return [x], [y, *tf.gradients(y, x)]

    _, session = both(build, [[[1.0, 2.0, 3.0]], [[200.0, 0.0, 0.0]], [[0.1, 0.1, 0.1]]])
    assert_one_cluster(session)


def test_shapes_that_a_loop_leaves_stay_known():
    def build():
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.reshape(tf.reduce_sum(a) * x[0] + a, tf.shape(a)) * x),
            (0, x),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 3])),
        )[1]
        return [x], [y, *tf.gradients(y, x)]

    _, session = both(build, [[np.ones([2, 3]) * 0.5], [np.ones([4, 3]) * 0.25]])
    assert_one_cluster(session)


def test_loop_in_loop():
    def build():
        x = tf.placeholder(tf.float32, [2])

        def outer(i, a):
            return i + 1, tf.while_loop(lambda j, b: j < i + 1, lambda j, b: (j + 1, tf.sin(b) * x), (0, a))[
                1
            ]

        y = tf.while_loop(lambda i, a: i < 3, outer, (0, x))[1]
        return [x], [y, *tf.gradients(y, x)]

    both(build, [[[0.5, 1.5]], [[-1.0, 2.0]]])


def test_random_numbers_in_a_loop_are_the_interpreters():
    def build():
        n = tf.placeholder(tf.int32, [])
        total = tf.while_loop(
            lambda i, a: i < n, lambda i, a: (i + 1, a + tf.random_uniform([3], seed=5)), (0, tf.zeros([3]))
        )[1]
        some = tf.cond(n > 3, lambda: tf.random_normal([2], seed=4), lambda: tf.zeros([2]))
        return [n], [total, some, tf.random_uniform([], seed=9)]

    _, session = both(build, [[k] for k in (2, 5, 0, 5, 4)])
    assert_one_cluster(session)


def test_lists_in_branches():
    def build():
        p = tf.placeholder(tf.bool, [])
        first = raw.TensorListReserve([2], 3, element_dtype="float32")
        chosen = tf.cond(
            p,
            lambda: raw.TensorListSetItem(first, 1, tf.constant([1.0, 2.0])),
            lambda: raw.TensorListSetItem(first, 2, tf.constant([3.0, 4.0])),
        )
        return [p], [raw.TensorListStack(chosen, -1, element_dtype="float32")]

    values, session = both(build, [[True], [False]])
    assert values[0][0].tolist() == [[0, 0], [1, 2], [0, 0]]
    assert_one_cluster(session)


def test_places_out_of_range_are_refused_in_compiled_loops(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        given = raw.TensorListReserve(np.zeros([0], np.int32), 3, element_dtype="float32")
        filled = tf.while_loop(
            lambda i, a: i < n, lambda i, a: (i + 1, raw.TensorListSetItem(a, i, 1.0)), (0, given)
        )[1]
        whole = raw.TensorListStack(filled, -1, element_dtype="float32")
        assert session.run(whole, {n: 3}).tolist() == [1, 1, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="element 3 in a list with 3 elements"):
            session.run(whole, {n: 4})


def test_unset_elements_of_unknown_shape_are_refused(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default(), tf.Session() as session:
        given = raw.TensorListReserve(-1, tf.placeholder_with_default(2, []), element_dtype="float32")
        with pytest.raises(tf.errors.InvalidArgumentError, match="uninitialized"):
            session.run(raw.TensorListStack(given, -1, element_dtype="float32"))


def test_variables_are_donated_where_checks_are_cheap(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", initializer=np.ones([10, 4], "f"))
        ids = tf.placeholder(tf.int32, [None])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(train, {ids: [1, 2]})
        (cluster,) = [
            s for s in stages_of(session) if type(s) is Cluster and s.random_ops == [] and s._programs
        ]
        (program,) = cluster._programs.values()
        assert [s.name for s in program.donated] == ["table"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
            session.run(train, {ids: [1, 99]})
        value = session.run(table)
        assert np.unique(value[[1, 2]]).tolist() == [np.float32(0.8)] and (value[3:] == 1).all()


def test_trip_counts():
    with tf.Graph().as_default():
        tf.while_loop(lambda i, n: tf.logical_and(i < n, i >= 0), lambda i, n: (i + 3, n), (1, 11))
        (node,) = [op for op in tf.get_default_graph().get_operations() if "While" in op.type]
        from headrace.opdef.functions import called_functions

        found = trip_count(*called_functions(node), [np.array(v, np.int32) for v in (0, -1, 1, 11)])
        assert found.most == 4 and not found.is_exact and found.counters[2] == 3


def test_a_long_loop_is_compiled_from_where_it_is(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "auto")
    with tf.Graph().as_default(), tf.Session() as session:
        n = tf.placeholder(tf.int32, [])
        zero = tf.zeros([])
        # Two variables that start with one tensor, and a variable that the body writes.
        count = tf.get_variable("count", initializer=0, use_resource=True)

        def body(i, a, b):
            with tf.control_dependencies([count.assign_add(1)]):
                return i + 1, a + 0.5, b - 0.25

        found = tf.while_loop(lambda i, a, b: i < n, body, (0, zero, zero))
        session.run(tf.global_variables_initializer())
        # Some 150 us an iteration in the interpreter: more than a minute if it went on.
        start = time.monotonic()
        assert session.run(found, {n: 400_000}) == (400_000, 200_000.0, -100_000.0)
        assert time.monotonic() - start < 40
        assert session.run(count) == 400_000


def test_closing_a_session_ends_a_compiled_endless_loop(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default():
        session = tf.Session()
        step = tf.placeholder(tf.int32, [])
        found = tf.while_loop(lambda i: i < 3, lambda i: i + step, [0])
        assert session.run(found, {step: 1}) == 3
        timer = threading.Timer(0.5, session.close)
        timer.start()
        with pytest.raises(tf.errors.CancelledError):
            session.run(found, {step: 0})


def test_a_loop_variable_that_starts_with_a_reference_is_the_value_before_the_loop():
    def build():
        variable = tf.get_variable("v", initializer=10.0, use_resource=False)
        count = tf.placeholder(tf.int32, [])
        start = tf.constant(1.0)

        def body(i, x, total):
            with tf.control_dependencies([tf.assign_add(variable, 1.0)]):
                return tf.identity(i) + 1, x, total + x

        node = tf.while_loop(lambda i, x, total: i < count, body, (0, start, 0.0))[0].op.inputs[0].op
        inputs = [variable.op.outputs[0] if t is start else t for t in node.inputs]
        place = [t is start for t in node.inputs].index(True)
        loop = raw.While(inputs, cond=node.attrs["cond"], body=node.attrs["body"])
        with tf.control_dependencies([loop[place + 1]]):
            return [count], [loop[place + 1], tf.identity(variable.read_value())]

    values, _ = both(build, [[3], [2]])
    assert [[float(x) for x in row] for row in values] == [[30.0, 13.0], [26.0, 15.0]]
