"""Queue runners, input producers and batches: whole pipelines, and the nodes that they are made of."""

import time

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run_until_the_end(session, fetch):
    """Runs a pipeline until it has no more to give; returns what it gave."""
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    out = []
    try:
        while not coord.should_stop():
            out.append(session.run(fetch))
    except tf.errors.OutOfRangeError:
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=20)
    return out


def test_each_file_name_comes_once_in_an_epoch():
    names = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, seed=3)
    batch = tf.train.batch([names.dequeue(), tf.constant([1, 2])], 4, allow_smaller_final_batch=True)
    assert [str(t.shape) for t in batch] == ["(?,)", "(?, 2)"]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        batches = run_until_the_end(session, batch)
    assert [len(names) for names, _ in batches] == [4, 2]
    assert sorted(np.concatenate([names for names, _ in batches])) == [b"a", b"a", b"b", b"b", b"c", b"c"]


def test_a_last_batch_that_is_not_full_is_left_out():
    batch = tf.train.shuffle_batch([tf.train.range_input_producer(10, num_epochs=1).dequeue()], 3, 20, 5)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        batches = run_until_the_end(session, batch)
    assert len(batches) == 3
    assert len(set(np.concatenate(batches))) == 9


def test_examples_that_are_not_to_be_kept_are_left_out():
    number = tf.train.range_input_producer(10, shuffle=False).dequeue()
    batch = tf.train.maybe_batch([number], tf.equal(number % 2, 0), 3)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert [session.run(batch).tolist() for _ in range(3)] == [[0, 2, 4], [6, 8, 0], [2, 4, 6]]
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=20)


def test_a_model_trains_on_batches():
    rows = tf.train.slice_input_producer([np.arange(8, dtype=np.float32)], shuffle=False)
    batch = tf.train.batch(rows, 4, num_threads=2)
    weight = tf.Variable(0.0)
    step = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean((batch - weight) ** 2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for _ in range(200):
            session.run(step)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=20)
        assert abs(session.run(weight) - 3.5) < 1


def test_what_a_thread_fails_with_reaches_who_joins():
    number = tf.train.range_input_producer(3, shuffle=False).dequeue()
    batch = tf.train.batch([10 // (number - 1)], 1)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            for _ in range(5):
                session.run(batch)
        with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
            coord.join(threads, stop_grace_period_secs=20)


def test_a_runner_without_a_coordinator_remembers_what_went_wrong():
    queue = tf.FIFOQueue(5, [tf.int32], [[]])
    with tf.control_dependencies([tf.Assert(False, ["x"])]):
        runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    with tf.Session() as session:
        (thread,) = runner.create_threads(session)
        thread._target = _quiet(thread._target)
        thread.start()
        thread.join(20)
        assert [type(e) for e in runner.exceptions_raised] == [tf.errors.InvalidArgumentError]
        assert not session.run(queue.is_closed())


def _quiet(function):
    def run(*args):
        try:
            function(*args)
        except tf.errors.OpError:
            pass

    return run


def test_threads_fill_the_queue_and_stop():
    queue = tf.FIFOQueue(5, [tf.int32], [[]], name="q")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)] * 2)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord, daemon=True, start=True)
        assert [t.name for t in threads] == [
            "QueueRunnerThread-q-q_enqueue", "QueueRunnerThread-q-q_enqueue", "QueueRunnerThread-q-close_on_stop",
        ]  # fmt: skip
        assert runner.create_threads(session, coord) == []
        end = time.monotonic() + 20
        while session.run(queue.size()) < 5 and time.monotonic() < end:
            time.sleep(0.01)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=20)
        assert session.run(queue.is_closed())
        assert runner.exceptions_raised == []


def test_runners_survive_a_meta_graph():
    tf.train.range_input_producer(3, shuffle=False)
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert runner.name == "input_producer"
        assert [op.name for op in runner.enqueue_ops] == ["input_producer/input_producer_EnqueueMany"]


