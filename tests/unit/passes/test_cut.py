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


def _names(parts):
    return [[op.name for op in part] for part in parts]


def test_a_cluster_that_needs_nothing_of_the_host_is_part_of_the_one_before():
    x = tf.placeholder(tf.float32, [])
    a = raw.AddV2(x, 1.0, name="a")
    host = raw.Mul(a, a, name="host")
    b = raw.AddV2(a, 2.0, name="b")
    ops = [t.op for t in (a, host, b)]
    assert _names(stages(ops, {x}, lambda op: op.name == "host", set())) == [["a", "b"], ["host"]]
    # What must be known has to be computed in an earlier cluster.
    c = raw.AddV2(b, 3.0, name="c")
    cut = stages([*ops, c.op], {x}, lambda op: op.name == "host", {(b.op, c.op)})
    assert _names(cut) == [["a", "b"], ["host"], ["c"]]


def test_nodes_that_do_nothing_make_no_stage():
    x = tf.placeholder(tf.float32, [])
    a = raw.AddV2(x, 1.0, name="a")
    host = raw.Mul(a, a, name="host")
    with tf.control_dependencies([host]):
        done = tf.no_op("done")
    with tf.control_dependencies([done]):
        b = raw.AddV2(a, x, name="b")
    ops = [a.op, host.op, done, b.op]
    cut = stages(ops, {x}, lambda op: op.name == "host", set())
    assert _names(cut) == [["a"], ["host", "done"], ["b"]]
    assert _names(stages(ops[:3], {x}, lambda op: op.name == "host", set())) == [["a"], ["host", "done"]]


def test_a_variable_is_read_where_its_value_is_used():
    v = raw.VariableV2(shape=[2], dtype=tf.float32)
    read = raw.Identity(v, name="read")
    on_host = raw.Mul(read, read, name="host")
    ops = [v.op, read.op, on_host.op]
    alone = stages(ops[1:], set(), lambda op: op.name == "host", set())
    assert _names(alone) == [[], ["read", "host"]]
    both = raw.AddV2(read, read, name="cluster")
    cut = stages([*ops[1:], both.op], set(), lambda op: op.name == "host", set())
    assert _names(cut) == [["read", "cluster"], ["host"]]
