"""Polynomials and the logarithm of the sigmoid: TensorFlow's nodes and values."""

import numpy as np

import headrace as tf


def nodes(build):
    with tf.Graph().as_default() as graph:
        result = build(tf.placeholder(tf.float32, [2], name="x"))
        rows = [(op.type, op.name, [t.op.name for t in op.inputs]) for op in graph.get_operations()[1:]]
        with tf.Session() as sess:
            return rows, sess.run(result, {"x:0": [2.0, -200.0]})


def test_log_sigmoid():
    rows, value = nodes(tf.log_sigmoid)
    assert rows == [
        ("Neg", "LogSigmoid/Neg", ["x"]),
        ("Softplus", "LogSigmoid/Softplus", ["LogSigmoid/Neg"]),
        ("Neg", "LogSigmoid", ["LogSigmoid/Softplus"]),
    ]
    np.testing.assert_allclose(value, [-0.126928, -200.0], rtol=1e-5)


def test_polyval():
    rows, value = nodes(lambda x: tf.math.polyval([x, 3.0, 2.0], x))
    assert [row[:2] for row in rows] == [
        ("Const", "polyval/coeff_1"),
        ("Const", "polyval/coeff_2"),
        ("Mul", "polyval/mul"),
        ("AddV2", "polyval/add"),
        ("Mul", "polyval/mul_1"),
        ("AddV2", "polyval/add_1"),
    ]
    np.testing.assert_allclose(value, [2 * 4 + 3 * 2 + 2, -200.0 * 40000 - 600 + 2])
    assert nodes(lambda x: tf.math.polyval([], x))[1].tolist() == [0.0, 0.0]


def test_tables_initializer():
    with tf.Graph().as_default():
        assert tf.tables_initializer().type == "NoOp"
        tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, tf.no_op(name="fill"))
        assert [op.name for op in tf.tables_initializer().control_inputs] == ["fill"]
