"""tf.metrics that are means in other ways: over classes, over each place of a tensor, of relative errors."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import control_dependencies
from headrace.layers.metrics import collected, documented, local, mean_of, squeezed
from headrace.layers.weighting import broadcast_weights, remove_squeezable_dimensions
from headrace.variables.scope import variable_scope

Result = tuple[Any, Any]
_CLASSES = (
    "labels: The numbers of the right classes.\n      predictions: The numbers of the predicted classes.\n"
    "      num_classes: How many classes there are."
)


def _flat(tensor: Any) -> Any:
    return NAMES["reshape"](tensor, [-1]) if tensor.shape.ndims > 1 else tensor


def _positive(count: Any) -> Any:
    return NAMES["maximum"](count, 0)


@export("metrics.mean_iou")
@documented("Returns the mean over classes of intersection over union.", _CLASSES)
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = local([num_classes, num_classes], dtypes.float64, "total_confusion_matrix")
        predictions = NAMES["cast"](predictions, dtypes.int64)
        labels = NAMES["cast"](labels, dtypes.int64)
        classes = NAMES["cast"](num_classes, dtypes.int64)
        predictions, labels = _flat(predictions), _flat(labels)
        if weights is not None and weights.shape.ndims > 1:
            weights = NAMES["reshape"](weights, [-1])
        current = NAMES["confusion_matrix"](
            labels, predictions, classes, weights=weights, dtype=dtypes.float64
        )
        update = NAMES["assign_add"](total, current)
        matrix = total.value()
        predicted = NAMES["cast"](NAMES["reduce_sum"](matrix, 0), dtypes.float32)
        labelled = NAMES["cast"](NAMES["reduce_sum"](matrix, 1), dtypes.float32)
        right = NAMES["cast"](NAMES["diag_part"](matrix), dtypes.float32)
        union = predicted + labelled - right
        seen = NAMES["reduce_sum"](NAMES["cast"](NAMES["not_equal"](union, 0), dtypes.float32))
        union = NAMES["where"](NAMES["greater"](union, 0), union, NAMES["ones_like"](union))
        ratios = NAMES["div"](right, union)
        some = NAMES["greater"](seen, 0)
        value = NAMES["where"](some, NAMES["reduce_sum"](ratios, name="mean_iou") / seen, 0)
        return collected(value, update, metrics_collections, updates_collections)


@export("metrics.mean_per_class_accuracy")
@documented(
    "Returns the mean over classes of how often each is recognized; the update gives each class's own.",
    _CLASSES,
)
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = NAMES["cast"](labels, dtypes.int64)
        labels, predictions = _flat(labels), _flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = local([num_classes], dtypes.float32, "total")
        count = local([num_classes], dtypes.float32, "count")
        ones = NAMES["ones"]([NAMES["size"](labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = NAMES["cast"](predictions, labels.dtype)
        right = NAMES["cast"](NAMES["equal"](predictions, labels), dtypes.float32)
        if weights is not None:
            if weights.shape.ndims > 1:
                weights = NAMES["reshape"](weights, [-1])
            weights = NAMES["cast"](weights, dtypes.float32)
            right = right * weights
            ones = ones * weights
        new_total = NAMES["scatter_add"](total, labels, ones)
        new_count = NAMES["scatter_add"](count, labels, right)
        ratio = NAMES["math.divide_no_nan"]
        rates = ratio(count.value(), _positive(total.value()))
        value = NAMES["reduce_mean"](rates, name="mean_accuracy")
        update = ratio(new_count, _positive(new_total), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


@export("metrics.mean_cosine_distance")
@documented(
    "Returns the mean cosine distance of vectors of length 1.",
    "labels: The right vectors.\n      predictions: The predicted vectors.\n"
    "      dim: The axis along which the vectors lie.",
)
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    labels, predictions, weights = squeezed(labels, predictions, weights)
    products = NAMES["reduce_sum"](NAMES["multiply"](predictions, labels), axis=[dim], keepdims=True)
    value, update = mean_of(
        products, weights, None, None, name or "mean_cosine_distance", "mean_cosine_distance"
    )
    value = NAMES["subtract"](1.0, value)
    update = NAMES["subtract"](1.0, update)
    return collected(value, update, metrics_collections, updates_collections)


@export("metrics.mean_relative_error")
@documented(
    "Returns the mean of errors divided by given values, where those are not 0.",
    "labels: The right values.\n      predictions: The predicted values.\n"
    "      normalizer: What each error is divided by.",
)
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    labels, predictions, weights = squeezed(labels, predictions, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = NAMES["where"](
        NAMES["equal"](normalizer, 0.0),
        NAMES["zeros_like"](labels),
        NAMES["div"](NAMES["abs"](labels - predictions), normalizer),
    )
    return mean_of(
        errors, weights, metrics_collections, updates_collections, name or "mean_relative_error", "mean"
    )


@export("metrics.mean_tensor")
@documented("Returns the mean of tensors of one shape, element by element.", "values: The values.")
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    with variable_scope(name, "mean", (values, weights)):
        values = NAMES["cast"](values, dtypes.float32)
        total = local(values.shape, dtypes.float32, "total_tensor")
        count = local(values.shape, dtypes.float32, "count_tensor")
        number = NAMES["ones_like"](values)
        if weights is not None:
            _, values, weights = squeezed(None, values, weights)
            weights = broadcast_weights(NAMES["cast"](weights, dtypes.float32), values)
            values = NAMES["multiply"](values, weights)
            number = NAMES["multiply"](number, weights)
        new_total = NAMES["assign_add"](total, values)
        with control_dependencies([values]):
            new_count = NAMES["assign_add"](count, number)
        ratio = NAMES["math.divide_no_nan"]
        value = ratio(total.value(), _positive(count.value()), name="value")
        update = ratio(new_total, _positive(new_count), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
