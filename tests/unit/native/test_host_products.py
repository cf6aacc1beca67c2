"""Products and convolutions for the interpreter: what the native library gives is what NumPy gives."""

import numpy as np
import pytest

from headrace import blas
from headrace import native as library
from headrace.native import host_products
from headrace.ops.nn import interpreted
from headrace.ops.nn.conv_lowering import Convolution

CLOSE = dict(rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (3, 700, 5), (129, 64, 257), (5, 4000, 40), (600, 300, 400)])
def test_products_are_those_of_numpy(m, k, n, turned, needs_products):
    random = np.random.RandomState(1)
    a, b = random.randn(m, k).astype(np.float32), random.randn(k, n).astype(np.float32)
    expected = a.astype(np.float64) @ b
    a, b = (np.asfortranarray(x) if flag else x for x, flag in zip((a, b), turned, strict=True))
    for threads in (1, 2, 3):
        library.use_threads(threads)
        np.testing.assert_allclose(host_products.product(a, b), expected, **CLOSE)
    np.testing.assert_allclose(blas.multiply(a, b), expected, **CLOSE)
    np.testing.assert_allclose(host_products.product(a[::2], b[:, ::2]), expected[::2, ::2], **CLOSE)


@pytest.fixture(autouse=True)
def threads():
    before = library._threads
    yield
    library._threads = before


def test_what_is_not_for_the_library_is_left_to_numpy():
    a = np.ones((4, 4), np.float32)
    assert host_products.product(a, a.astype(np.float64)) is None
    assert host_products.product(a[0], a) is None
    assert host_products.product(a[:0], a) is None
    assert host_products.product(a, a[:2]) is None
    with pytest.raises(ValueError, match="matmul"):
        blas.multiply(np.ones((1000, 1000), np.float32), np.ones((999, 1000), np.float32))


def test_nan_and_infinity_spread_as_in_numpy(needs_products):
    random = np.random.RandomState(1)
    a, b = random.rand(40, 50).astype(np.float32), random.rand(50, 60).astype(np.float32)
    a[3, 4], a[5, 6], b[7, 8] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(host_products.product(a, b), a @ b, **CLOSE)


def _cases(count):
    random = np.random.RandomState(5)
    while count:
        axes = random.randint(1, 3)
        sizes, kernel, strides, dilations = (random.randint(1, most, axes) for most in (8, 4, 4, 3))
        pads = random.randint(0, 3, (axes, 2))
        outputs = (sizes + pads.sum(1) - (kernel - 1) * dilations - 1) // strides + 1
        if axes == 2 and outputs.min() >= 1:
            count -= 1
            images, channels, filters = random.randint(1, 20, 3)
            yield Convolution(
                (images, *sizes, channels),
                (*kernel, channels, filters),
                strides=[1, *strides, 1],
                padding="EXPLICIT",
                data_format="NHWC",
                dilations=[1, *dilations, 1],
                explicit_paddings=[0, 0, *pads.ravel(), 0, 0],
            )


@pytest.mark.parametrize("number", [1, 2])
def test_convolutions_are_those_of_numpy(number, without, needs_products):
    library.use_threads(number)
    random = np.random.RandomState(6)
    for conv in _cases(60):
        x = random.randn(*conv.input_shape).astype(np.float32)
        w = random.randn(*conv.filter_shape).astype(np.float32)
        dy = random.randn(*conv.output_shape).astype(np.float32)
        functions = (
            (interpreted.convolve, x, w),
            (interpreted.input_gradient, w, dy),
            (interpreted.filter_gradient, x, dy),
        )
        for function, a, b in functions:
            found = function(conv, a, b)
            np.testing.assert_allclose(found, without(function, conv, a, b), **CLOSE)
            assert found.flags.c_contiguous and found.dtype == np.float32


def test_an_infinite_filter_meets_no_padding(needs_products):
    conv = Convolution(
        (1, 4, 5, 8),
        (2, 3, 8, 1),
        strides=[1, 1, 2, 1],
        padding="EXPLICIT",
        data_format="NHWC",
        dilations=[1, 1, 1, 1],
        explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0],
    )
    w = np.ones(conv.filter_shape, np.float32)
    w[:, 0] = np.inf
    dy = np.ones(conv.output_shape, np.float32)
    dx = interpreted.input_gradient(conv, w, dy)
    assert not np.isnan(dx).any()
    assert np.isfinite(dx[:, :, 4]).all()  # no window begins there


def test_shapes_that_do_not_fit_are_refused():
    x, w = np.ones((1, 4, 4, 3), np.float32), np.ones((2, 2, 4, 5), np.float32)
    steps = dict(strides=(1, 1), dilations=(1, 1), before=(0, 0))
    assert host_products.convolution("", (1, 3, 3, 5), x, w, **steps) is None
    assert host_products.convolution("", (2, 3, 3, 5), x, w[:, :, :3], **steps) is None
    assert host_products.convolution("", (1, 3, 3, 5), x.astype(np.float64), w[:, :, :3], **steps) is None


def test_a_filter_as_wide_as_the_image_is_not_slid_over_it(without, needs_products, monkeypatch):
    """Each element of the input meets one element of such a filter; looking at all takes as often as long."""
    conv = Convolution(
        (2, 9, 32, 4),
        (3, 32, 4, 5),
        strides=[1, 1, 1, 1],
        padding="VALID",
        data_format="NHWC",
        dilations=[1] * 4,
    )
    assert conv.is_seldom_met
    random = np.random.RandomState(6)
    w = random.randn(*conv.filter_shape).astype(np.float32)
    dy = random.randn(*conv.output_shape).astype(np.float32)
    expected = without(interpreted.input_gradient, conv, w, dy)
    np.testing.assert_allclose(conv.input_gradient(w, dy), expected, **CLOSE)
    monkeypatch.setattr(host_products, "convolution", lambda *args, **steps: pytest.fail("it is slid"))
    np.testing.assert_allclose(interpreted.input_gradient(conv, w, dy), expected, **CLOSE)
    small = Convolution(
        (2, 14, 14, 8),
        (5, 5, 8, 8),
        strides=[1, 1, 1, 1],
        padding="SAME",
        data_format="NHWC",
        dilations=[1] * 4,
    )
    assert not small.is_seldom_met
