"""Control edges from what is fed: a placeholder counts as done, any other node still runs."""

import numpy as np
import pytest

import headrace as tf


def test_who_waits_for_a_fed_placeholder_runs():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        with tf.control_dependencies([x]):
            y = tf.constant(1.0) + 0.0
            z = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.constant(2.0), lambda: tf.constant(3.0))
        for _ in range(5):
            assert session.run([y, z], {x: np.ones(2)}) == [1.0, 2.0]
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor"
        ):
            session.run(y)


def test_another_fed_node_runs_for_its_effects():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0)
        added = tf.assign_add(v, 1.0)
        with tf.control_dependencies([added]):
            y = tf.constant(1.0) + 0.0
        session.run(v.initializer)
        session.run(y, {added: 5.0})
        assert session.run(v) == 1.0
