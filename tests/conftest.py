"""What tests share."""

import os
import re
import signal

import pytest

from headrace import native

# Tests see what a step does, not what an earlier run of them left; tests of the cache and of the compiling thread ask
# for them.
os.environ["HEADRACE_CACHE_DIR"] = ""
os.environ["HEADRACE_BACKGROUND"] = "off"

# A shell has what it starts in the background ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


# Why a machine may be without the native library. That it is there but can't be used, or could not be compiled by the
# compiler that there is, is a failure.
TRUE_REASONS = {
    "no C++ compiler was found",
    "HEADRACE_NATIVE was 0",
    "turned off by HEADRACE_NATIVE=0",
    "the default device is no CPU",
}


@pytest.fixture
def missing_library():
    """Returns a function that skips a test for a true reason why there is no library, and fails it without one."""

    def missing():
        said = native.describe()
        if TRUE_REASONS.issuperset(re.search(r"\((.*)\)", said)[1].split("; ")):
            pytest.skip(f"native kernels: {said}")
        pytest.fail(f"the native library ought to be there: {said}")

    return missing


@pytest.fixture
def needs_library(missing_library):
    """Skips a test where there can't be a library."""
    if native.library() is None:
        missing_library()
