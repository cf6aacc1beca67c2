"""Keeping values and norms within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import errors, shapes
from headrace.dtypes import float32
from headrace.export import export
from headrace.graph.default import colocate_with, name_scope
from headrace.graph.indexed_slices import IndexedSlices
from headrace.lazy import jnp
from headrace.opdef import constant_node, convert_to_tensor, op, raw
from headrace.ops.math.binary import broadcasting
from headrace.ops.math.building import cast_to, ones_like, range_to, rank_of, scalar, size_of
from headrace.ops.math.reduce_functions import reduce_with

ClipByValue = op("""
    ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)
      T: numbertype

    t, but not less than clip_value_min and not more than clip_value_max.
""", shape=shapes.unchanged)  # fmt: skip


def _check_limits(t, least, most):
    if any(limit.shape not in ((), t.shape) for limit in (least, most)):
        raise errors.InvalidArgumentError(
            None,
            None,
            "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: "
            f"{shapes.to_text(t.shape)}clip_value_min shape: {shapes.to_text(least.shape)}clip_value_max shape: "
            f"{shapes.to_text(most.shape)}",
        )


@ClipByValue.host
def clip_by_value_host(t, clip_value_min, clip_value_max):
    _check_limits(t, clip_value_min, clip_value_max)
    least = broadcasting(lambda a, b: np.where(b < a, b, a))(t, clip_value_max)
    return broadcasting(lambda a, b: np.where(a < b, b, a))(least, clip_value_min)


@ClipByValue.lower
def clip_by_value_lower(t, clip_value_min, clip_value_max):
    _check_limits(t, clip_value_min, clip_value_max)
    least = jnp.where(clip_value_max < t, clip_value_max, t)
    return jnp.where(least < clip_value_min, clip_value_min, least)


@ClipByValue.cases
def clip_by_value_cases(case):
    case([1.0, np.nan, -3.0], np.float32(0.0), np.float32(2.0), gives=[1.0, np.nan, 0.0])
    case([1.0, 5.0], [2.0, 2.0], [3.0, 4.0], gives=[2.0, 4.0])
    case(np.int32([-7, 7]), np.int32(-1), np.int32(1), gives=np.int32([-1, 1]))
    case.shapes("[2,?];[];[]", "[2,?]")


def _like(slices: Any, values: Any) -> IndexedSlices:
    return IndexedSlices(values, slices.indices, slices.dense_shape)


@export("clip_by_value")
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """Returns a tensor (or IndexedSlices) with its values limited to a range.

    Args:
      t: The tensor.
      clip_value_min: The least value, or a tensor that broadcasts to the shape of `t`.
      clip_value_max: The greatest.
      name: The scope of the nodes.

    Raises:
      ValueError: A bound would broadcast `t` to a larger shape.
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        slices = t if isinstance(t, IndexedSlices) else None
        values = convert_to_tensor(slices.values if slices is not None else t, name="t")
        least = raw.Minimum(values, clip_value_max)
        values.shape.merge_with(least.shape)
        clipped = raw.Maximum(least, clip_value_min, name=scope)
        values.shape.merge_with(clipped.shape)
        return clipped if slices is None else _like(slices, clipped)


@export("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """Returns a tensor scaled down, where its L2 norm exceeds `clip_norm`, to have that norm.

    Args:
      t: The tensor or IndexedSlices.
      clip_norm: The greatest norm, a scalar.
      axes: The axes that the norm is taken over; by default all.
      name: The scope of the nodes.
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        slices = t if isinstance(t, IndexedSlices) else None
        values = convert_to_tensor(slices.values if slices is not None else t, name="t")
        total = reduce_with("Sum", values * values, axes, True, None)
        positive = total > 0
        # The square root's gradient at 0 is infinite: keep zeros out of it.
        norm = raw.Select(positive, raw.Sqrt(raw.Select(positive, total, ones_like(total))), total)
        scaled = values * clip_norm
        values.shape.merge_with(scaled.shape)
        clipped = raw.Identity(scaled / raw.Maximum(norm, clip_norm), name=scope)
        return clipped if slices is None else _like(slices, clipped)


@export("clip_by_average_norm")
def clip_by_average_norm(t, clip_norm, name=None):
    """Returns a tensor scaled down, where its L2 norm per element exceeds `clip_norm`, to have that.

    Args:
      t: The tensor.
      clip_norm: The greatest average norm, a scalar.
      name: The scope of the nodes.
    """
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert_to_tensor(t, name="t")
        count = cast_to(size_of(t), float32)
        square = t * t
        inverse = raw.Rsqrt(raw.Sum(square, range_to(rank_of(t))))
        scaled = t * clip_norm
        inverse_average = inverse * count
        return raw.Identity(scaled * raw.Minimum(inverse_average, constant_node(1.0) / clip_norm), name=scope)


def _check_list(t_list: Any) -> list[Any]:
    if not isinstance(t_list, (list, tuple)):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


def _tensors(t_list: list[Any]) -> list[Any]:
    """Returns the tensors of a list: the values of IndexedSlices, None as it is."""
    return [
        t if t is None else convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=f"t_{i}")
        for i, t in enumerate(t_list)
    ]


@export("global_norm", "linalg.global_norm")
def global_norm(t_list, name=None):
    """Returns the L2 norm of all elements of several tensors together.

    Args:
      t_list: Tensors, IndexedSlices and Nones (which do not count).
      name: The scope of the nodes.

    Raises:
      TypeError: `t_list` is no sequence.
    """
    t_list = _check_list(t_list)
    with name_scope(name, "global_norm", t_list):
        half_squares = []
        for t in _tensors(t_list):
            if t is not None:
                with colocate_with(t):
                    half_squares.append(raw.L2Loss(t))
        half = reduce_with("Sum", raw.Pack(half_squares, name="stack"), None, None, None)
        return raw.Sqrt(half * scalar(2.0, half), name="global_norm")


@export("clip_by_global_norm")
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Scales several tensors down, where their L2 norm together exceeds `clip_norm`, to have that norm.

    Args:
      t_list: Tensors, IndexedSlices and Nones (which stay).
      clip_norm: The greatest norm, a scalar.
      use_norm: Their norm, if it is known already.
      name: The scope of the nodes.

    Returns:
      The list of scaled tensors, NaN if the norm is infinite; and the norm before.

    Raises:
      TypeError: `t_list` is no sequence.
    """
    t_list = _check_list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with name_scope(name, "clip_by_global_norm", [*t_list, clip_norm]) as scope:
        scale = clip_norm * raw.Minimum(1.0 / use_norm, scalar(1.0, use_norm) / clip_norm)
        finite = raw.IsFinite(use_norm)
        scale = raw.Select(finite, scale, scalar(float("nan"), use_norm))
        out: list[Any] = []
        for i, (original, values) in enumerate(zip(t_list, _tensors(t_list), strict=True)):
            if values is None:
                out.append(None)
                continue
            with colocate_with(values):
                clipped = raw.Identity(values * scale, name=f"{scope}_{i}")
            out.append(_like(original, clipped) if isinstance(original, IndexedSlices) else clipped)
        return out, use_norm
