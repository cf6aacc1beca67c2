"""What becomes of products and convolutions in the call that computes them: when, and that results are the same."""

import os
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.lazy import jax, jnp
from headrace.native import finish, products
from headrace.ops.math import binary
from headrace.ops.math.matmul import matmul_lower
from headrace.ops.nn import activation, batch_norm, bias
from headrace.ops.nn.conv_lowering import Convolution
from headrace.ops.nn.depthwise import DepthwiseConvolution

pytestmark = pytest.mark.usefixtures("needs_xla")

KINDS = {"avx512": "4", "avx2": "3", "plain": "1"}  # with how many threads each is tried
SCALED, BIASED, ADDED, RELU, RELU6 = 1, 2, 4, 8, 16

# m, k, n: no multiples of a tile, sums in one block, in several, and cut into parts for several threads.
SIZES = [
    (14, 64, 32),
    (15, 65, 33),
    (13, 511, 31),
    (7, 41, 400),
    (64, 5000, 40),
    (300, 257, 129),
    (33, 20000, 9),
]

# Image, filter, steps, padding, dilations.
CONVOLUTIONS = {
    "3x3": ((2, 9, 11, 30), (3, 3, 30, 37), 1, "SAME", 1),
    "3x3 in fewer multiplications": ((30, 13, 7, 37), (3, 3, 37, 45), 1, "SAME", 1),
    "5x5 in fewer multiplications": ((40, 11, 7, 20), (5, 5, 20, 24), 1, "SAME", 1),
    "3x3 in fewer multiplications, no padding": ((20, 9, 19, 32), (3, 3, 32, 48), 1, "VALID", 1),
    "steps of two": ((3, 12, 9, 18), (3, 3, 18, 33), 2, "SAME", 1),
    "one element": ((2, 9, 8, 20), (1, 1, 20, 40), 1, "VALID", 1),
    "many channels": ((1, 7, 7, 200), (3, 3, 200, 70), 1, "SAME", 1),
    "a window larger than the image": ((2, 3, 2, 20), (5, 4, 20, 8), 1, "SAME", 1),
    "places that see nothing": ((1, 3, 3, 32), (3, 3, 32, 16), 4, [(0, 0), (9, 9), (9, 9), (0, 0)], 1),
    "dilated": ((2, 13, 15, 16), (3, 2, 16, 9), 1, "SAME", 2),
    "groups": ((2, 9, 8, 24), (3, 3, 8, 48), 2, "SAME", 1),
    "depthwise": ((2, 9, 11, 39), (3, 3, 39, 1), 1, "SAME", 1),
    "depthwise, steps of two": ((3, 12, 9, 5), (3, 3, 5, 1), 2, "SAME", 1),
}

# What is done: "b" a bias, "n" a normalization by given moments, "a" something added, then "relu" or "relu6".
CHAINS = ["b", "relu", "b relu", "b relu6", "n relu6", "b a", "a", "a relu", "b a relu", "n a relu"]


def normal(*shape, seed=1):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def convolution(shape, kernel, step, padding, dilation):
    shared = {"strides": [1, step, step, 1], "dilations": [1, dilation, dilation, 1], "data_format": "NHWC"}
    if kernel[-1] == 1:
        return DepthwiseConvolution(shape, kernel, padding=padding, **shared)
    if not isinstance(padding, str):
        shared["explicit_paddings"] = [n for pair in padding for n in pair]
        padding = "EXPLICIT"
    return Convolution(shape, kernel, padding=padding, **shared)


def chained(y, chain, operands):
    """Returns what the rules of the ops of a chain give."""
    for what in chain.split():
        if what == "b":
            y = bias.bias_add_lower(y, operands["bias"], data_format="NHWC")
        elif what == "n":
            vectors = [operands[name] for name in ("scale", "bias", "mean", "variance")]
            y = batch_norm._normalize(jnp, y, *vectors, 1e-3, "NHWC", False)[0]
        elif what == "a":
            y = binary.add_lower(operands["added"], y)
        else:
            y = {"relu": activation._relu, "relu6": activation._relu6}[what](jnp, y)
    return y


def operands_for(shape):
    n = shape[-1]
    vectors = {name: normal(n, seed=i) for i, name in enumerate(("bias", "scale", "mean"), start=5)}
    return {**vectors, "variance": np.abs(normal(n, seed=8)) + 0.5, "added": normal(*shape, seed=9)}


def both(compute, shape, chain, *given):
    """Returns the results of a chain in calls of their own, and in the call of the product."""
    of = operands_for(shape)

    def apart(given, of):
        y = compute(*given)
        finish.forget(y)
        return chained(y, chain, of)

    def together(given, of):
        y = compute(*given)
        found = chained(y, chain, of)
        assert finish._remembered.of(found).finish.code != 0
        return found

    return np.asarray(jax.jit(apart)(given, of)), np.asarray(jax.jit(together)(given, of))


