"""The switch between TensorFlow's two ways to build branches and loops."""

from __future__ import annotations

from headrace.graph import functional
from headrace.opdef import export


@export("enable_control_flow_v2")
def enable_control_flow_v2():
    """Lets `tf.cond` return a list of one result as a list; nodes are the same in either case."""
    functional.enable(True)


@export("disable_control_flow_v2")
def disable_control_flow_v2():
    """Lets `tf.cond` return the one result of a list alone, as is TensorFlow 1's habit."""
    functional.enable(False)


@export("control_flow_v2_enabled")
def control_flow_v2_enabled():
    """Says whether `enable_control_flow_v2` was called last."""
    return functional.is_enabled()
