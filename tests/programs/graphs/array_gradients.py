"""The gradients of array ops that other programs do not reach, with static and with open shapes."""

import numpy as np


def build(tf):
    x = tf.constant(np.arange(24, dtype=np.float32).reshape(4, 6), name="x")
    open_x = tf.placeholder(tf.float32, [None, 6], name="open_x")
    cube = tf.constant(np.arange(24, dtype=np.float32).reshape(2, 3, 4), name="cube")
    image = tf.constant(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1), name="image")
    square = tf.constant(np.arange(18, dtype=np.float32).reshape(2, 3, 3), name="square")
    many = [x[:, i : i + 1] for i in range(6)] * 3
    pieces = {
        "concat_many": (tf.concat(many, 1), x),
        "concat_open": (tf.concat([open_x, open_x], 1), open_x),
        "slice_open": (tf.slice(open_x, [0, 1], [-1, 3]), open_x),
        "strided_open": (open_x[1:, tf.newaxis, ::-2], open_x),
        "tile_open": (tf.tile(open_x, [2, 3]), open_x),
        "pad_open": (tf.pad(open_x, [[1, 0], [2, 1]]), open_x),
        "gather_batch": (tf.gather(cube, [[2, 0], [1, 1]], batch_dims=1), cube),
        "gather_middle": (tf.gather(cube, [2, 0, 2], axis=1), cube),
        "gather_last": (tf.gather(cube, [[3, 0]], axis=-1), cube),
        "batch_gather": (tf.batch_gather(cube, [[2, 0], [1, 1]]), cube),
        "roll": (tf.roll(x, [1, 2], [0, 1]), x),
        "reverse_sequence": (tf.reverse_sequence(x, [1, 2, 6, 4], seq_axis=1), x),
        "broadcast": (tf.broadcast_to(x, [2, 4, 6]), x),
        "diag": (tf.diag(x[0]), x),
        "diag_part": (tf.matrix_diag_part(square), square),
        "diag_part_open": (tf.matrix_diag_part(cube), cube),
        "set_diag": (tf.matrix_set_diag(square, square[:, 0]), square),
        "band": (tf.matrix_band_part(square, 1, 0), square),
        "space_to_depth": (tf.space_to_depth(image, 2), image),
        "space_to_batch": (tf.space_to_batch(image, [[0, 0], [2, 0]], 2), image),
        "scatter_add": (tf.tensor_scatter_add(x, [[0], [2]], x[:2] * 2.0), x),
        "scatter_sub": (tf.tensor_scatter_sub(x, [[0], [2]], x[:2] * 2.0), x),
        "select": (tf.where_v2(x[0] > 2.0, x, 1.0), x),
        "identity_n": (tf.identity_n([x * 2.0, x])[0], x),
        "meshgrid": (tf.meshgrid(x[0], x[1])[1], x),
    }
    fetches = {}
    for name in sorted(pieces):
        y, source = pieces[name]
        fetches["gradient_" + name] = tf.convert_to_tensor(tf.gradients(tf.square(y), source)[0])
    twice = tf.gradients(tf.square(tf.gradients(tf.square(x[1:, ::2]), x)[0]), x)[0]
    fetches["second_derivative"] = twice
    return fetches


def feeds():
    return {"open_x:0": np.arange(18, dtype=np.float32).reshape(3, 6) - 5.0}
