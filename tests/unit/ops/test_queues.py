"""Queues give the elements that TensorFlow's give, in the same order, and refuse what they refuse.

The values and messages were recorded from TensorFlow 1.15.
"""

import re

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def failure(error):
    """The first line of a message, without the number that makes a queue's name its own."""
    return re.sub(r"'_\d+_", "'", error.value.message.split("\n")[0])


SHUFFLES = [
    # op seed, graph seed, then what comes of 20 elements, 10 more, and all the rest
    (1, None, 7, [16, 3, 6, 5, 14],
     [24, 0, 19, 12, 26, 1, 15, 8, 20, 28, 23, 25, 27, 10, 18, 4, 21, 17, 13, 11, 29, 9, 22, 2]),
    (1, 7, 8, [11, 5, 12, 15, 3],
     [16, 18, 22, 29, 28, 14, 7, 24, 4, 20, 23, 27, 2, 0, 21, 13, 26, 6, 17, 10, 19, 1, 25, 9]),
    (None, 7, 17, [12, 18, 16, 11, 6],
     [25, 20, 24, 21, 10, 29, 28, 1, 3, 9, 14, 27, 23, 26, 0, 19, 8, 22, 15, 13, 5, 2, 7, 4]),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "graph_seed", "first", "five", "rest"), SHUFFLES)
def test_shuffling_depends_on_the_seeds(seed, graph_seed, first, five, rest):
    if graph_seed is not None:
        tf.set_random_seed(graph_seed)
    queue = tf.RandomShuffleQueue(50, 0, [tf.int64], [[]], seed=seed)
    steps = [
        queue.enqueue_many([np.arange(20)]), queue.dequeue(), queue.dequeue_many(5),
        queue.enqueue_many([np.arange(20, 30)]), queue.dequeue_many(24),
    ]  # fmt: skip
    with tf.Session() as session:
        _, one, many, _, last = [session.run(step) for step in steps]
    assert one == first
    assert many.tolist() == five
    assert last.tolist() == rest


def test_shuffling_keeps_some_elements_until_it_is_closed():
    queue = tf.RandomShuffleQueue(50, 3, [tf.int64], [[]], seed=3)
    two, one = queue.dequeue_many(2), queue.dequeue()
    with tf.Session() as session:
        session.run(queue.enqueue_many([np.arange(5)]))
        assert session.run(two).tolist() == [2, 3]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(one, options=tf.RunOptions(timeout_in_ms=50))
        session.run(queue.close())
        assert session.run(two).tolist() == [1, 0]
        assert session.run(queue.dequeue_up_to(4)).tolist() == [4]
        with pytest.raises(tf.errors.OutOfRangeError) as error:
            session.run(one)
    assert failure(error) == (
        "RandomShuffleQueue 'random_shuffle_queue' is closed and has insufficient elements (requested 1, current "
        "size 0)"
    )


@pytest.mark.parametrize(
    ("graph_seed", "seed", "shared_name", "seeds"),
    [
        (7, None, None, (7, 0)),
        (7, None, "abc", (7, 1356946699)),
        (None, None, "abc", (0, 0)),
        (7, 4, "abc", (7, 4)),
        (0, 0, None, (0, 2147483647)),
    ],
)
def test_seeds_of_a_shared_queue_do_not_depend_on_the_graph(graph_seed, seed, shared_name, seeds):
    tf.set_random_seed(graph_seed)
    node = tf.RandomShuffleQueue(3, 1, [tf.int32], seed=seed, shared_name=shared_name).queue_ref.op
    assert (node.get_attr("seed"), node.get_attr("seed2")) == seeds


def test_elements_of_one_priority_come_out_in_the_order_of_the_heap():
    queue = tf.PriorityQueue(50, [tf.int64], [[]])
    priorities = np.array([3, 1, 2, 1, 2, 3, 1, 1, 2, 2, 5, 0, 0, 3, 1])
    steps = [
        queue.enqueue_many([priorities, np.arange(15)]), queue.dequeue_many(6),
        queue.enqueue_many([np.array([1, 2, 0, 2]), np.arange(20, 24)]), queue.dequeue_many(13),
    ]  # fmt: skip
    with tf.Session() as session:
        _, (_, six), _, (last, rest) = [session.run(step) for step in steps]
    assert six.tolist() == [11, 12, 14, 1, 6, 3]
    assert last.tolist() == [0, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 5]
    assert rest.tolist() == [22, 7, 20, 2, 23, 9, 4, 21, 8, 13, 5, 0, 10]


