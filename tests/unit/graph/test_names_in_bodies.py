"""Branches and loops know the names of the graph around them, in which TensorFlow 1 makes them."""

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def _named(name):
    return tf.get_default_graph().get_tensor_by_name(name)


def test_a_loop_finds_what_is_around_it(tier):
    tf.constant(2.0, name="outer")
    tf.constant(3.0, name="limit")
    start = tf.constant(0.0)
    y = tf.while_loop(lambda i: i < _named("limit:0"), lambda i: i + _named("outer:0"), [start])
    with tf.Session() as session:
        assert session.run(y) == 4.0


def test_a_branch_finds_what_is_around_it_and_its_own(tier):
    x = tf.placeholder(tf.float32, [], name="x")

    def double():
        tf.multiply(_named("x:0"), 2.0, name="twice")
        graph = tf.get_default_graph()
        assert graph.get_operation_by_name("x") is x.op
        assert graph.as_graph_element(x) is x
        return _named("cond/twice:0") + 1.0

    y = tf.cond(x > 0, double, lambda: x)
    with tf.Session() as session:
        assert session.run(y, {x: 3.0}) == 7.0
        assert session.run(y, {x: -3.0}) == -3.0


def test_what_is_nowhere_is_refused():
    tf.constant(1.0, name="there")

    def body(i):
        with pytest.raises(KeyError, match="'nowhere:0' refers to a Tensor which does not exist"):
            _named("nowhere:0")
        with tf.Graph().as_default():
            other = tf.constant(1.0)
        with pytest.raises(ValueError, match="is not an element of this graph"):
            tf.get_default_graph().as_graph_element(other)
        return i + 1

    tf.while_loop(lambda i: i < 3, body, [0])


def test_functions_know_their_own_names_only():
    tf.constant(1.0, name="around")

    @tf.function
    def f(x):
        with pytest.raises(KeyError):
            _named("around:0")
        return x + 1.0

    f(tf.constant(1.0))
