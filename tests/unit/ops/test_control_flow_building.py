"""What branches and loops refuse while they are built, what they capture, and how they travel in GraphDefs."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def pred():
    return tf.placeholder(tf.bool, [])


def one():
    return tf.constant(1)


REFUSED = [
    (lambda: tf.cond(True, one, one), TypeError, "pred must not be a Python bool"),
    (lambda: tf.cond(pred()), TypeError, r"cond\(\): true_fn argument required"),
    (lambda: tf.cond(pred(), one), TypeError, r"cond\(\): false_fn argument required"),
    (lambda: tf.cond(pred(), one, one, fn1=one), TypeError, "true_fn and fn1 may not be set simultaneously"),
    (lambda: tf.cond(pred(), 1, one), TypeError, "true_fn must be callable."),
    (lambda: tf.cond(pred(), lambda: None, one), ValueError, "true_fn must have a return value."),
    (lambda: tf.cond(pred(), lambda: [None], lambda: [None]), ValueError, "None values not supported."),
    (
        lambda: tf.cond(pred(), one, lambda: tf.constant(1.0)),
        ValueError,
        "Outputs of true_fn and false_fn must have the same type: int32, float32",
    ),
    (lambda: tf.cond(pred(), lambda: {"a": one()}, lambda: {"b": one()}), ValueError, "same set of keys"),
    (lambda: tf.cond(pred(), lambda: [one(), one()], lambda: (one(), one())), TypeError, "sequence type"),
    (lambda: tf.case([(True, one)]), TypeError, "pred must be a Tensor, got: True"),
    (lambda: tf.case([pred()]), TypeError, "Each entry in pred_fn_pairs must be a 2-tuple"),
    (lambda: tf.switch_case(1, [one]), TypeError, "branch_index must a Tensor"),
    (lambda: tf.switch_case(one(), {0: one, 2: one}), ValueError, r"range of \[0 to 2\) but found \{0,2\}"),
    (lambda: tf.while_loop(lambda: True, lambda: [], []), ValueError, "No loop variables provided"),
    (lambda: tf.while_loop(1, lambda i: i, [0]), TypeError, "cond must be callable."),
    (lambda: tf.while_loop(lambda i: i, lambda i: i, [0]), TypeError, "'LoopCond' Op has type int32"),
    (
        lambda: tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.zeros([2])]),
        ValueError,
        r"enters the loop with shape \(2,\), but has shape \(4,\) after one iteration",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_are_tensorflows(number):
    build, error, message = REFUSED[number]
    with pytest.raises(error, match=message):
        build()


def test_a_list_of_one_comes_alone_unless_strict():
    assert isinstance(tf.cond(pred(), lambda: [one()], lambda: [one()]), tf.Tensor)
    assert isinstance(tf.cond(pred(), lambda: [one()], lambda: [one()], strict=True), list)
    assert isinstance(tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0]), tf.Tensor)
    assert isinstance(tf.while_loop(lambda i: i < 1, lambda i: i + 1, [0], return_same_structure=True), list)


def test_both_branches_take_what_either_captures(graph):
    x, y = tf.constant(1.0, name="x"), tf.constant(2.0, name="y")
    tf.cond(pred(), lambda: x, lambda: y + x)
    node = graph.get_operation_by_name("cond")
    assert node.type == "StatelessIf"
    assert [t.name for t in node.inputs[1:]] == ["x:0", "y:0"]
    assert "cond/Identity" in [op.name for op in graph.get_operations()]


@pytest.mark.usefixtures("functional_control_flow")
def test_a_tensor_of_a_branch_cannot_be_used_in_another():
    kept = []

    def keeps():
        kept.append(tf.constant(1.0) * 2)
        return kept[0]

    with pytest.raises(ValueError, match="cannot be accessed here"):
        tf.cond(pred(), keeps, lambda: kept[0] + 1)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_an_imported_graph_computes_the_same(graph, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    p, x = tf.placeholder(tf.bool, [], name="p"), tf.placeholder(tf.float32, [2], name="x")
    y = tf.cond(p, lambda: tf.exp(x) * x, lambda: tf.cond(x[0] > 1.0, lambda: x, lambda: -x))
    z = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x + y), (0, x))[1]
    fetches = [t.name for t in (y, z, tf.gradients(y, x)[0], tf.gradients(z, x)[0])]
    message = graph.as_graph_def()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(message, name="")
    for value in (True, False):
        feed = {"p:0": value, "x:0": [0.5, -1.5]}
        with tf.Session(graph=graph) as first, tf.Session(graph=other) as second:
            for a, b in zip(first.run(fetches, feed), second.run(fetches, feed), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_an_error_inside_a_branch_names_the_node_and_happens_only_where_taken(tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    p, i = tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
    y = tf.cond(p, lambda: tf.gather([1, 2, 3], i, name="picked"), lambda: tf.constant(0))
    with tf.Session() as session:
        assert session.run(y, {p: False, i: 7}) == 0
        assert session.run(y, {p: True, i: 2}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="picked"):
            session.run(y, {p: True, i: 7})


def test_strict_branches_keep_lists_of_one():
    one, listed, tupled = (lambda: tf.constant(1)), (lambda: [tf.constant(1)]), (lambda: (tf.constant(2),))
    pred = tf.placeholder(tf.bool, [])
    assert isinstance(tf.cond(pred, listed, tupled), tf.Tensor)
    for build in (tf.cond, lambda p, a, b, strict: tf.case([(p, a)], default=b, strict=strict)):
        with pytest.raises(ValueError, match="don't have the same nested structure"):
            build(pred, tupled, one, strict=True)
