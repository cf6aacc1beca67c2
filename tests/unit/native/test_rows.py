"""Distinct numbers and sums of rows: what the native library gives is what NumPy gives."""

import numpy as np
import pytest

import headrace as tf
from headrace.native import rows
from headrace.ops.array import unique as unique_ops
from headrace.ops.math.segment import combine

INTEGERS = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


@pytest.mark.parametrize("place", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 1000, 30_000])
def test_distinct_numbers_come_in_the_order_of_their_first_occurrence(size, dtype, place, needs_library):
    random = np.random.RandomState(size)
    for span in (2, 50, 2**62):
        x = random.randint(-span, span, size).astype(dtype)
        firsts, numbers, counts = rows.distinct(x, place)
        known = {}
        assert numbers.tolist() == [known.setdefault(v, len(known)) for v in x.tolist()]
        assert x[firsts].tolist() == list(known)
        assert counts.tolist() == np.bincount(numbers, minlength=len(known)).tolist()
        assert numbers.dtype == counts.dtype == place


def test_numbers_that_share_their_lower_bits_are_told_apart(needs_library):
    x = np.concatenate([np.arange(5000) << 40, np.arange(5000) << 20, np.arange(5000) << 40])
    firsts, numbers, counts = rows.distinct(x, np.int64)
    assert len(firsts) == len(np.unique(x)) and counts.sum() == len(x)
    assert np.array_equal(x[firsts][numbers], x)


def test_only_integers_are_told_apart_natively():
    assert rows.distinct(np.array([0.0, -0.0, np.nan]), np.int32) is None
    assert rows.distinct(np.array([b"a"], object), np.int32) is None


def test_unique_gives_the_same_with_the_library_and_without(kind):
    x = np.array([7, 3, 7, -1, 3, 7], np.int64)[::1]
    with tf.Graph().as_default(), tf.Session() as session:
        y, at, count = session.run(tf.unique_with_counts(tf.constant(x), tf.int64))
    assert y.tolist() == [7, 3, -1] and at.tolist() == [0, 1, 0, 2, 1, 0] and count.tolist() == [3, 2, 1]
    assert unique_ops._vector(x[::2], tf.int32)[0].tolist() == [7, 3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [(), (1,), (3,), (16,), (4, 5)])
@pytest.mark.parametrize("ordered", [True, False])
def test_sums_of_rows_are_those_of_numpy(ordered, width, dtype, needs_library, without):
    random = np.random.RandomState(1)
    data = random.rand(500, *width).astype(dtype)
    ids = random.randint(-2, 40, 500)
    ids = np.sort(ids) if ordered else ids
    expected = without(combine, np.add, data, ids, 41, 0)
    # NumPy adds in pairs, the library in order: a dozen numbers below one differ by some units in the last place.
    close = dict(rtol=40 * np.finfo(dtype).eps, atol=0)
    np.testing.assert_allclose(combine(np.add, data, ids, 41, 0), expected, **close)
    chosen = random.randint(0, 500, 500).astype(np.int32)
    expected = without(combine, np.add, data[chosen], ids, 41, 0)
    np.testing.assert_allclose(rows.sums(data, chosen, ids.astype(np.int32), 41), expected, **close)


def test_sums_of_rows_in_order_are_exact(needs_library):
    data = np.float32([[1e8], [1.0], [-1e8], [1.0]])
    assert rows.sums(data, None, np.zeros(4, np.int32), 1).tolist() == [[1.0]]
    assert rows.sums(data, np.array([0, 2, 1, 1]), np.zeros(4, np.int64), 2).tolist() == [[2.0], [0.0]]
    assert rows.sums(np.ones([0, 3], np.float32), None, np.zeros(0, np.int32), 2).tolist() == [[0.0] * 3] * 2
    assert rows.sums(np.ones([2], np.float16), None, np.zeros(2, np.int32), 2) is None


def test_places_out_of_range_are_refused(needs_library):
    data, ids = np.ones([3, 2], np.float32), np.array([0, 1, 2], np.int32)
    for chosen, to in ((None, ids), (np.array([0, 3, 1]), ids - 1), (np.array([0, -1, 1]), ids - 1)):
        with pytest.raises(IndexError, match="out of range"):
            rows.sums(data, chosen, to, 2)
    with pytest.raises(IndexError, match="more ids than rows"):
        rows.sums(data, None, np.zeros(4, np.int32), 2)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_embeddings_and_their_gradients(combiner, kind):
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=table, use_resource=False)
        ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([4, 4, 1], tf.int64), [3, 2])
        y = tf.nn.embedding_lookup_sparse(v, ids, None, combiner=combiner)
        step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(y))
        session.run(tf.global_variables_initializer())
        found = session.run(y)
        session.run(step)
        after = session.run(v)
    weight = {"sum": 1.0, "mean": 0.5, "sqrtn": 2**-0.5}[combiner]
    np.testing.assert_allclose(found, [2 * weight * table[4], [0, 0], table[1]], rtol=1e-6)
    expected = table.copy()
    expected[4] -= 2 * weight
    expected[1] -= 1
    np.testing.assert_allclose(after, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("way", ["Mean", "SqrtN"])
def test_means_over_segments_are_those_of_numpy(way, order, dtype, without, needs_library, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "interpret")
    random = np.random.RandomState(1)
    data = np.asarray(random.rand(20, 5).astype(dtype), order=order)
    indices, ids = random.randint(0, 20, 30), np.sort(random.randint(0, 9, 30)).astype(np.int32)
    gradient = np.asarray(random.rand(11, 5).astype(dtype), order=order)

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            forward = getattr(tf.raw_ops, f"SparseSegment{way}WithNumSegments")
            backward = getattr(tf.raw_ops, f"SparseSegment{way}Grad")
            x, dy = tf.placeholder(dtype), tf.placeholder(dtype)
            y = forward(data=x, indices=indices, segment_ids=ids, num_segments=11)
            dx = backward(grad=dy, indices=indices, segment_ids=ids, output_dim0=20)
            return session.run([y, dx], {x: data, dy: gradient})

    for a, b in zip(run(), without(run), strict=True):
        np.testing.assert_allclose(a, b, rtol=40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("place", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("width", [(), (1,), (3,), (5, 7), (300,)])
def test_rows_that_are_taken_are_those_of_numpy(width, dtype, place, needs_library):
    random = np.random.RandomState(0)
    table = random.randint(0, 200, (50, *width)).astype(dtype)
    for indices in (random.randint(0, 50, 100), random.randint(0, 50, (4, 5)), np.array([49])):
        taken = rows.take(table, indices.astype(place))
        assert taken.dtype == dtype and np.array_equal(taken, table[indices])
    for bad in (50, -1, 2**31 - 1):
        assert rows.take(table, np.array([0, bad], place)) is None
    assert rows.take(table[::2], np.array([0], place)) is None


def test_other_rows_are_not_taken_natively():
    assert rows.take(np.array([b"a", b"b"], object), np.array([0])) is None
    assert rows.take(np.zeros(3), np.array([0], np.int16)) is None
    assert rows.take(np.zeros((3, 0)), np.array([0])) is None
