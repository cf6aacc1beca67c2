"""Sums of many tensors: AddN and AccumulateNV2."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.tensor import Tensor
from headrace.opdef import convert_n_to_tensor, op, raw
from headrace.ops.math.quiet import quiet
from headrace.tensor_shape import TensorShape, to_tuple

AddN = op("""
    AddN(inputs: N * T) -> (sum: T)
      N: int >= 1
      T: {numbertype, variant}
      commutative, aggregate

    The sum of tensors of one shape.
""")  # fmt: skip


@AddN.shape
def add_n_shape(inputs):
    merged = inputs[-1]
    for i in range(len(inputs) - 2, -1, -1):
        try:
            merged = shapes.merge(inputs[i], merged)
        except ValueError as e:
            raise ValueError(f"{e}\n\tFrom merging shape {i} with other shapes.") from None
    return merged


def _total(op_name: str, inputs: Any) -> Any:
    first = inputs[0]
    for i, x in enumerate(inputs):
        if x.shape != first.shape:
            a, b = (f"[{','.join(map(str, v.shape))}]" for v in (first, x))
            raise InvalidArgumentError(
                None,
                None,
                f"Inputs to operation {op_name} of type AddN must have the same size and shape.  Input 0: {a} !="
                f" input {i}: {b}",
            )
    if len(inputs) == 1:
        return first
    out = np.add(first, inputs[1])
    if isinstance(out, np.ndarray):
        for x in inputs[2:]:
            out += x
    else:
        for x in inputs[2:]:
            out = out + x
    return out


@AddN.host
@quiet
def add_n_host(inputs):
    if getattr(inputs[0], "dtype", None) is None:  # variants know how to add themselves
        out = inputs[0]
        for x in inputs[1:]:
            out = out.add(x)
        return out
    return _total("AddN", inputs)


@AddN.lower(lists=True)
def add_n_lower(inputs):
    out = inputs[0]
    for x in inputs[1:]:
        out = out + x if hasattr(out, "dtype") else out.add(x)
    return out


@AddN.grad
def add_n_grad(op, dy):
    return [dy] * len(op.inputs)


@AddN.cases
def add_n_cases(case):
    case(([1.0, 2.0], [10.0, 20.0], [100.0, 200.0]), gives=[111.0, 222.0])
    case(([1.0, 2.0],), gives=[1.0, 2.0])
    case((np.int32([2**31 - 1]), np.int32([1])), gives=np.int32([-(2**31)]))
    case.shapes("[2,?];[?,3]", "[2,3]", N=2)
    case.fails("[2];[3]", match="must be equal, but are 2 and 3", N=2)


AccumulateNV2 = op("""
    AccumulateNV2(inputs: N * T) -> (sum: T)
      N: int >= 1
      T: numbertype
      shape: shape
      commutative, aggregate

    The sum of tensors of one shape, added up as they come.
""")  # fmt: skip


@AccumulateNV2.shape
def accumulate_n_shape(inputs, *, shape):
    return shape


@AccumulateNV2.host
@quiet
def accumulate_n_host(inputs, *, shape):
    return _total("AccumulateNV2", inputs)


@AccumulateNV2.lower
def accumulate_n_lower(inputs, *, shape):
    if any(x.shape != inputs[0].shape for x in inputs):
        raise ValueError("Inputs must have the same size and shape.")
    return add_n_lower(inputs)


@AccumulateNV2.grad
def accumulate_n_grad(op, dy):
    return [dy] * len(op.inputs)


@AccumulateNV2.cases
def accumulate_n_cases(case):
    case(([1.0, 2.0], [10.0, 20.0]), gives=[11.0, 22.0], shape=[2])


@export("add_n", "math.add_n")
def add_n(inputs, name=None):
    """Returns the sum of tensors of one shape.

    Args:
      inputs: The tensors (or IndexedSlices), a list.
      name: The node's name.

    Raises:
      ValueError: The list is empty.
    """
    if isinstance(inputs, Tensor):
        iter(inputs)  # says what is wrong
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(
            "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape"
        )
    inputs = list(inputs)
    if not all(isinstance(x, (Tensor, IndexedSlices)) for x in inputs):
        inputs = [x if isinstance(x, IndexedSlices) else convert_n_to_tensor([x])[0] for x in inputs]
    if len(inputs) == 1:
        x = inputs[0]
        if isinstance(x, IndexedSlices):
            from headrace.opdef import convert_to_tensor

            x = convert_to_tensor(x)
        return raw.Identity(x, name=name) if name else x
    return raw.AddN(inputs, name=name)


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """Returns the sum of tensors of one shape; its shape is known even where theirs are not.

    Args:
      inputs: The tensors, a list.
      shape: Their shape; by default what they know of it together.
      tensor_dtype: Their type, to be checked.
      name: The node's name.

    Raises:
      ValueError: The list is empty, or shapes or types differ.
      TypeError: The tensors have another type than `tensor_dtype`.
    """
    wrong = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(wrong)
    inputs = convert_n_to_tensor(list(inputs))
    dtype = inputs[0].dtype.base_dtype
    if any(x.dtype.base_dtype is not dtype for x in inputs):
        raise ValueError(wrong)
    merged = TensorShape.of(to_tuple(shape))
    for x in inputs:
        merged = merged.merge_with(x.shape)
    if tensor_dtype is not None and tensor_dtype != dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {dtype}")
    if len(inputs) == 1 and name is None:
        return inputs[0]
    if len(inputs) == 1:
        return raw.Identity(inputs[0], name=name)
    return raw.AccumulateNV2(inputs, shape=to_tuple(merged), name=name)
