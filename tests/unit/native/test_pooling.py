"""The gradient of max pooling by the native library: what XLA's formula gives."""

import os
import subprocess
import sys

import numpy as np
import pytest

from headrace.lazy import jax
from headrace.ops.nn import pool_lowering
from headrace.ops.nn.pool_lowering import Windows

# Shape, window, steps, padding.
GEOMETRIES = {
    "overlapping": ((2, 9, 11, 3), (3, 3), (2, 2), "SAME"),
    "elements in no window": ((2, 8, 10, 16), (3, 3), (3, 3), "VALID"),
    "steps of one": ((1, 7, 7, 70), (3, 3), (1, 1), "SAME"),
    "gaps between windows": ((3, 9, 9, 17), (2, 2), (3, 4), "VALID"),
    "flat windows": ((2, 5, 12, 4), (1, 5), (1, 2), "SAME"),
    "a window as large as the image": ((2, 5, 4, 33), (5, 4), (1, 1), "VALID"),
    "a window larger than the image": ((2, 3, 2, 5), (5, 5), (2, 2), "SAME"),
    "many channels": ((1, 4, 4, 200), (3, 3), (2, 2), "SAME"),
}


pytestmark = pytest.mark.usefixtures("needs_xla")


def gradient(x, dy, windows):
    return np.asarray(jax.jit(lambda x, dy: pool_lowering.max_pool_gradient(x, dy, windows))(x, dy))


def both(x, geometry, without):
    shape, ksize, strides, padding = geometry
    windows = Windows(shape, (1, *ksize, 1), (1, *strides, 1), padding)
    assert pool_lowering._is_native(x, windows)
    dy = np.random.RandomState(3).randn(*windows.outputs).astype(np.float32)
    return gradient(x, dy, windows), without(gradient, x, dy, windows), dy


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_the_gradient_is_that_of_xla(geometry, without):
    # Few distinct numbers: which of several equal ones is first matters.
    x = np.random.RandomState(2).randint(-2, 3, geometry[0]).astype(np.float32)
    found, expected, dy = both(x, geometry, without)
    # An element in several windows adds their gradients in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(found.sum(dtype=np.float64), dy.sum(dtype=np.float64), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.finfo(np.float32).min, np.inf])
def test_what_is_never_greatest_gives_its_gradient_to_the_first_element(value, without):
    geometry = GEOMETRIES["overlapping"]
    x = np.full(geometry[0], value, np.float32)
    found, expected, _ = both(x, geometry, without)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-6)
    x = np.random.RandomState(2).randn(*geometry[0]).astype(np.float32)
    x[:, ::2, 1::3] = value
    found, expected, _ = both(x, geometry, without)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-6)


def test_infinite_gradients_stay_where_they_belong(without):
    shape, ksize, strides, padding = GEOMETRIES["overlapping"]
    windows = Windows(shape, (1, *ksize, 1), (1, *strides, 1), padding)
    x = np.random.RandomState(2).randn(*shape).astype(np.float32)
    dy = np.zeros(windows.outputs, np.float32)
    dy[0, 1, 1] = np.inf, np.nan, 1.0
    found = gradient(x, dy, windows)
    np.testing.assert_array_equal(found, without(gradient, x, dy, windows))
    assert np.count_nonzero(found) == 3


def test_what_the_library_has_not_is_left_to_xla():
    half = np.zeros((1, 8, 8, 2), np.float16)
    single = half.astype(np.float32)
    assert not pool_lowering._is_native(half, Windows(half.shape, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"))
    assert not pool_lowering._is_native(single, Windows(half.shape, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"))
    assert not pool_lowering._is_native(single, Windows(half.shape, (1, 1, 3, 3), (1, 1, 2, 2), "SAME"))


def test_a_program_may_be_vectorized():
    shape, ksize, strides, padding = GEOMETRIES["overlapping"]
    windows = Windows(shape, (1, *ksize, 1), (1, *strides, 1), padding)
    random = np.random.RandomState(2)
    xs = random.randn(3, *shape).astype(np.float32)
    dys = random.randn(3, *windows.outputs).astype(np.float32)
    found = jax.vmap(lambda x, dy: pool_lowering.max_pool_gradient(x, dy, windows))(xs, dys)
    for each, x, dy in zip(np.asarray(found), xs, dys, strict=True):
        np.testing.assert_array_equal(each, gradient(x, dy, windows))


PROGRAM = """
import sys
import numpy as np
import headrace as tf
tf.set_random_seed(1)
x = tf.get_variable("x", [2, 9, 9, 4])
y = tf.nn.max_pool(tf.nn.relu(x * x), [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
loss = tf.reduce_sum(y * tf.constant(np.arange(200).reshape(2, 5, 5, 4), tf.float32))
step = tf.train.GradientDescentOptimizer(1e-3).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
        session.run(step)
    print(np.asarray(session.run(x)).tobytes().hex())
"""


def test_programs_on_disk_find_the_kernels_again(tmp_path):
    setting = dict(os.environ, HEADRACE_CACHE_DIR=str(tmp_path), HEADRACE_TIER="compile")
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=dict(setting, HEADRACE_NATIVE=on),
            capture_output=True,
            text=True,
            timeout=200,
        )
        for on in ("1", "1", "0")
    ]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stderr + runs[1].stderr
    first, second, plain = (np.frombuffer(bytes.fromhex(run.stdout.strip()), np.float32) for run in runs)
    assert np.array_equal(first, second)
    np.testing.assert_allclose(first, plain, rtol=1e-4, atol=1e-5)
