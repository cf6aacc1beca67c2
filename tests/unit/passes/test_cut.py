"""Pruning, ordering and cutting."""

import pytest

import headrace as tf
from headrace.opdef import raw
from headrace.passes.access import access_of, order_edges
from headrace.passes.cut import stages
from headrace.passes.prune import needed


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_only_what_is_needed_in_order_of_creation():
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    raw.AddV2(a, b, name="unused")
    c = raw.Mul(b, a, name="c")
    assert [op.name for op in needed([c], [], [])] == ["a", "b", "c"]
    assert [op.name for op in needed([c], [], [b])] == ["a", "c"]
    assert needed([c], [], [c]) == []


def test_late_control_inputs_order_and_cycles_are_refused():
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    a.op._add_control_input(b.op)
    assert [op.name for op in needed([a], [], [])] == ["b", "a"]
    b.op._add_control_input(a.op)
    with pytest.raises(tf.errors.InvalidArgumentError, match="couldn't be sorted in topological order"):
        needed([a], [], [])


def test_reads_and_writes_are_told_apart():
    v = raw.VariableV2(shape=[], dtype=tf.float32)
    read, write = raw.Identity(v), raw.AssignAdd(v, 1.0)
    h = raw.VarHandleOp(shape=[], dtype=tf.float32)
    resource_read = raw.ReadVariableOp(h, dtype=tf.float32)
    resource_write = raw.AssignAddVariableOp(h, 1.0)
    handed_on = raw.Identity(h)
    assert access_of(read.op).reads == [v] and not access_of(read.op).writes
    assert access_of(write.op).writes == [v]
    assert access_of(resource_read.op).reads == [h]
    assert access_of(resource_write).writes == [h]
    assert access_of(handed_on.op) is None
    again = raw.Identity(write)
    edges = order_edges([read.op, write.op, again.op])
    assert edges[write.op] == [read.op]
    assert edges[again.op] == [write.op]


def test_stages_are_few_and_respect_edges():
    x = tf.placeholder(tf.float32, [])
    a = raw.AddV2(x, 1.0, name="a")
    host = raw.Mul(a, a, name="host")
    b = raw.AddV2(host, 1.0, name="b")
    alone = raw.AddV2(x, 2.0, name="alone")
    c = raw.AddV2(alone, b, name="c")
    ops = [t.op for t in (a, host, b, alone, c)]
    cut = stages(ops, {x}, lambda op: op.name == "host", set())
    assert [[op.name for op in part] for part in cut] == [["a"], ["host"], ["b", "alone", "c"]]
    cut = stages(ops, {x}, lambda op: False, {(b.op, c.op)})
    assert [[op.name for op in part] for part in cut] == [["a", "host", "b"], [], ["alone", "c"]]