def test_a_batch_is_made_of_the_nodes_that_tensorflow_makes(graph):
    tf.train.shuffle_batch([tf.constant([1, 2, 3])], 4, 10, 2)
    assert [op.name.removeprefix("shuffle_batch/") for op in graph.get_operations()] == [
        "Const", "Const", "random_shuffle_queue", "random_shuffle_queue_enqueue", "random_shuffle_queue_Close",
        "random_shuffle_queue_Close_1", "random_shuffle_queue_Size", "sub/y", "sub", "Maximum/x", "Maximum", "Cast",
        "mul/y", "mul", "fraction_over_2_of_8_full/tags", "fraction_over_2_of_8_full", "n", "shuffle_batch",
    ]  # fmt: skip


REFUSED = [
    (lambda x, p: tf.train.batch([], 3), ValueError, "Expected at least one tensor in batch"),
    (lambda x, p: tf.train.batch([p], 3), ValueError, "Cannot infer Tensor's rank"),
    (lambda x, p: tf.train.batch([x], 3, shapes=[[4]]), ValueError, "are incompatible"),
    (lambda x, p: tf.train.batch([x], 3, num_threads=0), ValueError, "Must provide queue and enqueue_ops."),
    (lambda x, p: tf.train.batch_join([], 3), ValueError, "Expected at least one set of tensors"),
    (lambda x, p: tf.train.batch_join([{"a": x}, {"b": x}], 3), ValueError, "must have the same keys"),
    (lambda x, p: tf.train.batch_join([[x], [tf.constant([1.0])]], 3), TypeError,
     "Expected types to be consistent: int32 vs. float32."),
    (lambda x, p: tf.train.shuffle_batch([x], 3, 10, 10), ValueError,
     "capacity 10 must be bigger than min_after_dequeue 10."),
    (lambda x, p: tf.train.string_input_producer([]), ValueError, "requires a non-null input tensor"),
    (lambda x, p: tf.train.input_producer(p), ValueError, "must have a fully defined shape"),
    (lambda x, p: tf.train.limit_epochs(x, 0), ValueError, "num_epochs must be > 0 not 0."),
    (lambda x, p: tf.train.slice_input_producer([]), ValueError, "Expected at least one tensor"),
    (lambda x, p: tf.train.maybe_batch([x], tf.constant([True]), 4), ValueError, "cannot be a vector"),
    (lambda x, p: tf.train.start_queue_runners(), ValueError, "No default session is registered"),
    (lambda x, p: tf.train.start_queue_runners(sess=3), TypeError, "sess must be a `tf.Session` object"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "message"), REFUSED)
def test_what_is_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make(tf.constant([1, 2, 3]), tf.placeholder(tf.float32))


def test_batches_of_sparse_tensors():
    number = tf.cast(tf.train.range_input_producer(4, shuffle=False).dequeue(), tf.int64)
    row = tf.SparseTensor([[0, number]], [tf.cast(number, tf.float32)], [1, 4])
    rows, numbers = tf.train.batch([row, number], 3)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        session.run([rows, numbers])
        value, which = session.run([rows, numbers])
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=20)
    assert which.tolist() == [3, 0, 1]
    assert value.indices.tolist() == [[0, 0, 3], [1, 0, 0], [2, 0, 1]]
    assert value.values.tolist() == [3.0, 0.0, 1.0]
    assert value.dense_shape.tolist() == [3, 1, 4]


def test_files_are_looked_for_once(tmp_path):
    for name in "ba":
        (tmp_path / f"{name}.txt").write_text(name)
    names = tf.train.match_filenames_once(str(tmp_path / "?.txt"))
    assert names in tf.local_variables() and not tf.trainable_variables()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        (tmp_path / "c.txt").write_text("c")
        assert session.run(names).tolist() == [str(tmp_path / f"{name}.txt").encode() for name in "ab"]
