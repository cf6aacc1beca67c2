"""Gradients of elementwise arithmetic, node for node TensorFlow's."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import float32, int32
from headrace.graph.indexed_slices import IndexedSlices
from headrace.opdef import raw
from headrace.ops.math.broadcasting import reducers, same_static_shape, static_reducers
from headrace.ops.math.building import (
    after,
    cast_to,
    conjugate,
    ones_like,
    scalar,
    shape_of,
    zeros,
    zeros_like,
)


def two_nones(op: Any, dz: Any) -> Any:
    return None, None


def add_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    if not isinstance(dz, IndexedSlices) and same_static_shape(x, y, dz):
        return dz, dz
    to_x, to_y = static_reducers(x, y, dz)
    return to_x(dz), to_y(dz)


def sub_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    if not isinstance(dz, IndexedSlices) and same_static_shape(x, y, dz):
        return dz, -dz
    to_x, to_y = static_reducers(x, y, dz)
    return to_x(dz), to_y(-dz)


def mul_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    if not isinstance(dz, IndexedSlices) and same_static_shape(x, y, dz) and dz.dtype in (int32, float32):
        return raw.Mul(dz, y), raw.Mul(dz, x)
    to_x, to_y = static_reducers(x, y, dz)
    x = conjugate(x)
    y = conjugate(y)
    return to_x(raw.Mul(dz, y)), to_y(raw.Mul(x, dz))


def mul_no_nan_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    if not isinstance(dz, IndexedSlices) and same_static_shape(x, y, dz):
        return raw.MulNoNan(dz, y), raw.MulNoNan(x, dz)
    to_x, to_y = reducers(x, y)
    return to_x(raw.MulNoNan(dz, y)), to_y(raw.MulNoNan(x, dz))


def div_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    x = conjugate(x)
    y = conjugate(y)
    return to_x(dz / y), to_y(dz * (-x / y / y))


def real_div_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    x = conjugate(x)
    y = conjugate(y)
    return to_x(raw.RealDiv(dz, y)), to_y(dz * raw.RealDiv(raw.RealDiv(-x, y), y))


def div_no_nan_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    x = conjugate(x)
    y = conjugate(y)
    dx = to_x(_div_no_nan(dz, y))
    return dx, to_y(dz * _div_no_nan(_div_no_nan(-x, y), y))


def _div_no_nan(x: Any, y: Any) -> Any:
    return raw.DivNoNan(x, y, name="div_no_nan")


def floor_mod_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    quotient = raw.FloorDiv(x, y)
    dx = to_x(dz)
    return dx, to_y(dz * -quotient)


def pow_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    z = op.outputs[0]
    to_x, to_y = static_reducers(x, y, dz)
    x = conjugate(x)
    y = conjugate(y)
    dx = to_x(dz * y * raw.Pow(x, y - 1))
    z = conjugate(z)
    # The logarithm only where it exists; elsewhere 1 stands in, so that no NaN slips through the masks.
    defined = raw.NotEqual(x, 0) if x.dtype.is_complex else x > 0
    log_x = raw.Select(defined, raw.Log(raw.Select(defined, x, ones_like(x))), zeros_like(x))
    return dx, to_y(dz * z * log_x)


def _extreme_grad(op: Any, dz: Any, takes_x: Any) -> Any:
    x, y = op.inputs
    shape_x = shape_of(x)
    shape_y = shape_of(y)
    nothing = zeros(shape_of(dz), dz.dtype.base_dtype)
    from_x = takes_x(x, y)
    axes_x, axes_y = raw.BroadcastGradientArgs(shape_x, shape_y)
    dx = raw.Reshape(raw.Sum(raw.Select(from_x, dz, nothing), axes_x), shape_x)
    return dx, raw.Reshape(raw.Sum(raw.Select(from_x, nothing, dz), axes_y), shape_y)


def maximum_grad(op: Any, dz: Any) -> Any:
    return _extreme_grad(op, dz, raw.GreaterEqual)


def minimum_grad(op: Any, dz: Any) -> Any:
    return _extreme_grad(op, dz, raw.LessEqual)


def squared_difference_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    with after(dz):
        two = scalar(2.0, dz, "scalar")
        if isinstance(dz, IndexedSlices):
            twice: Any = IndexedSlices(raw.Mul(two, dz.values), dz.indices, dz.dense_shape)
        else:
            twice = raw.Mul(two, dz)
        dx = twice * (x - y)
    if not isinstance(dz, IndexedSlices) and same_static_shape(x, y, dz):
        return dx, -dx
    to_x, to_y = static_reducers(x, y, dz)
    return to_x(dx), -to_y(dx)


def _where_nonzero(x: Any) -> Any:
    """Returns 1 where x is not 0, else 0, in the type of x."""
    return cast_to(raw.NotEqual(x, cast_to(0.0, x.dtype)), x.dtype)


def xdivy_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    with after(dz):
        by_x = raw.Xdivy(_where_nonzero(x), y)
        by_y = raw.Xdivy(-x, y**2)
        return to_x(by_x * dz), to_y(by_y * dz)


def xlogy_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    with after(dz):
        by_x = raw.Xlogy(_where_nonzero(x), y)
        by_y = raw.Xdivy(x, y)
        return to_x(by_x * dz), to_y(by_y * dz)


def atan2_grad(op: Any, dz: Any) -> Any:
    y, x = op.inputs
    with after(dz):
        inverse = dz / (raw.Square(x) + raw.Square(y))
        return x * inverse, -y * inverse


def next_after_grad(op: Any, dz: Any) -> Any:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    with after(dz):
        return to_x(raw.Mul(ones_like(x), dz)), to_y(raw.Mul(zeros_like(y), dz))
