"""What tf.contrib.seq2seq.gather_tree refuses when it runs; recorded from TensorFlow 1.15."""

import numpy as np
import pytest

import headrace as tf


@pytest.mark.parametrize(("change", "parent"), [(5, 7), (-3, -1)])
def test_a_parent_is_one_of_the_beams(change, parent):
    ids = np.arange(1, 10, dtype=np.int32).reshape(3, 1, 3)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], np.int32)
    with tf.Graph().as_default(), tf.Session() as session:
        beams = tf.contrib.seq2seq.gather_tree(ids, parents + change, [3], 10)
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"parent id {parent} at .* == \(0, 1, 0\)"):
            session.run(beams)