def assert_same(apart, together, chain):
    if "n" in chain.split():  # XLA adds a product without rounding it
        np.testing.assert_allclose(together, apart, rtol=2e-6, atol=2e-5)
    else:
        np.testing.assert_array_equal(together, apart)
        np.testing.assert_array_equal(np.signbit(together), np.signbit(apart))


def multiply(a, b):
    return matmul_lower(a, b, transpose_a=False, transpose_b=False)


@pytest.mark.parametrize("chain", [c for c in CHAINS if "n" not in c.split()])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_give_the_same_bits(size, chain):
    m, k, n = size
    a, b = normal(m, k), normal(k, n, seed=2)
    apart, together = both(multiply, (m, n), chain, a, b)
    assert_same(apart, together, chain)
    exact = chained_in_float64(a.astype(np.float64) @ b, chain, operands_for((m, n)))
    np.testing.assert_allclose(together, exact, rtol=1e-5, atol=3e-6 * k**0.5)


def chained_in_float64(y, chain, of):
    for what in chain.split():
        if what == "b":
            y = y + of["bias"]
        elif what == "a":
            y = y + of["added"]
        else:
            y = np.clip(y, 0, 6 if what == "relu6" else np.inf)
    return y


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions_give_the_same(case, chain):
    conv = convolution(*case)
    if "n" in chain.split():  # of fewer numbers it is XLA's
        images = -(-4096 // int(np.prod(conv.output_shape[1:])))
        case = ((images, *case[0][1:]), *case[1:])
        conv = convolution(*case)
    compute = conv.forward if case[1][-1] == 1 else conv.apply
    x, w = normal(*case[0]), normal(*case[1], seed=2)
    assert_same(*both(compute, conv.output_shape, chain, x, w), chain)


def test_what_is_no_number_stays_and_zeros_are_positive():
    a, b = np.zeros((20, 40), np.float32), np.zeros((40, 20), np.float32)
    b[0, :6] = [np.nan, np.inf, -np.inf, 7, -7, -0.0]
    a[:, 0] = 1
    a[1, 0] = -1
    for chain in CHAINS:
        if "n" not in chain.split():
            assert_same(*both(multiply, (20, 20), chain, a, b), chain)


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_code(kind):
    """Runs tests above with the code for another kind of CPU, or the best that this one has."""
    environment = {**os.environ, "HEADRACE_PRODUCTS": kind, "NPROC": KINDS[kind]}
    here = "products_give or convolutions_give or what_is_no_number"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k", here]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


# -- in sessions ---------------------------------------------------------------------------------------------------


@pytest.fixture
def codes(monkeypatch):
    """What the calls of products and convolutions that a step makes are to do beside, by the text of the step."""
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    found = []
    original = products.xla.call

    def call(target, *rest, **attrs):
        if "finish" in attrs:
            found.append(int(attrs["finish"]))
        return original(target, *rest, **attrs)

    monkeypatch.setattr(products.xla, "call", call)
    return found


def run(build, without):
    """Runs what `build` gives, compiled with the library and without."""

    def go():
        with tf.Graph().as_default(), tf.Session() as s:
            tf.set_random_seed(1)
            x = tf.placeholder(tf.float32, [None, 8, 8, 16])
            fetches = build(x)
            s.run(tf.global_variables_initializer())
            return s.run(fetches, {x: normal(3, 8, 8, 16)})

    found = go()
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(without(go)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def filters(*shape, seed=3):
    return tf.constant(0.1 * normal(*shape, seed=seed))


def conv(x, seed=3, **attrs):
    return tf.nn.conv2d(x, filters(3, 3, 16, 16, seed=seed), 1, "SAME", **attrs)


def vector(n=16):
    return tf.get_variable("bias", initializer=normal(n, seed=4))


def dense(x):
    return tf.matmul(tf.reshape(x, [-1, 1024]), filters(1024, 32))


FIRES = {
    "convolution, bias, relu": (lambda x: tf.nn.relu(tf.nn.bias_add(conv(x), vector())), BIASED | RELU),
    "convolution, sum, relu6": (lambda x: tf.nn.relu6(conv(x) + vector()), BIASED | RELU6),
    "convolution, bias": (lambda x: tf.nn.bias_add(conv(x), vector()), BIASED),
    "product, bias, relu": (lambda x: tf.nn.relu(tf.nn.bias_add(dense(x), vector(32))), BIASED | RELU),
    "bias, product": (lambda x: vector(32) + dense(x), BIASED),
    "bias, something, relu": (
        lambda x: tf.nn.relu(tf.nn.bias_add(conv(x), vector()) + x),
        BIASED | ADDED | RELU,
    ),
    "depthwise, bias, relu6": (
        lambda x: tf.nn.relu6(
            tf.nn.bias_add(tf.nn.depthwise_conv2d(x, filters(3, 3, 16, 1), [1, 1, 1, 1], "SAME"), vector())
        ),
        BIASED | RELU6,
    ),
    "copies between": (
        lambda x: tf.nn.relu(tf.identity(tf.nn.bias_add(tf.identity(conv(x)), vector()))),
        BIASED | RELU,
    ),
}


@pytest.mark.parametrize("case", FIRES.values(), ids=FIRES)
def test_it_is_part_of_the_call(case, codes, without):
    build, code = case
    run(build, without)
    assert codes[-1] == code


def test_a_normalization_is_part_of_the_call(codes, without):
    def build(x):
        w = tf.get_variable("w", initializer=0.1 * normal(3, 3, 16, 32, seed=3))
        scale, offset = (tf.get_variable(name, initializer=normal(32)) for name in ("scale", "offset"))
        moments = tf.constant(normal(32)), tf.constant(np.full(32, 0.5, np.float32))
        y = tf.nn.conv2d(x, w, 1, "SAME")
        return tf.nn.relu(tf.nn.fused_batch_norm(y, scale, offset, *moments, is_training=False)[0])

    run(build, without)
    assert codes[-1] == SCALED | BIASED | RELU


def test_the_forward_part_of_a_training_step_too(codes, without):
    def build(x):
        w = tf.get_variable("w", initializer=0.1 * normal(3, 3, 16, 16, seed=3))
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), vector()))
        return tf.gradients(tf.reduce_sum(y * y), tf.global_variables())

    run(build, without)
    assert BIASED | RELU in codes


