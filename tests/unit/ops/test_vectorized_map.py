"""tf.vectorized_map gives what TensorFlow gives, and tf.TensorArraySpec describes arrays as there."""

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def test_other_types_and_structures_come_out():
    out = tf.vectorized_map(
        lambda x: (x[0] * 2, {"k": x[1] + 1}), (tf.constant([1.0, 2.0]), tf.constant([[3, 4], [5, 6]]))
    )
    doubled, rest = run(out)
    np.testing.assert_array_equal(doubled, np.float32([2, 4]), strict=True)
    np.testing.assert_array_equal(rest["k"], np.int32([[4, 5], [6, 7]]), strict=True)


def test_what_does_not_depend_on_rows_is_repeated():
    out = tf.vectorized_map(lambda x: (tf.constant(3.0), 1), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(run(out[0]), np.float32([3, 3]), strict=True)
    np.testing.assert_array_equal(run(out[1]), np.int32([1, 1]), strict=True)


def test_number_of_rows_is_known_late():
    x = tf.placeholder(tf.float32, [None, 2])
    out = tf.vectorized_map(tf.reduce_sum, x)
    for rows in (0, 1, 3):
        np.testing.assert_array_equal(
            run(out, {x: np.ones([rows, 2])}), np.full([rows], 2, np.float32), strict=True
        )


def test_gradients_and_variables():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    def squared(row):
        return row * row * tf.get_variable("w", [2], initializer=tf.constant_initializer(3.0))

    out = tf.vectorized_map(squared, x)
    assert [v.name for v in tf.global_variables()] == ["w:0"]
    np.testing.assert_array_equal(run(out), np.float32([[3, 12], [27, 48]]))
    np.testing.assert_array_equal(run(tf.gradients(out, x)[0]), np.float32([[6, 12], [18, 24]]))


def test_odd_calls():
    assert tf.vectorized_map(lambda x: None, tf.constant([1.0])) is None
    with pytest.raises(IndexError, match="list index out of range"):
        tf.vectorized_map(lambda x: x, [])
    with pytest.raises(ValueError, match="slice index 0 of dimension 0 out of bounds"):
        tf.vectorized_map(lambda x: x, tf.constant(1.0))


def test_tensor_array_specs():
    spec = tf.TensorArraySpec([2], tf.float32, True, True)
    assert repr(spec) == "TensorArraySpec(TensorShape([Dimension(2)]), tf.float32, True, True)"
    assert spec.value_type is tf.TensorArray
    assert spec == tf.TensorArraySpec([2], tf.float32, True) != tf.TensorArraySpec([2])
    array = tf.TensorArray(tf.float32, 3, element_shape=[2], dynamic_size=True)
    assert tf.TensorArraySpec.from_value(array) == spec
    assert spec.is_compatible_with(array)
    assert not tf.TensorArraySpec([2]).is_compatible_with(array)
    assert not spec.is_compatible_with(3)
    wider = spec.most_specific_compatible_type(tf.TensorArraySpec([None], tf.float32, True, True))
    assert wider.is_compatible_with(array) and wider == tf.TensorArraySpec([None], tf.float32, True)
    with pytest.raises(ValueError, match="^Types are not compatible$"):
        spec.most_specific_compatible_type(tf.TensorArraySpec([None]))
    again = spec._from_components(spec._to_components(array.write(0, [1.0, 2.0])))
    assert run(again.read(0)).tolist() == [1.0, 2.0]
