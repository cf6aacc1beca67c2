"""Public functions that move, cut, join or pick the elements of sparse tensors."""

from __future__ import annotations

import math

import numpy as np

from headrace.dtypes import as_dtype, float32
from headrace.export import NAMES
from headrace.graph import Tensor, name_scope
from headrace.graph.sparse_tensor import SparseTensor, as_sparse
from headrace.opdef import convert_to_tensor, export, raw
from headrace.opdef.plain_values import plain_value
from headrace.ops.sparse.names import renamed


def _same_shape(sp_input):
    """Returns the dense shape for a result of the same shape: what is known of it as a constant."""
    shape = sp_input.shape
    return shape.as_list() if shape.is_fully_defined() else raw.Identity(sp_input.dense_shape)


@export("sparse_reorder", "sparse.reorder")
def sparse_reorder(sp_input, name=None):
    """Returns a sparse tensor with its elements in row-major order.

    Args:
      sp_input: The SparseTensor.
      name: The node's name.
    """
    sp_input = as_sparse(sp_input)
    indices, values = raw.SparseReorder(sp_input.indices, sp_input.values, sp_input.dense_shape, name=name)
    return SparseTensor(indices, values, _same_shape(sp_input))


@export("sparse_reshape", "sparse.reshape")
def sparse_reshape(sp_input, shape, name=None):
    """Returns a sparse tensor in another shape.

    Args:
      sp_input: The SparseTensor.
      shape: The new shape; one dimension may be -1.
      name: The name of the node.
    """
    sp_input = as_sparse(sp_input)
    shape = NAMES["cast"](shape, "int64")
    with name_scope(name, "SparseReshape", [sp_input]) as scope:
        indices, dense_shape = raw.SparseReshape(sp_input.indices, sp_input.dense_shape, shape, name=scope)
        wanted = plain_value(shape)
        old = sp_input.shape
        if wanted is not None and old.is_fully_defined():
            dims = _whole_shape(wanted, old.num_elements())
            dense_shape = NAMES["constant"](dims, "int64")
        return SparseTensor(indices, raw.Identity(sp_input.values), dense_shape)


