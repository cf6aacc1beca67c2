"""What tests ask of the machine, and where they keep files."""

from __future__ import annotations

import os
import sys
import unittest.mock
from typing import Any

from headrace.export import export, export_value
from headrace.resources.devices import device_names

export_value("test.mock", unittest.mock)


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """Returns the name of the first GPU, `/device:GPU:0`, or '' where there is none."""
    for name in device_names():
        if "/device:GPU:" in name:
            return name[name.index("/device:GPU:") :]
    return ""


@export("test.is_gpu_available")
def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Says whether this process has a GPU.

    Args:
      cuda_only: Whether only CUDA's count.
      min_cuda_compute_capability: The (major, minor) version of CUDA that it must have at least.
    """
    if not gpu_device_name():
        return False
    if not cuda_only and min_cuda_compute_capability is None:
        return True
    from headrace.lazy import jax

    for device in jax.devices():
        if device.platform not in ("gpu", "cuda"):
            continue
        version = str(getattr(device, "compute_capability", "0.0"))
        if min_cuda_compute_capability is None:
            return True
        if tuple(int(part) for part in version.split(".")) >= tuple(min_cuda_compute_capability):
            return True
    return False


@export("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Says whether the GPUs that this process has are CUDA's."""
    return is_gpu_available(cuda_only=True)


@export("test.is_built_with_rocm")
def is_built_with_rocm() -> bool:
    """Says whether the GPUs that this process has are ROCm's."""
    return bool(gpu_device_name()) and not is_gpu_available(cuda_only=True)


@export("test.is_built_with_gpu_support")
def is_built_with_gpu_support() -> bool:
    """Says whether this process could use a GPU."""
    return bool(gpu_device_name())


@export("test.get_temp_dir")
def get_temp_dir() -> str:
    """Returns a directory for the files of tests: one for the process."""
    from absl.testing import absltest

    path = absltest.get_default_test_tmpdir()
    os.makedirs(path, exist_ok=True)
    return path


@export("test.test_src_dir_path")
def test_src_dir_path(relative_path: str) -> str:
    """Returns the path of a file that lies with the program that runs.

    Args:
      relative_path: Its path from the program's directory.
    """
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), relative_path)


# pytest takes functions that are called test_something for tests.
test_src_dir_path.__test__ = False  # type: ignore[attr-defined]


@export("test.main")
def main(argv: Any = None) -> None:
    """Runs the tests of the program that calls it, and ends the program.

    Args:
      argv: The command line in place of `sys.argv`.
    """
    from absl.testing import absltest

    absltest.main(argv=argv)
