"""Switches between versions, libraries of kernels, and other small names: what TensorFlow 1.15 answers in graphs."""

import logging

import pytest

import headrace as tf


def test_tensors_are_compared_by_identity_whatever_is_enabled():
    with tf.Graph().as_default():
        a, b = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0])
        v = tf.get_variable("v", [2])
        tf.enable_tensor_equality()
        try:
            assert (a == b, a != b, a == a, v == a, v != v) == (False, True, True, False, False)
            assert hash(a) == hash(a.experimental_ref()) == id(a)
            assert (
                repr(a.experimental_ref())
                == "<Reference wrapping <tf.Tensor 'Const:0' shape=(2,) dtype=float32>>"
            )
        finally:
            tf.disable_tensor_equality()


def test_shapes_can_give_plain_sizes():
    shape = tf.TensorShape([3, None])
    tf.enable_v2_tensorshape()
    try:
        assert [type(shape[0]), shape[0], shape[1]] == [int, 3, None]
        assert list(shape) == [3, None]
        assert repr(shape) == "TensorShape([3, None])"
        assert repr(shape[:1]) == "TensorShape([3])"
        assert repr(shape.dims) == "[Dimension(3), Dimension(None)]"
        assert tf.TensorShape(None)[0] is None
        with pytest.raises(ValueError, match="Cannot iterate over a shape with unknown rank"):
            list(tf.TensorShape(None))
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 3])
            y = tf.map_fn(lambda row: row * 2.0, tf.layers.dense(x, 2))
            assert y.shape.as_list() == [None, 2]
            assert y.shape[1] == 2 and isinstance(y.shape[1], int)
    finally:
        tf.disable_v2_tensorshape()
    assert repr(list(shape)) == "[Dimension(3), Dimension(None)]"


def test_placement_wishes_are_kept():
    assert tf.debugging.get_log_device_placement() is False
    tf.debugging.set_log_device_placement(True)
    try:
        assert tf.debugging.get_log_device_placement() is True
    finally:
        tf.debugging.set_log_device_placement(False)


def test_the_logger():
    assert tf.get_logger() is logging.getLogger("tensorflow")


@pytest.mark.parametrize("name", ["load_op_library", "load_file_system_library"])
def test_libraries_are_refused(name, tmp_path):
    with pytest.raises(
        tf.errors.NotFoundError, match="no.so: cannot open shared object file: No such file or directory"
    ):
        getattr(tf, name)(str(tmp_path / "no.so"))
    file = tmp_path / "yes.so"
    file.touch()
    with pytest.raises(NotImplementedError, match=rf"tf.{name}: headrace can't load the library .*yes.so"):
        getattr(tf, name)(str(file))


def test_folders_of_libraries_are_refused(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="file or folder to load kernel libraries from does not exist"
    ):
        tf.load_library(str(tmp_path / "no"))
    with pytest.raises(NotImplementedError, match="can't load the library"):
        tf.load_library(str(tmp_path))


def test_my_fact():
    with tf.Graph().as_default(), tf.Session() as session:
        fact = tf.user_ops.my_fact()
        assert (fact.name, fact.shape.ndims) == ("Fact:0", None)
        assert session.run(fact) == b"0! == 1"
