"""tf.metrics that compare scores with many thresholds: counts, precision, recall, and the area under a curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import control_dependencies
from headrace.layers.metrics import collected, documented, local, squeezed
from headrace.layers.weighting import broadcast_weights
from headrace.opdef import raw
from headrace.variables.scope import variable_scope

Result = tuple[Any, Any]

# What the smallest and the greatest threshold lie outside [0, 1], and what keeps quotients finite.
_EPSILON = 1e-7
_ALL = ("tp", "fn", "tn", "fp")
_NAMES = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}
_SCORES = (
    "labels: The right classes, cast to booleans.\n      predictions: Scores in [0, 1].\n"
    "      thresholds: Python numbers in [0, 1]; a score above one is a positive prediction."
)


def _counts(
    labels: Any, predictions: Any, thresholds: list[float], weights: Any, wanted: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Counts right and wrong predictions for each threshold.

    Returns:
      The counts so far and the operations that add this step's, by what is counted.
    """
    message = "predictions must be in [0, 1]"
    checks = [
        NAMES["assert_greater_equal"](predictions, NAMES["cast"](0.0, predictions.dtype), message=message),
        NAMES["assert_less_equal"](predictions, NAMES["cast"](1.0, predictions.dtype), message=message),
    ]
    with control_dependencies(checks):
        predictions = NAMES["cast"](predictions, dtypes.float32)
        labels, predictions, weights = squeezed(NAMES["cast"](labels, dtypes.bool), predictions, weights)
    n = len(thresholds)
    column = NAMES["reshape"](predictions, [-1, 1])
    row = NAMES["reshape"](NAMES["cast"](labels, dtypes.bool), [1, -1])
    size = column.shape[0].value
    if size is None:
        size = NAMES["shape"](column)[0]
    limits = NAMES["expand_dims"](NAMES["constant"](thresholds), [1])
    limits = NAMES["tile"](limits, NAMES["stack"]([1, size]))
    predicted = {"p": NAMES["greater"](NAMES["tile"](NAMES["transpose"](column), [n, 1]), limits)}
    if "fn" in wanted or "tn" in wanted:
        predicted["n"] = NAMES["logical_not"](predicted["p"])
    true = {"p": NAMES["tile"](row, [n, 1])}
    if "fp" in wanted or "tn" in wanted:
        true["n"] = NAMES["logical_not"](true["p"])
    if weights is not None:
        weights = broadcast_weights(NAMES["cast"](weights, dtypes.float32), predictions)
        weights = NAMES["tile"](NAMES["reshape"](weights, [1, -1]), [n, 1])
    values, updates = {}, {}
    for kind in wanted:
        # A true negative: the prediction is negative and so is the label.
        said = kind[1]
        label = said if kind[0] == "t" else "np"[said == "n"]
        total = local([n], dtypes.float32, _NAMES[kind])
        hits = NAMES["cast"](NAMES["logical_and"](true[label], predicted[said]), dtypes.float32)
        if weights is not None:
            hits = hits * weights
        values[kind] = total.value()
        updates[kind] = NAMES["assign_add"](total, NAMES["reduce_sum"](hits, 1))
    return values, updates


