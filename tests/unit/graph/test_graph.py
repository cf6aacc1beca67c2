"""Graphs: names, scopes, look-ups and collections behave as TensorFlow 1.15's (literals are its answers)."""

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def names(g):
    return [op.name for op in g.get_operations()]


def test_names_are_made_unique_without_regard_to_case(graph):
    tf.constant(1, name="a")
    tf.constant(1, name="A")
    tf.constant(1, name="a_1")
    tf.constant(1, name="a")
    assert names(graph) == ["a", "A_1", "a_1_1", "a_2"]


def test_scopes_nest_repeat_and_are_entered_again(graph):
    with tf.name_scope("s") as scope:
        tf.constant(1, name="c")
        with tf.name_scope("t"):
            tf.constant(1, name="c")
    with tf.name_scope("s"):
        tf.constant(1, name="c")
    with tf.name_scope(scope):
        tf.constant(1, name="c")
    with tf.name_scope(None):
        tf.constant(1, name="c")
    assert scope == "s/"
    assert names(graph) == ["s/c", "s/t/c", "s_1/c", "s/c_1", "c"]


def test_bad_names_are_refused():
    with pytest.raises(ValueError, match="'a b' is not a valid scope name"), tf.name_scope("a b"):
        pass
    with pytest.raises(ValueError, match="is not a valid"):
        tf.constant(1, name="_x")


def test_look_ups(graph):
    c = tf.constant(1, name="c")
    assert graph.get_tensor_by_name("c:0") is c
    assert graph.get_operation_by_name("c") is c.op
    assert graph.as_graph_element("c") is c.op
    with pytest.raises(
        KeyError,
        match="The name 'd:0' refers to a Tensor which does not exist. The operation, 'd', does not exist",
    ):
        graph.get_tensor_by_name("d:0")
    with pytest.raises(KeyError, match="exists but only has 1 outputs"):
        graph.get_tensor_by_name("c:1")
    with pytest.raises(ValueError, match="The name 'c' refers to an Operation, not a Tensor"):
        graph.get_tensor_by_name("c")
    with pytest.raises(ValueError, match="appears to refer to a Tensor, not a Operation"):
        graph.get_operation_by_name("c:0")
    with pytest.raises(KeyError, match="The name 'd' refers to an Operation not in the graph"):
        graph.get_operation_by_name("d")
    with pytest.raises(TypeError, match="Can not convert a float into a Tensor or Operation"):
        graph.as_graph_element(1.5)
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="is not an element of this graph"):
        graph.as_graph_element(other)


def test_finalized_graph_refuses_nodes_and_collections(graph):
    c = tf.constant(1)
    graph.finalize()
    with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
        tf.constant(2)
    with pytest.raises(RuntimeError, match="Graph is finalized"):
        tf.identity(c)
    with pytest.raises(RuntimeError, match="Graph is finalized"):
        graph.add_to_collection("k", 1)


def test_mixed_graphs_are_refused(graph):
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(1.0)
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.stack([a, b])


def test_control_dependencies(graph):
    a, b = tf.no_op(name="a"), tf.no_op(name="b")
    with tf.control_dependencies([a]):
        c = tf.constant(1, name="c")
        with tf.control_dependencies([b]):
            d = tf.constant(1, name="d")
            e = tf.identity(d, name="e")
            with tf.control_dependencies(None):
                f = tf.constant(1, name="f")
    assert [op.name for op in c.op.control_inputs] == ["a"]
    assert [op.name for op in d.op.control_inputs] == ["a", "b"]
    assert e.op.control_inputs == []  # it waits already, through d
    assert f.op.control_inputs == []


def test_devices_merge_and_are_cleared(graph):
    with tf.device("/job:worker/task:1"):
        with tf.device("/gpu:0"):
            a = tf.constant(1)
        with tf.device(None):
            b = tf.constant(1)
        with tf.device(lambda op: "/cpu:3" if op.type == "Const" else None):
            c = tf.constant(1)
    assert a.device == "/job:worker/task:1/device:GPU:0"
    assert b.device == ""
    assert c.device.endswith("/device:CPU:3")


def test_colocation(graph):
    with tf.device("/cpu:0"):
        a = tf.constant(1, name="a")
    with tf.colocate_with(a):
        b = tf.constant(1, name="b")
    assert b.op.colocation_groups() == [b"loc:@a"]
    assert b.device == "/device:CPU:0"
    assert a.op.colocation_groups() == [b"loc:@a"]


def test_collections(graph):
    tf.add_to_collection("k", 1)
    tf.add_to_collections(["k", "l", "k"], 2)
    assert tf.get_collection("k") == [1, 2]
    assert tf.get_collection("l") == [2]
    tf.get_collection_ref("k").append(3)
    assert tf.get_collection("k") == [1, 2, 3]
    a, b = tf.constant(1, name="x/a"), tf.constant(1, name="y/b")
    tf.add_to_collection("t", a)
    tf.add_to_collection("t", b)
    assert tf.get_collection("t", scope="x/") == [a]
    assert sorted(graph.get_all_collection_keys()) == ["k", "l", "t"]


def test_gradient_override_is_recorded(graph):
    with graph.gradient_override_map({"Identity": "Mine"}):
        x = tf.identity(tf.constant(1.0))
    assert x.op.get_attr("_gradient_op_type") == b"Mine"
    with pytest.raises(TypeError, match="must be strings"), graph.gradient_override_map({"Identity": 1}):
        pass


def test_a_tensor_is_no_bool_no_sequence_and_has_no_value():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match="using a `tf.Tensor` as a Python `bool` is not allowed"):
        bool(x)
    with pytest.raises(TypeError, match="iterating over `tf.Tensor` is not allowed in Graph execution"):
        list(x)
    with pytest.raises(TypeError, match="len is not well defined"):
        len(x)
    assert repr(x) == "<tf.Tensor 'Const:0' shape=(2,) dtype=float32>"
    assert str(x) == 'Tensor("Const:0", shape=(2,), dtype=float32)'


def test_set_shape_adds_knowledge_and_refuses_contradictions():
    x = tf.placeholder(tf.float32, [None, 3])
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        x.set_shape([4, 3])


def test_seeds():
    assert tf.get_seed(None) == (None, None)
    assert tf.get_seed(7) == (87654321, 7)
    tf.set_random_seed(5)
    assert tf.get_seed(7) == (5, 7)
    assert tf.get_seed(None) == (5, 0)
    tf.set_random_seed(0)
    assert tf.get_seed(0) == (0, 2**31 - 1)


def test_default_graph_can_not_be_reset_while_one_is_entered():
    with pytest.raises(AssertionError, match="Do not use tf.reset_default_graph"):
        tf.reset_default_graph()
