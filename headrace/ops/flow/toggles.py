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


@export("control_flow_v2_enabled")
def control_flow_v2_enabled():
    """Says whether `enable_control_flow_v2` was called last."""
    return _enabled
