"""Streaming metrics over three steps, for the golden file and for the test."""

import numpy as np

STEPS = 3

CALLS = """
auc(labels, scores)
auc(labels, scores, weights, 7, curve="PR")
auc(labels, scores, num_thresholds=9, curve="PR", summation_method="careful_interpolation")
auc(labels, scores, weights, thresholds=[0.6, 0.3], summation_method="minoring")
auc(labels, scores, num_thresholds=5, summation_method="majoring")
true_positives_at_thresholds(labels, scores, [0.3, 0.6])
false_positives_at_thresholds(labels, scores, [0.3, 0.6], weights)
true_negatives_at_thresholds(labels, scores, [0.3, 0.6])
false_negatives_at_thresholds(labels, scores, [0.3, 0.6], weights)
precision_at_thresholds(labels, scores, [0.3, 0.6, 0.99])
recall_at_thresholds(labels, scores, [0.3, 0.6, 0.99], weights)
sensitivity_at_specificity(labels, scores, 0.5, num_thresholds=11)
specificity_at_sensitivity(labels, scores, 0.7, weights, num_thresholds=11)
mean_iou(classes, guesses, 4)
mean_iou(classes, guesses, 4, weights)
mean_per_class_accuracy(classes, guesses, 4)
mean_per_class_accuracy(classes, guesses, 4, weights)
mean_cosine_distance(rows, others, 1)
mean_relative_error(values, scores, values)
mean_relative_error(values, scores, [2.0, 0.0, 1.0, 1.0, 3.0, 1.0], weights)
mean_tensor(rows)
mean_tensor(rows, tf.reshape(weights, [6, 1]))
precision_at_k(several, logits, 3)
precision_at_k(several, logits, 3, class_id=2, weights=weights)
precision_at_k(ragged, logits, 2)
recall_at_k(several, logits, 3)
recall_at_k(classes64, logits, 2, weights=weights)
recall_at_k(ragged, logits, 3, class_id=1)
precision_at_top_k(several, best)
recall_at_top_k(several, best, 2)
average_precision_at_k(several, logits, 3)
average_precision_at_k(several, logits, 2, weights)
average_precision_at_k(ragged, logits, 3)
sparse_precision_at_k(several, logits, 1)
sparse_average_precision_at_k(several, logits, 1)
""".strip().split("\n")


def feeds(step):
    """Returns what each name stands for in a step."""
    r = np.random.RandomState(step)
    rows = r.standard_normal((2, 6, 3)).astype(np.float32)
    rows /= np.sqrt((rows**2).sum(-1, keepdims=True))
    several = r.randint(0, 5, (6, 2)).astype(np.int64)
    kept = np.argwhere(r.rand(6, 2) < 0.7)
    return {
        "labels": r.rand(6) < 0.5,
        "scores": np.round(r.rand(6), 2).astype(np.float32),
        "weights": r.randint(0, 3, 6).astype(np.float32),
        "classes": r.randint(0, 4, 6).astype(np.int32),
        "classes64": r.randint(0, 5, 6).astype(np.int64),
        "guesses": r.randint(0, 4, 6).astype(np.int32),
        "values": np.round(r.standard_normal(6)).astype(np.float32),
        "rows": rows[0],
        "others": rows[1],
        "logits": r.standard_normal((6, 5)).astype(np.float32),
        "several": several,
        "best": r.randint(0, 5, (6, 2)).astype(np.int64),
        "ragged": (kept, several[tuple(kept.T)], np.array([6, 2])),
    }


def run(tf, call):
    """Returns after each step the update's value and then the metric's, as lists."""
    out = []
    with tf.Graph().as_default(), tf.Session() as session:
        names = {}
        for name, value in feeds(0).items():
            if isinstance(value, tuple):
                parts = [tf.placeholder(v.dtype, [*[None] * (v.ndim - 1), 2][: v.ndim]) for v in value[::2]]
                names[name] = tf.SparseTensor(parts[0], tf.placeholder(tf.int64, [None]), parts[1])
            else:
                names[name] = tf.placeholder(value.dtype, value.shape)
        value, update = eval("tf.metrics." + call, {"tf": tf, **names})
        session.run(tf.local_variables_initializer())
        for step in range(STEPS):
            given = {
                names[k]: tf.SparseTensorValue(*v) if isinstance(v, tuple) else v
                for k, v in feeds(step).items()
            }
            for fetch in (update, value):
                out.append(np.asarray(session.run(fetch, given), np.float64).reshape(-1).round(6).tolist())
    return out
