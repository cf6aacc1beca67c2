"""Shape, Size and Rank: what is known about a tensor without looking at its elements."""

from __future__ import annotations

import math

import numpy as np

from headrace import dtypes
from headrace.opdef import export, op, raw
from headrace.opdef.nodes import rank_of, shape_of, size_of
from headrace.shapes import num_elements, scalar

_INT_OUT = """
      T: type
      out_type: {int32, int64} = int32
"""

Shape = op(f"""
    Shape(input: T) -> (output: out_type){_INT_OUT}
    The shape of a tensor as a vector.
""", grad=None)  # fmt: skip


@Shape.shape
def shape_shape(input):
    return (None if input is None else len(input),)


@Shape.host
@Shape.lower
def shape_compute(input, *, out_type):
    return np.array(input.shape, out_type.storage)


@Shape.as_shape
def shape_as_shape(op):
    return op.inputs[0]._dims


@Shape.cases
def shape_cases(case):
    case([[1.0, 2.0]], gives=np.array([1, 2], np.int32))
    case(1.0, out_type="int64", gives=np.zeros([0], np.int64))
    case.shapes("[2,?]", "[2]")
    case.shapes("?", "[?]")


ShapeN = op("""
    ShapeN(input: N * T) -> (output: N * out_type)
      N: int >= 1
      T: type
      out_type: {int32, int64} = int32

    The shapes of several tensors.
""", grad=None)  # fmt: skip


@ShapeN.shape
def shape_n_shape(input):
    return [shape_shape(x) for x in input]


@ShapeN.as_shape
def shape_n_as_shape(op, index):
    return op.inputs[index]._dims


@ShapeN.host
@ShapeN.lower
def shape_n_compute(input, *, out_type):
    return tuple(np.array(x.shape, out_type.storage) for x in input)


@ShapeN.cases
def shape_n_cases(case):
    case(([1.0, 2.0], [[3.0]]), gives=(np.array([2], np.int32), np.array([1, 1], np.int32)))
    case.shapes("[2,?];?", "[2];[?]")


Size = op(f"""
    Size(input: T) -> (output: out_type){_INT_OUT}
    The number of elements of a tensor.
""", shape=scalar, grad=None)  # fmt: skip


@Size.host
@Size.lower
def size_compute(input, *, out_type):
    return np.array(np.int64(math.prod(input.shape)), out_type.storage)


@Size.as_shape
def size_as_shape(op):
    n = num_elements(op.inputs[0]._dims)
    return None if n is None else (n,)


@Size.cases
def size_cases(case):
    case([[1.0, 2.0]], gives=np.int32(2))
    case(np.zeros([0, 3], np.float32), out_type="int64", gives=np.int64(0))
    case.shapes("?", "[]")


Rank = op("""
    Rank(input: T) -> (output: int32)
      T: type

    The number of dimensions of a tensor.
""", shape=scalar, grad=None)  # fmt: skip


@Rank.host
@Rank.lower
def rank_compute(input):
    return np.array(len(input.shape), np.int32)


@Rank.as_shape
def rank_as_shape(op):
    dims = op.inputs[0]._dims
    return None if dims is None else (len(dims),)


@Rank.cases
def rank_cases(case):
    case([[1.0, 2.0]], gives=np.int32(2))
    case.shapes("?", "[]")


@export("shape")
def shape(input, name=None, out_type=dtypes.int32):
    """Returns the shape of a tensor as a vector.

    Args:
      input: A Tensor or SparseTensor.
      name: The node's name.
      out_type: The vector's type, int32 or int64.
    """
    return shape_of(input, name, out_type=out_type)


@export("shape_n")
def shape_n(input, out_type=dtypes.int32, name=None):
    """Returns the shapes of several tensors of one type.

    Args:
      input: The tensors.
      out_type: The vectors' type, int32 or int64.
      name: The node's name.
    """
    return raw.ShapeN(input, out_type=out_type, name=name)


@export("size")
def size(input, name=None, out_type=dtypes.int32):
    """Returns the number of elements of a tensor.

    Args:
      input: A Tensor or SparseTensor.
      name: The node's name.
      out_type: The result's type, int32 or int64.
    """
    return size_of(input, name, out_type=out_type)


@export("rank")
def rank(input, name=None):
    """Returns the number of dimensions of a tensor.

    Args:
      input: A Tensor or SparseTensor.
      name: The node's name.
    """
    return rank_of(input, name)
