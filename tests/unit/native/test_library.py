"""The native library is optional: it can be turned off, be missing, broken, or of another version."""

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import headrace as tf
from headrace import native
from headrace.runtime.policies import with_policies

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


def test_an_array_stays_where_it_is_for_as_long_as_its_address():
    array = np.arange(5)
    held = weakref.ref(array)
    address = native.address(array)
    del array
    gc.collect()
    assert held() is not None
    del address
    gc.collect()
    assert held() is None


def test_threads_that_convolve_other_batches_at_the_same_time_get_their_own_results(needs_products):
    rng = np.random.RandomState(0)
    x = rng.randn(6, 8, 8, 3).astype(np.float32)
    with tf.Graph().as_default():
        seen = tf.placeholder(tf.float32, [None, 8, 8, 3])
        y = tf.nn.conv2d(seen, rng.randn(3, 3, 3, 32).astype(np.float32), [1, 1, 1, 1], "SAME")
        with tf.Session(config=with_policies(tier="interpret")) as sess:
            expected = sess.run(y, {seen: x})
            wrong = []

            def call(j):
                for i in range(40):
                    n = 1 + (i + j) % 6
                    if not np.allclose(sess.run(y, {seen: x[:n]}), expected[:n], rtol=1e-4, atol=1e-4):
                        wrong.append((i, n))

            threads = [threading.Thread(target=call, args=(j,)) for j in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
    assert not wrong
