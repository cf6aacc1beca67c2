"""First and second gradients of nn ops are TensorFlow 1.15's (recorded by tests/golden/record/nn_second.py)."""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import nn_second_cases  # noqa: E402

FACTS = json.loads((GOLDEN / "nn_second.json").read_text())
CASES = {name: rest for name, *rest in nn_second_cases.cases(tf, raw, channels_first=True)}


def test_every_case_was_recorded():
    assert list(FACTS) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    found = nn_second_cases.results(tf, name, *CASES[name])
    assert len(found) == len(FACTS[name])
    for i, (got, want) in enumerate(zip(found, FACTS[name], strict=True)):
        assert type(got) is type(want), f"output {i}: {got}, and not {want}"
        if want is None:
            continue
        if isinstance(want, str):
            assert got.split("[")[0] == want.split("[")[0]
            continue
        assert got[0] == want[0]
        # Sums of some dozens of float32 products in another order.
        np.testing.assert_allclose(got[2], want[2], rtol=1e-4, atol=2e-5, err_msg=f"output {i}")
        np.testing.assert_allclose(got[1], want[1], rtol=1e-4, atol=1e-6, err_msg=f"output {i}")
