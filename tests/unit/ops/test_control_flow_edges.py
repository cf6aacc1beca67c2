"""Control flow at its edges: loops without gradients, predicates that are no scalars, errors of Python functions."""

import re
import threading

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw


@pytest.fixture(params=["auto", "interpret", "compile"])
def tier(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", request.param)
    return request.param


def _power(x, times, back_prop):
    return tf.while_loop(lambda i, a: i < times, lambda i, a: (i + 1, a * x), [0, x], back_prop=back_prop)[1]


def test_no_gradient_goes_through_a_loop_without_back_prop():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        z = _power(x, 4, back_prop=False)
        assert tf.gradients(z, x) == [None]
        assert session.run(tf.gradients(z * x, x)) == [32.0]
        y = tf.map_fn(lambda v: v * v, tf.stack([x, x]), back_prop=False)
        assert tf.gradients(y, x) == [None]


def test_an_inner_loop_without_back_prop_is_a_constant_to_the_outer_loop(tier):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        z = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, _power(a, 1, False) + x), [0, x])[1]
        assert session.run(tf.gradients(z, x)) == [1.0]


def test_no_back_prop_survives_a_meta_graph():
    with tf.Graph().as_default():
        x = tf.constant(2.0, name="x")
        tf.identity(_power(x, 4, back_prop=False), name="z")
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta)
        assert tf.gradients(graph.get_tensor_by_name("z:0"), graph.get_tensor_by_name("x:0")) == [None]


@pytest.mark.parametrize("value", [[True, False], [False, False], [True], []])
def test_a_predicate_has_to_be_a_scalar(value, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.placeholder(tf.bool)
        branch = tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(2))
        loop = tf.while_loop(lambda i: p, lambda i: i + 1, [1])
        for fetch in (branch, loop):
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"must be a scalar.*\[{len(value)}\]"):
                session.run(fetch, {p: np.array(value, bool)})


def test_a_body_that_computes_a_predicate_of_the_wrong_rank_is_refused(tier):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        loop = tf.while_loop(lambda a: a < 3.0, lambda a: a + 1.0, [x])
        assert session.run(loop, {x: 0.5}) == 3.5
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be a scalar, but it has shape \[2\]"):
            session.run(loop, {x: [1.0, 2.0]})


@pytest.mark.parametrize("call", ["py_func", "py_function"])
def test_errors_of_sessions_raised_by_a_python_function_are_unknown_errors(call):
    def ends():
        raise tf.errors.OutOfRangeError(None, None, "the end")

    with tf.Graph().as_default(), tf.Session() as session:
        y = getattr(tf, call)(ends, [], tf.float32)
        with pytest.raises(tf.errors.UnknownError, match="OutOfRangeError: the end"):
            session.run(y)


def test_closing_a_session_stops_its_loops(monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    with tf.Graph().as_default():
        loop = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0])
        session = tf.Session()
        timer = threading.Timer(0.3, session.close)
        timer.start()
        with pytest.raises(tf.errors.CancelledError, match="Loop execution was cancelled"):
            session.run(loop, options=tf.RunOptions(timeout_in_ms=20000))
        timer.join()


def test_a_predicate_of_an_imported_switch_has_to_be_a_scalar(tier):
    with tf.Graph().as_default(), tf.Session() as session:
        p, x = tf.placeholder(tf.bool), tf.placeholder(tf.float32, [2])
        no, yes = raw.Switch(x, p)
        merged = raw.Merge([no * 2.0, yes + 1.0])[0]
        assert session.run(merged, {p: True, x: [1, 2]}).tolist() == [2, 3]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be a scalar, but it has shape \[2\]"):
            session.run(merged, {p: [True, False], x: [1, 2]})


def test_zeros_like_an_optional():
    with tf.Graph().as_default(), tf.Session() as session:
        zeros = raw.ZerosLike(raw.OptionalFromValue([tf.constant([1.0, 2.0]), tf.constant(3)]))
        numbers, whole = raw.OptionalGetValue(zeros, [tf.float32, tf.int32], [[2], []])
        assert session.run(numbers).tolist() == [0, 0]
        assert session.run(whole) == 0
        with pytest.raises(tf.errors.InvalidArgumentError, match="zeros_like for unsupported dtype string"):
            session.run(raw.OptionalHasValue(raw.ZerosLike(raw.OptionalFromValue([tf.constant("a")]))))
        assert not session.run(raw.OptionalHasValue(raw.ZerosLike(raw.OptionalNone())))


def test_the_order_of_a_nodes_attrs_does_not_matter():
    """A file may have them in any order."""
    tf.reset_default_graph()
    x = tf.constant(1.5)
    pred = tf.placeholder_with_default(True, [])
    y = tf.cond(pred, lambda: x * x, lambda: -x)
    z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * x), (0, x))[1]
    for t in (y, z):
        node = t.op.inputs[0].op
        items = list(node.attrs.items())
        node.attrs.clear()
        node.attrs.update(reversed(items))
    with tf.Session() as session:
        assert session.run([*tf.gradients(y, x), *tf.gradients(z, x)]) == [3.0, 13.5]


def test_results_go_by_the_names_of_tensorflows_nodes():
    tf.reset_default_graph()
    x = tf.constant(2.0)
    tf.cond(tf.placeholder_with_default(True, []), lambda: (x, x + 1), lambda: (x, x - 1))
    tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))
    tf.while_loop(lambda i, y: i < 9, lambda i, y: (i + 1, y * x), (0, x), maximum_iterations=2, name="short")
    names = [
        "cond/Merge:0",
        "cond/Merge_1:0",
        "while/Exit:0",
        "while/Exit_1:0",
        "short/Exit:0",
        "short/Exit_2:0",
    ]
    with tf.Session() as session:
        assert session.run(names) == [2.0, 3.0, 3, 16.0, 2, 8.0]
        session.run("while/Exit_1")
    assert tf.get_default_graph().get_operation_by_name("cond/Merge").type == "Identity"
    with pytest.raises(KeyError, match="does not exist"):
        tf.get_default_graph().get_tensor_by_name("while/Exit:1")


@pytest.mark.usefixtures("functional_control_flow")
def test_third_gradients_of_branches_in_branches(tier):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [])
        y = tf.cond(x > 1.5, lambda: tf.cond(x > 2.5, lambda: x**4, lambda: tf.exp(2 * x)), lambda: x**5)
        slopes = [y]
        for _ in range(3):
            slopes += tf.gradients(slopes[-1], x)
        for at, want in (
            (1.0, [1, 5, 20, 60]),
            (2.0, np.exp(4) * 2.0 ** np.arange(4)),
            (3.0, [81, 108, 108, 72]),
        ):
            # float64 sums and products of a few numbers
            np.testing.assert_allclose(session.run(slopes, {x: at}), want, rtol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0], None, "Cannot add optionals because one has a value and the other doesn't."),
        (
            [1.0],
            [1.0, 2.0],
            "Cannot add optionals because they have different numbers of components (1 vs. 2).",
        ),
        ([1.0], [1], "incompatible element types. One is float and the other is int32"),
        ([[1.0]], [[1.0, 2.0]], "incompatible element shapes. One is [1] and the other is [2]"),
        ([b"a"], [b"a"], "Trying to add unsupported dtype 7"),
    ],
)
def test_optionals_that_do_not_add_up(a, b, message):
    with tf.Graph().as_default(), tf.Session() as session:
        made = [raw.OptionalNone() if v is None else raw.OptionalFromValue(v) for v in (a, b)]
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
            session.run(raw.OptionalHasValue(raw.AddN(made)))
