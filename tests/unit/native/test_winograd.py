"""Convolutions in fewer multiplications: they are the sums of products that they stand for."""

import os
import subprocess
import sys

import numpy as np
import pytest

from headrace import native as library
from headrace.native import host_products

pytestmark = pytest.mark.usefixtures("needs_products")

# Large enough to be computed so: images [n, h, w, c], filters, window, padding before and after. Tiles that are cut,
# channels that fill no register, lots of several images and of a part of one, several pieces of sums.
CASES = {
    "same": ((130, 12, 10, 16), 16, (3, 3), (1, 1)),
    "odd": ((12, 13, 9, 57), 65, (3, 3), (1, 1)),
    "valid": ((20, 15, 14, 40), 33, (3, 3), (0, 0)),
    "full": ((24, 9, 11, 33), 50, (3, 3), (2, 2)),
    "uneven": ((20, 14, 11, 35), 32, (3, 3), (0, 1)),
    "many places": ((3, 67, 61, 33), 40, (3, 3), (1, 1)),
    "many channels": ((4, 7, 7, 160), 260, (3, 3), (1, 1)),
    "one row": ((40, 1, 8, 100), 90, (3, 3), (1, 1)),
    "5x5": ((20, 12, 13, 21), 37, (5, 5), (2, 2)),
    "5x5, valid": ((40, 14, 11, 20), 32, (5, 5), (0, 0)),
    "5x5, full": ((20, 9, 10, 33), 20, (5, 5), (4, 4)),
    "5x5, many places": ((1, 67, 73, 16), 40, (5, 5), (2, 2)),
    "7x7": ((10, 11, 12, 35), 34, (7, 7), (3, 3)),
    "7x3": ((20, 14, 15, 35), 34, (7, 3), (2, 3)),
    "3x5": ((40, 14, 15, 35), 34, (3, 5), (1, 1)),
}


def normal(*shape, seed=1):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def operands(name):
    shape, filters, window, pad = CASES[name]
    outputs = tuple(size + sum(pad) - taps + 1 for size, taps in zip(shape[1:3], window, strict=True))
    x, w, dy = (
        normal(*shape),
        normal(*window, shape[3], filters, seed=2),
        normal(shape[0], *outputs, filters, seed=3),
    )
    return x, w, dy, pad


def expected(x, w, dy, pad):
    """Returns the convolution and its two gradients, tap by tap in double precision."""
    x, w, dy = (v.astype(np.float64) for v in (x, w, dy))
    padded = np.pad(x, [(0, 0), pad, pad, (0, 0)])
    y, dx, dw = np.zeros_like(dy), np.zeros_like(padded), np.zeros_like(w)
    height, width = dy.shape[1:3]
    for i, j in np.ndindex(*w.shape[:2]):
        seen = np.s_[:, i : i + height, j : j + width]
        y += padded[seen] @ w[i, j]
        dx[seen] += dy @ w[i, j].T
        dw[i, j] = np.tensordot(padded[seen], dy, ((0, 1, 2), (0, 1, 2)))
    inside = [slice(pad[0], pad[0] + size) for size in x.shape[1:3]]
    return y, dx[:, inside[0], inside[1]], dw


def computed(x, w, dy, pad):
    geometry = {"strides": (1, 1), "dilations": (1, 1), "before": (pad[0], pad[0])}
    yield host_products.convolution("", dy.shape, x, w, **geometry)
    yield host_products.convolution("input_gradient", x.shape, w, dy, **geometry)
    yield host_products.convolution("filter_gradient", w.shape, x, dy, **geometry)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_double_precision(name):
    x, w, dy, pad = operands(name)
    for found, wanted in zip(computed(x, w, dy, pad), expected(x, w, dy, pad), strict=True):
        assert np.abs(found - wanted).max() <= 2e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("name", ["odd", "5x5"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38])
def test_numbers_that_are_not_finite_stay_where_sums_of_products_have_them(bad, name):
    x, w, dy, pad = operands(name)
    x[1, 4, 3, 5] = bad
    if bad != 3e38:  # two such products may overflow one by one and not together
        dy[2, 6, 2, 7] = bad
    with np.errstate(all="ignore"):
        for found, wanted in zip(computed(x, w, dy, pad), expected(x, w, dy, pad), strict=True):
            if bad == 3e38:  # sums in single precision overflow
                wanted = np.where(np.abs(wanted) > np.finfo(np.float32).max, np.sign(wanted) * np.inf, wanted)
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
            clean = np.isfinite(wanted) & (np.abs(wanted) < 1e6)
            np.testing.assert_allclose(found[clean], wanted[clean], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["many places", "5x5", "5x5, many places"])
def test_results_do_not_hang_on_the_number_of_threads(name):
    x, w, dy, pad = operands(name)
    before = library._threads
    try:
        found = []
        for threads in (1, 2, 5):
            library.use_threads(threads)
            y, dx, dw = computed(x, w, dy, pad)
            found.append((y, dx))
            np.testing.assert_allclose(dw, expected(x, w, dy, pad)[2], rtol=0, atol=1e-3)
    finally:
        library._threads = before
    for y, dx in found[1:]:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_array_equal(dx, found[0][1])


_NEIGHBOUR = """
import numpy as np
from headrace.native import host_products
x = np.zeros((60, 8, 8, 32), np.float32)
x[:, 2, 2, 0], x[:, 3, 3, 0] = 1, 1e8
w = np.ones((3, 3, 32, 32), np.float32)
w[2, 2] = 0
y = host_products.convolution("", x.shape, x, w, strides=(1, 1), dilations=(1, 1), before=(1, 1))
print(y[0, 2, 2, 0], y[0, 6, 6, 0])
"""


@pytest.mark.parametrize("wanted", ["0", "1"])
def test_the_environment_says_whether_multiplications_are_saved(wanted):
    """What the filter leaves out is felt in the last digits: it is added and taken away again."""
    done = subprocess.run(
        [sys.executable, "-c", _NEIGHBOUR],
        env={**os.environ, "HEADRACE_WINOGRAD": wanted},
        capture_output=True,
        text=True,
        check=True,
    )
    near, far = (float(number) for number in done.stdout.split())
    assert far == 0
    assert (near == 1) == (wanted == "0")
