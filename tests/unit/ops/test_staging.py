"""Staging areas and barriers: what TensorFlow 1.15.5 puts where, and what it refuses."""

import pytest

import headrace as tf
from headrace.opdef import raw
from headrace.python.ops import data_flow_ops


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def key(number):
    return tf.constant(number, tf.int64)


def test_a_whole_tuple_leaves_parts_alone_and_a_complete_one_stays(session):
    area = data_flow_ops.MapStagingArea([tf.float32, tf.float32])
    sizes = [area.size(), area.incomplete_size()]
    steps = (  # what is put in, and how many tuples and incomplete ones there are then
        (([1.0], [0]), [0, 1]),
        (([2.0, 3.0], [0, 1]), [1, 1]),
        (([4.0, 5.0], [0, 1]), [1, 1]),
        (([6.0], [1]), [1, 0]),
    )
    for (values, places), then in steps:
        session.run(area.put(key(1), [tf.constant(v) for v in values], places))
        assert session.run(sizes) == then
    assert session.run(area.get(key(1))[1]) == [2.0, 3.0]
    assert session.run(sizes) == [0, 0]


@pytest.mark.parametrize("texts, size", [(["abc"], 11), ([""], 8), (["a", "b"], 18), (["a" * 50], 58)])
def test_a_string_takes_its_text_and_a_pointer(session, texts, size):
    area = data_flow_ops.StagingArea([tf.string], memory_limit=1)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=f"combined size of '{size}' bytes"):
        session.run(area.put([tf.constant(texts)]))


def test_a_tuple_has_as_many_tensors_as_the_area(session):
    area = data_flow_ops.StagingArea([tf.float32, tf.int32])
    session.run(area.put([tf.constant(1.0)]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Mismatch stage/unstage: 1 vs. 2"):
        session.run(area.get())


def test_something_has_to_be_asked_for(session):
    with pytest.raises(ValueError, match="Empty indices"):
        data_flow_ops.MapStagingArea([tf.float32]).get(key(1), [])


def test_shapes_in_a_barrier_are_checked_when_a_tuple_becomes_complete(session):
    barrier = data_flow_ops.Barrier((tf.float32, tf.int32), shapes=((), ()))
    sizes = [barrier.ready_size(), barrier.incomplete_size()]
    session.run(barrier.insert_many(0, ["k"], [[1.0]]))
    assert session.run(sizes) == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tuple component 2. Expected \[\], got \[1\]"):
        session.run(barrier.insert_many(1, ["k"], [1]))
    assert session.run(sizes) == [0, 0]
    session.run(barrier.insert_many(0, ["k"], [1.0]))
    assert session.run(sizes) == [0, 1]


@pytest.mark.parametrize(
    "types, shapes, message",
    [
        ([tf.int32], [[]], "component types float but requested component types were int32"),
        ([tf.float32], [[2]], r"component shapes \[\[\]\] but requested component shapes were \[\[2\]\]"),
        ([tf.float32] * 2, [[]] * 2, "component types float but requested component types were float, float"),
    ],
)
def test_who_shares_a_barrier_declares_it_in_the_same_way(session, types, shapes, message):
    same = [data_flow_ops.Barrier((tf.float32,), shapes=((),), shared_name="q") for _ in range(2)]
    session.run(same[0].insert_many(0, ["a"], [1.0]))
    assert session.run(same[1].ready_size()) == 1
    other = data_flow_ops.Barrier(types, shapes=shapes, shared_name="q")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shared barrier 'q' has " + message):
        session.run(other.ready_size())


@pytest.mark.parametrize(
    "attrs, message",
    [
        ({"shapes": [[None, 2]]}, r"Shape \[\?,2\] is not fully defined"),
        ({"shapes": [[], []]}, "All of the component shapes must be specified"),
        ({"capacity": 5}, "through a queue to enforce a limited capacity"),
        ({"shapes": [None]}, r"Expected \[\], got \[2\]"),
    ],
)
def test_barriers_that_cannot_be(session, attrs, message):
    barrier = raw.Barrier(component_types=[tf.float32], **attrs)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(raw.BarrierInsertMany(barrier, ["a"], [[1.0, 2.0]], component_index=0))
