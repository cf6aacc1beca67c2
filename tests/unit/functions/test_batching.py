"""tf.nondifferentiable_batch_function: what TensorFlow 1.15 gives for the same calls."""

import threading
import time

import numpy as np
import pytest

import headrace as tf
from headrace.resources.batching import BatchQueue

_LONG = 20_000_000  # microseconds; no test waits for it


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _batched(function, max_size=4, timeout=_LONG, **options):
    return tf.nondifferentiable_batch_function(1, max_size, timeout, **options)(function)


def _sizes(x):
    return tf.fill(tf.shape(x), tf.shape(x)[0])


def _together(session, fetches, feeds):
    """Runs one step per feed, in threads that start in turn; returns results and exceptions."""
    results = [None] * len(feeds)

    def work(i):
        try:
            results[i] = session.run(fetches, feeds[i])
        except tf.errors.OpError as e:
            results[i] = e

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(feeds))]
    for t in threads:
        t.start()
        time.sleep(0.03)
    for t in threads:
        t.join(30)
    return results


def test_steps_share_a_batch_and_get_their_rows():
    x = tf.placeholder(tf.int32, [None])
    (plus, size) = _batched(lambda x: (x + 1, _sizes(x)))(x)
    with tf.Session() as s:
        a, b = _together(s, [plus, size], [{x: [5]}, {x: [6, 7, 8]}])
    assert [v.tolist() for v in a] == [[6], [4]]
    assert [v.tolist() for v in b] == [[7, 8, 9], [4, 4, 4]]


def test_a_task_that_does_not_fit_closes_the_batch():
    x = tf.placeholder(tf.int32, [None])
    y = _batched(_sizes)(x)
    with tf.Session() as s:
        results = _together(s, y, [{x: [1] * 3}, {x: [1] * 2}, {x: [1] * 2}])
    assert [r[0].tolist() for r in results] == [[3, 3, 3], [4, 4], [4, 4]]


def test_a_batch_that_is_not_full_goes_when_its_time_is_up():
    x = tf.placeholder(tf.int32, [None])
    y = _batched(_sizes, timeout=50_000)(x)
    with tf.Session() as s:
        start = time.monotonic()
        assert s.run(y, {x: [1]})[0].tolist() == [1]
        assert time.monotonic() - start >= 0.045
        assert s.run(y, {x: []})[0].tolist() == []


def test_batches_are_padded_to_allowed_sizes():
    x = tf.placeholder(tf.int32, [None])
    y = _batched(_sizes, max_size=10, timeout=1000, allowed_batch_sizes=[3, 10])(x)
    with tf.Session() as s:
        assert s.run(y, {x: [1]})[0].tolist() == [3]
        assert s.run(y, {x: [1] * 4})[0].tolist() == [10] * 4


def test_what_is_captured_is_that_of_the_last_step():
    x = tf.placeholder(tf.int32, [None])
    w = tf.placeholder(tf.int32, [])
    y = _batched(lambda x: x * w, max_size=2)(x)
    with tf.Session() as s:
        results = _together(s, y, [{x: [1], w: 1}, {x: [1], w: 2}])
    assert [r[0].tolist() for r in results] == [[2], [2]]


def test_captured_variables_are_read():
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    x = tf.placeholder(tf.float32, [None])
    y = _batched(lambda x: x + v, timeout=0)(x)
    with tf.Session() as s:
        s.run(v.initializer)
        np.testing.assert_array_equal(s.run(y, {x: [1]})[0], [3])
        s.run(v.assign(5.0))
        np.testing.assert_array_equal(s.run(y, {x: [1]})[0], [6])


def test_all_steps_of_a_batch_fail_with_it():
    x = tf.placeholder(tf.float32, [None, None])
    y = _batched(lambda x: x, max_size=2)(x)
    with tf.Session() as s:
        results = _together(s, y, [{x: [[1, 2]]}, {x: [[1, 2, 3]]}])
    for r in results:
        assert isinstance(r, tf.errors.InvalidArgumentError)
        assert "Dimensions of inputs should match: shape[0] = [1,2] vs. shape[1] = [1,3]" in r.message


