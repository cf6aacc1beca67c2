"""Gradients of rows taken in branches and loops are TensorFlow's (recorded by record/row_programs.py)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import row_programs  # noqa: E402

FACTS = json.loads((GOLDEN / "row_programs.json").read_text())

TIERS = {"tensor": "compile", "reference": "interpret", "resource": "auto"}


def test_every_program_is_recorded():
    assert {row[0] for row in FACTS} == set(row_programs.PROGRAMS)
    assert len(FACTS) > 5 * len(row_programs.PROGRAMS)


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize(
    ("name", "kind", "functional", "found", "steps"),
    FACTS,
    ids=[f"{row[0]}-{row[1]}-{'functional' if row[2] else 'plain'}" for row in FACTS],
)
def test_rows_are_tensorflows(name, kind, functional, found, steps, monkeypatch, request):
    monkeypatch.setenv("HEADRACE_TIER", TIERS[kind])
    if functional:
        request.getfixturevalue("functional_control_flow")
    mine, got = row_programs.facts(tf, name, kind)
    assert mine == found
    for a, b in zip(got, steps, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
