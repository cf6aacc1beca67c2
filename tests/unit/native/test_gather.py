"""Rows of a table in compiled programs: the native library gives what XLA gives."""

import numpy as np
import pytest

import headrace as tf
from headrace.lazy import jax
from headrace.ops.array import gather


def _taken(params, indices):
    return np.asarray(jax.jit(lambda p, i: gather._take(p, i, 0, 0, jax.numpy))(params, indices))


@pytest.mark.parametrize("place", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int64", "uint16"])
@pytest.mark.parametrize(
    "row, shape", [((16,), (300,)), ((33,), (40, 50)), ((4, 5, 6), (64,)), ((4096,), (1,))]
)
def test_rows_are_those_of_xla(row, shape, dtype, place, without, needs_xla, monkeypatch):
    random = np.random.RandomState(1)
    params = random.randint(-90, 90, (50, *row)).astype(tf.as_dtype(dtype).as_numpy_dtype)
    # Where an index is out of range, the step is refused by a check; both give the nearest row.
    indices = random.randint(-3, 54, shape).astype(place)
    used = []
    call = gather.xla.call
    monkeypatch.setattr(gather.xla, "call", lambda *args: used.append(args[0]) or call(*args))
    found = _taken(params, indices)
    assert used == (["headrace_gather_rows"] if params.dtype.kind in "fiu" else [])
    expected = without(_taken, params, indices)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, np.take(params, np.clip(indices, 0, 49), 0))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("row, shape", [((15,), (1000,)), ((16,), (255,)), ((), (9000,)), ((0,), (9000,))])
def test_few_numbers_are_left_to_xla(row, shape, monkeypatch):
    monkeypatch.setattr(gather.xla, "call", lambda *args: pytest.fail("it is called"))
    params = np.random.RandomState(1).rand(50, *row).astype(np.float32)
    indices = np.zeros(shape, np.int32)
    assert np.array_equal(_taken(params, indices), np.take(params, indices, 0))


def test_a_table_is_read_before_it_is_changed(kind, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.placeholder(tf.int32, [300])
        table = tf.get_variable("table", [1000, 32], initializer=tf.random_normal_initializer(seed=1))
        rows = tf.nn.embedding_lookup(table, ids)
        with tf.control_dependencies([rows]):
            step = tf.scatter_add(table, ids, tf.ones([300, 32]))
        session.run(tf.global_variables_initializer())
        chosen = np.random.RandomState(2).permutation(1000)[:300]
        for _ in range(3):
            before = session.run(table)
            got, _ = session.run([rows, step.op], {ids: chosen})
            assert np.array_equal(got, before[chosen])
            before[chosen] += 1
            np.testing.assert_allclose(session.run(table), before, rtol=1e-6)
