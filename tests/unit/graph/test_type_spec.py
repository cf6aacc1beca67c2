"""TypeSpecs say what values are like; reprs and refusals are TensorFlow 1.15's."""

import pickle

import numpy as np
import pytest

import headrace as tf
from headrace.python.framework.tensor_spec import BoundedTensorSpec
from headrace.python.framework.type_spec import type_spec_from_value

SPEC = tf.TensorSpec([None, 2], tf.float32, "n")


def test_tensor_specs():
    assert repr(SPEC) == "TensorSpec(shape=(?, 2), dtype=tf.float32, name='n')"
    assert repr(tf.TensorSpec(None, tf.int32)) == "TensorSpec(shape=<unknown>, dtype=tf.int32, name=None)"
    assert tf.TensorSpec([None, 2], tf.float32, "n") == SPEC != tf.TensorSpec([None, 2], tf.float32)
    assert hash(tf.TensorSpec([None, 2], tf.float32, "n")) == hash(SPEC)
    assert pickle.loads(pickle.dumps(SPEC)) == SPEC
    assert tf.TensorSpec.from_spec(SPEC, name="z").name == "z"
    with tf.Graph().as_default():
        assert repr(tf.TensorSpec.from_tensor(tf.constant(1, name="k"))) == (
            "TensorSpec(shape=(), dtype=tf.int32, name='k')"
        )
        assert SPEC.is_compatible_with(tf.zeros([4, 2])) and not SPEC.is_compatible_with(tf.zeros([4, 3]))
    assert not SPEC.is_compatible_with(3.0)
    assert SPEC.most_specific_compatible_type(tf.TensorSpec([5, 5])) == tf.TensorSpec([None, None])
    with pytest.raises(ValueError, match="Types are not compatible: TensorSpec.* vs TensorSpec"):
        SPEC.most_specific_compatible_type(tf.TensorSpec(None, tf.int32))


def test_bounded_specs():
    spec = BoundedTensorSpec((3, 5), tf.float32, 0, 1.0, name="b")
    assert spec.minimum == 0 and spec.minimum.dtype == np.float32 and not spec.maximum.flags.writeable
    assert repr(spec) == (
        "BoundedTensorSpec(shape=(3, 5), dtype=tf.float32, name='b', minimum=array(0., dtype=float32), "
        "maximum=array(1., dtype=float32))"
    )
    assert BoundedTensorSpec.from_spec(SPEC).maximum == np.finfo(np.float32).max
    with pytest.raises(ValueError, match="minimum is not compatible with shape"):
        BoundedTensorSpec((3, 5), tf.float32, [0, 0], 1)
    with pytest.raises(ValueError, match="minimum and maximum must be provided; but saw 'None' and '1'"):
        BoundedTensorSpec((3, 5), tf.float32, None, 1)


def test_specs_of_composites():
    spec = tf.SparseTensorSpec([2, None], tf.int32)
    assert repr(spec) == "SparseTensorSpec(TensorShape([Dimension(2), Dimension(None)]), tf.int32)"
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 1]], [1], [2, 3])
        assert spec.is_compatible_with(sparse) and type_spec_from_value(sparse) == tf.SparseTensorSpec(
            [2, 3], tf.int32
        )
        parts = spec._to_components(sparse)
        assert spec._from_components(parts).values is sparse.values
        slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
        assert repr(type_spec_from_value(slices)) == (
            "IndexedSlicesSpec(TensorShape([Dimension(None), Dimension(2)]), tf.float32, tf.int32, None, "
            "TensorShape([Dimension(1)]))"
        )
        with pytest.raises(TypeError, match="Could not build a TypeSpec"):
            type_spec_from_value(object())
    with pytest.raises(ValueError, match="Types are not compatible: tf.int32 vs tf.float32"):
        spec.most_specific_compatible_type(tf.SparseTensorSpec([5, 5], tf.float32))
