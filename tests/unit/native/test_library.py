"""The native library is optional: it can be turned off, be missing, broken, or of another version."""

import subprocess
import sys

import numpy as np
import pytest

from headrace import native

PROGRAM = """
import sys
import headrace as tf
assert "ctypes.util" not in sys.modules
value = tf.truncated_normal([3], seed=2)
tf.set_random_seed(1)
with tf.Session() as session:
    session.run(value)
from headrace import native
print(native.describe())
"""


@pytest.fixture(autouse=True)
def looked_for_anew():
    native.forget()
    yield
    native.forget()


def test_the_environment_turns_it_off(monkeypatch):
    monkeypatch.setenv("HEADRACE_NATIVE", "0")
    assert native.library() is None
    assert native.describe() == "none (turned off by HEADRACE_NATIVE=0): NumPy and plain XLA do it all"


def test_a_missing_library_is_done_without(monkeypatch, tmp_path):
    monkeypatch.delenv("HEADRACE_NATIVE", raising=False)
    monkeypatch.setattr(native, "_HERE", tmp_path)
    assert native.library() is None
    assert native.describe().startswith("none (not built)")


def test_the_reason_it_was_not_built_for_is_told(monkeypatch, tmp_path):
    monkeypatch.delenv("HEADRACE_NATIVE", raising=False)
    monkeypatch.setattr(native, "_HERE", tmp_path)
    (tmp_path / "_why_not.txt").write_text("no C++ compiler was found\n", encoding="utf-8")
    assert "none (no C++ compiler was found)" in native.describe()


@pytest.mark.parametrize("content", [b"", b"not a library", b"\x7fELF" + bytes(100)])
def test_a_broken_library_is_done_without(monkeypatch, tmp_path, content):
    monkeypatch.delenv("HEADRACE_NATIVE", raising=False)
    monkeypatch.setattr(native, "_HERE", tmp_path)
    (tmp_path / "libheadrace.so").write_bytes(content)
    assert native.library() is None
    assert "libheadrace.so can't be used" in native.describe()


def test_a_library_of_another_version_is_done_without(monkeypatch, needs_library):
    native.forget()
    monkeypatch.setattr(native, "VERSION", native.VERSION + 1)
    assert native.library() is None
    assert "is of another version" in native.describe()


def test_programs_run_without_it(monkeypatch):
    monkeypatch.setenv("HEADRACE_NATIVE", "0")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("none (turned off")


def test_threads_are_at_least_one(monkeypatch):
    monkeypatch.setattr(native, "_threads", None)
    assert native.threads() >= 1
    native.use_threads(0)
    assert native.threads() == 1
    assert np.isscalar(native.threads())
