"""A constant that the caller feeds is no constant."""

import numpy as np
import pytest

import headrace as tf


@pytest.mark.parametrize("tier", ["interpret", "compile"])
def test_a_fed_constant_has_the_value_of_each_step(monkeypatch, tier):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        y = x * x
        for i in range(4):
            assert session.run(y, {x: np.array([i, 2.0])}).tolist() == [i * i, 4.0]
        assert session.run(y).tolist() == [1.0, 4.0]
