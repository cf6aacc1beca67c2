"""Constants and placeholders: where values enter a graph."""

from __future__ import annotations

import numpy as np

from headrace import errors, shapes
from headrace.dtypes import as_dtype
from headrace.opdef import constant_node, export, op, raw
from headrace.opdef.literals import to_array
from headrace.tensor_shape import to_tuple

Const = op("""
    Const() -> (output: dtype)
      value: tensor
      dtype: type

    Holds a fixed tensor.
""", grad=None)  # fmt: skip


@Const.shape
def const_shape(*, value):
    return value.shape


@Const.host
def const_host(*, value):
    return value


@Const.lower
def const_lower(*, value):
    return value


@Const.cases
def const_cases(case):
    case(value=np.array([1.0, 2.0], np.float32), dtype="float32", gives=[1.0, 2.0])


Placeholder = op("""
    Placeholder() -> (output: dtype)
      dtype: type
      shape: shape = ?

    Stands for a tensor that every run must feed.
""")  # fmt: skip


@Placeholder.shape
def placeholder_shape(*, shape):
    return shape


@Placeholder.host
def placeholder_host(*, dtype, shape, ctx):
    known = f" and shape {shapes.to_text(shape)}" if shape is not None else ""
    raise errors.InvalidArgumentError(
        None,
        None,
        f"You must feed a value for placeholder tensor '{ctx.op.name}' with dtype {dtype.wire_name}{known}",
    )


PlaceholderWithDefault = op("""
    PlaceholderWithDefault(input: dtype) -> (output: dtype)
      dtype: type
      shape: shape

    Passes its input on unless a run feeds it.
""")


@PlaceholderWithDefault.shape
def placeholder_with_default_shape(input, *, shape):
    shapes.merge(input, shape)
    return shape


@PlaceholderWithDefault.host
def placeholder_with_default_host(input):
    return input


@PlaceholderWithDefault.lower
def placeholder_with_default_lower(input):
    return input


@PlaceholderWithDefault.grad
def placeholder_with_default_grad(op, dy):
    return dy


@PlaceholderWithDefault.cases
def placeholder_with_default_cases(case):
    case([1.0, 2.0], shape=[2], gives=[1.0, 2.0])
    case.shapes("[2,3]", "[?,3]", shape=[None, 3])
    case.fails("[1,1]", match="Dimension 1 in both shapes must be equal, but are 1 and 2", shape=[None, 2])


@export("constant")
def constant_v1(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """Returns a constant tensor.

    Args:
      value: A number, a string, a NumPy array, or nested lists.
      dtype: Its type; by default float32 for floats, int32 for ints.
      shape: Its shape; a shorter value's last element is repeated to fill it.
      name: The node's name.
      verify_shape: Refuses a value whose shape is not `shape`.

    Raises:
      TypeError: The value can't have the type, or (with `verify_shape`) the shape.
      ValueError: The value has too many elements for `shape`, or is None.
    """
    if not verify_shape:
        return constant_node(value, dtype, shape, name)
    array, dtype = to_array(value, dtype, shape, verify_shape=True)
    return raw.Const(value=array, dtype=dtype, name=name)


@export("placeholder")
def placeholder(dtype, shape=None, name=None):
    """Returns a tensor that every run must feed.

    Args:
      dtype: The type of what will be fed.
      shape: What is known of its shape; None if nothing is.
      name: The node's name.
    """
    return raw.Placeholder(dtype=as_dtype(dtype), shape=to_tuple(shape), name=name)


@export("placeholder_with_default")
def placeholder_with_default(input, shape, name=None):
    """Returns a tensor that has the value of `input` unless a run feeds it.

    Args:
      input: The default value.
      shape: What is known of the shape of what may be fed.
      name: The node's name.
    """
    return raw.PlaceholderWithDefault(input, shape=to_tuple(shape), name=name)


PlaceholderV2 = op("""
    PlaceholderV2() -> (output: dtype)
      dtype: type
      shape: shape
      deprecated 23

    Stands for a tensor that every run must feed: another spelling of Placeholder.
""", shape=placeholder_shape, host=placeholder_host)  # fmt: skip
