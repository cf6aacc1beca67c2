"""OneHot: numbers as unit vectors."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.graph import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.ops.array.failing import invalid, shown

OneHot = op("""
    OneHot(indices: TI, depth: int32, on_value: T, off_value: T) -> (output: T)
      axis: int = -1
      T: type
      TI: {uint8, int32, int64} = int64

    For each index a vector of `depth` elements along `axis`: `on_value` at its place, `off_value` elsewhere.
""", grad=None)  # fmt: skip


@OneHot.shape
def one_hot_shape(indices, depth, on_value, off_value, *, axis, ctx):
    if axis < -1:
        raise ValueError("axis must be >= -1")
    size = ctx.constant("depth")
    if depth is not None and depth != ():
        raise ValueError(f"Input must be scalar but has rank {len(depth)}")
    if size is not None and size < 0:
        raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {int(size)}")
    shapes.with_rank(on_value, 0)
    shapes.with_rank(off_value, 0)
    if indices is None:
        return None
    at = len(indices) if axis == -1 else min(axis, len(indices))
    return (*indices[:at], None if size is None else int(size), *indices[at:])


def _one_hot(indices, depth, on_value, off_value, axis, xp):
    at = indices.ndim if axis == -1 else axis
    if not 0 <= at <= indices.ndim:
        invalid(f"Expected axis to be -1 or between [0, {indices.ndim + 1}).  But received: {axis}")
    if np.ndim(depth):
        invalid(f"depth must be a scalar, but got: {shown(np.shape(depth))}")
    if depth < 0:
        invalid(f"depth must be non-negative, got: {int(depth)}")
    places = np.arange(int(depth), dtype=np.int64).reshape([-1] + [1] * (indices.ndim - at))
    return xp.where(xp.expand_dims(indices, at) == places, on_value, off_value)


@OneHot.host
def one_hot_host(indices, depth, on_value, off_value, *, axis):
    return _one_hot(indices.astype(np.int64), depth, on_value, off_value, axis, np)


@OneHot.lower(static="depth")
def one_hot_lower(indices, depth, on_value, off_value, *, axis):
    return _one_hot(jnp.asarray(indices).astype(jnp.int64), depth, on_value, off_value, axis, jnp)


@OneHot.cases
def one_hot_cases(case):
    one, zero = np.float32(1.0), np.float32(0.0)
    case(np.array([0, 2, 5, -1]), np.int32(3), one, zero,
         gives=[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # fmt: skip
    case([1, 0], np.int32(2), np.int32(5), np.int32(7), axis=0, gives=np.array([[7, 5], [5, 7]], np.int32))
    case(np.uint8(1), np.int32(2), np.array(True), np.array(False), gives=np.array([False, True]))
    case.shapes("[?,2];[];[];[]", "[?,2,3]", values={"depth": 3})
    case.shapes("[?,2];[];[];[]", "[?,?,2]", axis=1)
    case.fails("[1];[];[];[]", match="must be non-negative but is -1", values={"depth": -1})


@export("one_hot")
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """Returns numbers as unit vectors.

    Args:
      indices: The numbers; those outside [0, depth) give no `on_value`.
      depth: The vectors' length.
      on_value: The value at an index's place, by default 1.
      off_value: The value elsewhere, by default 0.
      axis: The dimension that the vectors lie along, by default the last.
      dtype: The result's type, by default that of the values, or float32.
      name: The node's name.

    Raises:
      TypeError: The types of the values or `dtype` do not agree.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as name:
        on_dtype = None if on_value is None else convert_to_tensor(on_value).dtype.base_dtype
        off_dtype = None if off_value is None else convert_to_tensor(off_value).dtype.base_dtype
        if dtype is not None:
            dtype = dtypes.as_dtype(dtype)
            for what, each in (("on_value", on_dtype), ("off_value", off_dtype)):
                if each is not None and each is not dtype:
                    raise TypeError(f"dtype {each} of {what} does not match dtype parameter {dtype}")
        else:
            dtype = on_dtype or off_dtype
        if on_value is None:
            dtype = dtype or dtypes.float32
            on_value = convert_to_tensor(1, dtype, name="on_value")
            on_dtype = dtype
        if off_value is None:
            off_value = convert_to_tensor(0, dtype, name="off_value")
            off_dtype = dtype
        if on_dtype is not off_dtype:
            raise TypeError(f"dtype {on_dtype} of on_value does not match dtype {off_dtype} of off_value")
        return raw.OneHot(indices, depth, on_value, off_value, axis=-1 if axis is None else axis, name=name)
