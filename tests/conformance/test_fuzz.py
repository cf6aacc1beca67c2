"""Calls that nobody recorded: shape rule, host rule and lower rule agree on each, or all refuse it.

`HEADRACE_FUZZ_EXAMPLES=500 scripts/test -k "test_rules_agree and Softmax"` looks harder at one op.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.conformance import battery_fuzz

EXAMPLES = int(os.environ.get("HEADRACE_FUZZ_EXAMPLES", "3"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", battery_fuzz.candidates())
def test_rules_agree(name):
    @seed(20150709)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(battery_fuzz.changed(name))
    def check(call):
        with battery_fuzz.bounded_memory():
            wrong = battery_fuzz.disagreement(call)
        assert not wrong, f"{wrong}\n{call.types} {call.shapes} {call.given_attrs()}\n{call.values}"

    check()


def test_exemptions_are_of_ops_that_exist():
    from headrace.opdef import OPS

    assert set(battery_fuzz.EXEMPT) <= set(OPS)
