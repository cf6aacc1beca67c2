"""Products of matrices and convolutions by the native library: what sums in float64 give."""

import os
import subprocess
import sys

import numpy as np
import pytest

from headrace.lazy import jax
from headrace.native import products
from headrace.ops.math.matmul import batch_matmul_lower, matmul_lower
from headrace.ops.nn.conv_lowering import Convolution

pytestmark = pytest.mark.usefixtures("needs_xla")

KINDS = {"avx512": "4", "avx2": "3", "plain": "1"}  # with how many threads each is tried

# m, k, n: no multiples of a tile, one more and one less than one, a single row or column, sums that are cut into
# blocks and into parts for several threads.
SIZES = [
    (1, 100, 70), (70, 100, 1), (14, 64, 32), (15, 65, 33), (13, 511, 31), (29, 1030, 17), (100, 7, 90),
    (6, 300, 16), (7, 41, 400), (20, 400, 800), (64, 5000, 40), (300, 257, 129), (33, 20000, 9),
]  # fmt: skip

# Image, filter, steps, padding, dilations, layout.
CONVOLUTIONS = {
    "3x3": ((2, 9, 11, 5), (3, 3, 5, 7), (1, 1), "SAME", (1, 1), "NHWC"),
    "a tile of each": ((2, 14, 8, 16), (3, 3, 16, 32), (1, 1), "SAME", (1, 1), "NHWC"),
    "steps of two": ((3, 12, 9, 18), (3, 3, 18, 33), (2, 2), "SAME", (1, 1), "NHWC"),
    "one element, steps of two": ((2, 9, 8, 20), (1, 1, 20, 40), (2, 2), "VALID", (1, 1), "NHWC"),
    "steps larger than the window": ((2, 13, 14, 3), (2, 1, 3, 20), (4, 3), "VALID", (1, 1), "NHWC"),
    "steps of three, some elements unseen": ((1, 17, 16, 4), (2, 2, 4, 6), (3, 3), "VALID", (1, 1), "NHWC"),
    "11x11, steps of four": ((2, 39, 43, 3), (11, 11, 3, 24), (4, 4), "VALID", (1, 1), "NHWC"),
    "7x7, steps of two": ((1, 23, 30, 3), (7, 7, 3, 17), (2, 2), "SAME", (1, 1), "NHWC"),
    "one channel": ((3, 28, 28, 1), (5, 5, 1, 32), (1, 1), "SAME", (1, 1), "NHWC"),
    "one filter": ((2, 10, 10, 12), (3, 3, 12, 1), (1, 1), "SAME", (1, 1), "NHWC"),
    "dilated": ((2, 13, 15, 6), (3, 2, 6, 9), (1, 1), "SAME", (2, 3), "NHWC"),
    "flat windows": ((2, 17, 6, 11), (7, 1, 11, 5), (1, 1), "SAME", (1, 1), "NHWC"),
    "a window larger than the image": ((2, 3, 2, 6), (5, 4, 6, 8), (1, 1), "SAME", (1, 1), "NHWC"),
    "explicit padding": (
        (2, 6, 7, 3),
        (3, 3, 3, 9),
        (2, 1),
        [(0, 0), (4, 1), (0, 5), (0, 0)],
        (1, 1),
        "NHWC",
    ),
    "many channels": ((1, 7, 7, 200), (3, 3, 200, 70), (1, 1), "SAME", (1, 1), "NHWC"),
    "channels first": ((2, 5, 9, 12), (3, 3, 5, 8), (1, 2), "SAME", (1, 1), "NCHW"),
    "groups": ((2, 9, 8, 24), (3, 3, 8, 48), (2, 1), "SAME", (1, 1), "NHWC"),
    "groups, dilated": ((2, 9, 10, 16), (2, 3, 8, 20), (1, 1), "SAME", (2, 2), "NHWC"),
    "groups of one element": ((2, 5, 5, 32), (1, 1, 16, 32), (1, 1), "VALID", (1, 1), "NHWC"),
    "volumes": ((2, 5, 6, 7, 3), (3, 2, 3, 3, 10), (1, 2, 2), "SAME", (1, 1, 1), "NDHWC"),
    "a small image of a large one": ((9, 30, 31, 8), (3, 3, 8, 9), (1, 1), "SAME", (1, 1), "NHWC"),
}


