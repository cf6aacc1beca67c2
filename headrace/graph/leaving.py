"""What is made inside a branch and used outside it, which TensorFlow 1 allows: its branches are no functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def outwards(graph: Any) -> Iterator[Any]:
    """Yields a graph and those around it, innermost first."""
    while graph is not None:
        yield graph
        graph = graph.outer_graph


def is_left_behind(thing: Any, graph: Any) -> bool:
    """Whether a node or tensor is of a branch that is done, which `graph` is neither inside nor the gradient of."""
    home = thing.graph
    if home._way_out is None:
        return False
    return not any(each is home or each.gradient_of is home for each in outwards(graph))


def brought_out(thing: Any, graph: Any) -> Any:
    """Returns what stands, in `graph` or one around it, for a node or tensor of a branch; any other as it is."""
    while is_left_behind(thing, graph):
        thing = thing.graph._way_out(thing, graph)
    return thing


def awaited(thing: Any, graph: Any) -> Any:
    """Returns what nodes of `graph` wait for in the place of a node or tensor of a branch or loop."""
    if not is_left_behind(thing, graph):
        return thing
    return brought_out(getattr(thing, "op", thing), graph)


def around_branches(graph: Any) -> Any:
    """Returns the graph that a branch's things come out into; a graph that is no finished branch as it is."""
    while graph._way_out is not None:
        graph = graph.outer_graph
    return graph
