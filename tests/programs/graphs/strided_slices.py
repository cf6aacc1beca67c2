"""Every form of index on a tensor, slices of variables, and the gradients of slices."""

import numpy as np


def build(tf):
    x = tf.constant(np.arange(60, dtype=np.float32).reshape(3, 4, 5), name="x")
    n = tf.constant(2)
    v = tf.Variable(tf.zeros([3, 4]), name="v")
    pieces = {
        "row": x[1],
        "negative": x[-1],
        "range": x[0:2],
        "step": x[::2, 1:4:2],
        "reverse": x[:, ::-1],
        "ellipsis": x[..., 0],
        "middle": x[1, ..., 2:4],
        "newaxis": x[:, tf.newaxis, 1],
        "new_last": x[..., tf.newaxis],
        "tensor": x[n],
        "tensor_range": x[: n - 1, n:],
        "scalar": x[1, 2, 3],
        "open": x[:, 2:],
        "negative_range": x[:, -3:-1],
        "slice": tf.slice(x, [0, 1, 2], [2, -1, 2]),
        "strided": tf.strided_slice(x, [0, 0, 0], [3, 4, 5], [2, 2, 2], begin_mask=1, end_mask=2),
        "dynamic": x[:, : tf.shape(x)[1] - 2],
        "mask": tf.boolean_mask(x, [True, False, True]),
    }
    fetches = dict(pieces)
    for name in sorted(pieces):
        fetches["gradient_" + name] = tf.gradients(tf.square(pieces[name]), x)[0]
    fetches["string"] = tf.constant(["a", "b", "c"])[1]
    fetches["train"] = v[1, 1:3].assign([5.0, 6.0]).op
    fetches["slice_of_variable"] = v[1:]
    fetches["init"] = tf.global_variables_initializer()
    return fetches
