"""Metrics whose nodes are recorded from TensorFlow and made again by the test."""

# ruff: noqa: E501  (a call is a line)

import re

CALLS = """
tf.metrics.auc(p(4), p(4), num_thresholds=3)
tf.metrics.auc(p(None), p(None), p(None), 3, ["m"], ["u"], "PR", "q", "careful_interpolation")
tf.metrics.auc(p(4,1), p(4,1), thresholds=[0.6,0.3], weights=p(4,1), curve="PR", summation_method="minoring")
tf.metrics.true_positives_at_thresholds(p(None,1), p(None), [0.3,0.6], weights=2.0)
tf.metrics.precision_at_thresholds(p(4), p(4), [0.3,0.6])
tf.metrics.specificity_at_sensitivity(p(4), p(4), 0.5, num_thresholds=3)
tf.metrics.mean_iou(p(2,2,dtype="int32"), p(2,2,dtype="int64"), 3, p(2,2), ["m"], ["u"], "n")
tf.metrics.mean_per_class_accuracy(p(2,2,dtype="int32"), p(2,2,dtype="int64"), 3, p(2,2))
[tf.metrics.mean_cosine_distance(p(4,3), p(4,3), 1, p(4,1)), tf.metrics.mean_relative_error(p(4), p(4), p(4)), tf.metrics.mean_tensor(p(4,3), p(4,1), name="n")]
tf.metrics.recall_at_k(p(4,dtype="int64"), p(4,5), 3, 2, p(4,1), ["m"], ["u"], "nm")
tf.metrics.precision_at_k(tf.SparseTensor(p(None,2,dtype="int64"),p(None,dtype="int64"),p(2,dtype="int64")), p(None,5), 3)
tf.metrics.average_precision_at_k(p(4,2,dtype="int64"), p(4,5), 3, p(4))
""".strip().split("\n")

# TensorFlow guards an assertion with a branch; here it is one node.
_ASSERTS = re.compile(r"/Assert[/(]|AssertGuard|assert_broadcastable|is_valid_shape")


def compared(rows):
    """Returns what is compared of nodes: type, name and inputs, but for assertions and who waits for them."""
    rows = [row for row in rows if not _ASSERTS.search(row)]
    return [re.sub(r"\).*", ")", row) for row in rows if not row.startswith(("Const ", "Placeholder "))]
