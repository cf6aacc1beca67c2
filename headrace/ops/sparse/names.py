"""Arguments that have an old name."""

from __future__ import annotations


def renamed(new, new_name, old, old_name):
    """Returns the one that is given of an argument's new and old forms.

    Raises:
      ValueError: Both are given.
    """
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old if new is None else new
