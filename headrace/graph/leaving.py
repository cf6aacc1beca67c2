"""What is made inside a branch and used outside it, which TensorFlow 1 allows: its branches are no functions."""

from __future__ import annotations

from typing import Any


def is_left_behind(thing: Any, graph: Any) -> bool:
    """Whether a node or tensor is of a branch that is done and is not around `graph`."""
    home = thing.graph
    if home._way_out is None:
        return False
    while graph is not None and graph is not home:
        graph = graph.outer_graph
    return graph is None


def brought_out(thing: Any, graph: Any) -> Any:
    """Returns what stands, in `graph` or one around it, for a node or tensor of a branch; any other as it is."""
    while is_left_behind(thing, graph):
        thing = thing.graph._way_out(thing)
    return thing


def around_branches(graph: Any) -> Any:
    """Returns the graph that a branch's things come out into; a graph that is no finished branch as it is."""
    while graph._way_out is not None:
        graph = graph.outer_graph
    return graph
