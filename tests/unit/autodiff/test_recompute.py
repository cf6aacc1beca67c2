"""tf.contrib.layers.recompute_grad; values recorded from TensorFlow 1.15."""

import numpy as np

import headrace as tf


def test_variables_are_made_once_and_have_gradients(tier):
    calls = []

    @tf.contrib.layers.recompute_grad
    def layer(x):
        calls.append(x)
        return tf.layers.dense(x, 2, name="d", kernel_initializer=tf.ones_initializer())

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0, 3.0]])
        with tf.variable_scope("q", use_resource=True):
            y = layer(x)
        assert len(calls) == 1
        gradients = tf.gradients(y, [x, *tf.trainable_variables()])
        assert len(calls) == 2
        assert [v.name for v in tf.trainable_variables()] == ["q/d/kernel:0", "q/d/bias:0"]
        session.run(tf.global_variables_initializer())
        found = session.run([y, *gradients])
    for got, want in zip(found, ([[6, 6]], [[2, 2, 2]], [[1, 1], [2, 2], [3, 3]], [1, 1]), strict=True):
        np.testing.assert_array_equal(got, want)
