"""Decorators of tests under TensorFlow's internal names; all tests run graphs here."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any


def _unchanged(function: Any = None, *_: Any, **__: Any) -> Any:
    """Works with and without arguments: `@run_deprecated_v1` and `@run_in_graph_and_eager_modes(use_gpu=True)`."""
    return function if callable(function) else lambda decorated: decorated


run_deprecated_v1 = deprecated_graph_mode_only = run_all_in_deprecated_graph_mode_only = _unchanged
run_in_graph_and_eager_modes = run_all_in_graph_and_eager_modes = _unchanged
enable_control_flow_v2 = enable_all_with_v2_control_flow = _unchanged


def run_v1_only(reason: str, func: Any = None) -> Any:
    """Marks a test of version 1, which is what runs here.

    Args:
      reason: Why it tests version 1 only.
      func: The test; by default the one below.
    """
    return _unchanged(func)


def run_v2_only(func: Any = None) -> Any:
    """Skips a test of version 2.

    Args:
      func: The test.
    """
    return unittest.skip("Test is only compatible with v2")(func) if func is not None else run_v2_only


def disable_xla(description: str) -> Callable[[Any], Any]:
    """Marks a test that TensorFlow's own compiler can't do; here it runs.

    Args:
      description: Why.
    """
    return lambda function: function


def run_cuda_only(func: Any = None) -> Any:
    """Skips a test where there is no CUDA GPU.

    Args:
      func: The test.
    """
    if func is None:
        return run_cuda_only

    @functools.wraps(func)
    def decorated(self: Any, *args: Any, **kwargs: Any) -> Any:
        from headrace.testing.devices import is_gpu_available

        if not is_gpu_available(cuda_only=True):
            self.skipTest("Test requires CUDA GPU")
        return func(self, *args, **kwargs)

    return decorated
