"""Learning rates against their formulas, in NumPy and float64 (the graphs are held by tests/programs)."""

import numpy as np
import pytest

import headrace as tf

STEPS = np.arange(25)


def stretched(step):
    """The part that is done of the fall which a step of `cosine_decay_restarts(first_decay_steps=5)` is in."""
    start, length = 0, 5
    while step >= start + length:
        start, length = start + length, 2 * length
    return (step - start) / length


def piecewise(step):
    return 0.3 if step <= 4 else 0.2 if step <= 9 else 0.1


CASES = {
    "exponential": (lambda s: tf.train.exponential_decay(0.1, s, 4, 0.5), lambda s: 0.1 * 0.5 ** (s / 4)),
    "stairs": (lambda s: tf.train.exponential_decay(0.1, s, 4, 0.5, True), lambda s: 0.1 * 0.5 ** (s // 4)),
    "natural": (lambda s: tf.train.natural_exp_decay(0.1, s, 4, 0.5), lambda s: 0.1 * np.exp(-0.5 * s / 4)),
    "inverse": (lambda s: tf.train.inverse_time_decay(0.1, s, 4, 0.5), lambda s: 0.1 / (1 + 0.5 * s / 4)),
    "polynomial": (
        lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, power=2.0),
        lambda s: 0.09 * (1 - min(s, 10) / 10) ** 2 + 0.01,
    ),
    "cycle": (
        lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, cycle=True),
        lambda s: 0.09 * (1 - s / (10 * (np.ceil(s / 10) or 1))) + 0.01,
    ),
    "cosine": (
        lambda s: tf.train.cosine_decay(0.1, s, 10, alpha=0.2),
        lambda s: 0.1 * (0.8 * 0.5 * (1 + np.cos(np.pi * min(s, 10) / 10)) + 0.2),
    ),
    "restarts": (
        lambda s: tf.train.cosine_decay_restarts(0.1, s, 5),
        lambda s: 0.1 * 0.5 * (1 + np.cos(np.pi * stretched(s))),
    ),
    "even_restarts": (
        lambda s: tf.train.cosine_decay_restarts(0.1, s, 5, t_mul=1.0, m_mul=0.5),
        lambda s: 0.1 * 0.5 ** (s // 5) * 0.5 * (1 + np.cos(np.pi * (s % 5) / 5)),
    ),
    "linear_cosine": (
        lambda s: tf.train.linear_cosine_decay(0.1, s, 10, num_periods=2.0, alpha=0.1, beta=0.01),
        lambda s: (
            0.1 * ((0.1 + 1 - min(s, 10) / 10) * 0.5 * (1 + np.cos(4 * np.pi * min(s, 10) / 10)) + 0.01)
        ),
    ),
    "piecewise": (lambda s: tf.train.piecewise_constant(s, [4, 9], [0.3, 0.2, 0.1]), piecewise),
}


@pytest.mark.parametrize("name", CASES)
def test_rates(name):
    build, formula = CASES[name]
    if name == "piecewise" and not hasattr(tf, "case"):
        with pytest.raises(NotImplementedError, match="needs tf.case"):
            build(tf.constant(1, tf.int64))
        return
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        rate = build(step)
        found = [session.run(rate, {step: s}) for s in STEPS]
    # float32, where the cosine of up to 4 pi loses some digits.
    np.testing.assert_allclose(found, [formula(int(s)) for s in STEPS], rtol=2e-5, atol=2e-7)


def test_refusals_of_pieces():
    with tf.Graph().as_default():
        with pytest.raises(
            ValueError, match="^The length of boundaries should be 1 less than the length of values$"
        ):
            tf.train.piecewise_constant(tf.constant(1), [1], [0.1])
        with pytest.raises(ValueError, match="must have the same dtype as x"):
            tf.train.piecewise_constant(tf.constant(1.0), [1], [0.1, 0.2])
        with pytest.raises(ValueError, match="^Values must have elements all with the same dtype"):
            tf.train.piecewise_constant(tf.constant(1), [1], [0.1, 2])
