"""How many nodes TensorFlow 1 would have made: what the seeds of random ops are taken from where none is given.

TensorFlow numbers the nodes of a graph, and its branches and loops are made of nodes of the graph itself: a Switch or
an Enter for each tensor that comes in, Merge, NextIteration and Exit. Here they are functions. So that the same program
gets the same random numbers, the outermost graph keeps a count of what TensorFlow would have made beyond what it has.
Bodies of `tf.function` are numbered on their own there as well as here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def number(graph: Any) -> int:
    """Returns how many nodes there would be by now, in a graph and in the bodies that are being built within it."""
    root = graph._numbered_with or graph
    made: int = len(root._ops) + root._shift + sum(len(body._ops) for body in root._open_bodies)
    return made


def shift(graph: Any, nodes: int) -> None:
    """Counts some nodes more, or fewer, than there are."""
    root = graph._numbered_with or graph
    root._shift += nodes


def set_number(graph: Any, nodes: int) -> None:
    """Has a number of nodes count as made by now."""
    shift(graph, nodes - number(graph))


@contextlib.contextmanager
def counted_as(graph: Any, nodes: int) -> Iterator[None]:
    """Has what is made within count as some number of nodes, whatever it is."""
    before = number(graph)
    yield
    set_number(graph, before + nodes)


def is_numbered(graph: Any) -> bool:
    """Whether branches and loops in a graph are numbered as TensorFlow 1 makes them."""
    return not graph.building_function or graph._numbered_with is not None


@contextlib.contextmanager
def body(graph: Any, outer: Any, known: set[Any]) -> Iterator[None]:
    """Counts the nodes of a branch or of a loop's body while it is being built.

    Args:
      graph: The body.
      outer: The graph around it.
      known: What comes in without a node of its own; what else comes in is added.
    """
    root = outer._numbered_with or outer
    graph._numbered_with, graph._known = root, known
    graph._scope_around = "/".join(part for part in (outer._scope_around, outer.get_name_scope()) if part)
    root._open_bodies.append(graph)
    root._bodies.append(graph)
    try:
        yield
    finally:
        root._open_bodies.remove(graph)
        root._shift += len(graph._ops)


def in_bodies(graph: Any, name: str) -> Any:
    """Returns the node of a branch or a loop's body that has this name in TensorFlow 1, None if there is none."""
    for body in graph._bodies:
        around = f"{body._scope_around}/"
        if name.startswith(around):
            found = body._by_name.get(name[len(around) :])
            if found is not None:
                return found
    return None


def captured(graph: Any, tensor: Any) -> None:
    """Counts a tensor's way into a body, which has just got a placeholder for it."""
    if tensor in graph._known:
        shift(graph, -1)
    else:
        graph._known.add(tensor)
    _through(graph.outer_graph, tensor, tensor._op._graph)


def passed_in(graph: Any, thing: Any, home: Any) -> None:
    """Counts the way of something that has no tensor here: the handle of an array that was made in `home`."""
    if is_numbered(graph) and is_numbered(home):
        _through(graph, thing, home)


def _through(graph: Any, thing: Any, home: Any) -> None:
    """Counts the way in through bodies that surround each other."""
    while graph is not home and graph is not None and graph._numbered_with is not None:
        if thing in graph._known:
            return
        graph._known.add(thing)
        shift(graph, 1)
        graph = graph.outer_graph
