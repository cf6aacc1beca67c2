"""control_flow_ops.switch and merge: TensorFlow 1.15.5's nodes, values and refusals."""

import numpy as np
import pytest

import headrace as tf
from headrace.python.ops import control_flow_ops


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def one_or_the_other(side=True):
    return tf.placeholder_with_default(side, [], name="p")


def test_nodes_are_tensorflows(graph):
    p = one_or_the_other()
    slices = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 1]), tf.constant([4]))
    off, on = control_flow_ops.switch(slices, p)
    control_flow_ops.switch([1, 2], True, name="by_name")
    merged, which = control_flow_ops.merge([off, on])
    control_flow_ops.merge([control_flow_ops.switch(2, p, tf.float32)[1], 3.0])
    variable = tf.Variable(1.0, name="v")
    control_flow_ops.merge(control_flow_ops.switch(variable, p))
    assert (merged.indices.name, which.name) == ("Merge/Merge_1:0", "Merge/Merge:1")
    found = [
        (o.name, o.type, [t.name for t in o.inputs]) for o in graph.get_operations() if o.type != "Const"
    ]
    assert found[1:7] == [
        ("Switch/Switch", "Switch", ["Const:0", "p:0"]),
        ("Switch/Switch_1", "Switch", ["Const_1:0", "p:0"]),
        ("Switch/Switch_2", "Switch", ["Const_2:0", "p:0"]),
        ("by_name", "Switch", ["by_name/data:0", "by_name/pred:0"]),
        ("Merge/Merge", "Merge", ["Switch/Switch:0", "Switch/Switch:1"]),
        ("Merge/Merge_1", "Merge", ["Switch/Switch_1:0", "Switch/Switch_1:1"]),
    ]
    assert found[8:10] == [
        ("Switch_1", "Switch", ["Switch_1/data:0", "p:0"]),
        ("Merge_1", "Merge", ["Switch_1:1", "Merge_1/Const:0"]),
    ]
    assert found[-2:] == [
        ("Switch_2", "Switch", ["v:0", "p:0"]),
        ("Merge_2", "Merge", ["Switch_2:0", "Switch_2:1"]),
    ]


@pytest.mark.parametrize("side", [False, True])
def test_composites_come_out_on_one_side(graph, tier, side):
    values = [
        tf.SparseTensor([[0]], [1.0], [3]),
        tf.ragged.constant([[1.0], [2.0, 3.0]]),
        tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([2, 1])),
    ]
    p = one_or_the_other(side)
    with tf.Session() as session:
        for value in values:
            branches = control_flow_ops.switch(value, p)
            merged, which = control_flow_ops.merge(branches)
            there, taken = session.run([merged, which])
            assert taken == side
            assert str(there) == str(session.run(value))
            with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
                session.run(branches[not side])


def test_tensors_beside_slices_become_slices(graph):
    slices = tf.IndexedSlices(tf.constant([[5.0]]), tf.constant([2]), tf.constant([4, 1]))
    p = one_or_the_other()
    dense = control_flow_ops.switch(tf.constant([[1.0], [2.0]]), p)[1]
    merged, _ = control_flow_ops.merge([control_flow_ops.switch(slices, p)[0], dense])
    with tf.Session() as session:
        found = session.run(merged)
    assert [v.tolist() for v in found] == [[[1.0], [2.0]], [0, 1], [2, 1]]


def test_one_of_several_functions_is_picked(graph, tier):
    pick = tf.placeholder(tf.int32, [])
    x = tf.constant([1.0, 2.0])
    sides = [control_flow_ops.switch(x, tf.equal(pick, k))[1] * (k + 1.0) ** 2 for k in range(4)]
    y = control_flow_ops.merge(sides)[0]
    (slope,) = tf.gradients(y, x)
    with tf.Session() as session:
        for k in (3, 0, 2, 1):
            np.testing.assert_array_equal(session.run(y, {pick: k}), [(k + 1) ** 2, 2 * (k + 1) ** 2])
            np.testing.assert_array_equal(session.run(slope, {pick: k}), [(k + 1) ** 2] * 2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda c: c.switch(1.0, 3), TypeError, "Input 'pred' of 'Switch' Op has type int32"),
        (lambda c: c.switch(1.0, [True, False]), ValueError, "Shape must be rank 0 but is rank 1"),
        (lambda c: c.switch(None, True), ValueError, "None values not supported"),
        (lambda c: c.merge([1.0, None]), ValueError, "At least one of the merge inputs is None"),
        (lambda c: c.merge([1.0, 1]), TypeError, r"have types \[float32, int32\] that don't all match"),
        (lambda c: c.merge([]), ValueError, "'inputs' to 'RefMerge' Op with length 0 shorter than minimum"),
    ],
)
def test_misuse_is_refused(graph, make, error, message):
    with pytest.raises(error, match=message):
        make(control_flow_ops)
