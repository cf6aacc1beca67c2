"""Branches and loops that wait for each other within one step, and ends of waiting inside them."""

import threading
import time

import pytest

import headrace as tf

_LIMIT_MS = 20_000  # far more than any of the steps takes


@pytest.fixture(autouse=True, params=["auto", "interpret"])
def tier(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", request.param)
    tf.reset_default_graph()


def _queue(capacity=2):
    return tf.FIFOQueue(capacity, [tf.int32], shapes=[[]])


def _fill(queue, n=5):
    def body(i):
        with tf.control_dependencies([queue.enqueue(i)]):
            return i + 1

    return tf.while_loop(lambda i: i < n, body, (0,), name="fill")


def _drain(queue, n=5):
    return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + queue.dequeue()), (0, 0), name="drain")[
        1
    ]


def _in_a_branch(make):
    return tf.cond(tf.placeholder_with_default(True, []), make, lambda: 0)


def _both_in_a_branch(queue):
    return _in_a_branch(lambda: _drain(queue) + 100 * _fill(queue))


PAIRS = {
    "drain first": lambda q: (_drain(q), _fill(q)),
    "fill first": lambda q: reversed((_fill(q), _drain(q))),
    "in branches": lambda q: (_in_a_branch(lambda: _drain(q)), _in_a_branch(lambda: _fill(q))),
    "in functions": lambda q: (tf.function(lambda: _drain(q))(), tf.function(lambda: _fill(q))()),
    "loop and node": lambda q: (tf.tuple([_drain(q, 1), q.enqueue(10)])[0], tf.constant(5)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_one_loop_takes_what_another_gives(name):
    fetches = list(PAIRS[name](_queue()))
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(fetches, options=tf.RunOptions(timeout_in_ms=_LIMIT_MS)) == [10, 5]


def test_both_within_one_branch():
    y = _both_in_a_branch(_queue())
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(y, options=tf.RunOptions(timeout_in_ms=_LIMIT_MS)) == 510


def test_in_a_graph_with_switch_and_merge():
    queue = _queue()
    names = [t.name for t in tf.tuple([_drain(queue), _fill(queue)])]
    definition = tf.export(tf.get_default_graph(), control_flow="v1")
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="")
        with tf.Session() as session:
            for _ in range(3):
                assert session.run(names, options=tf.RunOptions(timeout_in_ms=_LIMIT_MS)) == [10, 5]


def _waits_for_ever():
    a, b = _queue(), _queue()
    return [_drain(a), _drain(b)]


def test_the_steps_time_is_up():
    fetches = _waits_for_ever()
    with tf.Session() as session:
        start = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(fetches, options=tf.RunOptions(timeout_in_ms=300))
        assert time.monotonic() - start < 2


def test_the_session_closes():
    fetches = _waits_for_ever()
    session = tf.Session()
    timer = threading.Timer(0.3, session.close)
    timer.start()
    with pytest.raises(tf.errors.CancelledError):
        session.run(fetches)
    timer.join()


def test_an_error_in_a_thread_names_the_node():
    queue = _queue()

    def fails():
        with tf.control_dependencies([tf.Assert(queue.dequeue() > 5, ["small"], name="checks")]):
            return tf.constant(1)

    y = _in_a_branch(fails)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="small") as e:
        session.run([y, _fill(queue, 2)])
    assert "checks" in e.value.op.name
