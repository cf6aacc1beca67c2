"""The switches between TensorFlow 1 and 2 behaviour: headrace has the first only."""

from __future__ import annotations

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


@export("disable_v2_tensorshape")
def disable_v2_tensorshape() -> None:
    """Does nothing: the dimensions of a TensorShape are Dimension objects always."""


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
