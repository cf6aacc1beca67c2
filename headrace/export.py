"""The dictionary of public names: what `tf.nn.softmax` and the like stand for.

An implementation module says which public names its objects have; `headrace.namespace` makes modules of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

NAMES: dict[str, Any] = {}
"""Every public name without its leading "tf.", and the object it stands for."""

NAMESPACES: set[str] = {""}
"""Every public module: the proper prefixes of the names above, and "" for `tf` itself."""


def export_value(name: str, value: Any) -> None:
    """Gives a value (a constant, a dtype, a module) a public name.

    Args:
      name: The dotted public name without the leading "tf.".
      value: What the name stands for.

    Raises:
      ValueError: The name already stands for something else.
    """
    if name in NAMES and NAMES[name] is not value:
        raise ValueError(f"tf.{name} is exported twice: as {NAMES[name]!r} and as {value!r}")
    NAMES[name] = value
    parent = name.rpartition(".")[0]
    while parent not in NAMESPACES:
        NAMESPACES.add(parent)
        parent = parent.rpartition(".")[0]


def export(*names: str) -> Callable[[T], T]:
    """Returns a decorator that gives a function or class its public names and leaves it as it is."""

    def decorate(value: T) -> T:
        for name in names:
            export_value(name, value)
        return value

    return decorate
