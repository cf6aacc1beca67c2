"""What tests share."""

import os

import pytest

# Tests see what a step does, not what an earlier run of them left; tests of the cache and of the compiling thread ask
# for them.
os.environ["HEADRACE_CACHE_DIR"] = ""
os.environ["HEADRACE_BACKGROUND"] = "off"

TIERS = ("auto", "interpret", "compile")


@pytest.fixture(params=TIERS)
def tier(request, monkeypatch):
    """Runs a test once on each tier: sessions made in it interpret, compile, or choose."""
    monkeypatch.setenv("HEADRACE_TIER", request.param)
    return request.param


@pytest.fixture(autouse=True)
def compiled_from_the_first_run(monkeypatch):
    """Has the tier that compiles do so at once, with a TensorArray too: a test may run a plan only once."""
    monkeypatch.setattr("headrace.runtime.plan.Plan.checks_arrays", False)


@pytest.fixture
def functional_control_flow():
    """Has a test's graphs be those that TensorFlow builds after `tf.enable_control_flow_v2()`, names included."""
    import headrace as tf

    tf.enable_control_flow_v2()
    yield
    tf.disable_control_flow_v2()
