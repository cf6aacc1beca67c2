"""The devices of this process, and which of them a name means."""

from __future__ import annotations

import functools
import re

from headrace import errors
from headrace.lazy import jax

_HERE = "/job:localhost/replica:0/task:0/device:"

_NUMBER = r"(\d+|\*)"
_FULL = re.compile(
    rf"(?:/job:([^/:]+))?(?:/replica:{_NUMBER})?(?:/task:{_NUMBER})?"
    rf"(?:/device:(\w+)(?::{_NUMBER})?|/(cpu|CPU|gpu|GPU):{_NUMBER})?"
)
_LOCAL = re.compile(r"(\w+):(\d+)")


@functools.cache
def device_names() -> tuple[str, ...]:
    """Returns the full names of this process's devices, the CPU first."""
    names = [_HERE + "CPU:0"]
    try:
        found = jax.devices()
    except RuntimeError:
        found = []
    for d in found:
        if d.platform in ("gpu", "cuda", "rocm"):
            names.append(f"{_HERE}GPU:{d.id}")
        elif d.platform == "tpu":
            names.append(f"{_HERE}TPU:{d.id}")
    return tuple(names)


@functools.cache
def device_called(target: str) -> str:
    """Returns the full name of the device that functions are sent to by a name; what it leaves open is the first.

    Raises:
      InvalidArgumentError: It is no name of a device.
      InternalError: There is no such device.
    """
    local = _LOCAL.fullmatch(target)
    full = _FULL.fullmatch(target)
    if local is not None:
        name = f"{_HERE}{local[1]}:{local[2]}"
    elif full is not None:
        job, replica, task, kind, number, short, short_number = full.groups()
        replica, task, index = (
            "0" if n in (None, "*") else n for n in (replica, task, number or short_number)
        )
        kind = kind or (short or "CPU").upper()
        name = f"/job:{job or 'localhost'}/replica:{replica}/task:{task}/device:{kind}:{index}"
    else:
        raise errors.InvalidArgumentError(
            None, None, f"Could not parse {target} into a device specification."
        )
    if name not in device_names():
        raise errors.InternalError(
            None, None, f"Currently don't support instantiating functions on device: {name}"
        )
    return name
