"""Tests of the native library run with it and without."""

import re
from pathlib import Path

import pytest

from headrace import native
from headrace.native import host_products, xla

# Why a machine may be without the library. That it is there but can't be used, or could not be compiled by the
# compiler that there is, is a failure.
TRUE_REASONS = {
    "no C++ compiler was found",
    "HEADRACE_NATIVE was 0",
    "turned off by HEADRACE_NATIVE=0",
    "the default device is no CPU",
}


def missing():
    """Skips a test for a true reason why there is no library, and fails it without one."""
    said = native.describe()
    if TRUE_REASONS.issuperset(re.search(r"\((.*)\)", said)[1].split("; ")):
        pytest.skip(f"native kernels: {said}")
    pytest.fail(f"the native library ought to be there: {said}")


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
def kind(request, monkeypatch):
    """Runs a test with the native library, where it was built, and without."""
    monkeypatch.setenv("HEADRACE_NATIVE", "1" if request.param == "native" else "0")
    native.forget()
    if request.param == "native" and native.library() is None:
        missing()
    yield request.param
    native.forget()


@pytest.fixture
def needs_library():
    """Skips a test where there can't be a library."""
    if native.library() is None:
        missing()


@pytest.fixture
def has_vectors():
    """Whether this CPU is one of those that the products have code of their own for, by what the kernel says of it."""
    found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = set(found[1].split()) if found else set()
    return "avx512f" in flags or {"avx2", "fma"} <= flags


@pytest.fixture
def needs_products(needs_library, has_vectors):
    """Skips a test on a CPU that there is no code for; on others that it is not used is a failure."""
    if not has_vectors:
        pytest.skip("products have code for AVX2 and AVX-512 only, and this CPU has neither")
    assert host_products.is_there()


@pytest.fixture
def needs_xla(needs_library):
    """Skips a test where there can't be a library for compiled programs."""
    if xla.library() is None:
        missing()
