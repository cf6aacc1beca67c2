"""tf.metrics of the k best predictions: precision, recall and average precision among several right classes."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import control_dependencies, name_scope
from headrace.layers.metrics import collected, documented, local
from headrace.layers.weighting import assert_broadcastable, broadcast_weights
from headrace.opdef import convert_to_tensor

Result = tuple[Any, Any]

_LABELS = (
    "labels: The right classes of each example, int64 of shape [..., number], a tensor or SparseTensor; or one class\n"
    "        each, [...]."
)
_SCORES = (
    f"{_LABELS}\n      predictions: Each class's score, [..., classes].\n      k: How many predictions count."
)
_BEST = (
    f"{_LABELS}\n      predictions_idx: The predicted classes, best first, [..., k].\n"
    "      k: Their number; it is part of names only."
)
_ONE_CLASS = "\n      class_id: Look at this class alone; None for all."


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "dense_shape")


def _tensor(value: Any) -> Any:
    if _is_sparse(value) and hasattr(value, "_fields"):
        return NAMES["SparseTensor"].from_value(value)
    return value if _is_sparse(value) else convert_to_tensor(value)


def _name(what: str, k: Any, class_id: Any = None) -> str:
    name = f"{what}_at_k" if k is None else f"{what}_at_{int(k)}"
    return name if class_id is None else f"{name}_class{int(class_id)}"


def _either(condition: Any, first: Any, second: Any, sparse: bool) -> Any:
    """Returns what `tf.cond` of two functions gives, which may be SparseTensors."""
    if not sparse:
        return NAMES["cond"](condition, first, second)

    def parts(function: Any) -> Any:
        def branch() -> Any:
            found = function()
            return found.indices, found.values, found.dense_shape

        return branch

    return NAMES["SparseTensor"](*NAMES["cond"](condition, parts(first), parts(second)))


def _expanded_labels(labels: Any, predictions: Any) -> Any:
    """Returns labels with a last axis of one class where they have one axis less than predictions."""
    with name_scope(None, "expand_labels", (labels, predictions)) as scope:
        labels = _tensor(labels)
        if _is_sparse(labels):
            wanted = NAMES["equal"](NAMES["rank"](predictions), NAMES["size"](labels.dense_shape) + 1)

            def reshaped() -> Any:
                shape = NAMES["concat"]((labels.dense_shape, (1,)), 0)
                return NAMES["sparse_reshape"](labels, shape, name=scope)

            return _either(wanted, reshaped, lambda: labels, True)
        ranks = labels.shape.ndims, predictions.shape.ndims
        if ranks[0] is not None and ranks[1] is not None:
            if ranks[1] == ranks[0] + 1:
                return NAMES["expand_dims"](labels, -1, name=scope)
            if ranks[0] != ranks[1]:
                raise ValueError(
                    f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}."
                )
            return labels
        wanted = NAMES["equal"](NAMES["rank"](predictions), NAMES["rank"](labels) + 1)
        return _either(wanted, lambda: NAMES["expand_dims"](labels, -1, name=scope), lambda: labels, False)


def _of_one_class(ids: Any, class_id: Any) -> Any:
    """Returns the sets of ids with this class alone, as a SparseTensor of the same shape."""
    ids = _tensor(ids)
    if _is_sparse(ids):
        return NAMES["sparse_retain"](ids, NAMES["equal"](ids.values, class_id))
    shape = NAMES["shape"](ids, out_type=dtypes.int64)
    last = NAMES["size"](shape) - 1
    wanted = NAMES["fill"](
        _with_one(shape, NAMES["reshape"](last, [1])), NAMES["cast"](class_id, dtypes.int64)
    )
    found = NAMES["sets.set_intersection"](wanted, ids)
    return NAMES["SparseTensor"](found.indices, found.values, shape)


def _with_one(shape: Any, axes: Any) -> Any:
    """Returns a shape with ones at some axes."""
    shape = NAMES["cast"](shape, dtypes.int32)
    rank = NAMES["size"](shape)
    axes = (axes + rank) % rank
    sizes = NAMES["shape"](axes)
    every = NAMES["range"](rank)
    return NAMES["dynamic_stitch"]([every, axes], [shape, NAMES["fill"](sizes, 1)])


def _weighted(count: Any, weights: Any) -> Any:
    count = NAMES["cast"](count, dtypes.float64)
    if weights is None:
        return count
    with control_dependencies((assert_broadcastable(weights, count),)):
        return NAMES["multiply"](count, NAMES["cast"](weights, dtypes.float64))


def _combined(kind: str, predictions: Any, labels: Any) -> Any:
    if kind == "true_positive":
        return NAMES["sets.set_intersection"](predictions, labels)
    return NAMES["sets.set_difference"](predictions, labels, aminusb=kind == "false_positive")


def _hits(
    kind: str,
    labels: Any,
    predictions: Any,
    class_id: Any = None,
    weights: Any = None,
    name: str | None = None,
) -> Any:
    """Counts for each example how many of its predictions, or labels, are of a kind."""
    with name_scope(name, kind + "s", (predictions, labels, weights)):
        if class_id is not None:
            labels = _of_one_class(labels, class_id)
            predictions = _of_one_class(predictions, class_id)
        return _weighted(NAMES["sets.set_size"](_combined(kind, predictions, labels)), weights)


def _streaming(
    kind: str, labels: Any, predictions: Any, k: Any, class_id: Any, weights: Any
) -> tuple[Any, Any]:
    with name_scope(None, _name(kind, k, class_id), (predictions, labels, weights)) as scope:
        hits = _hits(kind, labels, predictions, class_id, weights)
        total = NAMES["cast"](NAMES["reduce_sum"](hits), dtypes.float64)
        count = local([], dtypes.float64, scope)
        return count, NAMES["assign_add"](count, total, name="update")


def _ratio(
    what: str, other: str, labels: Any, predictions: Any, k: Any, class_id: Any, weights: Any, metrics: Any,
    updates: Any, name: str | None,
) -> Result:  # fmt: skip
    with name_scope(name, _name(what, k, class_id), (predictions, labels, weights)) as scope:
        labels = _expanded_labels(labels, predictions)
        best = NAMES["cast"](predictions, dtypes.int64)
        right, new_right = _streaming("true_positive", labels, best, k, class_id, weights)
        wrong, new_wrong = _streaming(other, labels, best, k, class_id, weights)
        value = NAMES["div"](right, NAMES["add"](right, wrong), name=scope)
        update = NAMES["div"](new_right, NAMES["add"](new_right, new_wrong), name="update")
        return collected(value, update, metrics, updates)


def _of_scores(
    what: str, other: str, labels: Any, predictions: Any, k: Any, class_id: Any, weights: Any, metrics: Any,
    updates: Any, name: str | None,
) -> Result:  # fmt: skip
    with name_scope(name, _name(what, k, class_id), (predictions, labels, weights)) as scope:
        _, best = NAMES["nn.top_k"](predictions, k)
        return _ratio(what, other, labels, best, k, class_id, weights, metrics, updates, scope)


@export("metrics.precision_at_k", "metrics.sparse_precision_at_k")
@documented("Returns which part of the k best predictions is right.", _SCORES + _ONE_CLASS)
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: Any,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    return _of_scores(
        "precision", "false_positive", labels, predictions, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


@export("metrics.recall_at_k")
@documented("Returns which part of the right classes is among the k best predictions.", _SCORES + _ONE_CLASS)
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: Any,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    return _of_scores(
        "recall", "false_negative", labels, predictions, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


@export("metrics.precision_at_top_k")
@documented("Returns which part of predicted classes is right.", _BEST + _ONE_CLASS)
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: Any = None,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    return _ratio(
        "precision", "false_positive", labels, predictions_idx, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


@export("metrics.recall_at_top_k")
@documented("Returns which part of the right classes is predicted.", _BEST + _ONE_CLASS)
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: Any = None,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    return _ratio(
        "recall", "false_negative", labels, predictions_idx, k, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


def _without_unknown(labels: Any, classes: Any) -> Any:
    """Returns labels with -1 for classes that are none."""
    labels = _tensor(labels)
    sparse = _is_sparse(labels)
    values = labels.values if sparse else labels
    some = NAMES["greater_equal"](NAMES["reduce_max"](values), classes)

    def cleaned() -> Any:
        found = NAMES["where_v2"](
            NAMES["greater_equal"](values, classes), -1 * NAMES["ones_like"](values), values
        )
        return NAMES["SparseTensor"](labels.indices, found, labels.dense_shape) if sparse else found

    return _either(some, cleaned, lambda: labels, sparse)


def _repeated(tensor: Any, times: int, name: str) -> Any:
    """Returns a tensor with a new axis before its last, along which it is repeated."""
    with name_scope(name, "expand_and_tile", (tensor, times, -2)) as scope:
        if _is_sparse(tensor):
            shape = tensor.dense_shape
            place = NAMES["reshape"](NAMES["size"](shape) + -1, [1])
            shape = NAMES["concat"](
                (NAMES["slice"](shape, [0], place), [1], NAMES["slice"](shape, place, [-1])),
                0,
                name="expanded_shape",
            )
            expanded = NAMES["sparse_reshape"](tensor, shape=shape, name="expand")
            if times == 1:
                return expanded
            return NAMES["sparse_concat"](-2, [expanded] * times, name=scope)
        expanded = NAMES["expand_dims"](tensor, -2, name="expand")
        if times == 1:
            return expanded
        ones = NAMES["ones_like"](NAMES["shape"](tensor))
        multiples = NAMES["concat"]((ones[:-1], (times,), ones[-1:]), 0, name="multiples")
        return NAMES["tile"](expanded, multiples, name=scope)


def _number_of_labels(labels: Any, k: int) -> Any:
    """Returns how many right classes each example has, at most k."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(None, "num_relevant", (labels,)) as scope:
        if _is_sparse(labels):
            return NAMES["minimum"](NAMES["sets.set_size"](labels), k, name=scope)
        known = NAMES["greater_equal"](labels, 0)
        ones = NAMES["where_v2"](known, NAMES["ones_like"](labels), NAMES["zeros_like"](labels))
        return NAMES["minimum"](NAMES["reduce_sum"](ones, -1), k, name=scope)


