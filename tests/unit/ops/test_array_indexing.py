"""Indexing of tensors: every form against NumPy in both tiers, and what is refused."""

import numpy as np
import pytest

import headrace as tf
from headrace.ops.array import slicing

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

INDICES = [
    0,
    -1,
    (1, 2),
    (1, 2, 3),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(2, 0, -1),
    slice(2, 0),
    slice(-100, 100),
    slice(100, None),
    slice(3, None, -2),
    Ellipsis,
    (Ellipsis, 0),
    (0, Ellipsis),
    (0, Ellipsis, 1),
    (Ellipsis, slice(None, None, -2)),
    None,
    (None, 0),
    (0, None),
    (Ellipsis, None),
    (None, Ellipsis, None, 1),
    (slice(None), None, 1),
    (slice(0, 2), Ellipsis, None, slice(1, 4, 2)),
    (slice(None), slice(3, None, -1), slice(None, None, -2)),
    (),
]


@pytest.fixture(params=["interpret", "compile"])
def run(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", request.param)

    def run(fetches, feed=None):
        with tf.Session() as session:
            return session.run(fetches, feed)

    with tf.Graph().as_default():
        yield run


def test_indices_mean_what_they_mean_in_numpy(run):
    x = tf.placeholder(tf.float32, [3, 4, 5])
    parts = [x[index] for index in INDICES]
    for index, part, got in zip(INDICES, parts, run(parts, {x: X}), strict=True):
        want = X[index]
        assert part.shape.as_list() == list(want.shape), index
        np.testing.assert_array_equal(got, want, err_msg=repr(index))


def test_the_gradient_of_a_slice_puts_ones_where_it_read(run):
    x = tf.placeholder(tf.float32, [3, 4, 5])
    gradients = [tf.gradients(x[index], x)[0] for index in INDICES]
    for index, got in zip(INDICES, run(gradients, {x: X}), strict=True):
        want = np.zeros_like(X)
        want[index] = 1.0
        np.testing.assert_array_equal(got, want, err_msg=repr(index))


def test_tensors_are_indices(run):
    x = tf.placeholder(tf.float32, [3, None, 5])
    i = tf.placeholder(tf.int32, [])
    j = tf.placeholder(tf.int64, [])
    parts = [x[i], x[i, 2], x[:i, ..., 1], x[i:, tf.newaxis], x[j], x[j, 0]]
    got = run(parts, {x: X, i: 2, j: 1})
    wants = [X[2], X[2, 2], X[:2, ..., 1], X[2:, None], X[1], X[1, 0]]
    for value, want in zip(got, wants, strict=True):
        np.testing.assert_array_equal(value, want)


def test_shapes_of_slices_know_what_does_not_depend_on_values():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4])
        i = tf.placeholder(tf.int32, [])
        assert x[i].shape.as_list() == [4]
        assert x[i:].shape.as_list() == [None, 4]
        assert x[0:2, ::-1].shape.as_list() == [None, 4]
        assert x[:, i].shape.as_list() == [None]
        assert tf.placeholder(tf.float32)[0].shape.ndims is None


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (5, ValueError, "slice index 5 of dimension 0 out of bounds"),
        (-4, ValueError, "slice index -1 of dimension 0 out of bounds"),
        ((0, 0, 0, 0), ValueError, "Index out of range using input dim 3; input has only 3 dims"),
        ((Ellipsis, Ellipsis), ValueError, "Multiple ellipses in slice spec not allowed"),
        (slice(None, None, 0), ValueError, r"strides\[0\] must be non-zero"),
        (1.0, TypeError, "valid indices, got 1.0"),
        ("a", TypeError, "valid indices, got 'a'"),
        (True, ValueError, "mask cannot be scalar"),
    ],
)
def test_wrong_indices_are_refused_while_building(index, error, message):
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        tf.constant(X)[index]


def test_an_index_out_of_range_fails_the_step(run):
    x = tf.placeholder(tf.float32, [3])
    i = tf.placeholder(tf.int32, [])
    part = x[i]
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 3 of dimension 0 out of bounds"):
        run(part, {x: X[:, 0, 0], i: 3})


def test_a_boolean_mask_picks_rows(run):
    x = tf.placeholder(tf.float32, [3, None, 5])
    mask = tf.placeholder(tf.bool, [None])
    got = run(x[mask], {x: X, mask: [True, False, True]})
    np.testing.assert_array_equal(got, X[[True, False, True]])


def test_a_plan_lays_an_ellipsis_over_what_the_other_entries_leave():
    plan = slicing.plan(
        (2, 3, 4), [0, 0, 1], [0, 0, 2], [1, 1, 1],
        begin_mask=0, end_mask=0, ellipsis_mask=2, new_axis_mask=1, shrink_axis_mask=4,
    )  # fmt: skip
    assert plan.final == [1, 2, 3]
    assert plan.processed == [2, 3, 1]
    assert plan.index == [(0, 2, 1), (0, 3, 1), (1, 2, 1)]
