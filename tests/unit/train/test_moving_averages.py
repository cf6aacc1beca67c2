"""Moving averages: their values, their names, and what a Saver restores through them."""

import numpy as np
import pytest

import headrace as tf
from headrace.train.moving_averages import assign_moving_average, weighted_moving_average


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("use_resource", [False, True])
def test_averages_of_variables_start_with_their_values(use_resource):
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=use_resource)
    average = tf.train.ExponentialMovingAverage(0.75)
    update = average.apply([v])
    change = tf.assign(v, [5.0, 6.0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(change)
        np.testing.assert_array_equal(session.run(average.average(v)), [1.0, 2.0])
        session.run(update)
        np.testing.assert_array_equal(session.run(average.average(v)), [2.0, 3.0])


def test_names():
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0, trainable=False)
    x = tf.get_variable("x", initializer=2.0, trainable=False)
    average = tf.train.ExponentialMovingAverage(0.9)
    update = average.apply([v, x])
    assert update.name == average.name == "ExponentialMovingAverage"
    assert average.average_name(v) == "v/ExponentialMovingAverage"
    assert average.average_name(w) == "w/ExponentialMovingAverage"
    assert average.average(w) is None
    assert tf.moving_average_variables() == [v, x]
    # Recorded from TensorFlow 1.15.5.
    restored = {name: variable.name for name, variable in average.variables_to_restore().items()}
    assert restored == {"v/ExponentialMovingAverage": "v:0", "x/ExponentialMovingAverage": "x:0", "w": "w:0"}
    restored = {name: variable.name for name, variable in average.variables_to_restore([w]).items()}
    assert restored == {
        "w/ExponentialMovingAverage": "w:0",
        "v": "v:0",
        "x": "x:0",
        "v/ExponentialMovingAverage": "v/ExponentialMovingAverage:0",
        "x/ExponentialMovingAverage": "x/ExponentialMovingAverage:0",
    }


def test_integers_have_no_average():
    with pytest.raises(TypeError, match="^The variables must be half, float, or double: i:0$"):
        tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1, name="i")])


def test_zero_debias_divides_out_the_zeros_at_the_start():
    v = tf.get_variable("v", initializer=[7.0])
    value = tf.placeholder(tf.float32, [1])
    update = assign_moving_average(v, value, 0.9)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update, {value: [3.0]})
        np.testing.assert_allclose(session.run(v), [3.0], rtol=1e-6)
        session.run(update, {value: [5.0]})
        np.testing.assert_allclose(session.run(v), [(0.9 * 0.1 * 3 + 0.1 * 5) / (1 - 0.9**2)], rtol=1e-6)
    assert [x.name for x in tf.global_variables()] == ["v:0", "v/biased:0", "v/local_step:0"]


def test_weights_count():
    value, weight = tf.placeholder(tf.float32, [1]), tf.placeholder(tf.float32, [])
    average = weighted_moving_average(value, 0.5, weight)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(average, {value: [4.0], weight: 1.0}), [4.0], rtol=1e-6)
        # (4 / 2 * 1 + 1 * 3) / (1 / 2 + 3) of the halved sums.
        np.testing.assert_allclose(session.run(average, {value: [1.0], weight: 3.0}), [5 / 3.5], rtol=1e-6)
