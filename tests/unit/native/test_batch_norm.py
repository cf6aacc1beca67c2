"""Batch normalization by the native library: what float64 gives, and what XLA's formulas give."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from headrace.lazy import jax, jnp
from headrace.native import batch_norm as native
from headrace.ops.math import binary
from headrace.ops.nn import activation, batch_norm

pytestmark = pytest.mark.usefixtures("needs_xla")

EPSILON = 1e-3
SHAPES = [
    (2, 40, 60, 1),
    (2, 50, 20, 3),
    (1, 3, 100, 16),
    (3, 7, 13, 17),
    (2, 9, 11, 64),
    (8, 13, 5, 100),
    (1, 1, 2, 2048),
    (1, 1, 1, 4097),
    (4, 10, 5, 2048),
    (10, 100, 100, 3),
    (10, 100, 100, 5),
    (4, 80, 100, 64),
]


def normal(*shape, seed=1):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def operands(shape):
    c = shape[-1]
    scale, offset = normal(c, seed=3) + 2, normal(c, seed=4)
    return normal(*shape), normal(*shape, seed=2), scale, offset


def forward(x, scale, offset, added=None, relu=None, given=None, epsilon=EPSILON):
    """Returns what the rules give for a normalization, by the batch's moments unless others are given."""
    rules = {"relu": activation._relu, "relu6": activation._relu6}

    def run(x, scale, offset, *more):
        mean, variance = more[:2] if given else (jnp.zeros(0), jnp.zeros(0))
        y, *moments = batch_norm._normalize(jnp, x, scale, offset, mean, variance, epsilon, "NHWC", not given)
        if added is not None:
            y = binary.add_lower(y, more[-1])
        return (rules[relu](jnp, y) if relu else y), *moments

    more = (*(given or ()), *(() if added is None else (added,)))
    return [np.asarray(v) for v in jax.jit(run)(x, scale, offset, *more)]


def backward(dy, x, scale, mean, variance, y=None, six=False):
    """Returns the gradients; `y` is what relu gave."""

    def run(dy, x, scale, mean, variance, *y):
        if y:
            dy = (activation._relu6_grad if six else activation._relu_grad)(jnp, dy, *y)
        return batch_norm._gradient(jnp, dy, x, scale, mean, variance, EPSILON, "NHWC", True)

    given = (dy, x, scale, mean, variance, *(() if y is None else (y,)))
    return [np.asarray(v) for v in jax.jit(run)(*given)]


def calls(function, *arguments):
    return str(jax.make_jaxpr(function)(*arguments)).count("headrace_")


def reference(x, scale, offset):
    x = x.astype(np.float64)
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    n = x.size // x.shape[-1]
    y = (x - mean) / np.sqrt(variance + EPSILON) * scale + offset
    return y, mean, variance * (n / max(1, n - 1)), mean, variance


