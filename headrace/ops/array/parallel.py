"""ParallelConcat, and the ops that write into rows of a tensor of their own."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.graph import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_n_to_tensor, convert_to_tensor, export, op, raw
from headrace.ops.array.failing import invalid, shown
from headrace.shapes import unchanged

ParallelConcat = op("""
    ParallelConcat(values: N * T) -> (output: T)
      N: int >= 1
      T: type
      shape: shape

    Tensors of one row each, one after the other, without waiting for all of them.
""")


@ParallelConcat.shape
def parallel_concat_shape(values, *, shape):
    if not shapes.is_full(shape):
        raise ValueError("shape attr must be fully defined.")
    if not all(shapes.is_full(v) for v in values):
        raise ValueError("All input shapes must be fully defined.")
    if not all(v and v[0] == 1 for v in values):
        raise ValueError("Size of first dimension must be 1.")
    if not shape:
        raise ValueError("Shapes must be equal rank, but are 1 and 0")
    merged = (1, *shape[1:])
    for i, value in enumerate(values):
        try:
            merged = shapes.merge(value, merged)
        except ValueError as e:
            raise ValueError(f"{e}\n\tFrom merging shape {i} with other shapes.") from None
    return shape


def _rows_of(values, shape, xp):
    """Returns the rows, with zeros after them where the shape has more."""
    rows = xp.concatenate(values, 0)[: shape[0]]
    lacking = xp.zeros((shape[0] - rows.shape[0], *rows.shape[1:]), rows.dtype)
    return xp.concatenate([rows, lacking], 0)


@ParallelConcat.host
def parallel_concat_host(values, *, shape):
    return _rows_of(values, shape, np)


@ParallelConcat.lower
def parallel_concat_lower(values, *, shape):
    return _rows_of(values, shape, jnp)


@ParallelConcat.cases
def parallel_concat_cases(case):
    case.needs_known("All input shapes must be fully defined")
    case(([[1.0]], [[2.0]]), shape=[2, 1], gives=[[1.0], [2.0]])
    case(([[1.0]], [[2.0]]), shape=[3, 1], gives=[[1.0], [2.0], [0.0]])


Empty = op("""
    Empty(shape: int32) -> (output: dtype)
      dtype: type
      init: bool = false
      stateful

    A tensor of a shape, of zeros here whether or not `init` asks for them.
""")


@Empty.shape
def empty_shape(shape, *, ctx):
    return ctx.as_shape("shape")


@Empty.host
def empty_host(shape, *, dtype):
    if dtype.storage.kind == "O":
        return np.full(tuple(shape), b"", object)
    return np.zeros(tuple(int(d) for d in shape), dtype.storage)


@Empty.lower(static="shape")
def empty_lower(shape, *, dtype):
    return jnp.zeros(tuple(int(d) for d in shape), dtype.storage)


@Empty.cases
def empty_cases(case):
    case([2], dtype="float32", init=True, gives=[0.0, 0.0])
    case.shapes("[2]", "[2,3]", values={"shape": [2, 3]}, dtype="float32")


DeepCopy = op("""
    DeepCopy(x: T) -> (y: T)
      T: type
      stateful

    A copy of a tensor.
""", shape=unchanged)  # fmt: skip


@DeepCopy.host
def deep_copy_host(x):
    return x.copy()


@DeepCopy.lower
def deep_copy_lower(x):
    return x


@DeepCopy.cases
def deep_copy_cases(case):
    case([1.0], gives=[1.0])


def _rows(x, i, v):
    """Returns the row numbers."""
    if i.ndim != 1:
        invalid(f"i must be a vector. {shown(i.shape)}")
    if not x.ndim or x.ndim != v.ndim:
        invalid(f"x and v shape doesn't match (ranks differ): {shown(x.shape)} vs. {shown(v.shape)}")
    for at, (rows, have) in enumerate(zip(x.shape, v.shape, strict=True)):
        if at and rows != have:
            invalid(f"x and v shape doesn't match at index {at} : {shown(x.shape)} vs. {shown(v.shape)}")
    if i.shape[0] != v.shape[0]:
        invalid(f"i and x shape doesn't match at index 0: {shown(i.shape)} vs. {shown(v.shape)}")
    if i.shape[0] and not x.shape[0]:
        invalid("x has no rows")
    return i % max(x.shape[0], 1)


def _inplace(name, doc, write, write_lower):
    made = op(f"""
        {name}(x: T, i: int32, v: T) -> (y: T)
          T: type

        {doc}
    """, shape=unchanged)  # fmt: skip

    @made.host
    def host(x, i, v):
        y = x.copy()
        write(y, _rows(x, i, v), v)
        return y

    @made.lower
    def lower(x, i, v):
        return write_lower(jnp.asarray(x).at[_rows(x, jnp.asarray(i), v)], v)

    return made


def _set(y, rows, v):
    y[rows] = v


InplaceUpdate = _inplace("InplaceUpdate", "A tensor with rows replaced.", _set, lambda at, v: at.set(v))
InplaceAdd = _inplace("InplaceAdd", "A tensor with rows added to.", np.add.at, lambda at, v: at.add(v))
InplaceSub = _inplace(
    "InplaceSub", "A tensor with rows subtracted from.", np.subtract.at, lambda at, v: at.add(-v)
)


@InplaceUpdate.cases
def inplace_update_cases(case):
    case([[1.0], [2.0]], [1], [[5.0]], gives=[[1.0], [5.0]])


@InplaceAdd.cases
def inplace_add_cases(case):
    case([[1.0], [2.0]], [1], [[5.0]], gives=[[1.0], [7.0]])


@InplaceSub.cases
def inplace_sub_cases(case):
    case([[1.0], [2.0]], [-1], [[5.0]], gives=[[1.0], [-3.0]])
    case.limit("T", dtypes=["bool", "string"], why="unsupported in TensorFlow too")


@export("parallel_stack")
def parallel_stack(values, name="parallel_stack"):
    """Returns tensors of one static shape side by side along a new first dimension.

    Args:
      values: The tensors.
      name: The scope's name.
    """
    with name_scope(name):
        first = convert_to_tensor(values[0])
        shape = first._dims
        whole = None if shape is None else (len(values), *shape)
        rows = [raw.ExpandDims(v, 0) for v in convert_n_to_tensor(values)]
        return raw.ParallelConcat(rows, shape=whole)
