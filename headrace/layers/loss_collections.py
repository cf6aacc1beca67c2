"""The collections of losses: what is added to them, and their sums."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES, export
from headrace.graph import GraphKeys, get_default_graph


@export("losses.add_loss")
def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection.

    Args:
      loss: The loss.
      loss_collection: The collection, None for none.
    """
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


@export("losses.get_losses")
def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """Returns the losses in a collection.

    Args:
      scope: A pattern that their names must start with.
      loss_collection: The collection.
    """
    return get_default_graph().get_collection(loss_collection, scope)


@export("losses.get_regularization_losses")
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the losses of regularizers.

    Args:
      scope: A pattern that their names must start with.
    """
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export("losses.get_regularization_loss")
def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """Returns the sum of the losses of regularizers, 0 if there are none.

    Args:
      scope: A pattern that their names must start with.
      name: The node's name.
    """
    losses = get_regularization_losses(scope)
    return NAMES["add_n"](losses, name=name) if losses else NAMES["constant"](0.0)


@export("losses.get_total_loss")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Returns the sum of the losses in the collection of losses.

    Args:
      add_regularization_losses: Whether those of regularizers are added.
      name: The node's name.
      scope: A pattern that their names must start with.

    Raises:
      ValueError: There are no losses.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return NAMES["add_n"](losses, name=name)
