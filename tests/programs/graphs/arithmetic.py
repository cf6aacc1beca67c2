"""Constants of several dtypes and every overloaded operator."""

import numpy as np


def build(tf):
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="a")
    b = tf.constant(2.0, shape=[2, 2], name="b")
    i = tf.constant([7, -7, 9])
    j = tf.constant(np.array([2, 2, -4], np.int32))
    flags = tf.constant([True, False, True])
    big = tf.constant(np.arange(60, dtype=np.int64).reshape(3, 20))
    double = tf.constant(np.linspace(0.0, 1.0, 7))
    text = tf.constant(["mill", "wheel"])
    empty = tf.constant([], dtype=tf.float32)
    wave = tf.constant([1 + 2j, 3 - 1j])
    half = tf.constant([1.5, -2.0], tf.float16)
    return {
        "sum": a + b - 1.0,
        "right": 3.0 - a * 2.0 + 1.0 / a,
        "power": a**2 + 2.0**a,
        "matmul": a @ b,
        "negative": -abs(-a),
        "divide": i / j,
        "floor": i // j,
        "modulo": i % j,
        "right_floor": 20 // i,
        "float_floor": a // 0.75,
        "float_modulo": a % 0.75,
        "compare": tf.stack([a < b, a <= b, a > b, a >= b]),
        "logic": (flags & ~flags) | (flags ^ True),
        "numpy_right": np.float32(2.0) * a,
        "array_right": np.ones([2, 2], np.float32) - a,
        "big": big[1] + 1,
        "double": double * double,
        "text": text + "s",
        "empty": empty * 2.0,
        "wave": wave * tf.conj(wave),
        "half": half * half,
        "integer_divide": tf.div(i, j),
        "true_divide": tf.truediv(i, j),
        "no_nan": tf.div_no_nan(a, tf.zeros_like(a)),
        "broadcast": a + tf.constant([10.0, 20.0]),
        "zeros": tf.zeros([2, 3]),
        "ones_int": tf.ones([2], tf.int32),
        "filled": tf.fill([2, 2], 9),
        "like": tf.ones_like(i),
        "range": tf.range(3, 18, 5),
        "linspace": tf.linspace(0.0, 1.0, 5),
        "eye": tf.eye(3),
    }
