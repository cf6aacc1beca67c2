"""An array that a program feeds or returns is its own again when the step is over, whatever it writes there next."""

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.policies import with_policies

# Bytes after a multiple of 64: XLA takes some arrays as they are and copies the others, small ones at once.
PLACES = [0, 16]
SIZES = [8, 100_000, 600_000, 1_200_000]


def _array(size, place):
    room = np.empty(4 * size + 128, np.uint8)
    first = -room.ctypes.data % 64 + place
    return room[first : first + 4 * size].view(np.float32)


def _late(x):
    """An op that keeps `x` long after the call that starts the step."""
    side = tf.fill([700, 700], tf.reduce_sum(x) * 0.0)
    for _ in range(12):
        side = tf.matmul(side, side)
    kept = tf.Variable(tf.zeros(x.shape))
    return tf.assign(kept, x + side[0, 0]).op, kept


def _session():
    return tf.Session(config=with_policies(tier="compile", background="off", cache_dir=""))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", SIZES)
def test_a_feed_may_be_written_to_after_the_step(size, place):
    x = tf.placeholder(tf.float32, [size])
    keep, kept = _late(x)
    values = _array(size, place)
    with _session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(6):
            values[:] = i
            session.run(keep, {x: values})
            values[:] = -1
            assert (session.run(kept) == i).all(), i


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("returns", [tf.py_func, tf.py_function])
def test_what_python_returned_may_be_written_to_after_the_step(size, returns):
    values = _array(size, 0)
    x = returns(lambda: values, [], tf.float32)
    x.set_shape([size])
    keep, kept = _late(x)
    with _session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(4):
            values[:] = i
            session.run(keep)
            values[:] = -1
            assert (session.run(kept) == i).all(), i


@pytest.mark.parametrize("size", SIZES)
def test_a_view_of_a_feed_may_be_written_to_after_the_step(size):
    x = tf.placeholder(tf.float32, [size])
    # A string's node is for the host, and so is what hangs on it; the rest is compiled.
    shape = tf.strings.to_number([str(size)], tf.int32)
    keep, kept = _late(tf.reshape(tf.reshape(x, shape), [size]))
    values = _array(size, 0)
    with _session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(4):
            values[:] = i
            session.run(keep, {x: values})
            values[:] = -1
            assert (session.run(kept) == i).all(), i


@pytest.mark.parametrize("wrap", [tf.py_func, tf.py_function, tf.numpy_function])
def test_python_may_write_to_what_it_is_given(wrap, tier):
    values = np.arange(4, dtype=np.float32)
    x, kept, constant = tf.placeholder(tf.float32, [4]), tf.Variable(values), tf.constant(values)

    def negated(a):
        a = a.numpy() if hasattr(a, "numpy") else a
        a *= -1
        return a

    found = [wrap(negated, [t], tf.float32) for t in (x, kept, constant, tf.identity(kept))]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            assert np.array_equal(session.run(found, {x: values}), [-values] * 4)
            assert np.array_equal(session.run([x, kept, constant], {x: values}), [values] * 3)
    assert values.tolist() == [0, 1, 2, 3]


def test_a_handle_keeps_its_own():
    x = tf.placeholder(tf.float32, [3])
    handle = tf.get_session_handle(x)
    values = np.float32([1, 2, 3])
    with tf.Session() as session:
        kept = session.run(handle, {x: values})
        values[:] = 0
        found = kept.eval()
        assert found.tolist() == [1, 2, 3]
        found[:] = 7
        assert kept.eval().tolist() == [1, 2, 3]
