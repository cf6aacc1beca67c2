"""Python values as arrays and tensors, and what shape rules know of tensors that follow from constants."""

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import constant_as_shape, constant_value, convert_to_tensor, raw
from headrace.opdef.literals import to_array


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int32"),
        (2**31, "int64"),
        (1.0, "float32"),
        ([1, 2.5], "float32"),
        (True, "bool"),
        (1j, "complex128"),
        ("a", "string"),
        (b"a\x00", "string"),
        ([], "float32"),
        (np.float64(1), "float64"),
        (np.arange(3), "int64"),
        (np.array(["a"]), "string"),
    ],
)
def test_the_natural_type_of_a_value(value, dtype):
    array, found = to_array(value)
    assert found is tf.as_dtype(dtype)
    assert array.dtype == found.storage


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, "int32"), ("a", "float32"), (1, "string"), (1, "bool"), (True, "float32"), (1j, "float32")],
)
def test_what_a_value_may_not_become(value, dtype):
    if value is True:
        # Python counts booleans among the integers, and so does TensorFlow here.
        assert to_array(value, dtype)[0] == 1.0
        return
    with pytest.raises(TypeError):
        to_array(value, dtype)


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match="must be a dense tensor"):
        to_array([[1, 2], [3]])


def test_none_is_refused():
    with pytest.raises(ValueError, match="None values not supported"):
        to_array(None)


def test_trailing_zero_bytes_of_strings_stay():
    array, _ = to_array([b"a\x00", "é"])
    assert array.tolist() == [b"a\x00", "é".encode()]


def test_a_shorter_value_is_filled_with_its_last_element():
    array, _ = to_array([1, 2], shape=[2, 2])
    assert array.tolist() == [[1, 2], [2, 2]]
    with pytest.raises(ValueError, match="Too many elements provided"):
        to_array([1, 2, 3], shape=[2])


def test_a_tensor_is_returned_as_it_is():
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        assert convert_to_tensor(x) is x
        with pytest.raises(
            ValueError, match="Tensor conversion requested dtype int32 for Tensor with dtype float32"
        ):
            convert_to_tensor(x, tf.int32)


def test_lists_with_tensors_are_packed():
    with tf.Graph().as_default():
        packed = convert_to_tensor([1.0, tf.constant(2.0)])
        assert packed.op.type == "Pack" and packed.dtype is tf.float32
        assert constant_value(packed).tolist() == [1.0, 2.0]


def test_registered_conversions_go_by_priority():
    class Meters:
        value = 3.0

    def convert(value, dtype=None, name=None, as_ref=False):
        return tf.constant(value.value, dtype=dtype, name=name)

    tf.register_tensor_conversion_function(Meters, lambda *_, **__: NotImplemented, priority=10)
    tf.register_tensor_conversion_function(Meters, convert)
    with tf.Graph().as_default():
        assert constant_value(convert_to_tensor(Meters(), name="length")) == 3.0
        with pytest.raises(TypeError, match="Failed to convert object of type"):
            convert_to_tensor(object())


def test_values_that_follow_from_constants():
    with tf.Graph().as_default():
        x = raw.Placeholder(dtype="float32", shape=[2, None])
        assert constant_value(x) is None
        assert constant_as_shape(raw.Shape(x)) == (2, None)
        assert constant_value(raw.Shape(tf.zeros([2, 3]))).tolist() == [2, 3]
        assert constant_value(raw.AddV2(tf.constant(1), tf.constant(2))) == 3
        assert constant_as_shape(tf.constant([2, -1])) == (2, None)
        assert constant_as_shape(raw.Placeholder(dtype="int32", shape=[3])) == (None, None, None)
        with pytest.raises(ValueError, match="Invalid value in tensor used for shape: -2"):
            constant_as_shape(tf.constant([-2]))


def test_names_of_nodes_are_unique_without_regard_to_case():
    with tf.Graph().as_default() as graph:
        names = [raw.NoOp(name=name).name for name in ("a", "a", "A", "a_1")]
        assert names == ["a", "a_1", "A_2", "a_1_1"]
        assert graph.unique_name("b", mark_as_used=False) == "b"
        assert graph.unique_name("b") == "b"
        assert graph.unique_name("b") == "b_1"


def test_none_is_no_type():
    assert tf.float64 != None  # noqa: E711
    for make in (tf.as_dtype, tf.placeholder, lambda t: tf.zeros([2], t), lambda t: tf.cast(1.0, t)):
        with tf.Graph().as_default(), pytest.raises(TypeError, match=r"None"):
            make(None)


def test_py_func_wants_a_function():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Expected func to be callable"):
        tf.py_func(3, [1.0], tf.float32)


@pytest.mark.parametrize(
    ("attrs", "said"),
    [({}, "dtype=None, name=None"), ({"dtype": "float32", "name": "x"}, "dtype=tf.float32, name='x'")],
)
def test_an_operation_is_no_tensor(attrs, said):
    with tf.Graph().as_default():
        nothing = tf.no_op()
        with pytest.raises(TypeError) as raised:
            tf.convert_to_tensor(nothing, **attrs)
    assert str(raised.value) == f"Can't convert Operation 'NoOp' to Tensor (target {said}, as_ref=False)"
