"""A compiled loop that runs for ever is given up, ends, and lets its process end in peace."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import headrace as tf
from headrace.runtime import stopping

PROGRAM = """
import os, signal, sys, threading, time
import headrace as tf
from headrace.runtime import stopping

shape = [64, 64]
for_ever = tf.while_loop(lambda a: tf.reduce_sum(a) < 1e30, lambda a: tf.matmul(a, a) * 1e-3, [tf.ones(shape)])
session = tf.Session()
how = sys.argv[1]
if how == "timeout":
    try:
        session.run(for_ever, options=tf.RunOptions(timeout_in_ms=500))
    except tf.errors.DeadlineExceededError:
        print("deadline")
elif how == "interrupt":
    def press():
        while not stopping._running:
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    try:
        session.run(for_ever)
    except KeyboardInterrupt:
        print("interrupt")
else:
    threading.Thread(target=session.run, args=(for_ever,), daemon=True).start()
    while not stopping._running:
        time.sleep(0.05)
    print("end")
"""


@pytest.mark.parametrize(
    ("how", "says"), [("timeout", "deadline"), ("interrupt", "interrupt"), ("thread", "end")]
)
def test_a_process_ends_in_peace(needs_library, monkeypatch, how, says):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.returncode) == ([says], 0), done.stderr


@pytest.fixture
def session(needs_library, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default():
        yield tf.Session()


@pytest.fixture
def still_running():
    """Returns a function that returns which of the loops that the test began don't end."""
    before = set(stopping._running)  # another test's, without a switch, may run on

    def running():
        end = time.monotonic() + 5
        while set(stopping._running) - before and time.monotonic() < end:
            time.sleep(0.01)
        return list(set(stopping._running) - before)

    return running


def test_a_loop_that_was_given_up_ends(session, still_running):
    for_ever = tf.while_loop(lambda a, n: a >= 0.0, lambda a, n: (a * 0.5, n + 1), [1.0, 0])
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(for_ever, options=tf.RunOptions(timeout_in_ms=300))
    assert still_running() == []


@pytest.mark.parametrize("times", [0, 1, 2, 3, 5, 1000, 300_000])
def test_a_loop_that_looks_runs_as_often_as_it_should(session, times):
    limit = tf.placeholder(tf.float32, [])
    found = tf.while_loop(lambda a, n: a < limit, lambda a, n: (a + 1.0, n + 2), [0.0, 0])
    assert session.run(found, {limit: times}) == (times, 2 * times)


def test_loops_within_loops_look_too(session, still_running):
    limit = tf.placeholder(tf.float32, [])

    def outer(i, total):
        inner = tf.while_loop(lambda a: a < limit, lambda a: a + 1.0, [0.0])
        return i + 1, total + inner

    found = tf.while_loop(lambda i, total: i < 3, outer, [0, 0.0])
    assert session.run(found, {limit: 7})[1] == 21.0
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(found, {limit: np.inf}, options=tf.RunOptions(timeout_in_ms=300))
    assert still_running() == []


def test_steps_are_given_up_one_by_one(session):
    limit = tf.placeholder(tf.float32, [])
    found = tf.while_loop(lambda a: a < limit, lambda a: tf.where(a < 1e6, a + 1.0, a), [0.0])
    session.run(found, {limit: 1.0})
    results = []
    options = tf.RunOptions(timeout_in_ms=20_000)
    other = threading.Thread(target=lambda: results.append(session.run(found, {limit: 900_000.0}, options)))
    other.start()
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(found, {limit: np.inf}, options=tf.RunOptions(timeout_in_ms=100))
    other.join()
    assert results == [900_000.0]


def test_a_step_without_endless_loops_has_a_deadline_too(session):
    given = tf.placeholder(tf.float32, [1000, 1000])
    slow = tf.foldl(lambda a, _: tf.tanh(tf.matmul(a, given)), tf.range(3000), given)
    options = tf.RunOptions(timeout_in_ms=400)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(slow, {given: np.eye(1000)}, options=options)
    start = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(slow, {given: np.eye(1000)}, options=options)
    assert time.monotonic() - start < 5


def test_a_step_whose_updates_are_late_says_so(session):
    v = tf.get_variable("v", initializer=tf.eye(700), use_resource=True)
    slow = tf.assign(v, tf.foldl(lambda a, _: tf.matmul(a, a), tf.range(60), v))
    session.run(v.initializer)
    session.run(slow)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(slow, options=tf.RunOptions(timeout_in_ms=1))
    np.testing.assert_array_equal(session.run(v), np.eye(700))
