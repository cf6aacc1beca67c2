"""How a variable behaves under distribution: when replicas synchronize, and how their updates combine."""

from __future__ import annotations

import enum
from typing import Any

from headrace.export import export


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When the copies of a variable are brought together.

    `AUTO` leaves it to the distribution strategy, `NONE` means one copy, `ON_WRITE` after every write, `ON_READ`
    when the value is asked for.
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How updates that several replicas make to one variable become one update."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3

    def __hash__(self) -> int:
        return hash(self.value)


def checked_modes(
    synchronization: Any, aggregation: Any, trainable: Any, name: str | None
) -> tuple[Any, Any, bool]:
    """Fills in what was left out and checks the rest.

    Args:
      synchronization: A VariableSynchronization, or None.
      aggregation: A VariableAggregation, or None.
      trainable: Whether optimizers train the variable; None leaves it to `synchronization`.
      name: The variable's name, for messages.

    Returns:
      The three values.

    Raises:
      ValueError: A mode is none of the enumeration's.
    """
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, VariableAggregation):
        raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}")
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    elif not isinstance(synchronization, VariableSynchronization):
        raise ValueError(f"Invalid variable synchronization mode: {synchronization} for variable: {name}")
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable
