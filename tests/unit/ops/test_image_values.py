"""The tf.image functions compute what TensorFlow 1.15 does, and draw its random numbers.

Recorded by tests/golden/record/image_values.py.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import image_value_calls  # noqa: E402

FACTS = json.loads((GOLDEN / "image_values.json").read_text())


def test_every_call_was_recorded():
    assert list(FACTS) == image_value_calls.CALLS


@pytest.mark.parametrize("call", image_value_calls.CALLS)
def test_values(call):
    expected = FACTS[call]
    got = image_value_calls.run(tf, np, call)
    if isinstance(expected, str):
        assert got == expected
        return
    assert not isinstance(got, str), got
    assert [v.dtype.name for v in got] == [dtype for dtype, _ in expected]
    for value, (dtype, wanted) in zip(got, expected):
        wanted = np.array(wanted, dtype)
        assert value.shape == wanted.shape
        if value.dtype.kind == "f":
            # Sums over windows are taken in another order; a gradient of a quotient adds to that.
            tolerance = {"float16": 2e-3, "float64": 1e-12}.get(
                dtype, 2e-4 if call.startswith("g(") else 2e-5
            )
            np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(value, wanted)
