"""Where, Select and boolean_mask: choosing by booleans."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.graph import name_scope
from headrace.lazy import jnp
from headrace.opdef import constant_value, convert_to_tensor, export, op, raw
from headrace.opdef.nodes import shape_of, zeros, zeros_like
from headrace.ops.array.concat import concat
from headrace.ops.array.failing import invalid, shown
from headrace.tensor_shape import TensorShape

Where = op("""
    Where(input: T) -> (index: int64)
      T: {numbertype, bool} = bool

    Row-major coordinates of the true (non-zero) elements of `input`.
""")


@Where.shape
def where_shape(input):
    return (None, None if input is None else len(input))


@Where.host  # no `lower`: XLA has no shape that depends on values
def where_host(input):
    return np.argwhere(input).astype(np.int64).reshape(-1, input.ndim)


@Where.cases
def where_cases(case):
    case(np.array([[True, False], [False, True]]), gives=np.array([[0, 0], [1, 1]]))
    case([0.0, 2.0, -0.0, np.nan], gives=np.array([[1], [3]]))
    case.shapes("[2,3]", "[?,2]", T="bool")
    case.shapes("?", "[?,?]", T="bool")


Select = op("""
    Select(condition: bool, t: T, e: T) -> (output: T)
      T: type

    Elements of `t` where `condition` is true and of `e` elsewhere; a vector chooses whole rows.
""")


@Select.shape
def select_shape(condition, t, e):
    data = shapes.merge(t, e)
    if condition is None or data is None:
        return data
    if len(condition) == 0:
        return data
    if len(condition) == 1:
        if len(data) == 0:
            raise ValueError("Shapes must be equal rank, but are 0 and 1")
        return (*_merge_first(condition, data), *data[1:])
    return shapes.merge(data, condition)


def _merge_first(condition, data):
    if condition[0] is not None and data[0] is not None and condition[0] != data[0]:
        raise ValueError(
            f"Dimension 0 in both shapes must be equal, but are {condition[0]} and {data[0]}. Shapes are "
            f"[{condition[0]}] and [{data[0]}]."
        )
    return (condition[0] if data[0] is None else data[0],)


def _select(condition, t, e, ctx, xp):
    name = ctx.op.name if ctx is not None else "Select"
    if t.shape != e.shape:
        invalid(
            f"Inputs to operation {name} of type Select must have the same size and shape.  Input 0: {shown(t.shape)} "
            f"!= input 2: {shown(e.shape)}"
        )
    if condition.ndim == 1 and t.ndim > 1:
        if condition.shape[0] != t.shape[0]:
            invalid(
                f"Number of batches of 'then' must match size of 'cond', but saw: {t.shape[0]} vs. {condition.shape[0]}"
            )
        condition = condition.reshape((-1,) + (1,) * (t.ndim - 1))
    elif condition.ndim and condition.shape != t.shape:
        invalid(
            f"Inputs to operation {name} of type Select must have the same size and shape.  Input 0: "
            f"{shown(condition.shape)} != input 1: {shown(t.shape)}"
        )
    return xp.where(condition, t, e)


@Select.host(folds=True)  # it needs the context for its refusals only
def select_host(condition, t, e, *, ctx):
    return _select(condition, t, e, ctx, np)


@Select.lower
def select_lower(condition, t, e, *, ctx):
    return _select(condition, t, e, ctx, jnp)


@Select.grad
def select_grad(op, dy):
    c, x = op.inputs[0], op.inputs[1]
    zeros = zeros_like(x)
    return None, raw.Select(c, dy, zeros), raw.Select(c, zeros, dy)


@Select.cases
def select_cases(case):
    case(np.array([True, False]), [1.0, 2.0], [3.0, 4.0], gives=[1.0, 4.0])
    case(np.array([True, False]), [[1.0], [2.0]], [[3.0], [4.0]], gives=[[1.0], [4.0]])
    case(np.array(False), [1.0, 2.0], [3.0, 4.0], gives=[3.0, 4.0])
    case.shapes("[2];[2,3];[2,?]", "[2,3]")
    case.shapes("?;[?,3];[2,?]", "[2,3]")
    case.fails("[3];[2,3];[2,3]", match="Dimension 0 in both shapes must be equal, but are 3 and 2")
    case.fails("[2];[];[]", match="Shapes must be equal rank, but are 0 and 1")


SelectV2 = op("""
    SelectV2(condition: bool, t: T, e: T) -> (output: T)
      T: type

    Elements of `t` where `condition` is true and of `e` elsewhere, all three broadcast.
