"""Recurrent nets compute what TensorFlow 1.15 does, with sequences of all lengths and batches of none.

The nets are in tests/golden/rnn_programs.py, their values recorded by tests/golden/record/rnn_values.py.
"""

import sys

import numpy as np
import pytest

import headrace as tf
from tests.golden import canonical

sys.path.insert(0, str(canonical.GOLDEN))
import rnn_programs

CASES = {name: case for name, *case in rnn_programs.cases()}


@pytest.fixture(scope="module")
def golden():
    with np.load(canonical.GOLDEN / "rnn_values.npz") as table:
        return dict(table)


COMPILED = ("basic_lstm_dynamic_lengths", "lstm_dynamic", "stack_dynamic_lengths", "dropout_dynamic",
            "variational_dynamic_lengths", "bidirectional_lengths", "gru_static_lengths", "static")  # fmt: skip
RUNS = [(name, "interpret") for name in sorted(CASES)] + [(name, "compile") for name in COMPILED]


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize(("name", "tier"), RUNS)
def test_values(name, tier, golden, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    names, results = rnn_programs.run(tf, *CASES[name])
    assert names == golden[name + "/names"].tolist()
    wanted = {key for key in golden if key.startswith(name + "/") and not key.endswith("names")}
    assert len(wanted) == sum(map(len, results))
    for step, values in enumerate(results):
        for i, value in enumerate(values):
            want = golden[f"{name}/{step}/{i}"]
            assert value.dtype == want.dtype and value.shape == want.shape
            # Sums of a dozen float32 in another order.
            np.testing.assert_allclose(value, want, rtol=2e-5, atol=2e-6)
