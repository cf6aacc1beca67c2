"""tf.contrib.layers' regularizers: losses that keep weights small."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export
from headrace.graph import GraphKeys, name_scope
from headrace.opdef import convert_to_tensor, raw

Regularizer = Callable[[Any], Any]


def _checked(scale: Any, name: str = "") -> bool:
    """Says whether a scale asks for a loss at all."""
    prefix = f"{name} " if name else ""
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{prefix}scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {float(scale):g}.")
        return scale != 0.0
    return True


@export("contrib.layers.l1_regularizer")
def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """Returns a function from weights to `scale` times the sum of their absolute values.

    Args:
      scale: A float; 0.0 turns the regularizer off.
      scope: The name of the scope.

    Raises:
      ValueError: `scale` is negative or an integer.
    """
    if not _checked(scale):
        return lambda _: None

    def l1(weights: Any, name: str | None = None) -> Any:
        with name_scope(scope, "l1_regularizer", [weights]) as opened:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return raw.Mul(
                factor, NAMES["reduce_sum"](NAMES["abs"](weights)), name=opened if name is None else name
            )

    return l1


@export("contrib.layers.l2_regularizer")
def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """Returns a function from weights to `scale` times half the sum of their squares.

    Args:
      scale: A float; 0.0 turns the regularizer off.
      scope: The name of the scope.

    Raises:
      ValueError: `scale` is negative or an integer.
    """
    if not _checked(scale):
        return lambda _: None

    def l2(weights: Any) -> Any:
        with name_scope(scope, "l2_regularizer", [weights]) as opened:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return raw.Mul(factor, raw.L2Loss(weights), name=opened)

    return l2


@export("contrib.layers.l1_l2_regularizer")
def l1_l2_regularizer(scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None) -> Regularizer:
    """Returns the sum of an L1 and an L2 regularizer.

    Args:
      scale_l1: The scale of the first.
      scale_l2: The scale of the second.
      scope: The name of the scope.

    Raises:
      ValueError: A scale is negative or an integer.
    """
    for name, scale in (("scale_l1", scale_l1), ("scale_l2", scale_l2)):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"{name} cannot be an integer: {scale}")
    return sum_regularizer(
        [l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope or "l1_l2_regularizer"
    )


@export("contrib.layers.sum_regularizer")
def sum_regularizer(regularizer_list: Any, scope: str | None = None) -> Any:
    """Returns the sum of several regularizers, None if there are none.

    Args:
      regularizer_list: Regularizers; None among them is left out.
      scope: The name of the scope.
    """
    regularizers = [each for each in regularizer_list if each is not None]
    if not regularizers:
        return None

    def total(weights: Any) -> Any:
        with name_scope(scope, "sum_regularizer", [weights]) as opened:
            losses = [loss for loss in (each(weights) for each in regularizers) if loss is not None]
            return NAMES["add_n"](losses, name=opened) if losses else None

    return total


@export("contrib.layers.apply_regularization")
def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Any:
    """Adds the losses of weights to the collection of regularization losses and returns their sum.

    Args:
      regularizer: A function from weights to a scalar tensor, or None for no loss.
      weights_list: The weights, by default those in the collection of weights.

    Raises:
      ValueError: There are no weights, or a loss is no scalar.
    """
    if not weights_list:
        weights_list = NAMES["get_collection"](GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with name_scope(None, "get_regularization_penalty", weights_list) as scope:
        penalties = [regularizer(weights) for weights in weights_list]
        penalties = [p if p is not None else NAMES["constant"](0.0) for p in penalties]
        for penalty in penalties:
            if penalty.shape.ndims != 0:
                raise ValueError(
                    f"regularizer must return a scalar Tensor instead of a Tensor with rank {penalty.shape.ndims}."
                )
        total = NAMES["add_n"](penalties, name=scope)
        NAMES["add_to_collection"](GraphKeys.REGULARIZATION_LOSSES, total)
        return total