def test_padding_fills_up_with_zeros_and_empty_strings():
    numbers = tf.PaddingFIFOQueue(5, [tf.int32], [[None]])
    words = tf.PaddingFIFOQueue(5, [tf.string], [[None]])
    with tf.Session() as session:
        for element in ([1], [1, 2], []):
            session.run(numbers.enqueue([np.array(element, np.int32)]))
        assert session.run(numbers.dequeue_many(3)).tolist() == [[1, 0], [1, 2], [0, 0]]
        for element in (["a", "b"], ["c"]):
            session.run(words.enqueue([element]))
        assert session.run(words.dequeue_many(2)).tolist() == [[b"a", b"b"], [b"c", b""]]


def test_what_is_put_in_does_not_change_any_more():
    fed = tf.placeholder(tf.float32, [2])
    queue = tf.FIFOQueue(3, tf.float32, [2])
    value = np.array([1, 2], np.float32)
    with tf.Session() as session:
        session.run(queue.enqueue(fed), {fed: value})
        value[:] = 0
        assert session.run(queue.dequeue()).tolist() == [1, 2]


def test_queues_of_a_session_are_shared_by_name_and_sessions_have_their_own():
    queues = [tf.FIFOQueue(3, [tf.int32], [[]], shared_name="s") for _ in range(2)]
    put = queues[0].enqueue(1)
    with tf.Session() as session, tf.Session() as other:
        session.run(put)
        assert other.run(queues[1].size()) == 0
        assert session.run(queues[1].dequeue()) == 1


SHARING = [
    (lambda: tf.FIFOQueue(4, [tf.int32], [[]], shared_name="z"),
     "Shared queue 'z' has capacity 3 but requested capacity was 4"),
    (lambda: tf.RandomShuffleQueue(3, 1, [tf.int32], [[]], shared_name="z"),
     "Expected FIFOQueue, found RandomShuffleQueueV2"),
    (lambda: tf.FIFOQueue(3, [tf.float32], [[]], shared_name="z"),
     "Shared queue 'z' has component types int32 but requested component types were float"),
    (lambda: tf.FIFOQueue(3, [tf.int32], [[1]], shared_name="z"),
     "Shared queue 'z' has component shapes [[]] but requested component shapes were [[1]]"),
]  # fmt: skip


@pytest.mark.parametrize(("other", "message"), SHARING)
def test_who_shares_a_queue_declares_it_in_the_same_way(other, message):
    first = tf.FIFOQueue(3, [tf.int32], [[]], shared_name="z").size()
    second = other().size()
    with tf.Session() as session:
        session.run(first)
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            session.run(second)
    assert failure(error) == message


def unknown(value):
    return tf.placeholder_with_default(value, None)


