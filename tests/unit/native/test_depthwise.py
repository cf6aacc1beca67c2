"""Convolutions of every channel with a filter of its own by the native library: what sums in float64 give."""

import numpy as np
import pytest

from headrace.lazy import jax
from headrace.native import host_products, products
from headrace.ops.nn import interpreted
from headrace.ops.nn.depthwise import DepthwiseConvolution

pytestmark = pytest.mark.usefixtures("needs_xla")

# Image, window, steps, padding, dilations.
GEOMETRIES = {
    "3x3": ((2, 9, 11, 32), (3, 3), (1, 1), "SAME", (1, 1)),
    "steps of two": ((3, 12, 9, 19), (3, 3), (2, 2), "SAME", (1, 1)),
    "steps larger than the window": ((2, 13, 14, 5), (2, 1), (4, 3), "VALID", (1, 1)),
    "few channels": ((2, 8, 8, 3), (3, 3), (1, 1), "VALID", (1, 1)),
    "many channels": ((1, 7, 7, 150), (3, 3), (1, 1), "SAME", (1, 1)),
    "many images": ((40, 4, 5, 8), (3, 2), (1, 1), "SAME", (1, 1)),
    "dilated": ((2, 13, 15, 20), (3, 2), (1, 1), "SAME", (2, 3)),
    "a window larger than the image": ((2, 3, 2, 17), (5, 5), (1, 1), "SAME", (1, 1)),
    "large windows": ((1, 20, 21, 16), (7, 9), (2, 2), "SAME", (1, 1)),
}


def normal(*shape, seed=1):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def geometry(shape, window, strides, padding, dilations, multiplier=1, layout="NHWC"):
    def axes(values):
        return [1, *values, 1] if layout == "NHWC" else [1, 1, *values]

    return DepthwiseConvolution(
        shape,
        (*window, shape[3 if layout == "NHWC" else 1], multiplier),
        strides=axes(strides),
        padding=padding,
        data_format=layout,
        dilations=axes(dilations),
    )


def interpreted_now(conv, x, w, dy):
    with np.errstate(all="ignore"):
        return [
            interpreted.convolve_depthwise(conv, x, w),
            interpreted.depthwise_input_gradient(conv, w, dy),
            interpreted.depthwise_filter_gradient(conv, x, dy),
        ]


def computed(conv, x, w, dy):
    results = jax.jit(
        lambda x, w, dy: (conv.forward(x, w), conv.backprop_input(w, dy), conv.backprop_filter(x, dy))
    )
    return [np.asarray(v) for v in results(x, w, dy)]


def reference(conv, x, w, dy):
    x, w, dy = (v.astype(np.float64) for v in (x, w[..., 0], dy))
    padded = np.pad(x, [(0, 0), *((a, b + 50) for a, b in conv.pads), (0, 0)])
    y, dx, dw = np.zeros(dy.shape), np.zeros(padded.shape), np.zeros(w.shape)
    for at in np.ndindex(*conv.kernel):
        seen = (
            slice(None),
            *(
                slice(k * d, k * d + (n - 1) * s + 1, s)
                for k, d, n, s in zip(at, conv.dilations, conv.outputs, conv.strides, strict=True)
            ),
        )
        y += padded[seen] * w[at]
        dx[seen] += dy * w[at]
        dw[at] = (padded[seen] * dy).sum((0, 1, 2))
    (top, _), (left, _) = conv.pads
    return y, dx[:, top : top + x.shape[1], left : left + x.shape[2]], dw[..., None]


@pytest.mark.parametrize("way", [computed, interpreted_now])
@pytest.mark.parametrize("case", GEOMETRIES.values(), ids=GEOMETRIES)
def test_convolutions_are_those_of_float64(case, way):
    conv = geometry(*case)
    x, w, dy = normal(*case[0]), normal(*conv.depthwise_shape, seed=2), normal(*conv.output_shape, seed=3)
    assert conv._is_native(x)
    expected = reference(conv, x, w, dy)
    for found, want, terms in zip(
        way(conv, x, w, dy), expected, (w[..., 0, 0].size,) * 2 + (dy.size,), strict=True
    ):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6 * terms**0.5)


def test_it_is_what_xla_gives_and_channels_may_come_first(without):
    x, w = normal(2, 6, 9, 8), normal(3, 3, 6, 1)
    conv = geometry((2, 6, 9, 8), (3, 3), (1, 2), "SAME", (1, 1), layout="NCHW")
    dy = normal(*conv.output_shape, seed=3)
    for found, expected in zip(computed(conv, x, w, dy), without(computed, conv, x, w, dy), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_interpreter_has_it_too(without):
    conv = geometry(*GEOMETRIES["steps of two"])
    x, w, dy = normal(*conv.input_shape), normal(*conv.depthwise_shape), normal(*conv.output_shape)
    for which, shape, a, b in (
        ("", conv.output_shape, x, w),
        ("input_gradient", conv.input_shape, w, dy),
        ("filter_gradient", conv.depthwise_shape, x, dy),
    ):
        place = dict(strides=conv.strides, dilations=conv.dilations, before=[p for p, _ in conv.pads])
        assert host_products.depthwise(which, shape, a, b, **place) is not None
        assert host_products.depthwise(which, shape, a.astype(np.float64), b, **place) is None
        fewer = a[:, :, :1] if a is w else a[..., :1]
        assert host_products.depthwise(which, shape, fewer, b, **place) is None
    for found, expected in zip(
        interpreted_now(conv, x, w, dy), without(interpreted_now, conv, x, w, dy), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("computed", [computed, interpreted_now])
def test_what_is_not_a_number_goes_where_it_is_seen_and_nowhere_else(computed):
    conv = geometry(*GEOMETRIES["3x3"])
    x, w, dy = normal(*conv.input_shape), normal(*conv.depthwise_shape), normal(*conv.output_shape)
    x[1, 4, 5, 2] = np.nan
    dy[0, 0, 0, 3] = np.inf
    y, dx, dw = computed(conv, x, w, dy)
    wrong = np.zeros(y.shape, bool)
    wrong[1, 3:6, 4:7, 2] = True
    np.testing.assert_array_equal(np.isnan(y), wrong)
    wrong = np.zeros(dx.shape, bool)
    wrong[0, :2, :2, 3] = True
    np.testing.assert_array_equal(~np.isfinite(dx), wrong)
    assert np.isnan(dw[:, :, 2]).all() and np.isfinite(np.delete(dw, [2, 3], 2)).all()


def test_several_filters_a_channel_and_other_types_are_left_to_xla():
    x = normal(1, 6, 6, 4)
    assert not geometry((1, 6, 6, 4), (3, 3), (1, 1), "SAME", (1, 1), multiplier=2)._is_native(x)
    assert not products.takes_depthwise(np.float64, 1)
    assert not geometry((0, 6, 6, 4), (3, 3), (1, 1), "SAME", (1, 1))._is_native(x[:0])
