"""Coordinator and LooperThread: threads stop together, and what went wrong is raised where they are joined."""

import threading
import time

import pytest

import headrace as tf


def start(coordinator, count=2, error=None):
    def work():
        with coordinator.stop_on_exception():
            while not coordinator.should_stop():
                time.sleep(0.002)
                if error is not None:
                    raise error

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_an_exception_stops_all_and_is_raised_by_join():
    coordinator = tf.train.Coordinator()
    threads = start(coordinator) + start(coordinator, 1, ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        coordinator.join(threads)
    assert coordinator.joined
    assert coordinator.should_stop()
    with pytest.raises(ValueError, match="broken"):
        coordinator.raise_requested_exception()
    with pytest.raises(KeyError):
        coordinator.request_stop(KeyError("late"))
    coordinator.clear_stop()
    coordinator.raise_requested_exception()
    assert not coordinator.joined


def test_the_end_of_the_data_is_no_failure():
    coordinator = tf.train.Coordinator()
    coordinator.join(start(coordinator, 1, tf.errors.OutOfRangeError(None, None, "end")))
    coordinator = tf.train.Coordinator(clean_stop_exception_types=(ValueError,))
    coordinator.request_stop(ValueError("clean here"))
    coordinator.join([])


def test_only_the_first_report_counts():
    coordinator = tf.train.Coordinator()
    coordinator.request_stop()
    coordinator.request_stop(ValueError("second"))
    coordinator.join([])


def test_threads_that_go_on():
    coordinator = tf.train.Coordinator()
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait, name="slow")
    thread.start()
    coordinator.request_stop()
    with pytest.raises(RuntimeError, match="^Coordinator stopped with threads still running: slow$"):
        coordinator.join([thread], stop_grace_period_secs=0.02)
    coordinator.join([thread], stop_grace_period_secs=0.02, ignore_live_threads=True)
    gate.set()
    thread.join()


def test_a_looper_calls_until_it_is_stopped():
    coordinator = tf.train.Coordinator()
    seen = []

    def call(a, b=1):
        seen.append(a + b)
        if len(seen) == 4:
            coordinator.request_stop()

    looper = tf.train.LooperThread.loop(coordinator, None, target=call, args=(1,), kwargs={"b": 2})
    coordinator.join()
    assert seen == [3, 3, 3, 3]
    assert looper.daemon
    with pytest.raises(ValueError, match="^'coord' argument must be a Coordinator: 3$"):
        tf.train.LooperThread(3, 1.0)


def test_a_looper_with_a_timer_waits_between_calls():
    coordinator = tf.train.Coordinator()
    seen = []
    tf.train.LooperThread.loop(coordinator, 0.05, target=lambda: seen.append(time.monotonic()))
    time.sleep(0.2)
    coordinator.request_stop()
    coordinator.join()
    assert 2 <= len(seen) <= 6


def test_messages_of_examples():
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
    example = tf.train.Example(features=tf.train.Features(feature={"a": feature}))
    # Recorded from TensorFlow 1.15.5.
    assert example.SerializeToString() == b"\n\x0c\n\n\n\x01a\x12\x05\x1a\x03\n\x01\x01"
