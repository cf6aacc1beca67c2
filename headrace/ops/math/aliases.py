"""Arguments that TensorFlow 1 has under two names."""

from __future__ import annotations

from typing import Any


def renamed(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """Returns the value of an argument that may be given by its old name.

    Raises:
      ValueError: Both are given.
    """
    if old_value is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{name}'")
    return old_value
