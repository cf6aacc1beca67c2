"""The switch between TensorFlow's two ways to build branches and loops. Here both build functions."""

from __future__ import annotations

from typing import Any

from headrace.graph import numbering
from headrace.opdef import export

_enabled = False


@export("enable_control_flow_v2")
def enable_control_flow_v2():
    """Lets `tf.cond` return a list of one result as a list; nodes are the same in either case."""
    global _enabled
    _enabled = True


@export("disable_control_flow_v2")
def disable_control_flow_v2():
    """Lets `tf.cond` return the one result of a list alone, as is TensorFlow 1's habit."""
    global _enabled
    _enabled = False


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


@export("control_flow_v2_enabled")
def control_flow_v2_enabled():
    """Says whether `enable_control_flow_v2` was called last."""
    return _enabled
