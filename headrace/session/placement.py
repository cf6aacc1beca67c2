"""Devices: what this process has, and whether a node's device is among them."""

from __future__ import annotations

import functools
from typing import Any

from headrace import errors
from headrace.graph import DeviceSpec, Operation
from headrace.resources.devices import device_names
from headrace.runtime.failure import at_node


@functools.cache
def _exists(device: str) -> bool:
    spec = DeviceSpec.from_string(device)
    if spec.job not in (None, "localhost") or spec.task not in (None, 0) or spec.replica not in (None, 0):
        return False
    kind = spec.device_type
    if kind in (None, "CPU") and spec.device_index in (None, 0):
        return True
    return any(name.endswith(f"{kind}:{spec.device_index or 0}") for name in device_names())


def check_devices(ops: list[Operation], soft_placement: bool) -> None:
    """Refuses nodes placed on devices that are not there.

    Args:
      ops: The nodes of a plan.
      soft_placement: Whether a node whose device is missing may run elsewhere.

    Raises:
      InvalidArgumentError: A node names a device that does not exist.
    """
    for op in ops:
        device = op._device
        if not device or _exists(device):
            continue
        spec = DeviceSpec.from_string(device)
        local = spec.job in (None, "localhost") and spec.task in (None, 0) and spec.replica in (None, 0)
        if soft_placement and local:
            continue
        listed = ", ".join(device_names())
        raise at_node(
            errors.InvalidArgumentError(
                None,
                None,
                f"Cannot assign a device for operation {op.name}: {{{{node {op.name}}}}} was explicitly assigned "
                f"to {device} but available devices are [ {listed} ]. Make sure the device specification refers to a "
                "valid device.",
            ),
            op,
        )


def device_attributes() -> list[Any]:
    """Returns the devices of this process as the session lists them."""
    return [_Device(name) for name in device_names()]


class _Device:
    """A device as `Session.list_devices` shows it."""

    def __init__(self, name: str):
        self.name = name
        self.device_type = DeviceSpec.from_string(name).device_type
        self.memory_limit_bytes = 268435456
        self.incarnation = 0

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"
