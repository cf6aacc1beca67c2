"""Reshape, Squeeze and ExpandDims: the same elements in another shape."""

from __future__ import annotations

import math

import numpy as np

from headrace import errors
from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.opdef.nodes import shape_of
from headrace.shapes import to_text

Reshape = op("""
    Reshape(tensor: T, shape: Tshape) -> (output: T)
      T: type
      Tshape: {int32, int64} = int32

    The elements of `tensor` in row-major order, in another shape; one -1 in it is worked out.
""")


def _split_known(dims):
    """Returns the product of the known dimensions and how many are unknown."""
    product, unknown = 1, 0
    for d in dims:
        if d is None:
            unknown += 1
        else:
            product *= d
    return product, unknown


@Reshape.shape
def reshape_shape(tensor, shape, *, ctx):
    if shape is not None and len(shape) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(shape)}")
    out = ctx.as_shape("shape")
    if out is None or tensor is None:
        return out
    size_in, unknown_in = _split_known(tensor)
    size_out, unknown_out = _split_known(out)
    if unknown_in and size_in == 0:
        unknown_in = 0  # there are no elements, whatever the rest is
    if unknown_out == 0 and unknown_in == 0:
        if size_in != size_out:
            raise ValueError(
                f"Cannot reshape a tensor with {size_in} elements to shape {to_text(out)} ({size_out} elements)"
            )
        return out
    if unknown_out == 0 and unknown_in == 1 and size_out % size_in:
        raise ValueError(f"Dimension size must be evenly divisible by {size_in} but is {size_out}")
    if unknown_out == 1 and unknown_in == 0:
        if size_out == 0:
            return out
        if size_in % size_out:
            raise ValueError(f"Dimension size must be evenly divisible by {size_out} but is {size_in}")
        return tuple(size_in // size_out if d is None else d for d in out)
    return out


def target_shape(given, shape):
    """Returns the shape that a tensor of shape `given` takes, its -1 worked out.

    Raises:
      errors.InvalidArgumentError: It has another number of elements, or more than one -1.
    """
    dims = [int(d) for d in shape]
    size = math.prod(given)
    unknown = None
    product = 1
    for i, d in enumerate(dims):
        if d == -1:
            if unknown is not None:
                raise errors.InvalidArgumentError(
                    None, None, f"Only one input size may be -1, not both {unknown} and {i}"
                )
            unknown = i
        elif d < 0:
            raise errors.InvalidArgumentError(None, None, f"Size {i} must be non-negative, not {d}")
        else:
            product *= d
    if unknown is not None:
        if product == 0:
            # Among tensors without elements, the -1 follows from the dimensions other than 0, rounded down.
            dims[unknown] = math.prod(d for d in given if d) // math.prod(d for d in dims if d > 0)
            if size:
                raise _wrong_size(size, 0)
            return tuple(dims)
        if size % product:
            raise errors.InvalidArgumentError(
                None, None, f"Input to reshape is a tensor with {size} values, but the requested shape requires a "
                f"multiple of {product}"
            )  # fmt: skip
        dims[unknown] = size // product
    elif size != product:
        raise _wrong_size(size, product)
    return tuple(dims)


def _wrong_size(size, wanted):
    return errors.InvalidArgumentError(
        None, None, f"Input to reshape is a tensor with {size} values, but the requested shape has {wanted}"
    )


@Reshape.host
def reshape_host(tensor, shape):
    return tensor.reshape(target_shape(tensor.shape, shape))


@Reshape.lower(static="shape")
def reshape_lower(tensor, shape):
    return jnp.reshape(tensor, target_shape(tensor.shape, shape))


@Reshape.grad
def reshape_grad(op, dy):
    return raw.Reshape(dy, shape_of(op.inputs[0])), None


@Reshape.cases
def reshape_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], [4], gives=[1.0, 2.0, 3.0, 4.0])
    case([[1.0, 2.0], [3.0, 4.0]], [1, -1], gives=[[1.0, 2.0, 3.0, 4.0]])
    case(np.zeros([0, 3], np.float32), [-1, 3], gives=np.zeros([0, 3], np.float32))
    case(np.float32(7.0), np.zeros([0], np.int32), gives=7.0)
    case(np.zeros([0, 4, 2], np.float32), [0, -1], gives=np.zeros([0, 8], np.float32))
    case(np.zeros([0, 3], np.float32), [-1, 2, 0], gives=np.zeros([1, 2, 0], np.float32))
    case.shapes("[?,6];[2]", "[?,2]", values={"shape": [-1, 2]})
    case.shapes("[4,6];[2]", "[8,3]", values={"shape": [-1, 3]})
    case.shapes("[?,0];[2]", "[0,2]", values={"shape": [-1, 2]})
    case.shapes("[?,6];[?]", "?")
    case.fails(
        "[4,6];[2]", match="Cannot reshape a tensor with 24 elements to shape", values={"shape": [5, 5]}
    )
    case.fails("[?,5];[1]", match="evenly divisible by 5 but is 12", values={"shape": [12]})
    case.fails(([1.0, 2.0, 3.0], [2]), match="tensor with 3 values, but the requested shape has 2")


