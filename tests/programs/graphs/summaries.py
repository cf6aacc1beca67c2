"""Scalar, histogram, image and text summaries, scoped names, and merge_all."""

import numpy as np


def build(tf):
    x = tf.constant(np.random.RandomState(9).rand(2, 4, 4, 3).astype(np.float32), name="x")
    gray = tf.constant(np.arange(32, dtype=np.uint8).reshape(2, 4, 4, 1), name="gray")
    loss = tf.reduce_mean(x)
    scalar = tf.summary.scalar("loss", loss)
    with tf.name_scope("layer"):
        tf.summary.histogram("weights", x)
        tf.summary.scalar("loss", loss * 2.0, family="train")
    tf.summary.image("input", x, max_outputs=2)
    tf.summary.image("gray", gray, 1)
    tf.summary.scalar("loss", loss * 3.0)
    other = tf.summary.scalar("kept apart", loss, collections=["apart"])
    tf.summary.text("words", tf.constant("mill race"))
    merged = tf.summary.merge([scalar, other])
    everything = tf.summary.merge_all()
    apart = tf.summary.merge_all("apart")
    assert tf.summary.merge_all("nowhere") is None
    return {"scalar": scalar, "merged": merged, "everything": tf.group(everything), "apart": apart}
