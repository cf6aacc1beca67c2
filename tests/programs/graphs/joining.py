"""Concatenating, splitting, stacking, tiling, padding, transposing, reversing, and the gradients of each."""

import numpy as np


def build(tf):
    x = tf.constant(np.random.RandomState(7).randn(4, 6).astype(np.float32), name="x")
    y = tf.constant(np.random.RandomState(8).randn(4, 2).astype(np.float32), name="y")
    cube = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 3, 4), name="cube")
    first, second, third = tf.split(x, 3, axis=1)
    sized = tf.split(x, [1, 2, 3], 1)
    rows = tf.unstack(x)
    columns = tf.unstack(x, axis=1)
    pieces = {
        "concat": tf.concat([x, y], 1),
        "concat_rows": tf.concat([y, y * 2.0], axis=0),
        "concat_negative": tf.concat([x, y], -1),
        "split": first * second + third,
        "split_sizes": tf.reduce_sum(sized[1], 1) + tf.reduce_sum(sized[2], 1),
        "stack": tf.stack([first, second], axis=1),
        "unstack": rows[0] * rows[3],
        "columns": columns[1] + columns[5],
        "tile": tf.tile(x, [2, 1]),
        "pad": tf.pad(x, [[1, 0], [0, 2]]),
        "pad_value": tf.pad(x, [[1, 1], [1, 1]], constant_values=3.0),
        "pad_reflect": tf.pad(x, [[1, 2], [3, 0]], "REFLECT"),
        "pad_symmetric": tf.pad(x, [[1, 2], [0, 1]], "SYMMETRIC"),
        "transpose": tf.transpose(x),
        "reshape": tf.reshape(x, [2, -1]),
        "reshape_dynamic": tf.reshape(x, tf.stack([tf.shape(x)[1], 4])),
        "squeeze": tf.squeeze(tf.expand_dims(tf.expand_dims(x, 1), -1), [1]),
        "squeeze_all": tf.squeeze(tf.expand_dims(x, 0)),
        "reverse": tf.reverse(x, [0]),
        "roll": tf.roll(x, shift=[1, -2], axis=[0, 1]),
        "sequence": tf.reverse_sequence(x, [1, 2, 3, 6], seq_axis=1),
        "broadcast": tf.broadcast_to(x[0], [3, 6]),
        "parallel": tf.meshgrid(x[0], y[0])[0],
        "band": tf.matrix_band_part(x, 1, 0),
        "diagonal": tf.diag_part(x[:, :4]),
        "space": tf.space_to_batch_nd(tf.reshape(x, [1, 4, 6, 1]), [2, 2], [[0, 0], [0, 0]]),
        "depth": tf.space_to_depth(tf.reshape(x, [1, 4, 6, 1]), 2),
    }
    fetches = dict(pieces)
    for name in sorted(pieces):
        fetches["gradient_" + name] = (
            tf.gradients(tf.square(pieces[name]), x)[0] if name != "concat_rows" else y
        )
    fetches["permuted"] = tf.transpose(cube, [2, 0, 1])
    fetches["gradient_permuted"] = tf.gradients(tf.square(tf.transpose(cube, [1, 2, 0])), cube)[0]
    fetches["matrix_transpose"] = tf.matrix_transpose(cube)
    fetches["sizes"] = tf.stack([tf.size(x), tf.rank(x), tf.shape(cube)[2]])
    fetches["inverse"] = tf.invert_permutation([2, 0, 1])
    fetches["sorted"] = tf.sort(x, axis=-1)
    return fetches
