"""What is known of shapes where placeholders leave something open: the array ops on partial shapes."""

import numpy as np


def build(tf):
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    y = tf.placeholder(tf.float32, [4, None], name="y")
    free = tf.placeholder(tf.float32, name="free")
    n = tf.placeholder(tf.int32, [], name="n")
    rows = tf.shape(x)[0]
    return {
        "reshape": tf.reshape(x, [-1, 2]),
        "reshape_packed": tf.reshape(x, [rows, 2, 3]),
        "reshape_joined": tf.reshape(x, tf.concat([tf.shape(x)[:1], [3, 2]], 0)),
        "reshape_shape": tf.reshape(free, tf.shape(x)[-1:]),
        "fill": tf.fill([rows, 3], 7),
        "zeros": tf.zeros([rows, 2]),
        "ones": tf.ones(tf.shape(x)),
        "zeros_like": tf.zeros_like(free),
        "ones_like": tf.ones_like(x, dtype=tf.int32),
        "concat": tf.concat([x, x], 0),
        "concat_unknown": tf.concat([free, free], 0),
        "stack": tf.stack([rows, 5]),
        "stack_axis": tf.stack([x, x], axis=1),
        "slice": tf.slice(x, [0, 1], [-1, 2]),
        "slice_packed": tf.slice(x, [0, 0], [1, n]),
        "index": x[n],
        "range": x[n:, ::-1],
        "last": y[..., -1],
        "axes": x[:, tf.newaxis, 2:4],
        "transpose": tf.transpose(y),
        "transpose_free": tf.transpose(free),
        "tile": tf.tile(x, [2, n]),
        "pad": tf.pad(x, [[1, 1], [0, n]]),
        "gather": tf.gather(x, [n, 0]),
        "gather_axis": tf.gather(x, [n], axis=1),
        "expand": tf.expand_dims(x, -1),
        "squeeze": tf.squeeze(tf.expand_dims(x, 0), [0]),
        "split": tf.split(x, 2, 1)[1],
        "unstack": tf.unstack(y)[3],
        "where": tf.where(x > 2.0),
        "mask": tf.boolean_mask(x, x[:, 0] > 0.0),
        "one_hot": tf.one_hot([1, 0], n),
        "broadcast": tf.broadcast_to(x[:1], [3, 6]),
        "reverse": tf.reverse(x, [0]),
        "diag": tf.matrix_diag(x),
        "band": tf.matrix_band_part(x, 1, 0),
        "size": tf.size(x),
        "rank": tf.rank(free),
        "sequence_mask": tf.sequence_mask([1, 2], n),
        "eye": tf.eye(n),
        "depth": tf.depth_to_space(tf.reshape(x, [-1, 1, 1, 4]), 2),
        "batches": tf.space_to_batch_nd(tf.reshape(x, [1, -1, 1, 1]), [2, 1], [[0, 0], [0, 0]]),
    }


def feeds():
    return {
        "x:0": np.arange(24, dtype=np.float32).reshape(4, 6) - 7.0,
        "y:0": np.arange(8, dtype=np.float32).reshape(4, 2),
        "free:0": np.arange(6, dtype=np.float32),
        "n:0": 1,
    }
