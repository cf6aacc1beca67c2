"""Updates of rows change a variable in place, unless somebody holds what it was."""

import numpy as np
import pytest

import headrace as tf
from headrace import dtypes, errors
from headrace.resources.variable import VariableState


def state_of(value):
    state = VariableState("v", dtypes.float32, value.shape)
    state.value = value
    return state


def test_an_array_that_nobody_else_holds_is_the_variables_own():
    state = state_of(np.zeros([4, 2], np.float32))
    address = state.value.ctypes.data
    assert state.own().ctypes.data == address


@pytest.mark.parametrize("hold", [lambda a: a, lambda a: a[1:], lambda a: memoryview(a), lambda a: [a]])
def test_who_holds_the_value_keeps_it(hold):
    state = state_of(np.zeros([4, 2], np.float32))
    held = hold(state.value)
    state.own()[:] = 7.0
    assert not np.any(np.asarray(held))
    assert np.all(state.value == 7.0)


def test_views_and_arrays_that_are_not_to_be_written_are_copied():
    state = state_of(np.zeros([4, 2], np.float32)[1:])
    state.own()[:] = 1.0
    fixed = np.zeros(3, np.float32)
    fixed.flags.writeable = False
    state = state_of(fixed)
    del fixed
    state.own()[:] = 1.0


def test_a_jax_array_is_copied():
    import jax.numpy as jnp

    value = jnp.zeros([4, 2], np.float32)
    state = state_of(value)
    state.own()[0] = 1.0
    assert not np.any(np.asarray(value)) and state.value[0, 0] == 1.0


def test_an_uninitialized_variable_is_refused():
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
        VariableState("v", dtypes.float32, (2,)).own()


def updated(variable, how):
    rows, ids = tf.ones([2, 3]), tf.constant([1, 1])
    if how == "scatter_add":
        return tf.scatter_add(variable, ids, rows)
    slices = tf.IndexedSlices(rows, ids)
    optimizer = {
        "sgd": tf.train.GradientDescentOptimizer,
        "adagrad": tf.train.AdagradOptimizer,
        "ftrl": tf.train.FtrlOptimizer,
    }[how](0.5)
    return optimizer.apply_gradients([(slices, variable)])


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("how", ["scatter_add", "sgd", "adagrad", "ftrl"])
def test_reads_before_an_update_keep_the_old_value(how, use_resource, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=tf.zeros([1000, 3]), use_resource=use_resource)
        before = v.read_value() if use_resource else tf.identity(v) + 0.0
        with tf.control_dependencies([before]):
            change = updated(v, how)
        session.run(tf.global_variables_initializer())
        kept = session.run(v)
        for _ in range(4):
            last = session.run(v)
            was, _ = session.run([before, change])
            assert np.array_equal(was, last)
            now = session.run(v)
            assert not np.array_equal(now[1], last[1])
            assert np.array_equal(np.delete(now, 1, 0), np.delete(last, 1, 0))
        assert not kept.any()


def test_tables_are_not_copied_in_a_step(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=tf.zeros([1000, 3]), use_resource=False)
        ids = tf.placeholder(tf.int32, [None])
        change = tf.scatter_add(v, ids, tf.gather(v, ids) + 1.0).op
        session.run(tf.global_variables_initializer())
        session.run(change, {ids: [1]})
        (state,) = (s for s in session._state.resources._items.values() if isinstance(s, VariableState))
        address = state.read().ctypes.data
        session.run(change, {ids: [1, 2]})
        assert state.read().ctypes.data == address
        assert session.run(v)[:3, 0].tolist() == [0.0, 3.0, 1.0]
