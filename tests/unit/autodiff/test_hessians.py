"""Second derivatives, with the values that TensorFlow 1.15.5 gives."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_of_a_quadratic_form():
    m = np.float32([[1, 2], [3, 4]])
    x = tf.constant([5.0, 6.0])
    y = tf.reduce_sum(x * tf.squeeze(tf.matmul(m, tf.expand_dims(x, 1))))
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(tf.hessians(y, x))[0], m + m.T)


def test_of_a_matrix_has_its_dimensions_twice():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.reduce_sum(tf.exp(x)) + x[0, 0] * x[1, 2]
    (h,) = tf.hessians(y, [x])
    assert h.shape.as_list() == [2, 3, 2, 3]
    value = np.arange(6, dtype=np.float32).reshape(2, 3) / 10
    expected = np.diag(np.exp(value).ravel())
    expected[0, 5] = expected[5, 0] = 1.0
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(h, {x: value}).reshape(6, 6), expected, rtol=1e-6)


def test_of_a_linear_function_is_refused():
    # Its gradient does not depend on x, and TensorFlow writes what tf.gradients gives, None, into an array.
    x = tf.placeholder(tf.float32, [2])
    with pytest.raises(ValueError, match="None values not supported"):
        tf.hessians(tf.reduce_sum(3.0 * x), x)
    with pytest.raises(ValueError, match="None values not supported"):
        tf.hessians(tf.constant(1.0), x)


def test_an_unknown_shape_is_known_when_it_runs():
    x = tf.placeholder(tf.float32)
    (h,) = tf.hessians(tf.reduce_sum(x * x * x), x)
    with tf.Session() as sess:
        assert sess.run(h, {x: [1.0, 2.0, 3.0]}).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
        assert sess.run(h, {x: 2.0}) == 12


def test_a_jacobian_is_a_loop_over_rows():
    x = tf.placeholder(tf.float32, [3])
    y = tf.stack([x[0] * x[1], x[1] * x[2], x[0] ** 3.0])
    rows = tf.TensorArray(tf.float32, size=3)
    _, rows = tf.while_loop(
        lambda i, _: i < 3, lambda i, rows: (i + 1, rows.write(i, tf.gradients(y[i], x)[0])), [0, rows]
    )
    with tf.Session() as sess:
        found = sess.run(rows.stack(), {x: [2.0, 3.0, 5.0]})
    assert found.tolist() == [[3, 2, 0], [0, 5, 3], [12, 0, 0]]
