"""What only unused results of branches and loops need does not run: counted by Python functions inside."""

import pytest

import headrace as tf


@pytest.fixture(autouse=True, params=["interpret", "compile"])
def tier(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", request.param)
    tf.reset_default_graph()


@pytest.fixture
def calls():
    return []


@pytest.fixture
def count(calls):
    def count(x, tag):
        def call(value):
            calls.append(tag)
            return value

        y = tf.py_func(call, [x], x.dtype)
        y.set_shape(x.shape)
        return y

    return count


def _run(fetches, feeds=({},)):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetches, feed) for feed in feeds]


def test_a_branchs_unused_result(count, calls):
    pred, x = tf.placeholder(tf.bool, []), tf.constant([1.0, 2.0])
    a, b = tf.cond(pred, lambda: (x + 1, count(x, "then")), lambda: (x - 1, count(x, "else")))
    feeds = [{pred: True}, {pred: False}]
    assert [v.tolist() for v in _run(a, feeds)] == [[2.0, 3.0], [0.0, 1.0]]
    _run(a.op, feeds)
    assert calls == []
    _run([a, b], feeds)
    assert calls == ["then", "else"]


def test_a_failing_unused_result():
    def fails():
        with tf.control_dependencies([tf.Assert(tf.constant(False), ["no"])]):
            return tf.constant(1)

    a, b = tf.cond(tf.placeholder_with_default(True, []), lambda: (1, fails()), lambda: (2, 0))
    assert _run(a) == [1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no"):
        _run([a, b])


def test_a_case(count, calls):
    n = tf.placeholder(tf.int32, [])
    a, _ = tf.switch_case(
        n,
        {0: lambda: (10, count(n, "0")), 1: lambda: (11, count(n, "1"))},
        default=lambda: (12, count(n, "2")),
    )
    assert _run(a, [{n: k} for k in range(3)]) == [10, 11, 12]
    assert calls == []


def test_a_loops_unused_variable(count, calls):
    i, z = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, count(z, "body")), (0, tf.constant(1.0)))
    assert _run(i) == [3]
    assert calls == []
    _run(z)
    assert calls == ["body"] * 3


def test_a_variable_that_another_one_needs_later(count, calls):
    """The condition looks at `a`, which is made of `b` one iteration before, which is made of `c`."""

    def body(a, b, c, d):
        return b, c, count(c + 1, "c"), count(d, "d")

    a, _, _, d = tf.while_loop(lambda a, b, c, d: a < 3, body, (0, 1, 2, 5))
    assert _run(a) == [3]
    assert calls == ["c"] * 3
    assert _run([a, d]) == [[3, 5]]
    assert calls.count("d") == 3


@pytest.mark.parametrize("depth", [1, 2])
def test_inside_others(count, calls, depth):
    pred = tf.placeholder(tf.bool, [])
    x = tf.constant([1.0, 2.0])

    def branch():
        a, _ = tf.cond(x[0] > 0, lambda: (x * 2, count(x, "then")), lambda: (x, x))
        return a

    def loop():
        return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + branch()), (0, x))[1]

    y = tf.cond(pred, branch if depth == 1 else loop, lambda: -x)
    assert [v.tolist() for v in _run(y, [{pred: True}, {pred: False}])] == [
        [2.0, 4.0] if depth == 1 else [5.0, 10.0],
        [-1.0, -2.0],
    ]
    assert calls == []


def test_a_value_without_what_its_gradient_needs(count, calls):
    x = tf.constant(1.5)
    _, y, z = tf.while_loop(
        lambda i, y, z: i < 3,
        lambda i, y, z: (i + 1, y * tf.stop_gradient(count(y, "y")), z * x),
        (0, x, x),
    )
    (g,) = tf.gradients([y, z], x)
    assert _run(z) == pytest.approx([1.5**4])
    assert calls == []
    _run(g)
    assert calls == ["y"] * 3


def test_writes_inside_an_unused_result():
    v = tf.Variable(1.0, use_resource=True)

    def writes():
        with tf.control_dependencies([v.assign_add(1.0, read_value=False)]):
            return tf.constant(1)

    a, b = tf.cond(tf.placeholder_with_default(True, []), lambda: (1, writes()), lambda: (0, 0))
    with tf.control_dependencies([a]):
        after = v.read_value()
    assert _run([a, after]) == [[1, 1.0]]
    assert _run([a, b, after])[0][:2] == [1, 1]
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(a)
        assert session.run(v) == 1.0
        session.run(b)
        assert session.run(v) == 2.0


def test_random_numbers_are_those_of_the_whole_loop():
    tf.set_random_seed(3)

    def body(i, a, b):
        return i + 1, a + tf.random_uniform([], seed=1), b + tf.random_uniform([], seed=2)

    _, a, b = tf.while_loop(lambda i, a, b: i < 3, body, (0, 0.0, 0.0))
    assert _run(a, [{}, {}]) == [row[0] for row in _run([a, b], [{}, {}])]


def test_a_branch_that_is_waited_for_runs_as_a_whole(count, calls):
    x = tf.constant(1.0)
    a, _ = tf.cond(tf.placeholder_with_default(True, []), lambda: (x, count(x, "then")), lambda: (x, x))
    node = a.op.inputs[0].op
    with tf.Session() as session:
        session.run(node)
    assert calls == ["then"]
