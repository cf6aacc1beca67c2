"""Tests of the native library run with it and without."""

import pytest

from headrace import native


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
        pytest.skip(f"native kernels: {native.describe()}")
    yield request.param
    native.forget()


@pytest.fixture
def needs_library():
    """Skips a test where there is no library."""
    if native.library() is None:
        pytest.skip(f"native kernels: {native.describe()}")
