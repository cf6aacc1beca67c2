"""`headrace doctor`: which versions, devices and kernels are in use."""

from __future__ import annotations

import importlib
import platform
from importlib import metadata

from headrace.namespace import LAZY, import_present
from headrace.platform.version import HEADRACE_VERSION, VERSION

_LIBRARIES = (
    "jax jaxlib numpy ml_dtypes protobuf absl-py tensorboard grpcio Pillow google-crc32c fsspec scipy"
).split()


def main(arguments: list[str]) -> int:
    """Prints the report."""
    print(f"headrace {HEADRACE_VERSION}, answering for TensorFlow {VERSION}")
    print(f"Python {platform.python_version()} on {platform.platform()}")
    for library in _LIBRARIES:
        try:
            print(f"  {library} {metadata.version(library)}")
        except metadata.PackageNotFoundError:
            print(f"  {library} is not installed")
    _say_devices()
    _say_kernels()
    return 0


def _say_devices() -> None:
    try:
        devices = importlib.import_module("jax").devices()
    except Exception as error:
        print(f"devices: none, JAX says: {error}")
        return
    print(
        "devices: " + ", ".join(f"{device.platform}:{device.id} ({device.device_kind})" for device in devices)
    )


def _say_kernels() -> None:
    registry = import_present("headrace.opdef.registry")
    known = list(getattr(registry, "OPS", {}).values())
    compiled = sum("lower" in op.rules for op in known)
    host = sum("host" in op.rules for op in known)
    print(f"ops: {len(known)} known, {compiled} for XLA, {host} for the host")
    native = import_present("headrace.native")
    describe = getattr(native, "describe", None)
    print("native kernels: " + (describe() if describe else "none, everything runs on plain XLA"))
    missing = sorted({name for name, module in list(LAZY.items()) if import_present(module) is None})
    if missing:
        print("not there yet: " + ", ".join("tf." + name for name in missing))
