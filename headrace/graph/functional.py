"""Which of TensorFlow's two ways of building branches and loops a graph follows. Here both build functions."""

from __future__ import annotations

from typing import Any

from headrace.graph import numbering

_enabled = False


def enable(on: bool) -> None:
    """Says whether the program asked for functional control flow everywhere."""
    global _enabled
    _enabled = on


def is_enabled() -> bool:
    """Whether the program asked for functional control flow everywhere."""
    return _enabled


def numbered(graph: Any) -> bool:
    """Whether branches and loops count as the nodes that TensorFlow makes of them without functional control flow."""
    return not _enabled and numbering.is_numbered(graph)


def is_functional(graph: Any) -> bool:
    """Whether TensorFlow would build functions for branches and loops in a graph, and for their gradients.

    Bodies of gradients are what the graph is that the gradient is asked for in.
    """
    while not _enabled and graph.building_function and graph._numbered_with is None:
        if not graph.is_of_gradient:
            return True
        graph = graph.outer_graph
    return _enabled
