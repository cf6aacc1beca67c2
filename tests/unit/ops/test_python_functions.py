"""tf.py_function, whose tensors have values, and tf.print. Messages are TensorFlow 1.15's."""

import sys

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(f, inputs, types):
    result = tf.py_function(f, inputs, types)
    with tf.Session() as session:
        return session.run(result)


ONES = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("f", "inputs", "types", "value"),
    [
        (lambda a: a * 2 + 1, [ONES], tf.float32, [3, 3]),
        (lambda a: a.numpy() + 1, [ONES], tf.float32, [2, 2]),
        (lambda a: [a, a], [1], tf.int32, [1, 1]),
        (lambda a: (a, a), [1], [tf.int32, tf.int32], [1, 1]),
        (lambda a: tf.matmul(a, a) + tf.reduce_sum(a), [np.ones((2, 2), np.float32)], tf.float32, [[6, 6], [6, 6]]),
        (lambda a: a.numpy().decode() + "x", ["s"], tf.string, b"sx"),
        (lambda a: [len(a), float(a[0]), bool(a[0] > 0), int(a[1])], [ONES], [tf.int32, tf.float32, tf.bool, tf.int32],
         [2, 1.0, True, 1]),
        (lambda a: np.sum(a) + np.asarray(a)[0], [ONES], tf.float32, 3),
        (lambda a: [v * 3 for v in a], [ONES], [tf.float32, tf.float32], [3, 3]),
        (lambda a: a**2 - (-a) / 3 // 1 % 2, [ONES], tf.float32, [0, 0]),
        (lambda a: str(a), [ONES], tf.string, b"tf.Tensor([1. 1.], shape=(2,), dtype=float32)"),
        (lambda: tf.executing_eagerly(), [], tf.bool, True),
        (lambda a: tf.cond(a > 2, lambda: a, lambda: -a), [1], tf.int32, -1),
        (lambda a: tf.while_loop(lambda i: i < 10, lambda i: i * 2, [a]), [1], tf.int32, 16),
    ],
)  # fmt: skip
def test_tensors_have_values(f, inputs, types, value):
    found = run(f, inputs, types)
    assert (
        [np.asarray(v).tolist() for v in found] == value
        if isinstance(types, list)
        else (np.asarray(found).tolist() == value)
    )
    assert not tf.executing_eagerly()


E = tf.errors


@pytest.mark.parametrize(
    ("f", "types", "error", "message"),
    [
        (
            lambda a: a,
            tf.int32,
            E.InvalidArgumentError,
            "requested dtype int32 for Tensor with dtype float32",
        ),
        (lambda a: None, tf.float32, E.InvalidArgumentError, "returns 0 values, but expects to see 1 values"),
        (lambda a: 1 / 0, tf.float32, E.UnknownError, "ZeroDivisionError: division by zero"),
        (lambda a: int("k"), tf.float32, E.InvalidArgumentError, "ValueError: invalid literal for int"),
        (lambda a: next(iter([])), tf.float32, E.OutOfRangeError, "StopIteration"),
        (lambda a: tf.matmul(a, a), tf.float32, E.InvalidArgumentError, "rank"),
    ],
)
def test_errors_inside(f, types, error, message):
    with pytest.raises(error, match=message):
        run(f, [ONES], types)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="Expected func to be callable, got func of type"):
        tf.py_function(3, [], [])
    with pytest.raises(TypeError, match="Expected list for 'input' argument"):
        tf.py_function(lambda a: a, tf.constant(1.0), tf.float32)


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_gradients_flow_through(tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    x = tf.placeholder(tf.float32, [2])
    k = tf.placeholder(tf.int32, [])

    def f(a, n):
        for _ in range(n.numpy()):
            a = a * a
        return a, tf.reduce_sum(a)

    y, total = tf.py_function(f, [x, k], [tf.float32, tf.float32])
    (dx,) = tf.gradients([y, total], x)
    assert dx.shape.as_list() == [2]
    with tf.Session() as session:
        for n, (a, b) in ((1, (8.0, 12.0)), (2, (64.0, 216.0))):
            assert session.run(dx, {x: [2.0, 3.0], k: n}).tolist() == [a, b]


# -- tf.print --------------------------------------------------------------------------------------------------


def printed(capsys, *inputs, **options):
    node = tf.print(*inputs, **options)
    with tf.Session() as session:
        session.run(node)
    return capsys.readouterr()


def test_values_and_structures_are_shown(capsys):
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    assert printed(capsys, "a", x, summarize=2).err == "a [1 2 ... 4 5]\n"
    assert printed(capsys, x, summarize=-1).err == "[1 2 3 4 5]\n"
    assert printed(capsys, [1, {"k": x[0]}], ("s", 2), sep="-", end="!").err == "[1, {'k': 1}]-('s', 2)!"
    assert printed(capsys, "{}", x[:1]).err == "{} [1]\n"
    assert printed(capsys, tf.constant("text")).err == "text\n"
    assert printed(capsys).err == "\n"
    assert printed(capsys, tf.SparseTensor([[0]], [1.0], [2])).err == (
        "'SparseTensor(indices=[[0]], values=[1], shape=[2])'\n"
    )


def test_streams(capsys, tmp_path):
    assert printed(capsys, "out", output_stream=sys.stdout).out == "out\n"
    path = tmp_path / "lines.txt"
    for _ in range(2):
        printed(capsys, "line", output_stream=f"file://{path}")
    assert path.read_text() == "line\nline\n"
    for level in ("info", "warning", "error"):
        node = tf.print("told", output_stream=getattr(tf.logging, level))
        assert node.get_attr("output_stream") == f"log({level})".encode()
        with tf.Session() as session:
            session.run(node)
    for stream in ("foo", 3):
        with pytest.raises(ValueError, match="Unsupported output stream, logging level, or file"):
            tf.print(1, output_stream=stream)
    with pytest.raises(ValueError, match="Unrecognized keyword arguments for tf.print"):
        tf.print(1, foo=2)


def test_assert_looks_at_data_only_where_it_fails():
    ran = []
    x = tf.placeholder(tf.float32, [])
    check = tf.Assert(x > 0, ["x is", tf.identity(x)])
    with tf.control_dependencies([check]):
        y = tf.py_func(lambda v: (ran.append(v), v)[1], [x], tf.float32)
    assert check.type == "Identity" and check.name == "Assert/AssertGuard/Identity"
    with tf.Session() as session:
        assert session.run(y, {x: 2.0}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[x is\] \[-2\]"):
            session.run(y, {x: -2.0})
    assert ran == [2.0]