def _whole_shape(wanted, total):
    """Returns a shape of `total` elements with the dimension that is left open."""
    dims = [None if d < 0 else d for d in wanted.tolist()]
    if dims.count(None) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {wanted}")
    known = math.prod(d for d in dims if d is not None)
    whole = [(total // known if known else 0) if d is None else d for d in dims]
    if math.prod(whole) != total:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {dims} ({math.prod(whole)} elements)."
        )
    return whole


@export("sparse_slice", "sparse.slice")
def sparse_slice(sp_input, start, size, name=None):
    """Returns the part of a sparse tensor inside a box.

    Args:
      sp_input: The SparseTensor.
      start: The box's first corner.
      size: The box's lengths.
      name: The node's name.
    """
    sp_input = as_sparse(sp_input)
    start, size = convert_to_tensor(start, "int64"), convert_to_tensor(size, "int64")
    with name_scope(name, "SparseSlice", [sp_input]) as scope:
        return SparseTensor(
            *raw.SparseSlice(sp_input.indices, sp_input.values, sp_input.dense_shape, start, size, name=scope)
        )


@export("sparse_concat", "sparse.concat")
def sparse_concat(
    axis, sp_inputs, name=None, expand_nonconcat_dim=False, concat_dim=None, expand_nonconcat_dims=None
):
    """Returns sparse tensors joined along an axis.

    Args:
      axis: The axis.
      sp_inputs: A list of SparseTensors.
      name: The node's name.
      expand_nonconcat_dim: Whether the other dimensions may differ; the result has the greatest.
      concat_dim: The old name of `axis`.
      expand_nonconcat_dims: Another name of `expand_nonconcat_dim`.
    """
    if expand_nonconcat_dims is not None and expand_nonconcat_dim is not None:
        # As the default is False, TensorFlow refuses the other name at all.
        raise ValueError("Cannot specify both 'expand_nonconcat_dim' and 'expand_nonconcat_dims'")
    axis = renamed(axis, "axis", concat_dim, "concat_dim")
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    sp_inputs = [as_sparse(s) for s in sp_inputs]
    if len(sp_inputs) == 1:
        return sp_inputs[0]
    dims = [s.dense_shape for s in sp_inputs]
    if expand:
        greatest = NAMES["reduce_max"](NAMES["concat"]([NAMES["reshape"](d, [1, -1]) for d in dims], 0), 0)
        dims = [
            NAMES["concat"]([greatest[:axis], d[-1:] if axis == -1 else d[axis : axis + 1],
                             [] if axis == -1 else greatest[axis + 1 :]], 0)
            for d in dims
        ]  # fmt: skip
    indices, values, dense_shape = raw.SparseConcat(
        [s.indices for s in sp_inputs], [s.values for s in sp_inputs], dims, concat_dim=axis, name=name
    )
    known = [s.shape for s in sp_inputs]
    if not expand and all(k.is_fully_defined() for k in known):
        whole = np.array(known[0].as_list(), np.int64)
        whole[axis] = sum(k.as_list()[axis] for k in known[1:]) + whole[axis]
        dense_shape = NAMES["constant"](whole)
    return SparseTensor(indices, values, dense_shape)


class KeywordRequired:
    """The default of an argument that is there only so that the others have to be named."""

    def __repr__(self):
        return "KeywordRequired()"


_BY_NAME_ONLY = KeywordRequired()


@export("sparse_split", "sparse.split")
def sparse_split(
    keyword_required=_BY_NAME_ONLY, sp_input=None, num_split=None, axis=None, name=None, split_dim=None
):
    """Returns a sparse tensor cut into pieces along an axis; call it with named arguments.

    Args:
      keyword_required: Nothing.
      sp_input: The SparseTensor.
      num_split: How many pieces.
      axis: The axis.
      name: The node's name.
      split_dim: The old name of `axis`.

    Raises:
      ValueError: An argument is missing, or is not named.
    """
    if not isinstance(keyword_required, KeywordRequired):
        raise ValueError("Keyword arguments are required for this function.")
    for value, what in ((sp_input, "sp_input"), (num_split, "num_split")):
        if value is None:
            raise ValueError(what + " is required")
    # The old name is refused even alone: TensorFlow looks for the new one first.
    if axis is None:
        raise ValueError("axis is required")
    axis = renamed(axis, "axis", split_dim, "split_dim")
    sp_input = as_sparse(sp_input)
    parts = raw.SparseSplit(
        axis, sp_input.indices, sp_input.values, sp_input.dense_shape, num_split=num_split, name=name
    )
    return [SparseTensor(*part) for part in zip(*parts, strict=True)]


@export("sparse_retain", "sparse.retain")
def sparse_retain(sp_input, to_retain):
    """Returns the elements of a sparse tensor that are marked.

    Args:
      sp_input: The SparseTensor.
      to_retain: A boolean for each element.
    """
    sp_input = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    sp_input.values.shape.with_rank(1).dims[0].merge_with(to_retain.shape.with_rank(1).dims[0])
    kept = NAMES["reshape"](NAMES["where"](to_retain), [-1])
    indices = NAMES["gather"](sp_input.indices, kept)
    values = NAMES["gather"](sp_input.values, kept)
    return SparseTensor(indices, values, raw.Identity(sp_input.dense_shape))


@export("sparse_fill_empty_rows", "sparse.fill_empty_rows")
def sparse_fill_empty_rows(sp_input, default_value, name=None):
    """Returns a sparse matrix with a first element in each row that had none.

    Args:
      sp_input: The SparseTensor.
      default_value: That element.
      name: The scope's name.

    Returns:
      The SparseTensor, and a boolean for each row that says whether it was empty.
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default_value = convert_to_tensor(default_value, dtype=sp_input.values.dtype)
        indices, values, empty, _ = raw.SparseFillEmptyRows(
            sp_input.indices, sp_input.values, sp_input.dense_shape, default_value
        )
        return SparseTensor(indices, values, sp_input.dense_shape), empty


@export("sparse_transpose", "sparse.transpose")
def sparse_transpose(sp_input, perm=None, name=None):
    """Returns a sparse tensor with its axes in another order.

    Args:
      sp_input: The SparseTensor.
      perm: The order; the reverse by default.
      name: The scope's name.
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseTranspose", [sp_input]):
        by_default = perm is None
        if by_default:
            rank = NAMES["rank"](sp_input)
            last = raw.Sub(rank, 1, name="sub")
            perm = raw.Sub(last, raw.Range(0, rank, 1, name="range"), name="sub")
        transpose, gather = NAMES["transpose"], NAMES["gather"]
        indices = transpose(gather(transpose(sp_input.indices), perm))
        old = sp_input.shape
        known = None if by_default else plain_value(convert_to_tensor(perm))
        if old.is_fully_defined() and known is not None:
            dims = old.as_list()
            dense_shape = [dims[i] for i in known.tolist()]
        else:
            dense_shape = gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, dense_shape))


@export("sparse_mask", "sparse.mask")
def sparse_mask(a, mask_indices, name=None):
    """Returns IndexedSlices without the rows of given numbers.

    Args:
      a: The IndexedSlices.
      mask_indices: The numbers.
      name: The name of the rows' node.
    """
    from headrace.graph import IndexedSlices

    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        kept, places = raw.ListDiff(a.indices, mask_indices)
        return IndexedSlices(NAMES["gather"](a.values, places, name=scope), kept, a.dense_shape)


@export("sparse.eye")
def sparse_eye(num_rows, num_columns=None, dtype=float32, name=None):
    """Returns a sparse matrix with ones on its diagonal.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns, by default that of rows.
      dtype: The values' type.
      name: The scope's name.
    """
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = _as_int64(num_rows, "num_rows")
        columns = rows if num_columns is None else _as_int64(num_columns, "num_columns")
        n = raw.Minimum(rows, columns)
        places = NAMES["range"](n, dtype="int64")
        indices = NAMES["stack"]([places, places], axis=1)
        return SparseTensor(indices, NAMES["ones"](n, dtype=as_dtype(dtype)), [rows, columns])


def _as_int64(size, name):
    if isinstance(size, Tensor):
        return NAMES["cast"](size, "int64")
    return convert_to_tensor(size, "int64", name=name)
