"""tf.losses: losses of predictions, each the weighted mean of one number an element or row."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import GraphKeys, control_dependencies, name_scope
from headrace.layers.loss_collections import add_loss
from headrace.layers.weighting import assert_broadcastable, broadcast_weights, remove_squeezable_dimensions
from headrace.opdef import convert_to_tensor, raw

_LOSSES = GraphKeys.LOSSES


@export("losses.Reduction")
class Reduction:
    """How the losses of elements become the loss: not at all, their sum, or one of four means.

    SUM_BY_NONZERO_WEIGHTS divides the sum by the number of elements with a weight, MEAN by the sum of the weights,
    SUM_OVER_BATCH_SIZE by the number of elements.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns every reduction."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Refuses what is no reduction with a ValueError."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS


def _present(losses: Any, weights: Any, per_batch: bool = False) -> Any:
    """Returns the number of elements whose weight is not zero, of all or of each row."""
    with name_scope(None, "num_present", (losses, weights)) as scope:
        weights = NAMES["cast"](weights, dtypes.float32)
        present = NAMES["where"](
            NAMES["equal"](weights, 0.0), NAMES["zeros_like"](weights), NAMES["ones_like"](weights)
        )
        present = broadcast_weights(present, losses)
        if per_batch:
            axes = NAMES["range"](1, NAMES["rank"](present))
            return NAMES["reduce_sum"](present, axis=axes, keepdims=True, name=scope)
        return NAMES["reduce_sum"](present, name=scope)


def _elements(losses: Any) -> Any:
    with name_scope(None, "num_elements", [losses]) as scope:
        return NAMES["cast"](NAMES["size"](losses, name=scope), losses.dtype)


@export("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Multiplies losses with weights, reduces them and adds the result to a collection.

    Args:
      losses: The losses of elements.
      weights: Their weights: a scalar, or a tensor with as many axes, each of the same size or 1.
      scope: The scope's name.
      loss_collection: The collection, None for none.
      reduction: A `Reduction`.

    Raises:
      ValueError: The weights do not fit, or `reduction` is none.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", (losses, weights)):
        with control_dependencies((assert_broadcastable(weights, losses),)):
            losses = convert_to_tensor(losses)
            dtype = losses.dtype
            losses = NAMES["cast"](losses, dtypes.float32)
            weights = NAMES["cast"](weights, dtypes.float32)
            loss = NAMES["multiply"](losses, weights)
            if reduction != Reduction.NONE:
                loss = NAMES["reduce_sum"](loss)
                if reduction == Reduction.MEAN:
                    total = NAMES["reduce_sum"](NAMES["ones_like"](losses) * weights)
                    loss = _ratio(NAMES["reduce_sum"](loss), total)
                elif reduction == Reduction.SUM_OVER_NONZERO_WEIGHTS:
                    present = _present(losses, weights)
                    loss = _ratio(NAMES["reduce_sum"](loss), present)
                elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                    elements = _elements(losses)
                    loss = _ratio(NAMES["reduce_sum"](loss), elements)
            loss = NAMES["cast"](loss, dtype)
            add_loss(loss, loss_collection)
            return loss


def _ratio(total: Any, count: Any) -> Any:
    return NAMES["math.divide_no_nan"](total, count, name="value")


def _given(**values: Any) -> None:
    for name, value in values.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _pair(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Returns labels and predictions as floats, and refuses them if their shapes differ."""
    predictions = NAMES["cast"](predictions, dtypes.float32)
    labels = NAMES["cast"](labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


@export("losses.absolute_difference")
def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds the loss |predictions - labels|; see `compute_weighted_loss`.

    Args:
      labels: The right values.
      predictions: The predicted values.
      weights: The weights of the losses.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = NAMES["abs"](NAMES["subtract"](predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.cosine_distance")
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
    dim: int | None = None,
) -> Any:
    """Adds the loss 1 - cosine of unit vectors along an axis; see `compute_weighted_loss`.

    Args:
      labels: The right vectors, of length 1.
      predictions: The predicted vectors, of length 1.
      axis: The axis that the vectors lie along.
      weights: The weights of the losses.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.
      dim: The old name of `axis`.

    Raises:
      ValueError: The shapes differ, something is None, or there is no axis.
    """
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'axis' and 'dim'")
        axis = dim
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        products = NAMES["multiply"](predictions, labels)
        losses = 1 - NAMES["reduce_sum"](products, axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.hinge_loss")
def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds the loss max(0, 1 - sign * logit), where labels 0 and 1 stand for signs; see `compute_weighted_loss`.

    Args:
      labels: Zeros and ones.
      logits: The predicted values.
      weights: The weights of the losses.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", (logits, labels, weights)) as scope:
        labels, logits = _pair(labels, logits)
        ones = NAMES["ones_like"](labels)
        signs = NAMES["subtract"](2 * labels, ones)
        losses = raw.Relu(NAMES["subtract"](ones, NAMES["multiply"](signs, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.huber_loss")
def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds a loss that is half the square of small errors and grows as fast as large ones.

    Args:
      labels: The right values.
      predictions: The predicted values.
      weights: The weights of the losses; see `compute_weighted_loss`.
      delta: Where an error begins to be large.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        error = NAMES["abs"](NAMES["subtract"](predictions, labels))
        small = NAMES["minimum"](error, delta)
        # What is left of a large error counts as it is.
        rest = NAMES["subtract"](error, small)
        multiply = NAMES["multiply"]
        half = convert_to_tensor(0.5, dtype=small.dtype)
        losses = NAMES["add"](multiply(half, multiply(small, small)), multiply(delta, rest))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.log_loss")
def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds the cross entropy of predicted probabilities; see `compute_weighted_loss`.

    Args:
      labels: The right probabilities.
      predictions: The predicted probabilities.
      weights: The weights of the losses.
      epsilon: What is added to probabilities, so that none is 0.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        log, multiply = NAMES["log"], NAMES["multiply"]
        losses = -multiply(labels, log(predictions + epsilon))
        losses = losses - multiply(1 - labels, log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
) -> Any:
    """Adds the mean squared error of the differences between all pairs of a row's elements.

    Args:
      labels: The right values, [rows, ...].
      predictions: The predicted values.
      weights: A weight for each row, or one for all.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)) as scope:
        weights = NAMES["cast"](weights, dtypes.float32)
        labels = NAMES["cast"](labels, dtypes.float32)
        with control_dependencies((assert_broadcastable(weights, labels),)):
            labels, predictions = _pair(labels, predictions)
            diffs = NAMES["subtract"](predictions, labels)
            axes = NAMES["range"](1, NAMES["rank"](diffs))
            squares = NAMES["reduce_sum"](raw.Square(diffs), axis=axes, keepdims=True)
            count = _present(diffs, weights, per_batch=True)
            first = 2.0 * _ratio(squares, NAMES["maximum"](count - 1, 0))
            sums = NAMES["reduce_sum"](diffs, axis=axes, keepdims=True)
            squared = raw.Square(sums)
            fewer = count - 1
            second = 2.0 * _ratio(squared, NAMES["maximum"](NAMES["multiply"](count, fewer), 0))
            loss = NAMES["reduce_sum"](NAMES["multiply"](first - second, weights))
            mean = NAMES["where"](
                NAMES["reduce_sum"](count) > 0, loss, NAMES["zeros_like"](loss), name="value"
            )
            add_loss(mean, loss_collection)
            return mean


