"""Device names: `/job:worker/replica:0/task:1/device:GPU:0` and its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import export


@export("DeviceSpec")
class DeviceSpec:
    """A device, or a set of devices where parts are left out.

    Args:
      job, replica, task, device_type, device_index: The parts; None means any.
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task", "_text")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ):
        self._job = job or None
        self._replica = None if replica is None else int(replica)
        self._task = None if task is None else int(task)
        self._device_type = device_type and device_type.upper()
        self._device_index = None if device_index is None else int(device_index)
        self._text = ""

    @property
    def job(self) -> str | None:
        return self._job

    @job.setter
    def job(self, job: str | None) -> None:
        self._job, self._text = job or None, ""

    @property
    def replica(self) -> int | None:
        return self._replica

    @replica.setter
    def replica(self, replica: int | None) -> None:
        self._replica, self._text = replica, ""

    @property
    def task(self) -> int | None:
        return self._task

    @task.setter
    def task(self, task: int | None) -> None:
        self._task, self._text = task, ""

    @property
    def device_type(self) -> str | None:
        return self._device_type

    @device_type.setter
    def device_type(self, device_type: str | None) -> None:
        self._device_type, self._text = device_type and device_type.upper(), ""

    @property
    def device_index(self) -> int | None:
        return self._device_index

    @device_index.setter
    def device_index(self, device_index: int | None) -> None:
        self._device_index, self._text = device_index, ""

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Sets the parts that a device name holds, and returns this object.

        Raises:
          ValueError: It is not a device name.
        """
        self.__init__()  # type: ignore[misc]
        for part in spec.split("/"):
            words = part.split(":")
            if not part:
                continue
            if words[0] == "job" and len(words) == 2:
                self._job = words[1]
            elif words[0] == "replica" and len(words) == 2:
                self._replica = int(words[1])
            elif words[0] == "task" and len(words) == 2:
                self._task = int(words[1])
            elif words[0] == "device" and len(words) in (2, 3):
                self._set_device(words[1], words[2] if len(words) == 3 else "*")
            elif words[0].upper() in ("CPU", "GPU", "TPU", "XLA_CPU", "XLA_GPU") and len(words) in (1, 2):
                self._set_device(words[0], words[1] if len(words) == 2 else "*")
            else:
                raise ValueError(f"Unknown attribute: '{words[0]}' in '{spec}'")
        return self

    def _set_device(self, kind: str, index: str) -> None:
        if self._device_type is not None:
            raise ValueError("Cannot specify multiple device types")
        self._device_type = kind.upper()
        self._device_index = None if index == "*" else int(index)

    def merge_from(self, dev: DeviceSpec) -> None:
        """Takes over the parts that `dev` sets."""
        for part in ("_job", "_replica", "_task", "_device_type", "_device_index"):
            value = getattr(dev, part)
            if value is not None:
                setattr(self, part, value)
        self._text = ""

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        merged = DeviceSpec()
        merged.merge_from(self)
        merged.merge_from(dev)
        return merged

    def replace(self, **parts: Any) -> DeviceSpec:
        mine = {p: getattr(self, p) for p in ("job", "replica", "task", "device_type", "device_index")}
        return DeviceSpec(**{**mine, **parts})

    def to_string(self) -> str:
        if not self._text:
            out = ""
            if self._job is not None:
                out += "/job:" + self._job
            if self._replica is not None:
                out += f"/replica:{self._replica}"
            if self._task is not None:
                out += f"/task:{self._task}"
            if self._device_type is not None:
                index = "*" if self._device_index is None else self._device_index
                out += f"/device:{self._device_type}:{index}"
            self._text = out
        return self._text

    @staticmethod
    def from_string(spec: str) -> DeviceSpec:
        return DeviceSpec().parse_from_string(spec)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


def canonical(device: Any) -> str:
    """Returns the full spelling of a device name or DeviceSpec, '' for None."""
    if device is None or device == "":
        return ""
    return (
        device.to_string() if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device).to_string()
    )


_merged: dict[tuple[str, str], str] = {}


def merge_names(outer: str, inner: str) -> str:
    """Returns the device of a node that has `outer` where `inner` was asked for: inner's parts win."""
    if not outer or not inner:
        return outer or inner
    key = (outer, inner)
    found = _merged.get(key)
    if found is None:
        found = DeviceSpec.from_string(outer).make_merged_spec(DeviceSpec.from_string(inner)).to_string()
        _merged[key] = found
    return found


def merge_device(spec: Any) -> Callable[[Any], str]:
    """Returns a device function that fills in `spec` where a node says nothing."""
    text = canonical(spec)
    return lambda node: merge_names(text, node.device or "")
