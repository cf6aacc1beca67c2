"""Training goes step by step as under TensorFlow 1.15: the losses of 50 steps agree to 1e-5 relative."""

import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from tests.golden import canonical
from tests.programs import programs

RELATIVE = 1e-5
ROOT = canonical.GOLDEN.parent.parent


def assert_losses(got, want):
    assert len(got) == len(want)
    error = np.abs(np.array(got) - want) / np.abs(want)
    bad = np.flatnonzero(~(error <= RELATIVE))
    if bad.size:
        step = int(bad[0])
        pytest.fail(
            f"{bad.size} of {len(want)} losses differ by more than {RELATIVE:g}, the first at step {step + 1}: "
            f"{got[step]!r} where TensorFlow has {want[step]!r}; the largest error is {np.nanmax(error):.2g}"
        )


@pytest.mark.parametrize("name", programs.names("training"))
def test_losses_equal_tensorflows(name, tier):
    assert_losses(
        programs.train_program(tf, programs.load("training", name)), canonical.read("losses.json")[name]
    )


def test_the_digits_example_trains_as_under_tensorflow(tmp_path):
    losses = tmp_path / "losses.txt"
    want = canonical.read("digits_losses.json")["digits"]
    command = [sys.executable, "-m", "headrace", "run", "examples/digits.py"]
    options = [f"--steps={len(want)}", f"--logdir={tmp_path}", f"--losses={losses}"]
    ran = subprocess.run(command + options, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert_losses([float(line) for line in losses.read_text().split()], want)
    assert "accuracy on 360 held-out digits" in ran.stdout
    assert (tmp_path / "mistakes.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "train").glob("events.out.tfevents.*"))


def test_a_wrong_loss_is_noticed():
    want = [1.0, 0.5]
    assert_losses([1.0, 0.5 * (1 + 0.9 * RELATIVE)], want)
    for wrong in ([1.0, 0.5 * (1 + 1.2 * RELATIVE)], [1.0, float("nan")]):
        with pytest.raises(pytest.fail.Exception, match="step 2"):
            assert_losses(wrong, want)
