"""Eager execution, of which there is none: programs ask before they choose."""

from __future__ import annotations

from headrace.export import export


@export("executing_eagerly")
def executing_eagerly() -> bool:
    """Returns whether operations run as they are called: never, here they build a graph."""
    return False
