"""Calls with edge values that TensorFlow 1.15 made: values, gradients, gradients of these, and refusals are its own."""

from __future__ import annotations

import pytest

from tests.conformance import battery_raw


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("op", sorted(battery_raw.table()))
def test_calls_give_what_tensorflow_gives(op, tier):
    wrong = battery_raw.check(op, tier)
    assert not wrong, "\n".join(wrong[:10])


def test_exemptions_are_of_ops_with_calls():
    assert set(battery_raw.LEFT) <= set(battery_raw.table())