def _counter(kind: str, what: str) -> Any:
    @documented(what, _SCORES)
    def metric(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        with variable_scope(name, _NAMES[kind], (predictions, labels, weights)):
            values, updates = _counts(labels, predictions, thresholds, weights, (kind,))
            value = raw.Identity(values[kind])
            return collected(value, updates[kind], metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = f"{_NAMES[kind]}_at_thresholds"
    return export("metrics." + metric.__name__)(metric)


true_positives_at_thresholds = _counter("tp", "Counts true positives for each threshold.")
false_negatives_at_thresholds = _counter("fn", "Counts false negatives for each threshold.")
true_negatives_at_thresholds = _counter("tn", "Counts true negatives for each threshold.")
false_positives_at_thresholds = _counter("fp", "Counts false positives for each threshold.")


def _ratio(name: str, other: str, what: str) -> Any:
    @documented(what, _SCORES)
    def metric(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        with variable_scope(name, default, (predictions, labels, weights)):
            found = _counts(labels, predictions, thresholds, weights, ("tp", other))
            value, update = (
                NAMES["div"](c["tp"], _EPSILON + c["tp"] + c[other], name=f"{short}_{end}")
                for c, end in zip(found, ("value", "update_op"), strict=True)
            )
            return collected(value, update, metrics_collections, updates_collections)

    default, short = name, name.split("_")[0]
    metric.__name__ = metric.__qualname__ = name
    return export("metrics." + name)(metric)


precision_at_thresholds = _ratio(
    "precision_at_thresholds",
    "fp",
    "Returns for each threshold which part of the positive predictions is right.",
)
recall_at_thresholds = _ratio(
    "recall_at_thresholds", "fn", "Returns for each threshold which part of the positive labels is predicted."
)


def _spread(number: int, last: float = 1.0 + _EPSILON) -> list[float]:
    """Returns thresholds at equal distances, the first below 0 and the last by default above 1."""
    return [-_EPSILON, *((i + 1) * 1.0 / (number - 1) for i in range(number - 2)), last]


def _by_another(
    name: str,
    argument: str,
    wanted: str,
    choose: Callable[[dict[str, Any], float], Any],
    kinds: tuple[str, str],
    last: float,
) -> Any:
    """Makes a metric that looks up one rate at the threshold where another rate is as given."""
    operands = (
        "labels: The right classes, cast to booleans.\n      predictions: Scores in [0, 1].\n"
        f"      {argument}: A Python number in [0, 1].\n"
        "      num_thresholds: How many thresholds to try."
    )

    def compute(counts: dict[str, Any], goal: float, name: str) -> Any:
        index = choose(counts, goal)
        hits, others = (counts[kind] for kind in kinds)
        return NAMES["div"](hits[index], hits[index] + others[index] + _EPSILON, name)

    def whole(
        labels: Any,
        predictions: Any,
        goal: Any,
        weights: Any,
        number: int,
        metrics: Any,
        updates: Any,
        scope: Any,
    ) -> Result:
        if goal < 0 or goal > 1:
            raise ValueError(f"`{argument}` must be in the range [0, 1].")
        with variable_scope(scope, name, (predictions, labels, weights)):
            values, changes = _counts(labels, predictions, _spread(number, last), weights, _ALL)
            value = compute(values, goal, "value")
            update = compute(changes, goal, "update_op")
            return collected(value, update, metrics, updates)

    return whole, documented(wanted, operands)


def _nearest_specificity(counts: dict[str, Any], goal: float) -> Any:
    rates = NAMES["div"](counts["tn"], counts["tn"] + counts["fp"] + _EPSILON)
    return NAMES["cast"](NAMES["argmin"](NAMES["abs"](rates - goal), 0), dtypes.int32)


def _last_nearest_sensitivity(counts: dict[str, Any], goal: float) -> Any:
    rates = NAMES["div"](counts["tp"], counts["tp"] + counts["fn"] + _EPSILON)
    least = NAMES["reduce_min"](NAMES["abs"](rates - goal))
    nearest = NAMES["equal"](NAMES["abs"](rates - goal), least)
    # The sums of those before are greatest at the last one first.
    so_far = NAMES["cumsum"](NAMES["cast"](nearest, dtypes.int64))
    return NAMES["cast"](NAMES["argmax"](so_far, 0), dtypes.int32)


_sensitivity, _sensitivity_doc = _by_another(
    "sensitivity_at_specificity",
    "specificity",
    "Returns the true positive rate at the threshold where the true negative rate is as given.",
    _nearest_specificity,
    ("tp", "fn"),
    1.0 + _EPSILON,
)
_specificity, _specificity_doc = _by_another(
    "specificity_at_sensitivity",
    "sensitivity",
    "Returns the true negative rate at the threshold where the true positive rate is as given.",
    _last_nearest_sensitivity,
    ("tn", "fp"),
    1.0 - _EPSILON,
)


@export("metrics.sensitivity_at_specificity")
@_sensitivity_doc
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    return _sensitivity(  # type: ignore[no-any-return]
        labels,
        predictions,
        specificity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


@export("metrics.specificity_at_sensitivity")
@_specificity_doc
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    return _specificity(  # type: ignore[no-any-return]
        labels,
        predictions,
        sensitivity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


def _interpolated(counts: dict[str, Any], n: int) -> Any:
    """Returns the area under the precision-recall curve, interpolated so that it is never too great."""
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    gained = tp[: n - 1] - tp[1:]
    positive = tp + fp
    drop = NAMES["maximum"](positive[: n - 1] - positive[1:], 0)
    slope = NAMES["math.divide_no_nan"](gained, drop, name="prec_slope")
    intercept = tp[1:] - NAMES["multiply"](slope, positive[1:])
    both = NAMES["logical_and"](positive[: n - 1] > 0, positive[1:] > 0)
    ratio = NAMES["math.divide_no_nan"](
        positive[: n - 1], NAMES["maximum"](positive[1:], 0), name="recall_relative_ratio"
    )
    ratio = NAMES["where"](both, ratio, NAMES["ones_like"](positive[1:]))
    parts = slope * (gained + intercept * NAMES["log"](ratio))
    parts = NAMES["math.divide_no_nan"](parts, NAMES["maximum"](tp[1:] + fn[1:], 0), name="pr_auc_increment")
    return NAMES["reduce_sum"](parts, name="interpolate_pr_auc")


def _area(counts: dict[str, Any], n: int, curve: str, method: str, name: str) -> Any:
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(counts, n)
    small = 1e-6
    recall = NAMES["div"](counts["tp"] + small, counts["tp"] + counts["fn"] + small)
    if curve == "ROC":
        x, y = NAMES["div"](counts["fp"], counts["fp"] + counts["tn"] + small), recall
    else:
        x, y = recall, NAMES["div"](counts["tp"] + small, counts["tp"] + counts["fp"] + small)
    if method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {method}")
    width = x[: n - 1] - x[1:]
    if method == "minoring":
        height = NAMES["minimum"](y[: n - 1], y[1:])
    elif method == "majoring":
        height = NAMES["maximum"](y[: n - 1], y[1:])
    else:
        height = (y[: n - 1] + y[1:]) / 2.0
    return NAMES["reduce_sum"](NAMES["multiply"](width, height), name=name)


@export("metrics.auc")
@documented(
    "Returns the area under a curve of rates over all thresholds.",
    "labels: The right classes, cast to booleans.\n      predictions: Scores in [0, 1].\n"
    "      num_thresholds: How many thresholds to sum over.\n"
    '      curve: "ROC" (true positive rate over false positive rate) or "PR" (precision over recall).\n'
    '      summation_method: "trapezoidal", "minoring" or "majoring" (the lower or the higher end of each step), or\n'
    '        "careful_interpolation" for "PR".\n'
    "      thresholds: The thresholds inside (0, 1), instead of `num_thresholds` at equal distances.",
)
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Result:
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        if thresholds is None:
            limits = _spread(num_thresholds)
        else:
            limits = [-_EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
        values, updates = _counts(labels, predictions, limits, weights, _ALL)
        value = _area(values, len(limits), curve, summation_method, "value")
        update = _area(updates, len(limits), curve, summation_method, "update_op")
        return collected(value, update, metrics_collections, updates_collections)
