"""Whether operations run as they are called: only inside functions that py_function calls."""

from __future__ import annotations

from headrace.export import export
from headrace.graph.default import get_default_graph


@export("executing_eagerly")
def executing_eagerly() -> bool:
    """Returns whether operations run as they are called; elsewhere they build a graph."""
    return bool(getattr(get_default_graph(), "executing_eagerly", False))
