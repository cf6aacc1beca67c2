"""Steps that wait: for elements, for room, for a mutex; and how they stop."""

import threading
import time

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

PATIENCE_S = 20  # a thread that takes longer hangs


class Background:
    """A function that runs in a thread of its own."""

    def __init__(self, function):
        self.value = self.error = None
        self._function = function
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self.value = self._function()
        except Exception as e:
            self.error = e

    @property
    def is_waiting(self):
        time.sleep(0.1)
        return self._thread.is_alive()

    def end(self):
        """Waits for its end and returns its result or error."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "it waits for ever"
        return self.value if self.error is None else self.error


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def queue_of_ints(capacity=3):
    return tf.FIFOQueue(capacity, [tf.int64], [[]], name="q")


def test_one_thread_waits_for_what_another_puts_in(session):
    queue = queue_of_ints()
    value, fed = queue.dequeue(), tf.placeholder(tf.int64, [])
    put = queue.enqueue(fed)
    reader = Background(lambda: session.run(value))
    assert reader.is_waiting
    session.run(put, {fed: 7})
    assert reader.end() == 7


def test_a_step_may_put_in_itself_what_it_waits_for(session):
    queue = queue_of_ints()
    first = queue.dequeue()
    twice = first * 2
    put = queue.enqueue(tf.constant(4, tf.int64))
    options = tf.RunOptions(timeout_in_ms=1000 * PATIENCE_S)
    for _ in range(4):
        assert session.run([twice, put], options=options)[0] == 8


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_both_tiers_run_on_around_what_waits(tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    with tf.Graph().as_default(), tf.Session() as session:
        queue = queue_of_ints()
        first = queue.dequeue()
        # The enqueue needs values that a later stage computes.
        put = queue.enqueue(tf.reduce_sum(tf.placeholder_with_default(np.arange(4), [4]) * 2))
        options = tf.RunOptions(timeout_in_ms=1000 * PATIENCE_S)
        for _ in range(3):
            assert session.run([first + 1, put], options=options)[0] == 13


def test_an_error_elsewhere_ends_a_step_that_waits(session):
    queue = queue_of_ints()
    value = queue.dequeue()
    refused = tf.Assert(tf.placeholder_with_default(False, []), ["no"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        session.run([value, refused])
    session.run(queue.enqueue(tf.constant(1, tf.int64)))
    assert session.run(value) == 1, "the request of the failed step was not withdrawn"


def test_a_timeout_ends_the_wait(session):
    queue = queue_of_ints()
    with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification"):
        session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=50))
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with tf.Session(config=config) as other, pytest.raises(tf.errors.DeadlineExceededError):
        other.run(queue.dequeue())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda q: q.dequeue(), "Dequeue operation was cancelled"),
        (lambda q: q.dequeue_many(9), "Dequeue operation was cancelled"),
        (lambda q: q.enqueue_many([np.arange(9)]), "Enqueue operation was cancelled"),
    ],
)
def test_closing_the_session_ends_the_wait(make, message):
    with tf.Graph().as_default():
        waits = make(queue_of_ints())
        session = tf.Session()
        run = Background(lambda: session.run(waits))
        assert run.is_waiting
        session.close()
        error = run.end()
    assert isinstance(error, tf.errors.CancelledError)
    assert message in error.message
    assert error.op is waits if isinstance(waits, tf.Operation) else error.op is waits.op


def test_closing_the_queue_cancels_those_who_wait_for_room(session):
    queue = queue_of_ints(1)
    many = queue.enqueue_many([np.arange(3)])
    run = Background(lambda: session.run(many))
    assert run.is_waiting
    session.run(queue.close(cancel_pending_enqueues=True))
    error = run.end()
    assert isinstance(error, tf.errors.CancelledError)
    assert "Enqueue operation was cancelled" in error.message
    assert session.run(queue.size()) == 1


def test_closing_waits_for_those_who_came_before(session):
    queue = queue_of_ints(1)
    closed, value = queue.is_closed(), queue.dequeue()
    put, close = queue.enqueue_many([np.arange(3)]), queue.close()
    writer = Background(lambda: session.run(put))
    assert writer.is_waiting
    closer = Background(lambda: session.run(close))
    assert closer.is_waiting
    late = Background(lambda: session.run(put))
    assert late.is_waiting
    assert not session.run(closed)
    assert [session.run(value) for _ in range(3)] == [0, 1, 2]
    assert writer.end() is None
    assert closer.end() is None
    assert isinstance(late.end(), tf.errors.CancelledError)
    assert session.run(closed)


def test_who_asks_first_is_served_first(session):
    queue = queue_of_ints(9)
    many, one = queue.dequeue_many(4), queue.dequeue()
    put = queue.enqueue_many([np.arange(3)])
    session.run(put)
    first = Background(lambda: session.run(many))
    assert first.is_waiting
    second = Background(lambda: session.run(one))
    assert second.is_waiting
    session.run(put)
    assert first.end().tolist() == [0, 1, 2, 0]
    assert second.end() == 1


def test_a_closed_queue_gives_back_what_was_taken_in_vain(session):
    queue = queue_of_ints(9)
    many, three = queue.dequeue_many(4), queue.dequeue_many(3)
    session.run(queue.enqueue_many([np.arange(3)]))
    run = Background(lambda: session.run(many))
    assert run.is_waiting
    assert session.run(queue.size()) == 0
    session.run(queue.close())
    assert "requested 1, current size 0" in run.end().message
    assert session.run(three).tolist() == [0, 1, 2]


def test_a_staging_area_waits_for_room_and_for_tensors(session):
    area = tf.contrib.staging.StagingArea([tf.int64], [[]], capacity=1)
    put, get = area.put([tf.constant(3, tf.int64)]), area.get()
    reader = Background(lambda: session.run(get))
    assert reader.is_waiting
    session.run(put)
    assert reader.end() == [3]
    session.run(put)
    writer = Background(lambda: session.run(put))
    assert writer.is_waiting
    assert session.run(get) == [3]
    assert writer.end() is None


def test_a_failed_step_gives_its_mutex_back(session):
    section = tf.CriticalSection()
    ok = tf.placeholder(tf.bool, [])

    def checked():
        with tf.control_dependencies([tf.Assert(ok, ["no"])]):
            return tf.constant(5)

    result = section.execute(checked)
    with pytest.raises(tf.errors.InvalidArgumentError) as kept:
        session.run(result, {ok: False})
    options = tf.RunOptions(timeout_in_ms=1000 * PATIENCE_S)
    assert session.run(result, {ok: True}, options=options) == 5
    assert kept is not None


def test_only_one_step_at_a_time_is_in_a_critical_section(session):
    variable = tf.get_variable("v", initializer=0, use_resource=True)
    section = tf.CriticalSection()

    def add_one():
        seen = variable.read_value()
        slow = tf.py_func(lambda v: (time.sleep(0.002), v)[1], [seen], tf.int32)
        slow.set_shape([])
        return variable.assign(slow + 1)

    added = section.execute(add_one)
    session.run(variable.initializer)
    runs = [Background(lambda: [session.run(added) for _ in range(5)]) for _ in range(4)]
    for run in runs:
        assert isinstance(run.end(), list)
    assert session.run(variable) == 20


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_step_enters_a_critical_section_as_often_as_it_asks(tier, backwards, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
        section = tf.CriticalSection()

        def add_one():
            with tf.control_dependencies([variable.assign_add(1.0)]):
                return variable.read_value() * 2.0

        added = [section.execute(add_one) for _ in range(3)]
        if backwards:
            added = added[::-1]
        options = tf.RunOptions(timeout_in_ms=1000 * PATIENCE_S)
        session.run(variable.initializer)
        assert sorted(session.run(added, options=options)) == [2.0, 4.0, 6.0]
        assert sorted(session.run(added, options=options)) == [8.0, 10.0, 12.0]


def test_an_accumulator_waits_for_enough_gradients(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, [2])
    add, take = accumulator.apply_grad([1.0, 3.0]), accumulator.take_grad(2)
    session.run(add)
    run = Background(lambda: session.run(take))
    assert run.is_waiting
    session.run(add)
    np.testing.assert_array_equal(run.end(), [1.0, 3.0])
    session.run(add)
    assert session.run(accumulator.num_accumulated()) == 0, "a gradient of an earlier step"


def test_a_barrier_waits_for_complete_values(session):
    barrier = raw.Barrier(component_types=["float32", "float32"])
    keys = np.array([b"a"], object)
    put = [raw.BarrierInsertMany(barrier, keys, np.float32([i]), component_index=i) for i in range(2)]
    taken = raw.BarrierTakeMany(barrier, 1, component_types=["float32", "float32"])
    run = Background(lambda: session.run(taken.values))
    session.run(put[0])
    assert run.is_waiting
    session.run(put[1])
    assert [v.tolist() for v in run.end()] == [[0.0], [1.0]]


def test_a_barrier_that_closes_says_that_of_the_queue_that_a_step_waits_for(session):
    barrier = raw.Barrier(component_types=["float32"], shared_name="b")
    taken = raw.BarrierTakeMany(barrier, 2, component_types=["float32"])
    run = Background(lambda: session.run(taken.values))
    assert run.is_waiting
    session.run(raw.BarrierClose(barrier))
    insufficient = "is closed and has insufficient elements (requested 2,"
    assert f"PriorityQueue 'b_queue' {insufficient} current size 0)" in run.end().message
    with pytest.raises(tf.errors.OutOfRangeError) as raised:
        session.run(taken.values)
    assert f"Barrier 'b' {insufficient} total size 0)" in raised.value.message