""")


@SelectV2.shape
def select_v2_shape(condition, t, e):
    return shapes.broadcast(condition, shapes.broadcast(t, e)) if None not in (condition, t, e) else None


@SelectV2.host
def select_v2_host(condition, t, e):
    try:
        return np.where(condition, t, e)
    except ValueError:
        invalid(
            f"condition {shown(condition.shape)}, then {shown(t.shape)}, and else {shown(e.shape)} must be "
            "broadcastable"
        )


@SelectV2.lower
def select_v2_lower(condition, t, e):
    return jnp.where(condition, t, e)


@SelectV2.grad
def select_v2_grad(op, dy):
    condition, x, y = op.inputs
    zero = zeros((), dtype=dy.dtype.base_dtype)
    dx = raw.SelectV2(condition, dy, zero)
    x_shape, out_shape = shape_of(x), shape_of(op.outputs[0])
    dx = raw.Reshape(raw.Sum(dx, raw.BroadcastGradientArgs(x_shape, out_shape)[0], keep_dims=True), x_shape)
    dy = raw.SelectV2(condition, zero, dy)
    y_shape = shape_of(y)
    dy = raw.Reshape(raw.Sum(dy, raw.BroadcastGradientArgs(y_shape, out_shape)[0], keep_dims=True), y_shape)
    return None, dx, dy


@SelectV2.cases
def select_v2_cases(case):
    case(np.array([[True], [False]]), [1.0, 2.0], np.float32(0.0), gives=[[1.0, 2.0], [0.0, 0.0]])
    case.shapes("[2,1];[2,3];[3]", "[2,3]")


@export("where")
def where(condition, x=None, y=None, name=None):
    """Returns the coordinates of true elements, or the elements of two tensors that booleans choose.

    Args:
      condition: The booleans.
      x: Where its elements are true; of the same shape, or a vector chooses rows of it.
      y: Where they are false.
      name: The node's name.

    Raises:
      ValueError: Just one of `x` and `y` is given.
    """
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as name:
            condition = convert_to_tensor(condition, preferred_dtype="bool", name="condition")
            return raw.Where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return raw.Select(condition, x, y, name=name)


@export("where_v2")
def where_v2(condition, x=None, y=None, name=None):
    """Returns the coordinates of true elements, or the elements of two tensors that booleans choose, broadcast.

    Args:
      condition: The booleans.
      x: Where its elements are true.
      y: Where they are false.
      name: The node's name.

    Raises:
      ValueError: Just one of `x` and `y` is given.
    """
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as name:
            condition = convert_to_tensor(condition, preferred_dtype="bool", name="condition")
            return raw.Where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return raw.SelectV2(condition, x, y, name=name)


@export("boolean_mask")
def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """Returns the slices of a tensor for which a mask is true.

    Args:
      tensor: The tensor.
      mask: The booleans; its rank must be known.
      name: The scope's name.
      axis: The tensor's dimension that the mask's first one lies along, by default the first.

    Raises:
      ValueError: The mask is a scalar, of unknown rank, or does not fit.
    """
    with name_scope(name, values=[tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        known, dims = mask._dims, tensor._dims
        if known is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is "
                "ok, but shape=None is not."
            )
        n = len(known)
        if n == 0:
            raise ValueError("mask cannot be scalar.")
        at = 0 if axis is None else axis
        if not isinstance(at, int):
            at = int(constant_value(at))
        # The tensor's shape must have that of the mask in it.
        TensorShape.of(None if dims is None else dims[at : at + n]).assert_is_compatible_with(
            TensorShape.of(known)
        )
        size = raw.Prod(shape_of(tensor)[at : at + n], np.array([0], np.int32), name="Prod")
        before = shape_of(tensor)[:at]
        after = shape_of(tensor)[at + n :]
        tensor = raw.Reshape(tensor, concat([before, [size], after], 0))
        first = shapes.num_elements(dims[at : at + n]) if dims is not None else None
        if dims is not None:
            tensor.set_shape((*dims[:at], first, *dims[at + n :]))
        rows = raw.Squeeze(raw.Where(raw.Reshape(mask, [-1])), squeeze_dims=[1])
        return raw.GatherV2(tensor, rows, at)