def _average_precision(labels: Any, predictions: Any) -> Any:
    with name_scope(None, "average_precision", (predictions, labels)) as scope:
        predictions = NAMES["cast"](predictions, dtypes.int64, name="predictions_idx")
        if predictions.shape.ndims == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = predictions.shape[-1].value
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = _expanded_labels(labels, predictions)
        each = NAMES["expand_dims"](predictions, -1, name="predictions_idx_per_k")
        repeated = _repeated(labels, k, "labels_per_k")
        relevant = _hits("true_positive", repeated, each, name="relevant_per_k")
        right = NAMES["cumsum"](relevant, axis=-1, name="tp_per_k")
        seen = NAMES["cumsum"](NAMES["ones_like"](relevant), axis=-1, name="retrieved_per_k")
        precision = NAMES["div"](
            NAMES["cast"](right, dtypes.float64), NAMES["cast"](seen, dtypes.float64), name="precision_per_k"
        )
        parts = NAMES["multiply"](
            precision, NAMES["cast"](relevant, dtypes.float64), name="relevant_precision_per_k"
        )
        total = NAMES["reduce_sum"](parts, axis=(-1,), name="precision_sum")
        number = NAMES["cast"](_number_of_labels(labels, k), dtypes.float64)
        return NAMES["div"](total, number, name=scope)


