"""The switches between TensorFlow 1 and 2 behaviour: headrace has the first only."""

from __future__ import annotations

from headrace import tensor_shape
from headrace.export import NAMES, export


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Goes back to the behaviour of TensorFlow 1, which is that of headrace from the start."""
    for name in ("disable_resource_variables", "disable_control_flow_v2"):
        if name in NAMES:
            NAMES[name]()


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Does nothing: headrace always builds graphs."""


@export("enable_v2_tensorshape")
def enable_v2_tensorshape() -> None:
    """Has the elements of a TensorShape be numbers and None instead of Dimension objects."""
    tensor_shape.use_plain_sizes(True)


@export("disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Has the elements of a TensorShape be Dimension objects, as they are from the start."""
    tensor_shape.use_plain_sizes(False)


@export("enable_tensor_equality")
def enable_tensor_equality() -> None:
    """Does nothing: in graphs TensorFlow 1.15 compares tensors with `==` by identity even then."""


@export("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Does nothing: tensors are compared with `==` by identity from the start."""


_logs_placement = False


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Returns what `set_log_device_placement` was given, False at first."""
    return _logs_placement


@export("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Keeps the wish to see where eager execution places ops; sessions have their ConfigProto for that.

    Args:
      enabled: What `get_log_device_placement` returns from now on.
    """
    global _logs_placement
    _logs_placement = bool(enabled)


def _refuse(what: str) -> None:
    raise NotImplementedError(f"headrace builds graphs and runs them in sessions: it has no {what}")


@export("enable_v2_behavior")
def enable_v2_behavior() -> None:
    """Refuses, since eager execution is part of it.

    Raises:
      NotImplementedError: Always.
    """
    _refuse("TensorFlow 2 behavior")


@export("enable_eager_execution")
def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Refuses.

    Raises:
      NotImplementedError: Always.
    """
    _refuse("eager execution")


def enabled() -> bool:
    """Says whether TensorFlow 2 behaviour is on: never."""
    return False
