"""What tests share."""

import pytest

TIERS = ("auto", "interpret", "compile")


@pytest.fixture(params=TIERS)
def tier(request, monkeypatch):
    """Runs a test once on each tier: sessions made in it interpret, compile, or choose."""
    monkeypatch.setenv("HEADRACE_TIER", request.param)
    return request.param