def normal(*shape, seed=1):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def close(found, expected, terms):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=3e-7 * terms**0.5 * 10)


@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_are_those_of_float64(size, turn_a, turn_b):
    m, k, n = size
    a, b = normal(m, k), normal(k, n, seed=2)
    given = a.T.copy() if turn_a else a, b.T.copy() if turn_b else b
    assert products.product(*given, turn_a, turn_b) is not None
    found = jax.jit(lambda a, b: matmul_lower(a, b, transpose_a=turn_a, transpose_b=turn_b))(*given)
    close(found, a.astype(np.float64) @ b, k)


@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize("turn_a", [False, True])
def test_products_of_many_matrices(turn_a, turn_b):
    a, b = normal(3, 2, 17, 20), normal(3, 2, 20, 35, seed=2)
    given = a.swapaxes(-1, -2).copy() if turn_a else a, b.swapaxes(-1, -2).copy() if turn_b else b
    found = jax.jit(lambda a, b: batch_matmul_lower(a, b, adj_x=turn_a, adj_y=turn_b))(*given)
    close(found, a.astype(np.float64) @ b, 20)


def test_what_the_library_has_not_is_left_to_xla():
    a = normal(40, 40)
    assert products.product(a, a) is not None
    assert products.product(a.astype(np.float64), a.astype(np.float64)) is None
    assert products.product(a[:2, :3], a[:3, :4]) is None  # too little to multiply
    assert products.product(a[None], a) is None
    assert products.product(a[:0], a) is None
    assert not products.takes_convolution(np.float64, (3, 3), 8, 8, 1)
    assert not products.takes_convolution(np.float32, (3, 3), 8, 8, 8)
    assert products.takes_convolution(np.float32, (3, 3), 8, 8, 1)
    assert not products.takes_steps((1000, 1000))


def slices(conv, at):
    """Returns where the element `at` of the window is in the padded image, one slice an axis."""
    return tuple(
        slice(k * d, k * d + (n - 1) * s + 1, s)
        for k, d, n, s in zip(at, conv.dilations, conv.outputs, conv.strides, strict=True)
    )


def reference(conv, x, w, dy):
    """Returns a convolution and its gradients in float64, channels last."""
    x, w, dy = (v.astype(np.float64) for v in (x, w, dy))
    pads = [(0, 0), *conv.pads, (0, 0)]
    padded = np.pad(x, [(a, b + 50) for a, b in pads[:-1]] + [(0, 0)])
    y, dx, dw = np.zeros(dy.shape), np.zeros(padded.shape), np.zeros(w.shape)
    c, f = w.shape[-2], w.shape[-1] // conv.groups
    for at in np.ndindex(*conv.kernel):
        for g in range(conv.groups):
            ins, outs = slice(g * c, g * c + c), slice(g * f, g * f + f)
            seen = (slice(0, x.shape[0]), *slices(conv, at), ins)
            y[..., outs] += padded[seen] @ w[at][:, outs]
            dx[seen] += dy[..., outs] @ w[at][:, outs].T
            dw[(*at, slice(None), outs)] += np.tensordot(
                padded[seen], dy[..., outs], (range(x.ndim - 1), range(x.ndim - 1))
            )
    inner = [
        slice(0, x.shape[0]),
        *(slice(a, a + n) for (a, _), n in zip(conv.pads, x.shape[1:-1], strict=True)),
    ]
    return y, dx[tuple(inner)], dw


def geometry(shape, kernel, strides, padding, dilations, layout):
    def all_axes(values):
        values = iter(values)
        return [1 if c in "NC" else next(values) for c in layout]

    explicit = () if isinstance(padding, str) else [n for pair in padding for n in pair]
    return Convolution(
        shape,
        kernel,
        strides=all_axes(strides),
        padding="EXPLICIT" if explicit else padding,
        data_format=layout,
        dilations=all_axes(dilations),
        explicit_paddings=explicit,
    )


def computed(conv, x, w, dy):
    return [
        np.asarray(v)
        for v in jax.jit(
            lambda x, w, dy: (conv.apply(x, w), conv.input_gradient(w, dy), conv.filter_gradient(x, dy))
        )(x, w, dy)
    ]