def with_users(build):
    def both_of(x):
        y = build(x)
        return tf.nn.relu(tf.nn.bias_add(y, vector(int(y.shape[-1])))), y

    return both_of


def used_twice(x):
    y = tf.nn.bias_add(conv(x), vector())
    return tf.nn.relu(y) + tf.tanh(y)


ALONE = {
    "fetched": (with_users(conv), {0}),
    "a product that is fetched": (with_users(dense), {0}),
    "the sum is used twice": (used_twice, {0, BIASED}),
    "added to itself": (lambda x: (lambda y: tf.nn.relu(y + y))(conv(x)), {0}),
    "other operations": (lambda x: tf.nn.relu(tf.tanh(conv(x))), {0}),
    "a bias along another axis": (lambda x: tf.nn.relu(conv(x) + tf.reshape(vector(8), [8, 1])), {0}),
    "after relu": (lambda x: tf.nn.bias_add(tf.nn.relu(conv(x)), vector()), {0, RELU}),
    "float64": (
        lambda x: tf.nn.relu(tf.matmul(tf.cast(tf.reshape(x, [-1, 1024]), tf.float64), np.ones((1024, 9)))),
        set(),
    ),
    "narrow floats": (
        lambda x: tf.cast(tf.nn.relu(conv_of(x, tf.float16)), tf.float32),
        {0},
    ),
    "channels first": (lambda x: tf.nn.relu(channels_first(x)), {0}),
}


def conv_of(x, dtype):
    w = tf.cast(filters(3, 3, 16, 16), dtype)
    return tf.nn.conv2d(tf.cast(x, dtype), w, 1, "SAME")


def channels_first(x):
    y = tf.nn.conv2d(tf.transpose(x, [0, 3, 1, 2]), filters(3, 3, 16, 16), 1, "SAME", data_format="NCHW")
    return tf.nn.bias_add(y, vector(), data_format="NCHW")


@pytest.mark.parametrize("case", ALONE.values(), ids=ALONE)
def test_it_is_left_alone(case, codes, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", "compile")
    build, allowed = case
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder(tf.float32, [3, 8, 8, 16])
        fetches = build(x)
        s.run(tf.global_variables_initializer())
        found = s.run(fetches, {x: normal(3, 8, 8, 16)})
    assert set(codes) == allowed
    assert all(np.isfinite(v).all() for v in tf.nest.flatten(found))


def test_without_the_library_there_is_nothing_to_do(codes, without):
    def go():
        with tf.Graph().as_default(), tf.Session() as s:
            x = tf.constant(normal(3, 8, 8, 16))
            return s.run(tf.nn.relu(conv(x) + normal(16)))

    without(go)
    assert codes == []


def test_no_product_is_computed_twice_for_a_branch(codes):
    """A function's body may use an operand as often as it likes."""
    with tf.Graph().as_default(), tf.Session() as s:
        x = tf.placeholder(tf.float32, [3, 8, 8, 16])
        y = conv(x)
        out = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(y) + tf.tanh(y), lambda: y)
        s.run(out, {x: normal(3, 8, 8, 16)})
    assert set(codes) == {0}