REFUSED = [
    (lambda q: q([[2]]).enqueue(unknown([1, 2, 3])), "Shape mismatch in tuple component 0. Expected [2], got [3]"),
    (lambda q: q([[2]]).enqueue_many(unknown([1, 2, 3])),
     "Shape mismatch in tuple component 0. Expected [3,2], got [3]"),
    (lambda q: q([[]]).dequeue_many(unknown(-3)), "DequeueManyOp requested -3 < 0 elements"),
    (lambda q: q([[]]).dequeue_up_to(unknown(-3)), "DequeueUpToOp requested -3 < 0 elements"),
    (lambda q: q(None).dequeue_many(1),
     "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes."),
    (lambda q: raw.QueueDequeueV2(q(None).queue_ref, component_types=["float32"]),
     "Signature mismatch, have: resource->float expected: resource->int32"),
    (lambda q: raw.QueueEnqueueV2(q(None).queue_ref, [np.float32(1)]),
     "Signature mismatch, have: resource, float-> expected: resource, int32->"),
    (lambda q: raw.QueueDequeueV2(q(None).queue_ref, component_types=["int32"], timeout_ms=5),
     "Timeout not supported yet."),
    (lambda q: q(None).enqueue_many(unknown(3)), "Shape mismatch in tuple component 0."),
    (lambda q: tf.RandomShuffleQueue(3, 5, [tf.int32]).size(), "min_after_dequeue 5 must be < capacity 3"),
    (lambda q: tf.RandomShuffleQueue(3, -5, [tf.int32]).size(), "min_after_dequeue -5 must be >= 0"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_refused_in_a_step(make, message):
    fetch = make(lambda shapes: tf.FIFOQueue(3, [tf.int32], shapes))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(fetch)
    assert failure(error).startswith(message)


BUILDING = [
    (lambda q: q.enqueue_many([1]), ValueError, "Shape () must have rank at least 1"),
    (lambda q: q.enqueue_many([[1, 2], [3]]), ValueError, "Dimensions 2 and 1 are not compatible"),
    (lambda q: q.enqueue([1.5, 1]), TypeError, "Expected int32, got 1.5 of type 'float' instead."),
    (lambda q: q.enqueue([[1], 1]), ValueError, "Shapes (1,) and () are incompatible"),
    (lambda q: q.dequeue_many(-1), ValueError, "Input 'n' must be >= 0, but is -1"),
    (lambda q: q.enqueue({"a": 1}), ValueError, "Queue must have names to enqueue a dictionary"),
    (lambda q: tf.QueueBase.from_list(0, []), TypeError, "A list of queues expected"),
    (lambda q: tf.QueueBase.from_list(0, [q, tf.FIFOQueue(3, [tf.int32, tf.float32])]), TypeError,
     "Queues do not have matching component dtypes."),
    (lambda q: tf.PaddingFIFOQueue(3, [tf.int32], [None]), ValueError,
     "When providing partial shapes, a list of shapes must be provided."),
    (lambda q: tf.FIFOQueue(3, [tf.int32], [[None]]), ValueError, "All shapes must be fully defined"),
    (lambda q: tf.FIFOQueue(3, [tf.int32, tf.int32], [[]]), ValueError,
     "Queue shapes must have the same length as dtypes"),
    (lambda q: tf.FIFOQueue(3, [tf.int32], names=["a", "b"]), ValueError,
     "List of names must have the same length as the list of dtypes"),
    (lambda q: tf.FIFOQueue(3, [tf.int32], 3), TypeError,
     "shapes must be a TensorShape or a list or tuple of TensorShapes."),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "message"), BUILDING)
def test_what_is_refused_while_building(make, kind, message):
    queue = tf.FIFOQueue(3, [tf.int32, tf.int32], [[], []])
    with pytest.raises(kind, match=re.escape(message)):
        make(queue)


def test_nodes_have_the_names_that_tensorflow_gives_them(graph):
    with tf.name_scope("sc"):
        queue = tf.FIFOQueue(3, [tf.int32, tf.string], [[], [2]])
    queue.enqueue([1, ["a", "b"]])
    queue.enqueue_many([[1], [["a", "b"]]], name="foo")
    one, many, fewer = queue.dequeue(), queue.dequeue_many(2), queue.dequeue_up_to(2)
    queue.size()
    queue.close()
    queue.is_closed()
    assert [op.name for op in graph.get_operations()] == [
        "sc/fifo_queue", "fifo_queue_enqueue/component_0", "fifo_queue_enqueue/component_1", "fifo_queue_enqueue",
        "foo/component_0", "foo/component_1", "foo", "fifo_queue_Dequeue", "fifo_queue_DequeueMany/n",
        "fifo_queue_DequeueMany", "fifo_queue_DequeueUpTo/n", "fifo_queue_DequeueUpTo", "fifo_queue_Size",
        "fifo_queue_Close", "fifo_queue_Is_Closed",
    ]  # fmt: skip
    assert [str(t.shape) for t in (*one, *many, *fewer)] == ["()", "(2,)", "(2,)", "(2, 2)", "(?,)", "(?, 2)"]


def test_a_queue_is_picked_from_a_list():
    queues = [tf.FIFOQueue(3, tf.int32, [], name=name) for name in ("q", "q2")]
    which = tf.placeholder(tf.int32, [])
    value = tf.QueueBase.from_list(which, queues).dequeue()
    with tf.Session() as session:
        session.run(queues[1].enqueue(5))
        assert session.run(value, {which: 1}) == 5


def test_elements_with_names_are_dictionaries():
    queue = tf.FIFOQueue(3, [tf.int32, tf.float32], [[], []], names=["a", "b"])
    with tf.Session() as session:
        session.run(queue.enqueue({"b": 2.0, "a": 1}))
        assert session.run(queue.dequeue()) == {"a": 1, "b": 2.0}
    with pytest.raises(ValueError, match="You must enqueue a dictionary in a Queue with names"):
        queue.enqueue([1, 2.0])