Squeeze = op("""
    Squeeze(input: T) -> (output: T)
      T: type
      squeeze_dims: list(int) >= 0 = []

    Takes out dimensions of size 1: those in `squeeze_dims`, or all.
""")


@Squeeze.shape
def squeeze_shape(input, *, squeeze_dims):
    if input is None:
        return None
    rank = len(input)
    if not squeeze_dims:
        return None if None in input else tuple(d for d in input if d != 1)
    axes = set()
    for i, axis in enumerate(squeeze_dims):
        if not -rank <= axis < rank:
            raise ValueError(f"squeeze_dims[{i}] not in [{-rank},{rank}).")
        axes.add(axis % rank)
    for axis in sorted(axes):
        if input[axis] not in (None, 1):
            raise ValueError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {input[axis]}")
    return tuple(d for i, d in enumerate(input) if i not in axes)


def _squeezed(shape, squeeze_dims):
    rank = len(shape)
    if not squeeze_dims:
        return tuple(d for d in shape if d != 1)
    for axis in squeeze_dims:
        if not -rank <= axis < rank:
            raise errors.InvalidArgumentError(
                None, None, f"Tried to squeeze dim index {axis} for tensor with {rank} dimensions."
            )
    axes = {axis % rank for axis in squeeze_dims}
    for axis in sorted(axes):
        if shape[axis] != 1:
            raise errors.InvalidArgumentError(
                None, None, f"Can not squeeze dim[{axis}], expected a dimension of 1, got {shape[axis]}"
            )
    return tuple(d for i, d in enumerate(shape) if i not in axes)


@Squeeze.host
def squeeze_host(input, *, squeeze_dims):
    return input.reshape(_squeezed(input.shape, squeeze_dims))


@Squeeze.lower
def squeeze_lower(input, *, squeeze_dims):
    return jnp.reshape(input, _squeezed(input.shape, squeeze_dims))


def _reshape_to_input(op, dy):
    return raw.Reshape(dy, shape_of(op.inputs[0]))


@Squeeze.grad
def squeeze_grad(op, dy):
    return _reshape_to_input(op, dy)


@Squeeze.cases
def squeeze_cases(case):
    case([[[1.0], [2.0]]], gives=[1.0, 2.0])
    case([[[1.0], [2.0]]], squeeze_dims=[-1], gives=[[1.0, 2.0]])
    case.shapes("[?,2,1]", "[2,1]", squeeze_dims=[0])
    case.shapes("[?,1]", "?")
    case.fails("[1,2]", match=r"Can not squeeze dim\[1\], expected a dimension of 1, got 2", squeeze_dims=[1])
    case.fails("[1,2]", match=r"squeeze_dims\[0\] not in \[-2,2\)", squeeze_dims=[2])


