"""Batch normalization that compiled programs have the native library compute, with what is done to its result.

XLA fuses a normalization into whatever takes its result, so that a chain of blocks is read again by each of them, and
keeps a copy of the input without its mean. The library reads an array once for the moments and once more for the
result. It writes that only where it is what `relu` makes of a sum with it, as at the end of a residual block; and it
reads a gradient that `relu` hands back without another pass over it. So what was normalized, or handed back, is
remembered for as long as the tracer that stands for it is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.lazy import jax
from headrace.native import xla
from headrace.native.remembered import Remembered

# Elements; XLA writes the loops over fewer into the code around them.
_LEAST = 4096


@dataclass(frozen=True)
class Normalized:
    """What a result is made of: (x - mean) * scale / sqrt(variance + epsilon) + offset, and perhaps something more."""

    x: Any
    mean: Any
    variance: Any
    scale: Any
    offset: Any
    epsilon: float
    added: Any = None


@dataclass(frozen=True)
class Masked:
    """What a gradient is made of: another one where `y`, which `relu` gave, is positive, and below 6 for `relu6`."""

    dy: Any
    y: Any
    six: bool


_remembered = Remembered()


def takes(x: Any, *vectors: Any) -> bool:
    """Whether the library normalizes an array, channels last, by such vectors."""
    return (
        all(a.dtype == np.float32 for a in (x, *vectors))
        and x.ndim > 1
        and x.size >= _LEAST
        and all(v.shape == (x.shape[-1],) for v in vectors)
        and xla.library() is not None
    )


def moments(x: Any) -> tuple[Any, Any]:
    """Returns each channel's mean and variance."""
    vector = jax.ShapeDtypeStruct((x.shape[-1],), np.float32)
    mean, variance = _call("headrace_moments", (vector, vector), x)
    return mean, variance


def normalized(result: Any, *made_of: Any) -> Any:
    """Returns a result of XLA's, after noting what it is made of, for whoever takes it.

    Args:
      result: The result.
      *made_of: The fields of `Normalized`, in order.
    """
    _remembered.add(result, Normalized(*made_of))
    return result


def added(result: Any, a: Any, b: Any) -> Any:
    """Returns a sum, after noting if it is that of something normalized and an array of its shape."""
    # The second one is computed later, if operands are in the order of the program: it is not needed elsewhere yet.
    for one, other in ((b, a), (a, b)):
        fact = _remembered.of(one)
        if type(fact) is Normalized and fact.added is None and other.shape == one.shape:
            _remembered.add(result, replace(fact, added=other))
            break
    return result


def rectified(x: Any, six: bool = False) -> Any:
    """Returns max(x, 0), of which with `six` at most 6, if x is a sum with something normalized, else None."""
    of = _remembered.of(x)
    # Without a sum there is no chain that XLA would compute anew, and its own loop is as quick.
    if type(of) is not Normalized or of.added is None:
        return None
    return _call(
        "headrace_normalize",
        jax.ShapeDtypeStruct(x.shape, np.float32),
        *(of.x, of.mean, of.variance, of.scale, of.offset, of.added),
        epsilon=np.float32(of.epsilon),
        six=np.bool_(six),
    )


def masked(result: Any, dy: Any, y: Any, six: bool = False) -> Any:
    """Returns a gradient, after noting that it is `dy` where `y` is positive, and with `six` below 6."""
    if result.dtype == np.float32 and dy.shape == y.shape:
        _remembered.add(result, Masked(dy, y, six))
    return result


def gradient(dy: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """Returns the gradients of a normalization by the batch's moments with respect to x, scale and offset."""
    of = _remembered.of(dy)
    more: tuple[Any, ...] = ()
    six = False
    if type(of) is Masked:
        dy, more, six = of.dy, (of.y,), of.six
    vector = jax.ShapeDtypeStruct((x.shape[-1],), np.float32)
    results = jax.ShapeDtypeStruct(x.shape, np.float32), vector, vector
    dx, d_scale, d_offset = _call(
        "headrace_batch_norm_gradient",
        results,
        *(dy, x, scale, mean, variance, *more),
        epsilon=np.float32(epsilon),
        six=np.bool_(six),
    )
    return dx, d_scale, d_offset


def _call(target: str, results: Any, *operands: Any, **attrs: Any) -> Any:
    return jax.ffi.ffi_call(target, results, vmap_method="sequential")(*operands, **attrs)
