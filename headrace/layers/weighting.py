"""Weights of values: the check that they can be broadcast, and the broadcast itself."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES
from headrace.graph import control_dependencies, name_scope
from headrace.opdef import constant_value, convert_to_tensor, raw

_CANNOT = "weights can not be broadcast to values."


def assert_broadcastable(weights: Any, values: Any) -> Any:
    """Returns an operation that fails unless weights have as many axes as values, each of the same size or 1.

    Scalars fit everything. What the shapes tell already is checked now.

    Args:
      weights: A tensor.
      values: A tensor.

    Raises:
      ValueError: The shapes cannot fit.
    """
    with name_scope(None, "assert_broadcastable", (weights, values)) as scope:
        weights, weights_shape, weights_rank = _measured(weights, "weights")
        values, values_shape, values_rank = _measured(values, "values")
        ranks = constant_value(weights_rank), constant_value(values_rank)
        if ranks[0] is not None and ranks[0] == 0:
            return NAMES["no_op"](name="static_scalar_check_success")
        if None not in ranks:
            if ranks[0] != ranks[1]:
                raise ValueError(
                    f"{_CANNOT} values.rank={ranks[1]}. weights.rank={ranks[0]}. values.shape={values.shape}. "
                    f"weights.shape={weights.shape}."
                )
            sizes = constant_value(weights_shape), constant_value(values_shape)
            if sizes[0] is not None and sizes[1] is not None:
                for i, (w, v) in enumerate(zip(*sizes, strict=True)):
                    if w not in (1, v):
                        raise ValueError(
                            f"{_CANNOT} Mismatch at dim {i}. values.shape={sizes[1]} weights.shape={sizes[0]}."
                        )
                return NAMES["no_op"](name="static_dims_check_success")
        return _checked_later(weights, weights_shape, weights_rank, values, values_shape, values_rank, scope)


def _measured(tensor: Any, name: str) -> tuple[Any, Any, Any]:
    with name_scope(None, name, (tensor,)) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        shape = NAMES["shape"](tensor, name="shape")
        return tensor, shape, NAMES["rank"](tensor, name="rank")


def _checked_later(
    weights: Any,
    weights_shape: Any,
    weights_rank: Any,
    values: Any,
    values_shape: Any,
    values_rank: Any,
    scope: str,
) -> Any:
    is_scalar = NAMES["equal"](0, weights_rank, name="is_scalar")
    data = (
        _CANNOT,
        "weights.shape=",
        weights.name,
        weights_shape,
        "values.shape=",
        values.name,
        values_shape,
        "is_scalar=",
        is_scalar,
    )

    def fits() -> Any:
        same_rank = NAMES["equal"](values_rank, weights_rank, name="is_same_rank")
        # Cut to the same length, so that shapes of different ranks can be compared at all.
        n = NAMES["minimum"](weights_rank, values_rank)
        w, v = weights_shape[:n], values_shape[:n]
        return NAMES["logical_and"](same_rank, raw.All(raw.LogicalOr(raw.Equal(w, 1), raw.Equal(w, v)), [0]))

    valid = NAMES["logical_or"](is_scalar, fits(), name="is_valid_shape")
    return NAMES["Assert"](valid, data, name=scope)


def broadcast_weights(weights: Any, values: Any) -> Any:
    """Returns weights with the shape of values; see `assert_broadcastable`."""
    with name_scope(None, "broadcast_weights", (weights, values)) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        known = weights.shape.is_fully_defined() and values.shape.is_fully_defined()
        if known and weights.shape.as_list() == values.shape.as_list():
            return weights
        with control_dependencies((assert_broadcastable(weights, values),)):
            return raw.Mul(weights, NAMES["ones_like"](values), name=scope)


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Drops a last axis of size 1 where one of two tensors has one axis more than it should.

    Args:
      labels: A tensor.
      predictions: A tensor.
      expected_rank_diff: How many axes more `predictions` should have.
      name: The scope's name.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions = convert_to_tensor(predictions)
        labels = convert_to_tensor(labels)
        ranks = labels.shape.ndims, predictions.shape.ndims
        if None not in ranks:
            diff = ranks[1] - ranks[0]
            if diff == expected_rank_diff + 1 and predictions.shape[-1].value in (None, 1):
                predictions = NAMES["squeeze"](predictions, [-1])
            elif diff == expected_rank_diff - 1 and labels.shape[-1].value in (None, 1):
                labels = NAMES["squeeze"](labels, [-1])
        return labels, predictions
