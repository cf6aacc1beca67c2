"""Values that array ops refuse at run time, with TensorFlow's words, in both tiers."""

import numpy as np
import pytest

import headrace as tf


def any_shape(value):
    """A tensor of which nothing is known while the graph is built."""
    return tf.placeholder_with_default(np.asarray(value), None)


def floats(*values):
    return any_shape(np.array(values, np.float32))


def ints(*values):
    return any_shape(np.array(values, np.int32))


FAILURES = {
    "gather": (lambda: tf.gather(floats(1, 2), ints(0, 7)), r"indices\[1\] = 7 is not in \[0, 2\)"),
    "gather_scalar": (
        lambda: tf.gather(floats(1, 2), any_shape(np.int32(7))),
        r"indices = 7 is not in \[0, 2\)",
    ),
    "gather_axis": (
        lambda: tf.gather(any_shape(np.ones([1, 2])), ints([0], [2]), axis=1),
        r"indices\[1,0\] = 2 is not in \[0, 2\)",
    ),
    "gather_nd": (
        lambda: tf.gather_nd(any_shape(np.ones([1, 2])), ints([0, 0], [0, 2])),
        r"indices\[1\] = \[0, 2\] does not index into param shape \[1,2\]",
    ),
    "scatter_nd": (
        lambda: tf.scatter_nd(ints([5]), floats(1), ints(3)),
        r"indices\[0\] = \[5\] does not index into shape \[3\]",
    ),
    "reshape": (
        lambda: tf.reshape(floats(1, 2), ints(5)),
        "tensor with 2 values, but the requested shape has 5",
    ),
    "concat": (
        lambda: tf.concat([any_shape(np.ones([1, 1])), any_shape(np.ones([1, 2]))], 0),
        r"ConcatOp : Dimensions of inputs should match: shape\[0\] = \[1,1\] vs. shape\[1\] = \[1,2\]",
    ),
    "stack": (lambda: tf.stack([floats(1), floats(1, 2)]), "Shapes of all inputs must match"),
    "transpose": (lambda: tf.transpose(floats([1], [2]), ints(0, 0)), r"1 is missing from \{0,0\}"),
    "tile": (lambda: tf.tile(floats(1), ints(-1)), r"Expected multiples\[0\] >= 0, but got -1"),
    "pad": (lambda: tf.pad(floats(1), ints([-1, 1])), "Paddings must be non-negative: -1 1"),
    "slice": (lambda: tf.slice(floats(1, 2), ints(0), ints(5)), r"Expected size\[0\] in \[0, 2\], but got 5"),
    "split": (lambda: tf.split(floats(1, 2, 3), 2), "should evenly divide the split dimension"),
    "numerics": (lambda: tf.check_numerics(floats(1, np.nan), "mine"), "mine : Tensor had NaN values"),
    "partition": (
        lambda: tf.dynamic_partition(floats(1, 2), ints(0, 2), 2)[0],
        r"partitions\[1\] = 2 is not in \[0, 2\)",
    ),
    "dense": (
        lambda: tf.sparse_to_dense(ints(1, 0), ints(3), floats(1, 2)),
        r"indices\[1\] = \[0\] is out of order",
    ),
    "reverse_sequence": (
        lambda: tf.reverse_sequence(floats([1, 2]), ints(3), 1),
        r"seq_lens\(0\) > input.dims\(1\)",
    ),
    "select": (
        lambda: tf.where(any_shape(np.array([True, False])), floats(1, 2), floats(1, 2, 3)),
        "must have the same size and shape",
    ),
    "broadcast": (lambda: tf.broadcast_to(floats(1, 2), ints(3)), r"Incompatible shapes: \[2\] vs. \[3\]"),
}


@pytest.mark.parametrize("tier", ["interpret", "compile"])
@pytest.mark.parametrize("name", sorted(FAILURES))
def test_a_step_with_wrong_values_fails(name, tier, monkeypatch):
    monkeypatch.setenv("HEADRACE_TIER", tier)
    build, message = FAILURES[name]
    with tf.Graph().as_default():
        fetch = build()
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(fetch)


def test_print_writes_to_stderr_the_first_times_only(capsys):
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.5, 3.0, 4.0])
        shown = tf.Print(
            x, [x, tf.constant([[1, 2], [3, 4]]), tf.constant("a")], "got: ", first_n=2, summarize=3
        )
        with tf.Session() as session:
            for _ in range(3):
                np.testing.assert_array_equal(session.run(shown), [1.0, 2.5, 3.0, 4.0])
    assert capsys.readouterr().err == "got: [1 2.5 3...][[1 2][3...]...][a]\n" * 2
