"""where, select, one_hot, gather, gather_nd, scatter, dynamic_partition and stitch, with gradients."""

import numpy as np


def build(tf):
    x = tf.constant(np.arange(12, dtype=np.float32).reshape(3, 4) - 5.0, name="x")
    y = tf.constant(np.ones([3, 4], np.float32), name="y")
    v = tf.Variable(tf.zeros([4, 2]), name="v")
    parts = tf.dynamic_partition(x, [1, 0, 1], 2)
    pieces = {
        "select": tf.where(x > 0.0, x, y),
        "select_rows": tf.where([True, False, True], x, y * 2.0),
        "gather": tf.gather(x, [2, 0, 2]),
        "gather_axis": tf.gather(x, [3, 1], axis=1),
        "gather_matrix": tf.gather(x, [[0, 1], [2, 2]]),
        "gather_nd": tf.gather_nd(x, [[0, 1], [2, 3], [0, 1]]),
        "gather_rows": tf.gather_nd(x, [[1], [1]]),
        "scatter": tf.scatter_nd([[4], [1], [4]], x, [6, 4]),
        "partition": tf.concat(parts, 0),
        "stitch": tf.dynamic_stitch([[2, 0], [1]], [x[:2], x[2:]]),
        "mask": tf.boolean_mask(x, x > 0.0),
        "tensor_scatter": tf.tensor_scatter_update(x, [[1], [0]], y[:2]),
    }
    fetches = dict(pieces)
    for name in sorted(pieces):
        fetches["gradient_" + name] = tf.convert_to_tensor(tf.gradients(tf.square(pieces[name]), x)[0])
    fetches["where"] = tf.where(x > 3.0)
    fetches["one_hot"] = tf.one_hot([1, 3, -1], 4)
    fetches["one_hot_values"] = tf.one_hot([[0], [2]], 3, on_value=5, off_value=-1, axis=0)
    fetches["unique"] = tf.unique([4, 4, 1, 2, 1])[0]
    fetches["unique_index"] = tf.unique([4, 4, 1, 2, 1])[1]
    fetches["difference"] = tf.setdiff1d([1, 2, 3, 4], [2, 4])[0]
    fetches["sequence_mask"] = tf.sequence_mask([1, 3], 4)
    fetches["sparse_dense"] = tf.sparse_to_dense([[0, 1], [2, 0]], [3, 2], [7, 8], -1)
    scattered = tf.scatter_add(v, [1, 3], [[1.0, 2.0], [3.0, 4.0]])
    with tf.control_dependencies([scattered]):
        updated = tf.scatter_nd_update(v, [[0, 1]], [9.0])
    fetches["train"] = updated.op
    fetches["v"] = v
    fetches["init"] = tf.global_variables_initializer()
    return fetches
