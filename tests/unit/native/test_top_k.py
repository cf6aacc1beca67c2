"""The greatest elements of rows by the native library: those that sorting gives."""

import numpy as np
import pytest

import headrace as tf
from headrace.native import rows
from headrace.ops.nn import top_k


def data(name, shape, dtype):
    random = np.random.RandomState(len(name))
    if name == "equal ones":
        return random.randint(-3, 4, shape).astype(dtype)
    if np.dtype(dtype).kind == "i":
        limits = np.iinfo(dtype)
        return random.randint(limits.min, limits.max, shape, dtype)
    x = random.randn(*shape).astype(dtype)
    if name == "what is no number":
        for value in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0):
            x[random.rand(*shape) < 0.2] = value
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("name", ["equal ones", "all sorts", "what is no number"])
@pytest.mark.parametrize(("shape", "k"), [((40,), 1), ((7, 100), 25), ((2, 3, 64), 7), ((2, 300_000), 40)])
def test_they_are_those_of_a_stable_sort(shape, k, name, dtype, needs_library, without):
    x = data(name, shape, dtype)
    values, places = rows.top_k(x, k)
    wanted_values, wanted_places = without(top_k._host, x, k)
    assert places.dtype == wanted_places.dtype and np.array_equal(places, wanted_places)
    assert values.tobytes() == wanted_values.tobytes()


def test_what_sorting_does_as_well_is_left_to_it(needs_library):
    x = np.arange(8, dtype=np.float32)
    assert rows.top_k(x, 3) is None and rows.top_k(x, 0) is None
    assert rows.top_k(x.astype(np.float16), 1) is None and rows.top_k(x.astype(np.uint32), 1) is None
    assert rows.top_k(np.zeros((0, 8), np.float32), 1) is None
    assert rows.top_k(x[::-2], 1)[1].tolist() == [0]


def test_the_op_gives_the_same_with_the_library_and_without(kind, tier):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[3.0, 9.0, 9.0, -1.0, 2.0, 0.0, 1.0, 4.0]])
        values, places = session.run(tf.nn.top_k(x, 2))
    assert values.tolist() == [[9.0, 9.0]] and places.tolist() == [[1, 2]]
