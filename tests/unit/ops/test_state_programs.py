"""The ops on variables do what their cases say, in the interpreter and in compiled clusters."""

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import OPS, Recorder

PROGRAMS = []
for _op in sorted(OPS.values(), key=lambda op: op.name):
    if _op.module.startswith("headrace.ops.state") and _op.rule("cases"):
        _recorder = Recorder()
        _op.rule("cases")(_recorder)
        PROGRAMS += [(_op.name, program) for program in _recorder.programs]


@pytest.fixture(params=["interpret", "compile"], autouse=True)
def tier(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", request.param)
    with tf.Graph().as_default():
        yield request.param


@pytest.mark.parametrize("name, program", PROGRAMS, ids=[f"{n}-{p.name}" for n, p in PROGRAMS])
def test_program(name, program):
    with tf.Session() as sess:

        def step(fetch, gives=None, fails=None, match=None, feed=None):
            if fails is not None:
                with pytest.raises(fails, match=match):
                    sess.run(fetch, feed)
                return None
            got = sess.run(fetch, feed)
            if gives is not None:
                np.testing.assert_array_equal(got, gives)
            return got

        program.function(step)


def run_on(variable, update):
    with tf.Session() as sess:
        sess.run(variable.initializer)
        return sess.run(update), sess.run(variable)


@pytest.mark.parametrize("use_resource", [False, True])
def test_rows_named_twice_all_count(use_resource):
    start = np.arange(6.0).reshape(3, 2)
    for name, rows, want in [
        ("add", [[1.0, 1.0], [2.0, 3.0]], [5.0, 7.0]),
        ("sub", [[1.0, 1.0], [2.0, 3.0]], [-1.0, -1.0]),
        ("mul", [[2.0, 2.0], [3.0, 0.5]], [12.0, 3.0]),
        ("div", [[2.0, 2.0], [2.0, 0.5]], [0.5, 3.0]),
        ("min", [[9.0, 2.0], [1.0, 9.0]], [1.0, 2.0]),
        ("max", [[9.0, 2.0], [1.0, 9.0]], [9.0, 9.0]),
        ("update", [[9.0, 2.0], [1.0, 8.0]], [1.0, 8.0]),
    ]:
        v = tf.Variable(start, use_resource=use_resource)
        _, after = run_on(v, getattr(tf, f"scatter_{name}")(v, [1, 1], rows))
        np.testing.assert_array_equal(after, [start[0], want, start[2]], err_msg=name)


def test_integers_are_divided_towards_zero():
    v = tf.Variable([7, -7], use_resource=True)
    np.testing.assert_array_equal(run_on(v, tf.scatter_div(v, [0, 1], [2, 2]))[1], [3, -3])
    v = tf.Variable([7, -7])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        run_on(v, tf.scatter_div(v, [0, 1], [2, 0]))


def test_a_scalar_goes_to_all_rows():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(run_on(v, tf.scatter_add(v, [0, 0], 1.0))[1], [[3.0, 4.0], [3.0, 4.0]])


def test_strings_and_bools_are_replaced():
    v = tf.Variable(["a", "b"])
    assert run_on(v, tf.scatter_update(v, [0], ["x"]))[1].tolist() == [b"x", b"b"]
    v = tf.Variable([True, True])
    assert run_on(v, tf.scatter_nd_update(v, [[0]], [False]))[1].tolist() == [False, True]


@pytest.mark.parametrize("use_resource", [False, True])
def test_shapes_are_checked_when_a_step_runs(use_resource):
    unknown = lambda value: tf.placeholder_with_default(value, None)  # noqa: E731
    v = tf.Variable(np.zeros((3, 2)), use_resource=use_resource)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"got updates.shape \[3,2\], indices.shape \[2\]"
    ):
        run_on(v, tf.scatter_add(v, unknown([0, 1]), unknown(np.ones((3, 2)))))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"slice_dim: 1, and batch_dim: 1"):
        run_on(v, tf.scatter_nd_add(v, unknown([[1], [2]]), unknown(np.ones((2, 3)))))


def test_a_write_happens_before_what_waits_for_it():
    v = tf.Variable(1.0, use_resource=True)
    with tf.control_dependencies([v.assign(5.0)]):
        after = tf.identity(v.read_value())
    assert run_on(v, after) == (5.0, 5.0)


def test_no_rows_change_nothing():
    v = tf.Variable([[1.0, 2.0]])
    np.testing.assert_array_equal(
        run_on(v, tf.scatter_add(v, np.zeros(0, np.int32), np.zeros((0, 2), np.float32)))[1], [[1.0, 2.0]]
    )


def test_qr_multiplies_back():
    a = np.random.RandomState(3).standard_normal((2, 4, 3))
    q, r = tf.qr(a)
    with tf.Session() as sess:
        got_q, got_r = sess.run([q, r])
    np.testing.assert_allclose(got_q @ got_r, a, atol=1e-12)
    np.testing.assert_allclose(
        np.swapaxes(got_q, -1, -2) @ got_q, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-12
    )
    assert np.all(np.tril(got_r, -1) == 0)


@pytest.mark.parametrize("tier", ["auto", "interpret", "compile"])
def test_a_variable_keeps_to_the_shape_that_it_was_last_given(tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([0.0, 0.0])
        x = tf.placeholder(tf.float32)
        reshaped = tf.assign(v, x, validate_shape=False)
        sess.run(v.initializer)
        for value in ([1.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [[1.0, 2.0], [3.0, 4.0]]):
            sess.run(reshaped, {x: value})
            for _ in range(3):
                np.testing.assert_array_equal(sess.run(v + v), np.float32(value) * 2)
                with pytest.raises(
                    tf.errors.InvalidArgumentError, match="Assign requires shapes of both tensors"
                ):
                    sess.run(v.initializer)
