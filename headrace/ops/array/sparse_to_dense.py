"""SparseToDense, and sequence_mask."""

from __future__ import annotations

import numpy as np

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph import Tensor, name_scope
from headrace.lazy import jnp
from headrace.opdef import constant_node, convert_to_tensor, export, op, raw
from headrace.opdef.nodes import rank_of
from headrace.ops.array.failing import invalid, shown

SparseToDense = op("""
    SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T) -> (dense: T)
      validate_indices: bool = true
      T: type
      Tindices: {int32, int64}

    A tensor of one value with others at given coordinates.
""")


@SparseToDense.shape
def sparse_to_dense_shape(sparse_indices, output_shape, sparse_values, default_value, *, ctx):
    out = ctx.as_shape("output_shape")
    if output_shape is not None and len(output_shape) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(output_shape)}")
    return out


def _rows(sparse_indices, output_shape, sparse_values):
    """Returns the coordinates as rows, checked against the output's rank."""
    if output_shape.ndim != 1:
        invalid(f"output_shape should be a vector, got shape {shown(output_shape.shape)}")
    if sparse_indices.ndim > 2:
        invalid(
            f"sparse_indices should be a scalar, vector, or matrix, got shape {shown(sparse_indices.shape)}"
        )
    rows = sparse_indices.reshape((-1, 1) if sparse_indices.ndim < 2 else sparse_indices.shape)
    rank = len(output_shape)
    if (sparse_indices.ndim == 2 and rows.shape[1] != rank) or (sparse_indices.ndim < 2 and rank != 1):
        invalid(f"output_shape has incorrect number of elements: {rank} should be: {rows.shape[1]}")
    if sparse_values.ndim and sparse_values.shape != (rows.shape[0],):
        invalid(
            f"sparse_values has incorrect shape {shown(sparse_values.shape)}, should be [] or [{rows.shape[0]}]"
        )
    for d in output_shape.tolist():
        if d < 0:
            invalid(f"Dimension {d} must be >= 0")
    return rows


@SparseToDense.host
def sparse_to_dense_host(sparse_indices, output_shape, sparse_values, default_value, *, validate_indices):
    rows = _rows(sparse_indices, output_shape, sparse_values)
    dims = tuple(output_shape.tolist())
    listed = rows.tolist()
    for i, row in enumerate(listed):
        spot = ",".join(map(str, row))
        if any(not 0 <= r < d for r, d in zip(row, dims, strict=True)):
            limit = ",".join(map(str, dims))
            if not validate_indices:
                invalid(f"Indices are not valid (out of bounds).  Shape: [{limit}]")
            invalid(f"indices[{i}] = [{spot}] is out of bounds: need 0 <= index < [{limit}]")
        if validate_indices and i and row <= listed[i - 1]:
            if row == listed[i - 1]:
                invalid(f"indices[{i}] = [{spot}] is repeated")
            invalid(f"indices[{i}] = [{spot}] is out of order. Many sparse ops require sorted indices.")
    if default_value.ndim:
        invalid("default_value should be a scalar.")
    dense = np.full(dims, default_value[()], sparse_values.dtype)
    for i, row in enumerate(listed):
        dense[tuple(row)] = sparse_values[i] if sparse_values.ndim else sparse_values[()]
    return dense


@SparseToDense.lower(static="output_shape")
def sparse_to_dense_lower(
    sparse_indices, output_shape, sparse_values, default_value, *, validate_indices, ctx
):
    output_shape = np.asarray(output_shape)
    dims = tuple(output_shape.reshape(-1).tolist())
    rows = _rows(jnp.asarray(sparse_indices), output_shape, sparse_values)
    if np.ndim(default_value):
        invalid("default_value should be a scalar.")
    ctx.check(jnp.all((rows >= 0) & (rows < np.array(dims, rows.dtype))), "an index is out of bounds")
    if validate_indices and rows.shape[0] > 1:
        size = np.array(dims, np.int64)
        strides = np.append(np.cumprod(size[:0:-1])[::-1], 1)
        flat = (rows.astype(jnp.int64) * strides).sum(1)
        ctx.check(jnp.all(flat[1:] > flat[:-1]), "indices are repeated or out of order")
    dense = jnp.full(dims, default_value, sparse_values.dtype)
    return dense.at[tuple(rows[:, i] for i in range(rows.shape[1]))].set(sparse_values)