ExpandDims = op("""
    ExpandDims(input: T, dim: Tdim) -> (output: T)
      T: type
      Tdim: {int32, int64} = int32

    Puts in a dimension of size 1 before `dim`; a negative one counts from the end.
""")


@ExpandDims.shape
def expand_dims_shape(input, dim, *, ctx):
    axis = ctx.constant("dim")
    if axis is None or input is None:
        return None
    if axis.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value")
    return _expanded(input, int(axis.reshape(())), ValueError)


def _expanded(shape, axis, error):
    rank = len(shape)
    if not -1 - rank <= axis <= rank:
        raise error(f"dim {axis} not in the interval [{-rank - 1}, {rank}].")
    if axis < 0:
        axis += rank + 1
    return (*shape[:axis], 1, *shape[axis:])


def _expand(input, dim, xp):
    if dim.size != 1:
        raise errors.InvalidArgumentError(None, None, "'dim' must be a tensor with a single value")
    rank, axis = len(input.shape), int(dim.reshape(()))
    if not -1 - rank <= axis <= rank:
        raise errors.InvalidArgumentError(
            None, None, f"Tried to expand dim index {axis} for tensor with {rank} dimensions."
        )
    return xp.reshape(input, _expanded(input.shape, axis, ValueError))


@ExpandDims.host
def expand_dims_host(input, dim):
    return _expand(input, dim, np)


@ExpandDims.lower(static="dim")
def expand_dims_lower(input, dim):
    return _expand(input, np.asarray(dim), jnp)


@ExpandDims.grad
def expand_dims_grad(op, dy):
    return _reshape_to_input(op, dy), None


@ExpandDims.cases
def expand_dims_cases(case):
    case([1.0, 2.0], np.int32(0), gives=[[1.0, 2.0]])
    case([1.0, 2.0], np.int32(-1), gives=[[1.0], [2.0]])
    case(3.0, np.int64(0), gives=[3.0])
    case.shapes("[2,?];[]", "[2,?,1]", values={"dim": -1})
    case.shapes("[2,3];[]", "?")
    case.fails("[2,3];[]", match=r"dim 3 not in the interval \[-3, 2\]", values={"dim": 3})


@export("reshape", "manip.reshape")
def reshape(tensor, shape, name=None):
    """Returns the elements of a tensor in another shape.

    Args:
      tensor: The tensor.
      shape: The new shape; one -1 in it is worked out from the others.
      name: The node's name.

    Raises:
      ValueError: The shapes have different numbers of elements.
    """
    return raw.Reshape(tensor, shape, name=name)


@export("squeeze")
def squeeze(input, axis=None, name=None, squeeze_dims=None):
    """Takes dimensions of size 1 out of a tensor's shape.

    Args:
      input: The tensor.
      axis: The dimension or dimensions to take out; by default all of size 1.
      name: The node's name.
      squeeze_dims: The old name of `axis`.

    Raises:
      ValueError: A dimension has another size, or both `axis` and `squeeze_dims` are given.
    """
    if squeeze_dims is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'squeeze_dims' and 'axis'")
        axis = squeeze_dims
    if axis is not None and np.isscalar(axis):
        axis = [axis]
    return raw.Squeeze(input, squeeze_dims=axis, name=name)


@export("expand_dims")
def expand_dims(input, axis=None, name=None, dim=None):
    """Puts a dimension of size 1 into a tensor's shape.

    Args:
      input: The tensor.
      axis: Where: before this dimension, counted from the end if negative.
      name: The node's name.
      dim: The old name of `axis`.

    Raises:
      ValueError: No axis is given, or both `axis` and `dim`.
    """
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'dim' and 'axis'")
        axis = dim
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return raw.ExpandDims(input, axis, name=name)
