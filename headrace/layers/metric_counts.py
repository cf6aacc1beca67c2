"""tf.metrics that count right and wrong predictions of two classes, and ratios of those counts."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import control_dependencies
from headrace.layers.metrics import collected, documented, local, squeezed
from headrace.opdef import raw
from headrace.variables.scope import variable_scope

Result = tuple[Any, Any]


def _count(
    wanted: tuple[bool, bool],
    default: str,
    labels: Any,
    predictions: Any,
    weights: Any,
    name: str | None = None,
) -> Result:
    """Counts where label and prediction are as wanted; the operands are tensors of booleans."""
    with variable_scope(name, default, (predictions, labels, weights)):
        labels, predictions, weights = squeezed(
            NAMES["cast"](labels, dtypes.bool), NAMES["cast"](predictions, dtypes.bool), weights
        )
        label, prediction = (NAMES["equal"](x, w) for x, w in zip((labels, predictions), wanted, strict=True))
        hits = NAMES["logical_and"](label, prediction)
        NAMES["assert_type"](hits, dtypes.bool)
        count = local([], dtypes.float32, "count")
        hits = NAMES["cast"](hits, dtypes.float32)
        if weights is not None:
            weights = NAMES["cast"](weights, dtypes.float32)
            fits = NAMES["assert_rank_in"](weights, (0, NAMES["rank"](hits)))
            with control_dependencies([fits]):
                hits = NAMES["multiply"](hits, weights)
        value = raw.Identity(count.value())
        update = NAMES["assign_add"](count, NAMES["reduce_sum"](hits))
        return value, update


def _counter(name: str, wanted: tuple[bool, bool], what: str) -> Any:
    @documented(what)
    def metric(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        value, update = _count(wanted, default, labels, predictions, weights, name)
        return collected(value, update, metrics_collections, updates_collections)

    default = name
    metric.__name__ = metric.__qualname__ = name
    return export("metrics." + name)(metric)


_TRUE_POSITIVES = (True, True)
_FALSE_POSITIVES = (False, True)
_FALSE_NEGATIVES = (True, False)

true_positives = _counter("true_positives", _TRUE_POSITIVES, "Counts where both are true.")
false_positives = _counter("false_positives", _FALSE_POSITIVES, "Counts where only the prediction is true.")
false_negatives = _counter("false_negatives", _FALSE_NEGATIVES, "Counts where only the label is true.")
true_negatives = _counter("true_negatives", (False, False), "Counts where neither is true.")


def _ratio_of(hits: Any, others: Any, name: str) -> Any:
    """Returns hits / (hits + others), 0 where both are 0."""
    some = NAMES["greater"](hits + others, 0)
    return NAMES["where"](some, NAMES["div"](hits, hits + others), 0, name)


def _two_counts(name: str, wrong: tuple[bool, bool], wrong_name: str, what: str) -> Any:
    @documented(what)
    def metric(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        with variable_scope(name, default, (predictions, labels, weights)):
            predictions = NAMES["cast"](predictions, dtypes.bool)
            labels = NAMES["cast"](labels, dtypes.bool)
            labels, predictions, weights = squeezed(labels, predictions, weights)
            hits = _count(_TRUE_POSITIVES, "true_positives", labels, predictions, weights)
            misses = _count(wrong, wrong_name, labels, predictions, weights)
            value = _ratio_of(hits[0], misses[0], "value")
            update = _ratio_of(hits[1], misses[1], "update_op")
            return collected(value, update, metrics_collections, updates_collections)

    default = name
    metric.__name__ = metric.__qualname__ = name
    return export("metrics." + name)(metric)


precision = _two_counts(
    "precision", _FALSE_POSITIVES, "false_positives", "Returns which part of what is predicted true is true."
)
recall = _two_counts(
    "recall", _FALSE_NEGATIVES, "false_negatives", "Returns which part of what is true is predicted true."
)
