"""Records the nodes that TensorFlow 1.15's functions on numbers add, in tests/golden/math_graphs.json.

Run it in an environment that has TensorFlow 1.15.5: `scripts/oracle tests/golden/record/math_graphs.py`.
The calls are Python source, so that the test can make the same ones: `f(shape, dtype)` is a placeholder, `d(g, *s)`
the gradients of g(*placeholders of shapes s).
"""

import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent)]
import canonical

UNARY = (
    "abs acos acosh asin asinh atan atanh cos cosh digamma erf erfc exp expm1 floor lgamma log log1p negative "
    "reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh bessel_i0e bessel_i1e"
).split()
BINARY = (
    "add subtract multiply divide floordiv mod div_no_nan pow maximum minimum squared_difference"
).split()

CALLS = (
    ["d(tf.math.%s, [2, 3])" % name for name in UNARY]
    + ["d(tf.%s, [2, 3], [2, 3])" % name for name in BINARY]
    + ["d(tf.%s, [2, 3], [3])" % name for name in BINARY]
    + ["d(tf.%s, [None, 3], [])" % name for name in BINARY]
    + ["d(tf.reduce_%s, [2, 3])" % name for name in ("sum", "mean", "prod", "max", "logsumexp")]
    + [
        "d(lambda x: tf.reduce_%s(x, 1), [2, 3])" % name
        for name in ("sum", "mean", "prod", "min", "logsumexp")
    ]
    + ["d(lambda x: tf.reduce_%s(x, [0, -1], True), [None, 3])" % name for name in ("sum", "mean", "max")]
    + ["d(tf.reduce_%s, None)" % name for name in ("sum", "mean", "max")]
    + """
f([2], tf.string) + "s"
1.5 + f([2, 3]) - 1
[2 / f([2], tf.int32), f([2], tf.int8) / 3, f([2], tf.uint16) / 3, 2 / f([2])]
[2 // f([2]), 2 % f([2], tf.int32), 2 ** f([2]) ** 3, -f([2]), abs(f([2], tf.complex64)), ~f([2], tf.bool)]
[f([2]) < 1, f([2]) <= 1, 1 < f([2]), 1 <= f([2])]
[f([2], tf.bool) & True, True | f([2], tf.bool), f([2], tf.bool) ^ f([2], tf.bool)]
np.ones([3, 2], np.float32) @ f([2, 3]) @ f([3, 1])
f([2, 3]) + [1, 2, 3]
[tf.add(f([2]), 2), tf.subtract(f([2]), 2, name="q"), tf.multiply(2.0, f([2]))]
[tf.divide(f([2]), 2), tf.div(f([2], tf.int32), 2), tf.truediv(f([2], tf.int32), 2, name="z")]
[tf.cast(f([2]), tf.int32), tf.cast(3, tf.float32), tf.to_float(3), tf.to_int64(f([2]))]
[tf.saturate_cast(f([2]), tf.uint8), tf.saturate_cast(f([2], tf.int32), tf.uint8, name="q")]
[tf.complex(1.0, 2.0, name="e"), tf.real(f([2], tf.complex64)), tf.imag(f([2])), tf.angle(f([2], tf.complex128))]
[tf.logical_xor(f([2], tf.bool), True), tf.equal(f([2]), 1), tf.math.xdivy(f([2]), 1.0)]
[tf.scalar_mul(2, f([2])), tf.add_n([f([2]), f([2])]), tf.accumulate_n([f([None]), f([2])])]
tf.add_n([f([2])], name="o")
[tf.reduce_sum(f([2, 3]), 0, name="q"), tf.reduce_sum(f([2]), reduction_indices=[0]), tf.reduce_sum([[1, 2]])]
[tf.math.reduce_std(f([2, 3]), 0), tf.math.reduce_variance(f([2, 3]), [0], True, name="v")]
[tf.count_nonzero(f([2, 3]), 0), tf.count_nonzero(["a", ""])]
[tf.argmax(f([2, 3])), tf.argmin(f([2, 3]), axis=-1, output_type=tf.int32), tf.arg_max(f([2, 3]), 1)]
[tf.range(5), tf.range(1, f([], tf.int64)), tf.range(0, 1, 0.25), tf.linspace(0.0, 1.0, 3)]
[tf.matmul(f([2, 3]), f([2, 3]), transpose_a=True), tf.matmul(f([5, 2, 3]), f([3, 2])), tf.matmul(f(None), f(None))]
[tf.matmul(f([2, 3], tf.complex64), f([2, 3], tf.complex64), adjoint_a=True), tf.linalg.matvec(f([2, 3]), f([3]))]
tf.matmul(f([2, 3]), f([2, 3]), transpose_b=True, a_is_sparse=True)
d(tf.matmul, [2, 3], [3, 4])
d(lambda a, b: tf.matmul(a, b, transpose_a=True, transpose_b=True), [3, 2], [4, 3])
d(tf.matmul, [None, 2, 3], [3, 4])
d(lambda a, b: tf.sparse_matmul(a, b, a_is_sparse=True), [2, 3], [3, 4])
d(lambda x: tf.cumsum(x, 1, exclusive=True), [2, 3])
d(lambda x: tf.cumprod(x, 1, reverse=True), [2, 3])
d(lambda x: tf.clip_by_value(x, 0.0, 1), [2, 3])
tf.clip_by_norm(f([2, 3]), 2.0, axes=[1], name="n")
tf.clip_by_global_norm([f([2, 3]), None, f([2])], 5.0)[0]
tf.clip_by_average_norm(f([2, 3]), 5.0)
d(lambda x: tf.segment_mean(x, f([4], tf.int32)), [4, 3])
d(lambda x: tf.segment_max(x, f([4], tf.int32)), [4, 3])
d(lambda x: tf.unsorted_segment_sum(x, f([4], tf.int32), 5), [4, 3])
d(lambda x: tf.unsorted_segment_max(x, f([4], tf.int32), 5), [4, 3])
d(lambda x: tf.unsorted_segment_prod(x, f([4], tf.int32), 5), [4, 3])
[tf.unsorted_segment_mean(f([4, 3]), f([4], tf.int32), 5), tf.unsorted_segment_sqrt_n(f([4]), f([4], tf.int32), 5)]
d(lambda x: tf.sparse_segment_mean(x, f([5], tf.int32), f([5], tf.int32), num_segments=7), [4, 3])
[tf.bincount([0, 2, 2]), tf.bincount(f([None], tf.int32), weights=f([None]), minlength=3, maxlength=9)]
d(tf.igamma, [2, 3], [2, 3])
d(tf.polygamma, [2, 3], [2, 3])
d(tf.betainc, [2], [2], [2])
[tf.tensordot(f([2, 3, 4]), f([4, 3, 5]), 1), tf.tensordot(f([None, 3, 4]), f([4, 3, 5]), [[1, 2], [1, 0]])]
tf.tensordot(f(None), f([4, 5]), [[2], [0]])
[tf.einsum("ijm,jk,kl->iml", f([2, 3, 7]), f([3, 4]), f([4, 5])), tf.einsum("bi,bj->bij", f([None, 2]), f([None, 3]))]
[tf.einsum("bthk,bshk->bhts", f([None, 7, 2, 3]), f([None, 9, 2, 3])), tf.einsum("...j,jk", f([5, 2, 3]), f([3, 4]))]
""".strip().split("\n")
)


def names_for(tf):
    """Returns what the calls may use, over TensorFlow or headrace."""

    def f(shape, dtype=tf.float32):
        return tf.placeholder(dtype, shape)

    def d(function, *shapes):
        xs = [f(shape) for shape in shapes]
        return tf.gradients(function(*xs), xs)

    return {"tf": tf, "np": np, "f": f, "d": d}


def main():
    rows = []
    for call in CALLS:
        with tf.Graph().as_default() as graph:
            eval(call, names_for(tf))
            rows.append(json.dumps({"call": call, "nodes": canonical.graph_nodes(graph)}, sort_keys=True))
    out = pathlib.Path(__file__).resolve().parent.parent / "math_graphs.json"
    out.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
