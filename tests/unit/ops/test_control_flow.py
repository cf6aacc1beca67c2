"""Branches and loops compute what TensorFlow 1.15 computes, on both tiers (recorded by record/control_flow.py)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import control_flow_programs  # noqa: E402

FACTS = json.loads((GOLDEN / "control_flow.json").read_text())


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # as in TensorFlow
@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("name", sorted(FACTS))
def test_values_and_gradients_are_tensorflows(name, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    values = control_flow_programs.run(tf, control_flow_programs.PROGRAMS[name])
    assert len(values) == len(FACTS[name])
    for mine, theirs in zip(values, FACTS[name], strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if isinstance(b, str):
                assert a == b
            else:
                # float32 arithmetic, in another order: a few units in the last place.
                np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def test_every_program_is_recorded():
    assert set(control_flow_programs.PROGRAMS) == set(FACTS)