@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions_are_those_of_float64(case, monkeypatch):
    conv = geometry(*case)
    x, w, dy = (
        normal(*conv.input_shape),
        normal(*conv.filter_shape, seed=2),
        normal(*conv.output_shape, seed=3),
    )
    called = []
    original = products.xla.call
    monkeypatch.setattr(
        products.xla,
        "call",
        lambda target, *rest, **attrs: (called.append(target), original(target, *rest, **attrs))[1],
    )
    y, dx, dw = computed(conv, x, w, dy)
    of_convolutions = [target for target in called if target.startswith("headrace_convolution")]
    assert len(of_convolutions) == (2 if conv._is_thin else 3)
    last = (lambda v: np.moveaxis(v, 1, -1)) if conv.layout == "NCHW" else lambda v: v
    expected = reference(conv, last(x), w, last(dy))
    terms = int(np.prod(conv.filter_shape[:-1]))
    close(last(y), expected[0], terms)
    close(last(dx), expected[1], terms * conv.filter_shape[-1] // conv.filter_shape[-2])
    close(dw, expected[2], dy.size // conv.filter_shape[-1])


def test_it_is_what_xla_gives(without):
    conv = geometry(*CONVOLUTIONS["steps of two"])
    operands = normal(*conv.input_shape), normal(*conv.filter_shape), normal(*conv.output_shape)
    for found, expected in zip(computed(conv, *operands), without(computed, conv, *operands), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_what_is_not_a_number_goes_where_it_is_seen_and_nowhere_else():
    conv = geometry(*CONVOLUTIONS["3x3"])
    x, w, dy = normal(*conv.input_shape), normal(*conv.filter_shape), normal(*conv.output_shape)
    x[1, 4, 5, 2] = np.nan
    dy[0, 0, 0, 3] = np.inf
    y, dx, dw = computed(conv, x, w, dy)
    wrong = np.zeros(y.shape, bool)
    wrong[1, 3:6, 4:7] = True
    np.testing.assert_array_equal(np.isnan(y), wrong)
    wrong = np.zeros(dx.shape, bool)
    wrong[0, :2, :2] = True
    np.testing.assert_array_equal(~np.isfinite(dx), wrong)
    assert not np.isfinite(dw[..., 3]).all() and np.isnan(dw[:, :, 2]).all()
    a, b = normal(20, 30), normal(30, 40)
    a[3, 4] = np.nan
    found = np.asarray(jax.jit(lambda a, b: matmul_lower(a, b, transpose_a=False, transpose_b=False))(a, b))
    np.testing.assert_array_equal(np.isnan(found), np.arange(20)[:, None] * np.ones(40) == 3)


def test_half_precision_adds_up_in_float32():
    conv = geometry(*CONVOLUTIONS["many channels"])
    x, w = normal(*conv.input_shape).astype(np.float16), normal(*conv.filter_shape).astype(np.float16)
    y = np.asarray(jax.jit(conv.apply)(x, w))
    assert y.dtype == np.float16
    expected = reference(conv, x, w, np.zeros(conv.output_shape))[0]
    np.testing.assert_allclose(y, expected, rtol=2e-3, atol=2e-3)


def test_a_product_gives_the_same_each_time():
    a, b = normal(33, 20000), normal(20000, 9)
    product = jax.jit(lambda a, b: matmul_lower(a, b, transpose_a=False, transpose_b=False))
    first = np.asarray(product(a, b))
    for _ in range(5):
        np.testing.assert_array_equal(np.asarray(product(a, b)), first)


def test_the_code_is_what_is_asked_for(has_vectors):
    wanted = os.environ.get("HEADRACE_PRODUCTS")
    # Other CPUs have XLA's, if nothing is asked for.
    assert products.is_there() == (has_vectors or wanted is not None)
    # Without AVX-512 the next best takes its place.
    assert products.code() in list(KINDS)[list(KINDS).index(wanted or "avx512") :]


@pytest.mark.parametrize("code", KINDS)
def test_each_kind_of_code(code):
    """Runs the tests above with the code for another kind of CPU, and another number of threads."""
    environment = {**os.environ, "HEADRACE_PRODUCTS": code, "NPROC": KINDS[code]}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            __file__,
            "-k",
            "not each_kind",
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
