"""The structures that loops and branches take and return; recorded from TensorFlow 1.15."""

import collections

import numpy as np
import pytest

import headrace as tf

Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a b")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def kinds(value):
    """Returns a structure with "t" in the place of each tensor."""
    if hasattr(value, "_fields"):
        return type(value)(*map(kinds, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(kinds, value))
    return {k: kinds(v) for k, v in value.items()} if isinstance(value, dict) else "t"


def first(value):
    while isinstance(value, (list, tuple)):
        value = value[0]
    return value


def built(start, body, **options):
    """Returns the structure of what a loop gives, or the class of the error that it is refused with."""
    try:
        return kinds(tf.while_loop(lambda *v: first(v) < 3, body, start, **options))
    except (TypeError, ValueError) as e:
        return type(e)


T = "t"
# What a loop starts with, its body; what comes with no maximum and with one, then the same for return_same_structure.
LOOPS = [
    ([0, 1.0], lambda i, s: (i + 1, s), [(T, T), TypeError, (T, T), TypeError]),
    ((0, 1.0), lambda i, s: (i + 1, s), [(T, T)] * 4),
    (Pair(0, 1.0), lambda a, b: Pair(a + 1, b), [Pair(T, T)] * 4),
    (Pair(0, 1.0), lambda a, b: (a + 1, b), [(T, T), TypeError, (T, T), TypeError]),
    (Pair(0, 1.0), lambda a, b: Other(a + 1, b), [Other(T, T), TypeError, Other(T, T), TypeError]),
    ((0, (1.0, 2.0)), lambda i, p: [i + 1, p], [[T, (T, T)], TypeError, [T, (T, T)], TypeError]),
    ([0], lambda i: i + 1, [T, T, [T], ValueError]),
    ([0], lambda i: [i + 1], [T, ValueError, [T], [T]]),
    ((0,), lambda i: [i + 1], [T, ValueError, [T], TypeError]),
    ([[0]], lambda i: [[i[0] + 1]], [[T], ValueError, [[T]], [[T]]]),
    ([[0]], lambda i: [i[0] + 1], [ValueError, [T], ValueError, ValueError]),
    ([(0, 1)], lambda i: (i[0] + 1, i[1]), [ValueError, (T, T), ValueError, TypeError]),
    ([(0, 1)], lambda i: [(i[0] + 1, i[1])], [[(T, T)], TypeError, [(T, T)], [(T, T)]]),
]


@pytest.mark.parametrize(("start", "body", "expected"), LOOPS, ids=range(len(LOOPS)))
def test_loops_return_the_structures_of_tensorflow(start, body, expected):
    found = [
        built(start, body, maximum_iterations=most, return_same_structure=same)
        for same in (False, True)
        for most in (None, 5)
    ]
    assert found == expected


FUNCTIONAL = [
    (Pair(0, 1.0), lambda a, b: Pair(a + 1, b), Pair(T, T)),
    (Pair(0, 1.0), lambda a, b: Other(a + 1, b), Pair(T, T)),
    ([0, 1.0], lambda i, s: (i + 1, s), [T, T]),
    ([[0]], lambda i: [[i[0] + 1]], T),
    ([(0, 1)], lambda i: [(i[0] + 1, i[1])], [(T, T)]),
]


@pytest.mark.usefixtures("functional_control_flow")
@pytest.mark.parametrize(("start", "body", "expected"), FUNCTIONAL, ids=range(len(FUNCTIONAL)))
def test_functional_loops_return_the_structure_that_they_start_with(start, body, expected):
    assert [built(start, body, maximum_iterations=most) for most in (None, 5)] == [expected] * 2


def test_a_loop_over_a_named_tuple_runs(tier):
    a, b = tf.while_loop(lambda a, b: a < 3, lambda a, b: Pair(a + 1, b * 2.0), Pair(0, 1.0))
    with tf.Session() as s:
        assert s.run([a, b]) == [3, 8]


@pytest.mark.parametrize(
    ("most", "rounds"),
    [
        (np.int64(2), 2), (2.5, 3), (2**40, 3), (0, 0), (-1, 0),
    ],
)  # fmt: skip
def test_a_maximum_is_of_any_type(most, rounds, tier):
    constant = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=most)
    dtype = tf.as_dtype(np.asarray(most).dtype)
    fed = tf.placeholder_with_default(tf.constant(most, dtype), [])
    given = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=fed)
    with tf.Session() as s:
        assert s.run([constant, given]) == [rounds, rounds]


def test_what_a_loop_refuses():
    def loop(**options):
        return tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x), [0, tf.ones([2])], **options)

    shape = tf.TensorShape
    with pytest.raises(TypeError, match="same nested structure"):
        loop(shape_invariants=(shape([]), shape([2])))
    with pytest.raises(ValueError, match="`parallel_iterations` must be a positive integer"):
        loop(parallel_iterations=2.0)
    with pytest.raises(TypeError, match="Expected string"):
        loop(maximum_iterations="a")
    assert loop(shape_invariants=[shape([]), None])[1].shape == [2]


@pytest.mark.usefixtures("functional_control_flow")
def test_functional_loops_trust_their_invariants():
    x = tf.placeholder(tf.float32, [None])
    shapes = [tf.TensorShape([]), tf.TensorShape([2])]
    loop = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x * 2.0), [0, x], shape_invariants=shapes)
    assert loop[1].shape == [2]


@pytest.mark.parametrize("fold", [tf.foldl, tf.foldr, tf.scan])
def test_scalars_have_no_rows(fold):
    with pytest.raises(IndexError, match="list index out of range"):
        fold(lambda a, x: a + x, tf.constant(1.0))


def chosen(first, second, **options):
    try:
        return kinds(tf.cond(tf.placeholder(tf.bool, []), first, second, **options))
    except (TypeError, ValueError) as e:
        return type(e)


BRANCHES = [
    (lambda: {}, lambda: {}, {}, {}),
    (lambda: [[1.0]], lambda: [[1.0]], T, [[T]]),
    (lambda: [1.0], lambda: 1.0, T, ValueError),
    (lambda: [1.0], lambda: (1.0,), T, TypeError),
    (lambda: Pair(1.0, 2.0), lambda: Other(1.0, 2.0), TypeError, TypeError),
    (lambda: {"a": 1.0}, lambda: [1.0], ValueError, TypeError),
    (lambda: 1.0, lambda: 1, ValueError, ValueError),
]


@pytest.mark.parametrize(("first", "second", "loose", "strict"), BRANCHES, ids=range(len(BRANCHES)))
def test_branches_return_the_structures_of_tensorflow(first, second, loose, strict):
    assert [chosen(first, second), chosen(first, second, strict=True)] == [loose, strict]


@pytest.mark.usefixtures("functional_control_flow")
@pytest.mark.parametrize(("first", "second"), [each[:2] for each in BRANCHES[2:]])
def test_functional_branches_that_differ_are_of_a_wrong_type(first, second):
    with pytest.raises(TypeError, match="must have the same number, type, and overall structure"):
        tf.cond(tf.placeholder(tf.bool, []), first, second)
