"""tf.metrics: means and counts over many steps, kept in local variables that update operations add to."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, control_dependencies
from headrace.layers.weighting import broadcast_weights, remove_squeezable_dimensions
from headrace.opdef import convert_to_tensor, raw
from headrace.variables.scope import variable_scope

_DOC = """{what}

    Args:
      {operands}
      weights: A weight for each element, or for rows of them; None for 1.
      metrics_collections: The collections that the value goes to.
      updates_collections: The collections that the update operation goes to.
      name: The variable scope's name.

    Returns:
      The value so far, and an operation that takes account of this step and gives the new value.
    """
_PAIR = "labels: The right values.\n      predictions: The predicted values."


def documented(what: str, operands: str = _PAIR) -> Any:
    def decorate(function: Any) -> Any:
        function.__doc__ = _DOC.format(what=what, operands=operands)
        return function

    return decorate


def local(shape: Any, dtype: Any, name: str) -> Any:
    """Returns a variable of zeros in the collections of local and of metric variables."""
    return NAMES["Variable"](
        lambda: NAMES["zeros"](shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=True,
        name=name,
    )


def collected(value: Any, update: Any, metrics: Any, updates: Any) -> tuple[Any, Any]:
    for names, tensor in ((metrics, value), (updates, update)):
        if names:
            NAMES["add_to_collections"](names, tensor)
    return value, update


def squeezed(labels: Any, predictions: Any, weights: Any = None) -> tuple[Any, Any, Any]:
    """Returns the operands without last axes of size 1 that only some of them have."""
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return labels, predictions, None
    weights = convert_to_tensor(weights)
    ranks = weights.shape.ndims, predictions.shape.ndims
    if None not in ranks and ranks[0]:
        if ranks[0] - ranks[1] == 1:
            weights = NAMES["squeeze"](weights, [-1])
        elif ranks[1] - ranks[0] == 1:
            weights = NAMES["expand_dims"](weights, [-1])
    return labels, predictions, weights


def mean_of(
    values: Any, weights: Any, metrics: Any, updates: Any, name: str | None, default: str
) -> tuple[Any, Any]:
    with variable_scope(name, default, (values, weights)):
        values = NAMES["cast"](values, dtypes.float32)
        total = local([], dtypes.float32, "total")
        count = local([], dtypes.float32, "count")
        if weights is None:
            number = NAMES["cast"](NAMES["size"](values), dtypes.float32)
        else:
            _, values, weights = squeezed(None, values, weights)
            weights = broadcast_weights(NAMES["cast"](weights, dtypes.float32), values)
            values = NAMES["multiply"](values, weights)
            number = NAMES["reduce_sum"](weights)
        new_total = NAMES["assign_add"](total, NAMES["reduce_sum"](values))
        with control_dependencies([values]):
            new_count = NAMES["assign_add"](count, number)
        ratio = NAMES["math.divide_no_nan"]
        value = ratio(total.value(), NAMES["maximum"](count.value(), 0), name="value")
        update = ratio(new_total, NAMES["maximum"](new_count, 0), name="update_op")
        return collected(value, update, metrics, updates)


@export("metrics.mean")
@documented("Returns the mean of values.", "values: The values.")
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    return mean_of(values, weights, metrics_collections, updates_collections, name, "mean")


@export("metrics.accuracy")
@documented("Returns how often predictions are right.")
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    labels, predictions, weights = squeezed(labels, predictions, weights)
    if labels.dtype != predictions.dtype:
        predictions = NAMES["cast"](predictions, labels.dtype)
    right = NAMES["cast"](NAMES["equal"](predictions, labels), dtypes.float32)
    return mean_of(right, weights, metrics_collections, updates_collections, name or "accuracy", "accuracy")


@export("metrics.mean_squared_error")
@documented("Returns the mean of squared errors.")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    labels, predictions, weights = squeezed(labels, predictions, weights)
    errors = raw.SquaredDifference(labels, predictions)
    return mean_of(errors, weights, metrics_collections, updates_collections, name, "mean_squared_error")


@export("metrics.mean_absolute_error")
@documented("Returns the mean of absolute errors.")
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    labels, predictions, weights = squeezed(labels, predictions, weights)
    errors = NAMES["abs"](predictions - labels)
    return mean_of(errors, weights, metrics_collections, updates_collections, name, "mean_absolute_error")


@export("metrics.percentage_below")
@documented(
    "Returns which part of values is below a threshold.", "values: The values.\n      threshold: A scalar."
)
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    below = NAMES["cast"](NAMES["less"](values, threshold), dtypes.float32)
    return mean_of(
        below, weights, metrics_collections, updates_collections, name, "percentage_below_threshold"
    )


@export("metrics.root_mean_squared_error")
@documented("Returns the root of the mean of squared errors.")
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    labels, predictions, weights = squeezed(labels, predictions, weights)
    errors = raw.SquaredDifference(labels, predictions)
    value, update = mean_of(errors, weights, None, None, name or "root_mean_squared_error", "")
    return collected(raw.Sqrt(value), raw.Sqrt(update), metrics_collections, updates_collections)