@export("metrics.average_precision_at_k")
@documented(
    "Returns the mean over examples of the average precision: of the precisions at each right prediction's rank.",
    _SCORES,
)
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    with name_scope(name, _name("average_precision", k), (predictions, labels, weights)) as scope:
        _, best = NAMES["nn.top_k"](predictions, k)
        classes = NAMES["cast"](NAMES["shape"](predictions)[-1], dtypes.int64)
        labels = _without_unknown(labels, classes)
        values = _average_precision(labels, best)
        if weights is not None:
            weights = broadcast_weights(NAMES["cast"](weights, dtypes.float64), values)
            values = NAMES["multiply"](values, weights)
        with name_scope(None, "max", (values,)) as inner:
            count = local([], dtypes.float64, inner)
            if weights is None:
                most = NAMES["cast"](NAMES["size"](values, name="batch_max"), dtypes.float64)
            else:
                most = NAMES["reduce_sum"](weights, name="batch_max")
            new_count = NAMES["assign_add"](count, most, name="update")
        with name_scope(None, "total", (values,)) as inner:
            total = local([], dtypes.float64, inner)
            sum_now = NAMES["reduce_sum"](values, name="batch_total")
            new_total = NAMES["assign_add"](total, sum_now, name="update")
        ratio = NAMES["math.divide_no_nan"]
        value = ratio(total.value(), count.value(), name="mean")
        update = ratio(new_total, new_count, name=scope)
        return collected(value, update, metrics_collections, updates_collections)


@export("metrics.sparse_average_precision_at_k")
@documented("Does what `average_precision_at_k` does, under an older name.", _SCORES)
def sparse_average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    return average_precision_at_k(  # type: ignore[no-any-return]
        labels, predictions, k, weights, metrics_collections, updates_collections, name
    )
