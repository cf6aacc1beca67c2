"""Kernels that compiled programs call, by XLA's foreign function interface."""

from __future__ import annotations

import threading
from typing import Any

from headrace import native
from headrace.lazy import jax

TARGETS = (
    "headrace_gather_rows",
    "headrace_go_on",
    "headrace_max_pool_gradient",
    "headrace_philox_blocks",
    "headrace_product",
    "headrace_convolution",
    "headrace_convolution_input_gradient",
    "headrace_convolution_filter_gradient",
    "headrace_depthwise",
    "headrace_depthwise_input_gradient",
    "headrace_depthwise_filter_gradient",
    "headrace_moments",
    "headrace_normalize",
    "headrace_batch_norm_gradient",
)

_lock = threading.Lock()
_registered: list[Any] = []  # the library, or None, once it was looked for
_known: set[str] = set()  # what XLA knows already; nothing can be taken back


def library() -> Any:
    """Returns the library whose functions XLA knows, None if there is none or the default device is no CPU."""
    if not _registered:
        with _lock:  # XLA takes each function once
            if not _registered:
                _registered.append(_register())
    return _registered[0]


def prepare() -> None:
    """Has XLA know the functions that a program kept on disk calls.

    Raises:
      RuntimeError: There is no library for XLA.
    """
    if library() is None:
        raise RuntimeError("the native library for XLA is not there")


def forget() -> None:
    """Looks for the library anew when it is next asked for."""
    _registered.clear()


def call(target: str, shape: Any, dtype: Any, *operands: Any, **attrs: Any) -> Any:
    """Calls one of the functions in a traced program.

    Args:
      target: Its name.
      shape: The result's shape.
      dtype: The result's type.
      *operands: JAX arrays.
      **attrs: Plain values.
    """
    result = jax.ShapeDtypeStruct(tuple(shape), dtype)
    return jax.ffi.ffi_call(target, result, vmap_method="sequential")(*operands, **attrs)


def _register() -> Any:
    found = native.open_library("libheadrace_xla.so", "headrace_xla_version")
    if found is None:
        return None
    if jax.default_backend() != "cpu":
        native.say_why_not("the default device is no CPU")
        return None
    for target in TARGETS:
        if target in _known:
            continue
        try:
            jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(getattr(found, target)), platform="cpu")
        except Exception as e:  # made for another version of XLA's interface
            native.say_why_not(f"XLA refuses it: {e}")
            return None
        _known.add(target)
    return found
