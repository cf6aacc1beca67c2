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


def test_of_a_linear_function_is_zero():
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as sess:
        assert (
            sess.run(tf.hessians(tf.reduce_sum(3.0 * x), x)[0], {x: [1.0, 2.0]}).tolist() == [[0.0, 0.0]] * 2
        )


def test_an_unknown_shape_is_refused():
    x = tf.placeholder(tf.float32, [None])
    with pytest.raises(NotImplementedError, match="needs the shape of"):
        tf.hessians(tf.reduce_sum(x * x), x)
