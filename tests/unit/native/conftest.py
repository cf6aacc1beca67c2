"""Tests of the native library run with it and without."""

import os
import re
from pathlib import Path

import pytest

from headrace import native
from headrace.native import host_products, xla


@pytest.fixture
def without(monkeypatch):
    """Returns a function that calls another with the native library turned off."""

    def call(function, *arguments):
        with monkeypatch.context() as patch:
            patch.setenv("HEADRACE_NATIVE", "0")
            native.forget()
            assert native.library() is None
            result = function(*arguments)
        native.forget()
        return result

    yield call
    native.forget()


@pytest.fixture(params=["native", "plain"])
def kind(request, monkeypatch, missing_library):
    """Runs a test with the native library, where it was built, and without."""
    monkeypatch.setenv("HEADRACE_NATIVE", "1" if request.param == "native" else "0")
    native.forget()
    if request.param == "native" and native.library() is None:
        missing_library()
    yield request.param
    native.forget()


@pytest.fixture
def has_vectors():
    """Whether this CPU is one of those that the products have code of their own for, by what the kernel says of it."""
    found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = set(found[1].split()) if found else set()
    return "avx512f" in flags or {"avx2", "fma"} <= flags


@pytest.fixture
def needs_products(needs_library, has_vectors):
    """Skips a test on a CPU whose products are XLA's; on others it is a failure that no code is used."""
    if not has_vectors and "HEADRACE_PRODUCTS" not in os.environ:
        pytest.skip("this CPU has neither AVX2 nor AVX-512: products are left to XLA")
    assert host_products.is_there()


@pytest.fixture
def needs_xla(needs_library, missing_library):
    """Skips a test where there can't be a library for compiled programs."""
    if xla.library() is None:
        missing_library()
