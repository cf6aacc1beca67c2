"""tf.confusion_matrix: how often each class was taken for each other."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import control_dependencies, name_scope
from headrace.layers.weighting import remove_squeezable_dimensions
from headrace.opdef import convert_to_tensor, raw


def _after(check: Any, tensor: Any) -> Any:
    with control_dependencies([check]):
        return raw.Identity(tensor, name="control_dependency")


@export("confusion_matrix", "math.confusion_matrix")
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """Returns a matrix with a row for each right class and a column for each predicted one.

    Args:
      labels: The numbers of the right classes.
      predictions: The numbers of the predicted classes.
      num_classes: The number of classes, by default one more than the greatest number.
      dtype: The matrix's type.
      name: The scope's name.
      weights: How much each prediction counts, by default 1.

    Raises:
      ValueError: The shapes do not fit.
    """
    with name_scope(name, "confusion_matrix", (predictions, labels, num_classes, weights)):
        labels, predictions = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions, name="predictions")
        )
        predictions = NAMES["cast"](predictions, dtypes.int64)
        labels = NAMES["cast"](labels, dtypes.int64)
        negative = "contains negative values"
        labels = _after(NAMES["assert_non_negative"](labels, message=f"`labels` {negative}"), labels)
        predictions = _after(
            NAMES["assert_non_negative"](predictions, message=f"`predictions` {negative}"), predictions
        )
        if num_classes is None:
            most = NAMES["maximum"](NAMES["reduce_max"](predictions), NAMES["reduce_max"](labels))
            num_classes = most + 1
        else:
            classes = NAMES["cast"](num_classes, dtypes.int64)
            checks = [
                NAMES["assert_less"](each, classes, message=f"`{which}` out of bound")
                for which, each in (("labels", labels), ("predictions", predictions))
            ]
            labels = _after(checks[0], labels)
            predictions = _after(checks[1], predictions)
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            weights = NAMES["cast"](weights, dtype)
        shape = NAMES["stack"]([num_classes, num_classes])
        places = NAMES["stack"]([labels, predictions], axis=1)
        values = NAMES["ones_like"](predictions, dtype) if weights is None else weights
        sizes = NAMES["cast"](shape, dtypes.int64)
        zeros = NAMES["zeros"](NAMES["cast"](shape, dtypes.int32), dtype)
        return raw.SparseTensorDenseAdd(places, values, sizes, zeros)
