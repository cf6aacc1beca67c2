"""Reductions over all, some and no axes, arg-reductions, cumulative ones, segments, and their gradients."""

import numpy as np


def build(tf):
    x = tf.constant(np.random.RandomState(6).randn(2, 3, 4).astype(np.float32), name="x")
    integers = tf.constant([[3, 1, 2], [9, 7, 8]])
    flags = tf.constant([[True, False], [True, True]])
    unknown = tf.placeholder(tf.float32, name="unknown")
    fetches = {
        "sum": tf.reduce_sum(x),
        "sum_axis": tf.reduce_sum(x, 1),
        "sum_axes": tf.reduce_sum(x, axis=[0, -1], keepdims=True),
        "mean": tf.reduce_mean(x, [1]),
        "mean_integers": tf.reduce_mean(integers),
        "max": tf.reduce_max(x, 2),
        "min": tf.reduce_min(x, 0),
        "product": tf.reduce_prod(x, [1, 2]),
        "all": tf.reduce_all(flags, 0),
        "any": tf.reduce_any(flags),
        "logsumexp": tf.reduce_logsumexp(x, 1),
        "norm": tf.norm(x, axis=-1),
        "argmax": tf.argmax(x, 1),
        "argmin": tf.argmin(x, -1, output_type=tf.int32),
        "cumsum": tf.cumsum(x, 1, exclusive=True, reverse=True),
        "cumprod": tf.cumprod(x, 0),
        "std": tf.math.reduce_std(x, 1),
        "variance": tf.math.reduce_variance(x),
        "count": tf.count_nonzero(integers, 0),
        "segment": tf.segment_sum(x, [0, 0]),
        "unsorted": tf.unsorted_segment_sum(x, [1, 0], 3),
        "top_values": tf.nn.top_k(x, 2)[0],
        "top_indices": tf.nn.top_k(integers, 2)[1],
        "dynamic": tf.reduce_sum(unknown, tf.range(0, tf.rank(unknown))),
        "accuracy": tf.reduce_mean(tf.cast(tf.equal(tf.argmax(x, 2), [[0, 1, 2], [3, 0, 1]]), tf.float32)),
        "cast": tf.cast(x * 3.0, tf.int32),
        "double": tf.to_double(integers),
        "saturate": tf.saturate_cast(integers * 100, tf.uint8),
        "bincount": tf.bincount([0, 2, 2, 5]),
    }
    smooth = [
        "sum_axes",
        "mean",
        "max",
        "min",
        "product",
        "logsumexp",
        "norm",
        "cumsum",
        "cumprod",
        "std",
        "top_values",
    ]
    for name in smooth:
        fetches["gradient_" + name] = tf.gradients(tf.square(fetches[name]), x)[0]
    fetches["gradient_dynamic"] = tf.gradients(fetches["dynamic"], unknown)[0]
    fetches["gradient_segment"] = tf.gradients(fetches["segment"] * 2.0, x)[0]
    fetches["gradient_unsorted"] = tf.gradients(tf.square(fetches["unsorted"]), x)[0]
    return fetches


def feeds():
    return {"unknown:0": np.arange(6, dtype=np.float32).reshape(2, 3)}