def close(found, expected, tolerance):
    """A bound by the greatest number: sums of many have errors of that size."""
    expected = np.asarray(expected, np.float64)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_are_those_of_float64(shape, without):
    x, added, scale, offset = operands(shape)
    y, *moments = reference(x, scale, offset)
    for found, expected in zip(forward(x, scale, offset)[1:], moments, strict=True):
        np.testing.assert_allclose(found, expected, rtol=3e-6, atol=3e-7)
    for relu, top in (("relu", np.inf), ("relu6", 6)):
        close(forward(x, scale, offset, relu=relu)[0], np.clip(y, 0, top), 2e-6)
        close(forward(x, scale, offset, added, relu)[0], np.clip(y + added, 0, top), 2e-6)
    for found, expected in zip(
        forward(x, scale, offset, added, "relu"),
        without(forward, x, scale, offset, added, "relu"),
        strict=True,
    ):
        close(found, expected, 1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_are_those_of_float64(shape, without):
    x, dy, scale, offset = operands(shape)
    y, _, _, mean, variance = reference(x, scale, offset)
    n = x.size // x.shape[-1]
    mean, variance = mean.astype(np.float32), variance.astype(np.float32)
    for given, six in ((None, False), (np.maximum(y, 0), False), (np.clip(y, 0, 6), True)):
        g = dy.astype(np.float64)
        if given is not None:
            given = given.astype(np.float32)
            g = g * ((given > 0) & (given < (6 if six else np.inf)))
        inverse = 1 / np.sqrt(variance.astype(np.float64) + EPSILON)
        unit = (x.astype(np.float64) - mean) * inverse
        sums, products = g.sum((0, 1, 2)), (g * unit).sum((0, 1, 2))
        expected = scale * inverse * (g - sums / n - unit * products / n), products, sums
        found = backward(dy, x, scale, mean, variance, given, six)
        for a, b in zip(found, expected, strict=True):
            close(a, b, 5e-6)
        for a, b in zip(found, without(backward, dy, x, scale, mean, variance, given, six), strict=True):
            close(a, b, 2e-5)


@pytest.mark.parametrize("shift", [1e3, 1e6, -3e4])
def test_a_mean_much_larger_than_the_deviation_costs_no_digits(shift):
    x = (normal(20, 30, 40, 7) + shift).astype(np.float32)
    _, mean, _, _, variance = reference(x, 1, 0)
    _, found_mean, _, _, found_variance = forward(x, np.ones(7, np.float32), np.zeros(7, np.float32))
    np.testing.assert_allclose(found_mean, mean, rtol=1e-7)
    np.testing.assert_allclose(found_variance, variance, rtol=2e-6)


def test_a_drifting_mean_costs_no_digits():
    x = normal(50, 20, 40, 5) + np.linspace(-1e4, 1e4, 50, dtype=np.float32).reshape(-1, 1, 1, 1)
    _, mean, _, _, variance = reference(x, 1, 0)
    _, found_mean, _, _, found_variance = forward(x, np.ones(5, np.float32), np.zeros(5, np.float32))
    np.testing.assert_allclose(found_mean, mean, atol=1e-3)
    np.testing.assert_allclose(found_variance, variance, rtol=1e-6)


def test_what_does_not_vary_has_no_variance():
    x = np.full((5, 40, 50, 3), 0.1, np.float32)
    _, mean, _, _, saved = forward(x, np.ones(3, np.float32), np.zeros(3, np.float32), epsilon=0.0)
    assert np.all(saved >= 0) and np.all(saved < 1e-15)
    np.testing.assert_array_equal(mean, np.full(3, 0.1, np.float32))


# The moments are those that TensorFlow 1.15 gives.
@pytest.mark.parametrize(("value", "mean"), [(np.nan, np.nan), (np.inf, np.inf), (-np.inf, -np.inf)], ids=str)
@pytest.mark.parametrize("at", [0, 7777, -1])
def test_what_is_not_finite_spoils_its_channel_alone(value, mean, at):
    x, added, scale, offset = operands((4, 50, 60, 3))
    clean = forward(x, scale, offset, added, "relu")
    x.reshape(-1, 3)[at, 1] = value
    found = forward(x, scale, offset, added, "relu")
    np.testing.assert_array_equal(found[1][1], np.float32(mean))
    assert np.isnan(found[2][1]) and np.isnan(found[4][1]) and np.isnan(found[0][..., 1]).all()
    for a, b in zip(found, clean, strict=True):
        np.testing.assert_array_equal(a[..., ::2], b[..., ::2])


def test_gradients_that_are_not_finite_stay_in_their_channel_where_relu_was_zero(without):
    x, dy, scale, _ = operands((2, 30, 40, 4))
    y = np.zeros_like(x)
    y[..., 2] = 1
    dy[0, 0, 0, 0], dy[0, 0, 1, 2], dy[0, 0, 0, 3] = np.inf, np.inf, np.nan
    mean, variance = np.zeros(4, np.float32), np.ones(4, np.float32)
    found = backward(dy, x, scale, mean, variance, y)
    assert np.isnan(found[2][[0, 3]]).all() and found[2][2] == np.inf and found[2][1] == 0
    for a, b in zip(found, without(backward, dy, x, scale, mean, variance, y), strict=True):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))


def test_given_moments(without):
    x, added, scale, offset = operands((2, 30, 40, 20))
    given = normal(20, seed=5), np.abs(normal(20, seed=6)) + 0.1
    y = (x.astype(np.float64) - given[0]) / np.sqrt(given[1] + EPSILON) * scale + offset
    found = forward(x, scale, offset, added, "relu", given)
    close(found[0], np.maximum(y + added, 0), 2e-6)
    np.testing.assert_array_equal(found[1], given[0])
    close(found[0], without(forward, x, scale, offset, added, "relu", given)[0], 1e-5)