@SparseToDense.grad
def sparse_to_dense_grad(op, dy):
    values = raw.GatherNd(dy, op.inputs[0])
    rest = raw.Sum(dy, _all_axes(dy)) - raw.Sum(values, _all_axes(values))
    zeros_like = NAMES["zeros_like"]
    return zeros_like(op.inputs[0]), zeros_like(op.inputs[1]), values, rest


def _all_axes(x):
    if isinstance(x, Tensor) and x._dims is not None:
        return constant_node(np.arange(len(x._dims), dtype=np.int32), name="Const")
    rank = rank_of(x)
    with name_scope("range") as scope:
        start = constant_node(np.int32(0), name="start")
        return raw.Range(start, rank, constant_node(np.int32(1), name="delta"), name=scope)


@SparseToDense.cases
def sparse_to_dense_cases(case):
    case([[0, 1], [1, 0]], [2, 3], [5.0, 6.0], np.float32(-1.0), gives=[[-1.0, 5.0, -1.0], [6.0, -1.0, -1.0]])
    case(np.int64(1), np.array([3]), np.float32(5.0), np.float32(0.0), gives=[0.0, 5.0, 0.0], grad=False)
    case([2, 0], [3], [5.0, 6.0], np.float32(0.0), validate_indices=False, gives=[6.0, 0.0, 5.0], grad=False)
    case.shapes("[2];[1];[2];[]", "[3]", values={"output_shape": [3]})
    case.fails(([0, 5], [3], [1.0, 2.0], np.float32(0.0)), match=r"indices\[1\] = \[5\] is out of bounds")
    case.fails(([1, 0], [3], [1.0, 2.0], np.float32(0.0)), match=r"indices\[1\] = \[0\] is out of order")
    case.fails(([1, 1], [3], [1.0, 2.0], np.float32(0.0)), match=r"indices\[1\] = \[1\] is repeated")


@export("sparse_to_dense")
def sparse_to_dense(
    sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None
):
    """Returns a tensor of one value with others at given coordinates.

    Args:
      sparse_indices: The coordinates: a matrix of rows, a vector of places, or one place.
      output_shape: The result's shape.
      sparse_values: The values there, or one value for all.
      default_value: The value elsewhere.
      validate_indices: Whether the coordinates must be sorted and differ.
      name: The node's name.
    """
    return raw.SparseToDense(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


@export("sequence_mask")
def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
    """Returns for each length a vector that is true at as many first places.

    Args:
      lengths: The lengths.
      maxlen: The vectors' length, by default the greatest of `lengths`.
      dtype: The result's type.
      name: The scope's name.

    Raises:
      ValueError: `maxlen` is no scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            axes = np.arange(len(lengths._dims), dtype=np.int32) if lengths._dims is not None else None
            axes = (
                constant_node(axes) if axes is not None else raw.Range(0, rank_of(lengths), 1, name="range")
            )
            longest = raw.Max(lengths, axes)
            maxlen = raw.Maximum(constant_node(0, longest.dtype.base_dtype), longest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen._dims is not None and maxlen._dims != ():
            raise ValueError("maxlen must be scalar for sequence_mask")
        kind = maxlen.dtype.base_dtype
        row = raw.Range(constant_node(0, kind), maxlen, constant_node(1, kind))
        column = raw.Cast(raw.ExpandDims(lengths, -1), DstT=kind)
        mask = raw.Less(row, column)
        dtype = dtypes.as_dtype(dtype).base_dtype
        return mask if mask.dtype.base_dtype is dtype else raw.Cast(mask, DstT=dtype)
