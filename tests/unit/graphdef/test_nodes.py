"""NodeDefs, GraphDefs and attrs as programs see them."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def test_node_of_a_constant():
    op = tf.constant([[1.0, 2.0]], name="c").op
    want = tf.NodeDef(name="c", op="Const")
    want.attr["dtype"].type = 1
    want.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([[1.0, 2.0]]))
    assert op.node_def == want


def test_control_inputs_come_sorted_by_name(graph):
    a, b, c = (tf.constant(1, name=name) for name in "abc")
    with tf.control_dependencies([c, a, b]):
        waiting, taking = tf.no_op(), tf.identity(b)
    assert list(waiting.node_def.input) == ["^a", "^b", "^c"]
    assert list(taking.op.node_def.input) == ["b", "^a", "^c"]


def test_shapes_are_added_where_asked_for(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    tf.placeholder(tf.float32)
    tf.no_op()
    assert "_output_shapes" not in x.op.node_def.attr
    shapes = [node.attr["_output_shapes"].list.shape for node in graph.as_graph_def(add_shapes=True).node]
    assert [d.size for d in shapes[0][0].dim] == [-1, 3]
    assert shapes[1][0].unknown_rank
    assert len(shapes[2]) == 0


def test_nodes_since_a_version(graph):
    tf.no_op(name="a")
    version = graph.version
    tf.no_op(name="b")
    assert [node.name for node in graph.as_graph_def(from_version=version).node] == ["b"]


def test_versions(graph):
    versions = graph.as_graph_def().versions
    assert (versions.producer, versions.min_consumer) == (134, 0)
    assert graph.graph_def_versions == versions


def test_get_attr():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    parts = tf.split(x, 3, axis=1)[0].op
    c = tf.constant(2.0)
    assert parts.get_attr("num_split") == 3
    assert parts.get_attr("T") is tf.float32
    assert [d.size for d in x.op.get_attr("shape").dim] == [-1, 3]
    assert tf.placeholder(tf.float32).op.get_attr("shape").unknown_rank
    assert c.op.get_attr("value") == tf.make_tensor_proto(2.0)
    with tf.colocate_with(c):
        assert tf.identity(x).op.get_attr("_class") == [b"loc:@" + c.op.name.encode()]
    with pytest.raises(ValueError, match="^Operation 'x' has no attr named 'nope'.$"):
        x.op.get_attr("nope")


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (tf.AttrValue(f=1.5), 1.5),
        (tf.AttrValue(i=-3), -3),
        (tf.AttrValue(b=False), False),
        (tf.AttrValue(s=b"\xff"), b"\xff"),
        (tf.AttrValue(type=3), tf.int32),
        (tf.AttrValue(list=tf.AttrValue.ListValue(i=[1, 2])), [1, 2]),
        (tf.AttrValue(list=tf.AttrValue.ListValue(s=[b"a"])), [b"a"]),
        (tf.AttrValue(list=tf.AttrValue.ListValue(type=[1, 3])), [tf.float32, tf.int32]),
        (tf.AttrValue(list=tf.AttrValue.ListValue()), []),
        (tf.AttrValue(shape=tf.TensorShape([2, None]).as_proto()), tf.TensorShape([2, None]).as_proto()),
    ],
)
def test_marks_travel_as_they_are(value, want):
    op = tf.no_op()
    op._set_attr("_mark", value)
    assert op.node_def.attr["_mark"] == value
    assert op.get_attr("_mark") == want


def test_op_def():
    op_def = tf.constant(1).op.op_def
    assert (op_def.name, [a.name for a in op_def.output_arg]) == ("Const", ["output"])
    assert sorted(a.name for a in op_def.attr) == ["dtype", "value"]


def test_importing_headrace_does_not_load_protobuf():
    import subprocess
    import sys

    code = "import sys, headrace; print([m for m in sys.modules if m.startswith('google.protobuf')])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_constants_are_not_copied_into_arrays_of_their_own():
    array = np.arange(6.0).reshape(2, 3)
    with tf.Graph().as_default():
        node = tf.constant(array).op.node_def
    assert node.attr["value"].tensor.tensor_content == array.tobytes()