def test_what_the_library_has_not_is_left_to_xla():
    x, v = np.zeros((2, 8, 8, 64), np.float32), np.zeros(64, np.float32)
    assert native.takes(x, v, v)
    assert not native.takes(x.astype(np.float16), v)
    assert not native.takes(x, v[:1])
    assert not native.takes(x[:0], v)
    assert not native.takes(x[:, :1, :1], v)  # too little


def test_only_what_is_rectified_is_written_by_the_library():
    x, added, scale, offset = operands((2, 8, 8, 64))

    def run(then):
        def step(x, added, scale, offset):
            nothing = jnp.zeros(0)
            return then(
                batch_norm._normalize(jnp, x, scale, offset, nothing, nothing, EPSILON, "NHWC", True)[0],
                added,
            )

        return calls(step, x, added, scale, offset)

    relu = lambda y: activation._relu(jnp, y)  # noqa: E731
    assert run(lambda y, a: y) == 1  # the moments
    assert run(lambda y, a: relu(y)) == 1
    assert run(lambda y, a: relu(binary.add_lower(a, y))) == 2
    assert run(lambda y, a: relu(y * a)) == 1
    assert run(lambda y, a: relu(binary.add_lower(y, a[0]))) == 1
    assert run(lambda y, a: relu(binary.add_lower(binary.add_lower(y, a), a))) == 1


def test_a_sum_of_two_normalized_arrays():
    x, z, scale, offset = operands((3, 9, 10, 32))

    def run(x, z, scale, offset):
        nothing = jnp.zeros(0)
        a, b = (
            batch_norm._normalize(jnp, v, scale, offset, nothing, nothing, EPSILON, "NHWC", True)[0]
            for v in (x, z)
        )
        return activation._relu(jnp, binary.add_lower(a, b))

    expected = np.maximum(reference(x, scale, offset)[0] + reference(z, scale, offset)[0], 0)
    close(np.asarray(jax.jit(run)(x, z, scale, offset)), expected, 3e-6)


def test_nothing_is_remembered_for_long():
    x, added, scale, offset = operands((2, 8, 8, 64))
    forward(x, scale, offset, added, "relu")
    jax.clear_caches()
    gc.collect()
    assert not native._remembered._facts


def test_a_program_may_be_vectorized():
    x, _, scale, offset = operands((2, 8, 8, 32))
    xs = np.stack([x, x * 2, x + 1])

    def one(x):
        nothing = jnp.zeros(0)
        y = batch_norm._normalize(jnp, x, scale, offset, nothing, nothing, EPSILON, "NHWC", True)[0]
        return activation._relu(jnp, binary.add_lower(y, x))

    for found, x in zip(np.asarray(jax.vmap(one)(xs)), xs, strict=True):
        np.testing.assert_array_equal(found, jax.jit(one)(x))


PROGRAM = """
import sys
import numpy as np
import headrace as tf
tf.set_random_seed(1)
x = tf.get_variable("x", [4, 40, 50, 24])
scale = tf.get_variable("scale", [24], initializer=tf.ones_initializer())
y = tf.nn.relu(tf.nn.fused_batch_norm(x, scale, tf.zeros([24]))[0])
y = tf.nn.relu(tf.nn.fused_batch_norm(y * y, scale, tf.zeros([24]))[0] + x)
loss = tf.reduce_mean(y * tf.constant(np.arange(24), tf.float32))
step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(step)
    print(np.concatenate([v.ravel() for v in session.run([x, scale])]).tobytes().hex())
"""


def test_results_do_not_depend_on_threads_and_are_near_those_without(tmp_path):
    def run(**setting):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=dict(os.environ, HEADRACE_CACHE_DIR=str(tmp_path), HEADRACE_TIER="compile", **setting),
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return np.frombuffer(bytes.fromhex(done.stdout.strip()), np.float32)

    one, several, again = run(NPROC="1"), run(NPROC="5"), run(NPROC="5")
    # XLA may cut what it adds up differently, but that is the loss alone.
    np.testing.assert_array_equal(one, several)
    np.testing.assert_array_equal(several, again)
    np.testing.assert_allclose(one, run(HEADRACE_NATIVE="0"), rtol=1e-4, atol=1e-5)
