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