def test_calls_fail_when_too_many_batches_wait():
    go = threading.Event()
    queue = BatchQueue(1, 1, 0, 1, [])
    rows = np.ones(1, np.int32)
    running = threading.Event()

    def slow(arrays):
        running.set()
        assert go.wait(20)
        return arrays

    first = queue.put([rows], slow)
    assert running.wait(20)
    second = queue.put([rows], slow)
    with pytest.raises(tf.errors.UnavailableError, match="task was submitted is full"):
        queue.put([rows], slow)
    go.set()
    deadline = time.monotonic() + 20
    while not (first.done and second.done) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert first.result()[0].tolist() == second.result()[0].tolist() == [1]


def test_a_step_that_gives_up_leaves_the_batch():
    x = tf.placeholder(tf.int32, [None])
    y = _batched(_sizes, max_size=2)(x)
    with tf.Session() as s:
        with pytest.raises(tf.errors.DeadlineExceededError):
            s.run(y, {x: [1]}, options=tf.RunOptions(timeout_in_ms=100))
        assert s.run(y, {x: [1, 1]})[0].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (
            [1],
            {"allowed_batch_sizes": [3, 9]},
            "final entry in allowed_batch_sizes must equal max_batch_size",
        ),
        (
            [1],
            {"allowed_batch_sizes": [4, 3]},
            "allowed_batch_sizes entries must be monotonically increasing",
        ),
        ([1], {"max_size": 0}, "max_batch_size must be positive; was 0"),
        ([1], {"timeout": -1}, "batch_timeout_micros must be non-negative; was -1"),
        ([1] * 5, {}, "Task size 5 is larger than maximum batch size 4"),
        (1, {}, "Batching input tensors must have at least one dimension"),
    ],
)
def test_what_is_refused(value, options, message):
    x = tf.placeholder(tf.int32)
    y = _batched(lambda x: x, **options)(x)
    with tf.Session() as s, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        s.run(y, {x: value})


def test_results_need_the_rows_of_the_arguments():
    x = tf.placeholder(tf.int32, [None])
    with tf.Session() as s:
        for function, message in (
            (tf.reduce_sum, "Batched output tensor has 0 dimensions"),
            (lambda x: x[:1], "0th dimension does not equal the sum of the 0th dimension sizes"),
        ):
            y = _batched(function, timeout=0)(x)
            with pytest.raises(tf.errors.FailedPreconditionError, match=message):
                s.run(y, {x: [3, 4]})


def test_nodes_are_tensorflows():
    w = tf.constant([5.0])
    x = tf.placeholder(tf.float32, [None])
    y = _batched(lambda a, b: (a * w, b))(x, x)
    node = y[0].op
    assert node.name == "batch/BatchFunction"
    assert [t.name for t in node.inputs] == ["Placeholder:0", "Placeholder:0", "Const:0"]
    assert node.get_attr("shared_name") == b"batch/"
    assert all(t.shape.ndims is None for t in y)
    (function,) = tf.get_default_graph().as_graph_def().library.function
    assert [arg.name for arg in function.signature.input_arg][:2] == ["unknown", "unknown_0"]
    with pytest.raises(LookupError, match="No gradient defined for operation 'batch/BatchFunction'"):
        tf.gradients(y[0], x)


def test_contrib_has_it_too():
    assert tf.contrib.batching.batch_function is tf.nondifferentiable_batch_function
    x = tf.placeholder(tf.float32, [None, 2])

    @tf.contrib.batching.batch_function(1, 4, 1000, allowed_batch_sizes=[2, 4])
    def sums(x):
        return tf.reduce_sum(x, 1), x * 2.0

    with tf.Session() as s:
        a, b = s.run(sums(x), {x: [[1, 2]]})
    assert a.tolist() == [3] and b.tolist() == [[2, 4]]


def test_arguments_that_are_no_tensors_are_refused():
    with pytest.raises(
        ValueError, match="decorated with `batch_function`  are supposed to be Tensors; found array"
    ):
        _batched(_sizes)(np.float32([1]))
