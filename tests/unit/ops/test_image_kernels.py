"""The image ops compute what TensorFlow 1.15 computes (recorded by tests/golden/record/image_kernels.py).

The interpreter's results are the same bits, but where a math library has a say; compiled ones are as near as sums in
another order, and products that are not rounded before they are added, allow.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import OPS, raw
from tests.conformance import battery_values

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import image_kernel_cases  # noqa: E402

FACTS = json.loads((GOLDEN / "image_kernels.json").read_text())
CASES = {name: rest for name, *rest in image_kernel_cases.cases()}

# Where a library's sine or exponential is a unit off, or a convolution sums in another order.
TOLERANCE = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3}

# Compiled: a weighted sum of some dozen terms in float32; gradients in float16 add some tens of numbers.
COMPILED = {"float64": 1e-5, "float32": 1e-5, "float16": 1e-2}

# A compiled program takes a while: of each op one in so many cases.
EVERY = 12
SOME = [name for i, name in enumerate(CASES) if i % EVERY == 0 and OPS[CASES[name][0]].rule("lower")]


def test_every_case_was_recorded():
    assert list(FACTS) == list(CASES)


def computed(name, tier):
    kind, quantized, operands, attrs = CASES[name]
    with tf.Graph().as_default():
        inputs = [tf.constant(v) for v in operands]
        if quantized:
            inputs[0] = tf.bitcast(inputs[0], quantized)
        made = getattr(raw, kind)(*inputs, **attrs)
        results = list(made) if isinstance(made, tuple) else [made]
        if quantized:
            results[0] = tf.bitcast(results[0], operands[0].dtype.name)
        return [np.asarray(v) for v in battery_values.run(results, {}, tier)]


def near(got, want, tolerance):
    got, want = (np.array(v, np.float64) for v in (got, want))
    finite = np.abs(want[np.isfinite(want)])
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(finite, default=0.0))


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    exact = not any(mark in name for mark in image_kernel_cases.INEXACT)
    for got, want in zip(computed(name, "interpret"), FACTS[name], strict=True):
        found = image_kernel_cases.digest(got)
        assert found[:2] == want[:2]
        if exact or got.dtype.kind != "f":
            assert found == want
        else:
            near(found[3], want[3], TOLERANCE[got.dtype.name])


@pytest.mark.parametrize("name", SOME)
def test_compiled_values(name):
    for got, want in zip(computed(name, "compile"), computed(name, "interpret"), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        near(got, want, COMPILED.get(got.dtype.name, 0.0))
