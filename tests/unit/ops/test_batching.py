"""Batch, Unbatch and UnbatchGrad do what TensorFlow 1.15 was seen to do, with steps that run at once."""

import threading
import time

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

FEW = {
    "num_batch_threads": 1,
    "max_batch_size": 4,
    "batch_timeout_micros": 200000,
    "grad_timeout_micros": 200000,
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def at_once(fetches, feeds):
    """Runs steps at once, each a little after the one before; returns what they give."""
    out = [None] * len(feeds)
    with tf.Session() as session:

        def run(i):
            try:
                out[i] = session.run(fetches, feeds[i])
            except tf.errors.OpError as e:
                out[i] = e

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(feeds))]
        for each in threads:
            each.start()
            time.sleep(0.05)
        for each in threads:
            each.join(20)
    return out


def doubled(**options):
    x = tf.placeholder(tf.float32)
    batched, index, number = raw.Batch([x], **{**FEW, **options})
    rows = raw.Unbatch(batched[0] * 2.0, index, number, timeout_micros=5000000)
    return x, [batched[0], index, rows]


def test_the_last_of_a_batch_gets_all_rows():
    x, fetches = doubled()
    first, second = at_once(fetches, [{x: [1.0]}, {x: [2.0, 3.0]}])
    assert first[0].tolist() == [] and first[1].shape == (0, 3) and first[2].tolist() == [2.0]
    assert second[0].tolist() == [1.0, 2.0, 3.0] and second[2].tolist() == [4.0, 6.0]
    assert second[1][:, 1:].tolist() == [[0, 1], [1, 3]] and len(set(second[1][:, 0].tolist())) == 2


def test_a_full_batch_does_not_wait():
    x, fetches = doubled(batch_timeout_micros=300000)
    found = at_once(fetches, [{x: [1.0, 1.0]}, {x: [2.0, 2.0]}, {x: [3.0]}])
    assert [each[0].tolist() for each in found] == [[], [1.0, 1.0, 2.0, 2.0], [3.0]]
    assert [each[2].tolist() for each in found] == [[2.0, 2.0], [4.0, 4.0], [6.0]]


def test_batches_are_padded_with_their_first_row():
    x, fetches = doubled(allowed_batch_sizes=[2, 4], batch_timeout_micros=1000)
    ((batched, index, rows),) = at_once(fetches, [{x: [1.0, 2.0, 3.0]}])
    assert batched.tolist() == [1.0, 2.0, 3.0, 1.0]
    assert index[:, 1:].tolist() == [[0, 3]] and rows.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("options", "value", "message"),
    [
        ({}, [1.0] * 5, "Task size 5 is larger than maximum batch size 4"),
        ({}, 1.0, "Batching input tensors must have at least one dimension"),
        (
            {"allowed_batch_sizes": [2, 3]},
            [1.0],
            "final entry in allowed_batch_sizes must equal max_batch_size",
        ),
        ({"allowed_batch_sizes": [3, 2, 4]}, [1.0], "entries must be monotonically increasing"),
        ({"max_batch_size": 0}, [1.0], "max_batch_size must be positive; was 0"),
        ({"num_batch_threads": 0}, [1.0], "num_batch_threads must be positive; was 0"),
        ({"batch_timeout_micros": -1}, [1.0], "batch_timeout_micros must be non-negative; was -1"),
    ],
)
def test_what_is_refused(options, value, message):
    x, fetches = doubled(**options)
    (found,) = at_once(fetches, [{x: value}])
    assert isinstance(found, tf.errors.InvalidArgumentError) and message in str(found)


@pytest.mark.parametrize(
    ("index", "kind", "message"),
    [
        ([[7, 0, 1]], tf.errors.DeadlineExceededError, "Batched data did not arrive within timeout window."),
        ([0, 0, 1], tf.errors.InvalidArgumentError, "dimension size to be no greater than 2; Got: 3."),
        (
            [[0, 0, 1], [1, 1, 3]],
            tf.errors.InvalidArgumentError,
            "Sum of split sizes must not exceed dim0-size",
        ),
    ],
)
def test_rows_that_do_not_come(index, kind, message):
    rows = raw.Unbatch([5.0, 6.0], np.int64(index), np.int64(0), timeout_micros=50000)
    (found,) = at_once(rows, [{}])
    assert isinstance(found, kind) and message in str(found)


def test_gradients_come_together_where_the_batch_is():
    empty = np.zeros([0, 3], np.int64)
    index = np.array([[5, 0, 1], [6, 1, 2]], np.int64)
    x = tf.placeholder(tf.float32, [None])
    i, number = tf.placeholder(tf.int64, [None, 3]), tf.placeholder(tf.int64, [])
    gathered = raw.UnbatchGrad(x, i, tf.cast(tf.fill([1], number), tf.float32), number)
    feeds = [{x: [9.0, 8.0], i: index, number: 5}, {x: [], i: empty, number: 6}]
    first, second = at_once(gathered, feeds)
    assert first.tolist() == [5.0, 6.0] and second.tolist() == []
    (found,) = at_once(gathered, [{x: [1.0], i: empty, number: 5}])
    assert "batch_index is empty while the tensor isn't." in str(found)


def test_shapes_and_gradients_are_as_little_known_as_in_tensorflow():
    x = tf.placeholder(tf.float32, [None, 3])
    batched, index, number = raw.Batch([x], **FEW)
    rows = raw.Unbatch(batched[0], index, number, timeout_micros=5)
    assert [t.shape.as_list() for t in (batched[0], index, number, rows)] == [
        [None, 3],
        [None, 3],
        [],
        [None, 3],
    ]
    with pytest.raises(LookupError, match="No gradient defined for operation 'Unbatch'"):
        tf.gradients(rows, x)
