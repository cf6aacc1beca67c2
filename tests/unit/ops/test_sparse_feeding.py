"""SparseTensors fed, fetched and evaluated."""

import numpy as np
import pytest

import headrace as tf


def test_fed_by_value_and_by_tuple():
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.sparse_placeholder(tf.float32, shape=[3, 4])
        open_shape = tf.sparse_placeholder(tf.float32)
        value = tf.SparseTensorValue(np.array([[0, 1], [2, 0]]), np.float32([3, 4]), np.array([3, 4]))
        dense = [[0, 3, 0, 0], [0, 0, 0, 0], [4, 0, 0, 0]]
        assert sparse.get_shape().as_list() == [3, 4]
        for fed in (value, tuple(value)):
            found = session.run(tf.sparse_tensor_to_dense(open_shape), {open_shape: fed})
            np.testing.assert_array_equal(found, dense)
        back = session.run(open_shape, {open_shape: value})
        assert isinstance(back, tf.SparseTensorValue)
        np.testing.assert_array_equal(back.values, [3, 4])


def test_eval_needs_a_session():
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0]], [1.0], [2])
        with pytest.raises(ValueError, match="No default session"):
            sparse.eval()
        with tf.Session():
            assert sparse.eval().dense_shape.tolist() == [2]
        assert str(sparse).startswith("SparseTensor(indices=Tensor(")


def test_parts_must_fit():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Dimensions 1 and 2 are not compatible"):
        tf.SparseTensor([[0, 1]], [1.0, 2.0], [3, 4])


def test_functions_live_as_long_as_their_graph():
    with tf.Graph().as_default(), tf.Session() as session:
        doubled = tf.py_func(lambda x: x * 2, [tf.constant([1.0, 2.0])], tf.float32)
        assert session.run(doubled).tolist() == [2.0, 4.0]
        broken = tf.py_func(lambda x: 1 / 0, [1], tf.int64)
        with pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError: division by zero"):
            session.run(broken)
