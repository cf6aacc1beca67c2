"""Results that take the memory of an operand leave alone whatever somebody else still has."""

import numpy as np
import pytest

import headrace as tf
from headrace.runtime import plan, reuse
from headrace.runtime.policies import with_policies

SHAPE = [300, 700]  # large enough, and for two threads' pieces of different sizes with what is added below


@pytest.fixture
def reuses(monkeypatch):
    """Which of the nodes that could took an operand's memory."""
    seen = []
    known = plan.reused

    def watched(ufunc, operands, places):
        # One more function call holds no more references.
        out = known(ufunc, operands, places)
        seen.append((ufunc.__name__, out is not None))
        return out

    monkeypatch.setattr(plan, "reused", watched)
    return seen


def _run(fetches, feed=None, before=None):
    with tf.Session(config=with_policies(tier="interpret", cache_dir="")) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def _fresh(value=1.5):
    """A tensor that nothing else is made from."""
    return tf.exp(tf.fill(SHAPE, np.float32(value)))


def test_what_nobody_needs_is_reused(reuses):
    x = _fresh()
    found = _run((x * 2.0 + 0.5 - _fresh(0.25)) + tf.add_n([_fresh(), _fresh(0.5)]))
    e = np.exp(np.float32([1.5, 0.25, 0.5]))
    assert np.array_equal(
        found, np.full(SHAPE, (e[0] * np.float32(2) + np.float32(0.5) - e[1]) + (e[0] + e[2]))
    )
    assert [done for _, done in reuses] == [True] * 5


@pytest.mark.parametrize("size", [1 << 18, (1 << 20) + 3])
def test_pieces_on_threads_give_the_same(size, reuses, monkeypatch):
    monkeypatch.setattr("headrace.runtime.reuse.threads", lambda: 3)
    values = np.random.RandomState(0).randn(2, size).astype(np.float32)
    x, y = tf.placeholder(tf.float32, [size]), tf.placeholder(tf.float32, [size])
    found = _run(tf.stack([tf.negative(x) * tf.negative(y)]), {x: values[0], y: values[1]})
    assert np.array_equal(found[0], values[0] * values[1])
    assert reuses == [("multiply", True)]


def test_what_others_need_stays(reuses):
    x = _fresh()
    parts = tf.split(x, 2)
    once, flat = x * 3.0, tf.reshape(x, [-1])
    values = _run([once, tf.reduce_sum(flat), tf.reduce_sum(parts[1] * 2.0), x])
    e = np.exp(np.float32(1.5))
    assert np.array_equal(values[0], np.full(SHAPE, e * np.float32(3))) and np.array_equal(
        values[3], np.full(SHAPE, e)
    )
    assert values[1] == pytest.approx(e * 210_000, rel=1e-5)
    assert values[2] == pytest.approx(e * 210_000, rel=1e-5)


def test_variables_feeds_and_constants_stay(reuses):
    v = tf.Variable(tf.ones(SHAPE), use_resource=True)
    c = tf.constant(np.full(SHAPE, 2.0, np.float32))
    x = tf.placeholder(tf.float32, SHAPE)
    fed = np.full(SHAPE, 3.0, np.float32)
    first = v.assign(_fresh(0.0) * 5.0)
    with tf.control_dependencies([first]):
        read = v.read_value() * 2.0 + x + c
    with tf.Session(config=with_policies(tier="interpret", cache_dir="")) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            assert np.array_equal(session.run(tf.stack([read]), {x: fed})[0], np.full(SHAPE, 15.0))
            assert np.array_equal(session.run(v), np.full(SHAPE, 5.0))
            assert np.array_equal(session.run(c), np.full(SHAPE, 2.0))
            assert np.array_equal(fed, np.full(SHAPE, 3.0))


def test_what_python_keeps_stays(reuses):
    kept = []

    def make():
        kept.append(np.full(SHAPE, 4.0, np.float32))
        return kept[-1]

    x = tf.py_func(make, [], tf.float32)
    x.set_shape(SHAPE)
    assert np.array_equal(_run(tf.stack([x * 2.0]))[0], np.full(SHAPE, 8.0))
    assert np.array_equal(kept[0], np.full(SHAPE, 4.0))


def test_a_tensor_times_itself(reuses):
    x = _fresh()
    e = np.exp(np.float32(1.5))
    assert np.array_equal(_run(tf.stack([x * x + x]))[0], np.full(SHAPE, e * e + e))
    y = _fresh()
    assert np.array_equal(_run(tf.stack([y - y]))[0], np.zeros(SHAPE))


@pytest.mark.parametrize("size", [1, 1000, (1 << 21) + 7])
@pytest.mark.parametrize("offset", [0, 8, 40])
def test_feeds_where_xla_takes_them(size, offset):
    room = np.random.RandomState(0).bytes(8 * size + 128)
    start = -np.frombuffer(room, np.uint8).ctypes.data % 64 + offset
    x = np.frombuffer(room, np.int64, size, start)
    found = reuse.aligned(x.reshape(1, size))
    assert found.ctypes.data % 64 == 0 and found.shape == (1, size) and np.array_equal(found[0], x)
    assert np.shares_memory(found, x) == (offset == 0)


def test_what_is_fed_to_a_program_may_lie_anywhere():
    x = tf.placeholder(tf.float32, [None])
    room = np.random.RandomState(1).rand((1 << 21) + 40).astype(np.float32)
    y = tf.reverse(x, [0]) * 2.0
    with tf.Session(config=with_policies(tier="compile", cache_dir="")) as session:
        for i in (0, 1, 4, 16):
            fed = room[i : i + (1 << 21)]
            assert np.array_equal(session.run(y, {x: fed}), fed[::-1] * 2)
            assert np.array_equal(session.run(y, {x: room[::-1][: 1 << 21]}), room[::-1][: 1 << 21][::-1] * 2)
