"""Ctrl-C ends a loop even where Python drops the exception that it raises."""

import signal

import numpy as np
import pytest

import headrace as tf

_MANY = 20_000  # iterations, few enough for a test that fails to come to an end


class _Drops:
    """Python drops what is raised while it gets rid of an object, as while it collects garbage."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def seen():
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, old)


def _looks(seen):
    def look(i):
        seen.append(int(i))
        if i == 20:
            _Drops()
        return np.int32(i + 1)

    return lambda i: tf.reshape(tf.py_func(look, [i], tf.int32), [])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_lost_interrupt_ends_a_loop(seen, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.while_loop(lambda i: i < _MANY, _looks(seen), [tf.placeholder_with_default(0, [])])
        with pytest.raises(KeyboardInterrupt):
            session.run(y)
        assert len(seen) < 30


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_lost_interrupt_ends_the_loops_around_a_loop(seen, tier):
    with tf.Graph().as_default(), tf.Session() as session:

        def inner(i):
            n = i + 50
            return tf.while_loop(lambda j: j < n, _looks(seen), [i])

        y = tf.while_loop(lambda i: i < _MANY, inner, [tf.placeholder_with_default(-1000, [])])
        with pytest.raises(KeyboardInterrupt):
            session.run(y)
        assert max(seen) < 60


def test_a_handler_of_the_programs_own_stays(monkeypatch):
    came = []
    old = signal.signal(signal.SIGINT, lambda *_: came.append(1))
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            y = tf.while_loop(lambda i: i < 50, _looks([]), [tf.placeholder_with_default(0, [])])
            assert session.run(y) == 50
        assert came == [1]
    finally:
        signal.signal(signal.SIGINT, old)
