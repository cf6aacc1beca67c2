"""Loops over numbers, whose rules are called with nothing between, give what any interpreted loop gives."""

import numpy as np
import pytest

import headrace as tf
from headrace.runtime import functions
from headrace.runtime.policies import with_policies
from headrace.runtime.straight_loop import StraightLoop


def _values(build, monkeypatch, straight, tier="interpret", feed=None):
    tf.reset_default_graph()
    runs = []
    with monkeypatch.context() as patch:
        if not straight:
            patch.setattr(functions, "straight_loop", lambda *_: None)
        run = StraightLoop.run
        patch.setattr(StraightLoop, "run", lambda self, *a: runs.append(run(self, *a)) or runs[-1])
        fetches = build()
        with tf.Session(config=with_policies(tier=tier, cache_dir="")) as session:
            values = session.run(fetches, feed)
    return values, sum(done for _, done, _ in runs)


def _counting():
    limit = tf.constant(5000)
    return tf.while_loop(
        lambda i, a, b: i < limit, lambda i, a, b: (i + 1, a * 1.0001 + 0.5, b * 3 + i), (0, 0.0, 1)
    )


def _until_a_nan():
    return tf.while_loop(
        lambda x, y: tf.equal(x, x),
        lambda x, y: (x - 0.25 + 0.0 * tf.sqrt(x), x),
        (1000.0, 0.0),
        maximum_iterations=6000,
    )


def _mixed():
    def body(i, x, done):
        y = tf.cast(i, tf.float64) / (x + 1.0)
        return i + 1, y, tf.logical_and(y > 1e5, tf.logical_not(done))

    return tf.while_loop(
        lambda i, x, done: tf.logical_not(done) & (i < 3000), body, (0, np.float64(1), False)
    )


@pytest.mark.parametrize("build", [_counting, _until_a_nan, _mixed])
def test_results_are_those_of_any_loop(build, monkeypatch):
    expected, none = _values(build, monkeypatch, False)
    values, done = _values(build, monkeypatch, True)
    assert not none and done
    for value, wanted in zip(values, expected):
        assert value.dtype == wanted.dtype and value.tobytes() == wanted.tobytes()


def test_what_a_rule_refuses_is_told_as_ever(monkeypatch):
    def build():
        return tf.while_loop(lambda i, a: i > -10, lambda i, a: (i - 1, a + 7 // i), (4500, 0))

    messages = []
    for straight in (True, False):
        with pytest.raises(tf.errors.InvalidArgumentError) as e:
            _values(build, monkeypatch, straight)
        messages.append(e.value.message)
    assert messages[0] == messages[1] and "division by zero" in messages[0]


@pytest.mark.parametrize(
    "start",
    [lambda: (0, tf.zeros([2])), lambda: (0, tf.random_uniform([])), lambda: (0, tf.constant("a"))],
    ids=["a vector", "random numbers", "strings"],
)
def test_other_loops_are_none(start, monkeypatch):
    def build():
        def body(i, x):
            return i + 1, (x + tf.random_uniform([]) if x.dtype == tf.float32 and not x.shape.ndims else x)

        return tf.while_loop(lambda i, x: i < 50, body, start())

    assert _values(build, monkeypatch, True)[1] == 0


def test_a_long_loop_is_compiled_before_it_is_over(monkeypatch):
    def build():
        return tf.while_loop(
            lambda i, a: i < 20_000_000, lambda i, a: (i + 1, tf.bitwise.bitwise_xor(a, i)), (0, 5)
        )

    values, done = _values(build, monkeypatch, True, "auto")
    assert list(values) == [20_000_000, 5]  # each four numbers give zero
    assert done < 100_000


def test_a_loop_that_takes_too_long_is_given_up():
    limit = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, a: i < limit, lambda i, a: (i + 1, tf.minimum(a + 1, 7)), (0, 0))
    with tf.Session(config=with_policies(tier="interpret", cache_dir="")) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(loop, {limit: 2**31 - 1}, options=tf.RunOptions(timeout_in_ms=300))
