"""Fill, ZerosLike, OnesLike: tensors of one value."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, errors, shapes
from headrace.lazy import jnp
from headrace.opdef import constant_node, export, nodes, op, raw
from headrace.shapes import unchanged

Fill = op("""
    Fill(dims: index_type, value: T) -> (output: T)
      T: type
      index_type: {int32, int64} = int32

    A tensor of shape `dims` that holds the scalar `value` everywhere.
""")


@Fill.shape
def fill_shape(dims, value, *, ctx):
    if dims is not None and len(dims) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(dims)}")
    if value is not None and value != ():
        raise ValueError(f"Shape must be rank 0 but is rank {len(value)}")
    known = ctx.constant("dims")
    if known is not None and (known < 0).any():
        ctx.asked.clear()
        ctx.as_shape("dims")
        raise ValueError("Fill dimensions must be >= 0")
    return ctx.as_shape("dims")


def _checked(dims, value):
    if dims.ndim != 1:
        raise errors.InvalidArgumentError(
            None, None, f"dims must be a vector of int32, got shape {_shown(dims.shape)}"
        )
    if len(value.shape):
        raise errors.InvalidArgumentError(
            None, None, f"value must be a scalar, got shape {_shown(value.shape)}"
        )
    for d in dims.tolist():
        if d < 0:
            raise errors.InvalidArgumentError(None, None, f"Dimension {d} must be >= 0")
    shapes.check_count(dims.tolist())
    return tuple(dims.tolist())


def _shown(shape):
    return "[" + ",".join(map(str, shape)) + "]"


@Fill.host
def fill_host(dims, value):
    return np.full(_checked(dims, value), value[()], value.dtype)


@Fill.lower(static="dims")
def fill_lower(dims, value):
    return jnp.broadcast_to(value, _checked(np.asarray(dims), value))


@Fill.grad
def fill_grad(op, dy):
    return None, raw.Sum(dy, _all_axes(dy))


def _all_axes(x):
    """Returns all axes of a tensor, as TensorFlow's full reductions write them down."""
    if x._dims is not None:
        return constant_node(np.arange(len(x._dims), dtype=np.int32), name="Const")
    return raw.Range(0, raw.Rank(x), 1, name="range")


@Fill.cases
def fill_cases(case):
    case([2, 3], np.float32(7.0), gives=[[7.0] * 3] * 2)
    case(np.zeros([0], np.int64), np.int32(1), gives=np.int32(1))
    case([0, 2], np.float32(1.0), gives=np.zeros([0, 2], np.float32))
    case.shapes("[2];[]", "[2,3]", values={"dims": [2, 3]})
    case.shapes("[2];[]", "[?,?]")
    case.fails("[2];[]", match="Fill dimensions must be >= 0", values={"dims": [-1, 2]})
    case.fails("[2];[1]", match="Shape must be rank 0 but is rank 1")


ZerosLike = op("""
    ZerosLike(x: T) -> (y: T)
      T: type

    Zeros of the shape and type of `x`.
""", shape=unchanged, grad=None)  # fmt: skip


@ZerosLike.host
def zeros_like_host(x):
    if not hasattr(x, "dtype"):  # variants know their zeros
        return x.zeros_like()
    if x.dtype == object:
        return np.full(x.shape, b"", object)
    return np.zeros(x.shape, x.dtype)


@ZerosLike.lower(lists=True)
def zeros_like_lower(x):
    if not hasattr(x, "dtype"):
        return x.zeros_like()
    return jnp.zeros(x.shape, x.dtype)


@ZerosLike.cases
def zeros_like_cases(case):
    case([1.0, 2.0], gives=[0.0, 0.0])
    case(np.array([b"a", b"b"], object), gives=np.array([b"", b""], object))
    case.shapes("[2,?]", "[2,?]")


OnesLike = op("""
    OnesLike(x: T) -> (y: T)
      T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, int64, complex64, complex128, bool}

    Ones of the shape and type of `x`.
""", shape=unchanged, grad=None)  # fmt: skip


@OnesLike.host
def ones_like_host(x):
    return np.ones(x.shape, x.dtype)


@OnesLike.lower
def ones_like_lower(x):
    return jnp.ones(x.shape, x.dtype)


@OnesLike.cases
def ones_like_cases(case):
    case([1.0, 2.0], gives=[1.0, 1.0])
    case(np.array([True, False]), gives=np.array([True, True]))
    case.shapes("[2,?]", "[2,?]")


@export("fill")
def fill(dims, value, name=None):
    """Returns a tensor that holds one value everywhere.

    Args:
      dims: The shape.
      value: The value, a scalar.
      name: The node's name.
    """
    return raw.Fill(dims, value, name=name)


@export("zeros")
def zeros(shape, dtype=dtypes.float32, name=None):
    """Returns zeros.

    Args:
      shape: The shape: numbers, a TensorShape, or a vector of int32 or int64.
      dtype: The type; booleans are False, strings empty.
      name: The node's name.
    """
    return nodes.zeros(shape, dtype, name)


@export("ones")
def ones(shape, dtype=dtypes.float32, name=None):
    """Returns ones.

    Args:
      shape: The shape: numbers, a TensorShape, or a vector of int32 or int64.
      dtype: The type; booleans are True.
      name: The node's name.
    """
    return nodes.ones(shape, dtype, name)


@export("zeros_like")
def zeros_like(tensor, dtype=None, name=None, optimize=True):
    """Returns zeros of a tensor's shape.

    Args:
      tensor: The tensor.
      dtype: The type, by default the tensor's.
      name: The node's name.
      optimize: Whether a constant is made where the shape is known.
    """
    return nodes.zeros_like(tensor, dtype, name, optimize)


@export("ones_like")
def ones_like(tensor, dtype=None, name=None, optimize=True):
    """Returns ones of a tensor's shape.

    Args:
      tensor: The tensor.
      dtype: The type, by default the tensor's.
      name: The node's name.
      optimize: Whether the shape becomes a constant where it is known.
    """
    return nodes.ones_like(tensor, dtype, name, optimize)
