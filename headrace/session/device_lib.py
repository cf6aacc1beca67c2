"""The devices of this process, as `tensorflow.python.client.device_lib` lists them."""

from __future__ import annotations

import random
from typing import Any

from headrace.lazy import jax
from headrace.resources.devices import device_names

_CPU_BYTES = 1 << 28  # what TensorFlow says of every CPU


def list_local_devices(session_config: Any = None) -> list[Any]:
    """Returns the devices of this process as DeviceAttributes messages.

    Args:
      session_config: Accepted; the devices do not depend on it.
    """
    from headrace.proto import DeviceAttributes

    out = []
    for name in device_names():
        short = name[name.index("/device:") :]
        kind, number = short.removeprefix("/device:").split(":")
        attributes = DeviceAttributes(
            name=short, device_type=kind, memory_limit=_CPU_BYTES, incarnation=random.getrandbits(63)
        )
        attributes.locality.SetInParent()
        if kind != "CPU":
            device = next(d for d in jax.devices() if d.platform != "cpu" and d.id == int(number))
            attributes.memory_limit = (device.memory_stats() or {}).get("bytes_limit", 0)
            attributes.locality.bus_id = 1
            attributes.physical_device_desc = f"device: {number}, name: {device.device_kind}"
        out.append(attributes)
    return out