@export("losses.mean_squared_error")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds the loss (predictions - labels) ** 2; see `compute_weighted_loss`.

    Args:
      labels: The right values.
      predictions: The predicted values.
      weights: The weights of the losses.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(labels, predictions)
        losses = raw.SquaredDifference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds the cross entropy of independent classes; see `compute_weighted_loss`.

    Args:
      multi_class_labels: Zeros and ones.
      logits: The predicted log odds.
      weights: The weights of the losses.
      label_smoothing: How far labels are moved towards a half.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(multi_class_labels=multi_class_labels, logits=logits)
    labels = multi_class_labels
    with name_scope(scope, "sigmoid_cross_entropy_loss", (logits, labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = NAMES["cast"](labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = NAMES["nn.sigmoid_cross_entropy_with_logits"](labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds the cross entropy of exclusive classes, the right one given as a row; see `compute_weighted_loss`.

    Args:
      onehot_labels: Rows with a one for the right class.
      logits: The predicted unscaled log probabilities.
      weights: The weights of the rows' losses.
      label_smoothing: How far labels are moved towards the mean of all classes.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes differ, or something is None.
    """
    _given(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = NAMES["cast"](onehot_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = NAMES["cast"](NAMES["shape"](labels)[-1], logits.dtype)
            positive = 1.0 - label_smoothing
            negative = label_smoothing / classes
            labels = labels * positive + negative
        labels = NAMES["stop_gradient"](labels, name="labels_stop_gradient")
        losses = NAMES["nn.softmax_cross_entropy_with_logits_v2"](
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _LOSSES,
    reduction: str = _MEAN,
) -> Any:
    """Adds the cross entropy of exclusive classes, the right one given as its number; see `compute_weighted_loss`.

    Args:
      labels: The numbers of the right classes.
      logits: The predicted unscaled log probabilities, one axis more.
      weights: The weights of the rows' losses.
      scope: The scope's name.
      loss_collection: The collection that the loss goes to.
      reduction: A `Reduction`.

    Raises:
      ValueError: The shapes do not fit, or something is None.
    """
    _given(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        if weights is not None:
            weights = convert_to_tensor(weights)
            ranks = weights.shape.ndims, labels.shape.ndims
            if None not in ranks and ranks[0] - ranks[1] == 1:
                weights = NAMES["squeeze"](weights, [-1])
        losses = NAMES["nn.sparse_softmax_cross_entropy_with_logits"](
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)
