"""Sparse tensors made of sparse tensors: reordered, reshaped, cut, joined, filled up."""

from __future__ import annotations

import math

import numpy as np

from headrace import shapes
from headrace.dtypes import as_dtype, float32
from headrace.errors import InternalError
from headrace.export import NAMES
from headrace.graph import Tensor, name_scope
from headrace.graph.sparse_tensor import SparseTensor, as_sparse
from headrace.opdef import constant_as_shape, convert_to_tensor, export, op, raw
from headrace.opdef.plain_values import plain_value
from headrace.opdef.strings import invalid
from headrace.ops.sparse.checks import check_counts, check_gradient, check_parts, check_sizes, shown
from headrace.ops.sparse.names import renamed
from headrace.shapes import merge, merge_dim, with_rank

SparseReorder = op("""
    SparseReorder(input_indices: int64, input_values: T, input_shape: int64)
        -> (output_indices: int64, output_values: T)
      T: type

    The elements in row-major order.
""")


@SparseReorder.shape
def sparse_reorder_shape(input_indices, input_values, input_shape):
    return [shapes.with_rank(input_indices, 2), shapes.with_rank(input_values, 1)]


def order_of(indices):
    """Returns the order that sorts coordinates row-major; equal ones stay as they are."""
    return np.lexsort(indices.T[::-1]) if indices.shape[1] else np.arange(len(indices))


@SparseReorder.host
def sparse_reorder_host(input_indices, input_values, input_shape):
    check_parts(input_indices, input_values, input_shape)
    check_counts(input_indices, input_values, input_shape)
    order = order_of(input_indices)
    return input_indices[order], input_values[order]


@SparseReorder.grad
def sparse_reorder_grad(op, _, dy):
    indices, _, dense_shape = op.inputs
    n = NAMES["shape"](indices)[0]
    places = SparseTensor(indices, NAMES["range"](n), dense_shape)
    order = raw.InvertPermutation(sparse_reorder(places).values)
    return None, NAMES["gather"](dy, order), None


@SparseReorder.cases
def sparse_reorder_cases(case):
    case(
        np.array([[2, 0], [0, 1]]),
        [3.0, 4.0],
        np.array([3, 4]),
        gives=(np.array([[0, 1], [2, 0]]), [4.0, 3.0]),
        grad=False,
    )
    case.shapes("[?,2];[?];[2]", "[?,2];[?]")


SparseReshape = op("""
    SparseReshape(input_indices: int64, input_shape: int64, new_shape: int64)
        -> (output_indices: int64, output_shape: int64)

    The coordinates in a tensor of another shape.
""")


@SparseReshape.shape
def sparse_reshape_shape(input_indices, input_shape, new_shape):
    rows, _ = shapes.with_rank(input_indices, 2)
    (rank,) = shapes.with_rank(new_shape, 1)
    return [(rows, rank), (rank,)]


@SparseReshape.host
def sparse_reshape_host(input_indices, input_shape, new_shape):
    check_parts(input_indices, None, input_shape)
    if new_shape.ndim != 1:
        invalid(f"Target shape should be a vector but received shape {shown(new_shape)}")
    check_sizes(input_shape)
    old, new = [int(d) for d in input_shape], [int(d) for d in new_shape]
    if input_indices.shape[1] != len(old):
        # TensorFlow reads beside the coordinates.
        invalid("Order length must be SparseTensor rank.")
    for d in new:
        if d < -1:
            invalid(f"size {new.index(d)} must be non-negative, not {d}")
    total = math.prod(old)
    if total >= 1 << 63:
        invalid(f"Shape {shapes.to_text(tuple(old))} would have more than 2**63 - 1 elements")
    if new.count(-1) > 1:
        invalid(
            "only one output dimension may be -1, not both "
            + " and ".join(str(i) for i, d in enumerate(new) if d == -1)
        )
    if -1 in new:
        known = math.prod(d for d in new if d != -1)
        if known == 0:
            invalid(
                "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
                "non-zero"
            )
        if total % known:
            taken = tuple(1 if d == -1 else d for d in new)
            invalid(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape requires a "
                f"multiple of {known}. input_shape={shapes.to_text(tuple(old))} output_shape={shapes.to_text(taken)}"
            )
        new[new.index(-1)] = total // known
    if math.prod(new) != total:
        invalid(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has "
            f"{math.prod(new)}. input_shape={shapes.to_text(tuple(old))} output_shape={shapes.to_text(tuple(new))}"
        )
    flat = np.zeros(len(input_indices), np.int64)
    for axis, d in enumerate(old):
        flat = flat * d + input_indices[:, axis]
    out = np.zeros((len(flat), len(new)), np.int64)
    stride = math.prod(max(d, 1) for d in new)
    for axis, d in enumerate(new):
        stride //= max(d, 1)
        rest = np.fmod(flat, stride)
        out[:, axis] = (flat - rest) // stride
        flat = rest
    return out, np.array(new, np.int64)


@SparseReshape.cases
def sparse_reshape_cases(case):
    case(
        np.array([[0, 1], [2, 0]]),
        np.array([3, 4]),
        np.array([2, -1]),
        gives=(np.array([[0, 1], [1, 2]]), np.array([2, 6])),
    )
    case.shapes("[5,2];[2];[3]", "[5,3];[3]")
    case.fails((np.array([[0, 1]]), np.array([3, 4]), np.array([5, -1])), match="requires a multiple of 5")


SparseSlice = op("""
    SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: int64)
        -> (output_indices: int64, output_values: T, output_shape: int64)
      T: type

    The elements inside a box.
""")


@SparseSlice.shape
def sparse_slice_shape(indices, values, shape, start, size):
    rank = shapes.with_rank(shape, 1)[0]
    return [(None, rank), (None,), (rank,)]


@SparseSlice.as_shape
def sparse_slice_as_shape(op, index):
    if index != 2:
        return None
    whole, start, size = (constant_as_shape(op.inputs[i]) for i in (2, 3, 4))
    if None in (whole, start, size) or any(None in part for part in (whole, start, size)):
        return None
    return tuple(max(0, min(s + n, w) - s) for w, s, n in zip(whole, start, size, strict=True))


@SparseSlice.host
def sparse_slice_host(indices, values, shape, start, size):
    check_parts(indices, values, shape)
    for word, part in (("start", start), ("size", size)):
        if part.ndim != 1:
            invalid(f"Input {word} should be a vector but received shape {shown(part)}")
        if len(part) != len(shape):
            invalid(f"Expected {word} to be a vector of length {len(shape)} but got length {len(part)}")
    check_counts(indices, values, shape)
    with np.errstate(all="ignore"):
        end = np.minimum(start + size, shape)
    inside = np.all((indices >= start) & (indices < end), axis=1)
    return indices[inside] - start, values[inside], np.maximum(end - start, 0)


@SparseSlice.grad
def sparse_slice_grad(op, _indices, dy, _shape):
    return None, raw.SparseSliceGrad(dy, op.inputs[0], op.inputs[3], op.outputs[0]), None, None, None


@SparseSlice.cases
def sparse_slice_cases(case):
    case(np.array([[0, 1], [2, 0]]), [3.0, 4.0], np.array([3, 4]), np.array([0, 0]), np.array([2, 2]), grad=False,
         gives=(np.array([[0, 1]]), [3.0], np.array([2, 2])))  # fmt: skip
    case.shapes("[?,2];[?];[2];[2];[2]", "[?,2];[?];[2]")


SparseSliceGrad = op("""
    SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64)
        -> (val_grad: T)
      T: numbertype

    The gradient of SparseSlice with respect to the values.
""")


@SparseSliceGrad.shape
def sparse_slice_grad_shape(backprop_val_grad, input_indices, input_start, output_indices):
    return (shapes.with_rank(input_indices, 2)[0],)


@SparseSliceGrad.host
def sparse_slice_grad_host(backprop_val_grad, input_indices, input_start, output_indices):
    if input_indices.ndim != 2 or output_indices.ndim != 2:
        invalid(
            f"Input and output indices should be matrices but received shapes: {shown(input_indices)} and "
            f"{shown(output_indices)}"
        )
    check_gradient(backprop_val_grad, output_indices, "output_indices")
    rank = input_indices.shape[1]
    if rank != output_indices.shape[1]:
        invalid(f"The input and output should have the same ndims: got: {rank} and {output_indices.shape[1]}")
    if input_start.ndim != 1:
        invalid(f"The input_start should be a vector but received shape {shown(input_start)}")
    if len(input_start) != rank:
        invalid(f"Expected input_start to be a vector of length {rank} but got length {len(input_start)}")
    place = {tuple(row): i for i, row in enumerate((output_indices + input_start).tolist())}
    used = 0
    out = np.zeros(len(input_indices), backprop_val_grad.dtype)
    for i, row in enumerate(input_indices.tolist()):
        found = place.get(tuple(row))
        if found is not None:
            out[i] = backprop_val_grad[found]
            used += 1
    if used < len(backprop_val_grad):
        raise InternalError(
            None,
            None,
            f"Elements of backprop_val_grad aren't all propagated. Num elements:{len(backprop_val_grad)}, used: {used}",
        )
    return out


@SparseSliceGrad.cases
def sparse_slice_grad_cases(case):
    case([5.0], np.array([[0, 1], [2, 0]]), np.array([0, 0]), np.array([[0, 1]]), gives=[5.0, 0.0])
    case.shapes("[?];[4,2];[2];[?,2]", "[4]")


SparseConcat = op("""
    SparseConcat(indices: N * int64, values: N * T, shapes: N * int64)
        -> (output_indices: int64, output_values: T, output_shape: int64)
      concat_dim: int
      N: int >= 2
      T: type

    Sparse tensors joined along an axis.
""", grad=None)  # fmt: skip


@SparseConcat.shape
def sparse_concat_shape(indices, values, shapes):
    rank, rows = None, 0
    for x in indices:
        n, columns = with_rank(x, 2)
        rows = None if n is None or rows is None else rows + n
        rank = merge_dim(rank, columns)
    sizes = None
    for x in shapes:
        sizes = merge(sizes, with_rank(x, 1))
    if sizes is not None:
        rank = merge_dim(rank, sizes[0])
    return [(rows, rank), (rows,), (rank,)]


@SparseConcat.host
def sparse_concat_host(indices, values, shapes, *, concat_dim):
    for i, parts in enumerate(zip(indices, values, shapes, strict=True)):
        check_parts(*parts, where=f" at position {i}", shape_word="shapes")
    rank = len(shapes[0])
    for i, shape in enumerate(shapes):
        if len(shape) != rank:
            invalid(
                f"Ranks of all input tensors must match: expected {rank} but got {len(shape)} at position {i}"
            )
    for parts in zip(indices, values, shapes, strict=True):
        check_counts(*parts)
    if not -rank <= concat_dim < rank:
        invalid(f"Concat dimension must be in range [{-rank}, {rank}), got {concat_dim}")
    axis = concat_dim % rank
    offset, moved = 0, []
    for i, (rows, shape) in enumerate(zip(indices, shapes, strict=True)):
        for j in range(rank):
            if j != axis and shape[j] != shapes[0][j]:
                invalid(
                    f"Input shapes must match: expected {shapes[0][j]} for dimension {j} but got {shape[j]} at "
                    f"position {i}"
                )
        rows = rows.copy()
        rows[:, axis] += offset
        offset += int(shape[axis])
        moved.append(rows)
    rows, found = np.concatenate(moved), np.concatenate(values)
    order = order_of(rows)
    shape = shapes[0].copy()
    shape[axis] = offset
    return rows[order], found[order], shape


@SparseConcat.cases
def sparse_concat_cases(case):
    where = np.array([[0, 1]])
    case((where, where), ([3.0], [4.0]), (np.array([2, 2]), np.array([2, 3])), concat_dim=1,
         gives=(np.array([[0, 1], [0, 3]]), [3.0, 4.0], np.array([2, 5])))  # fmt: skip


SparseSplit = op("""
    SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64)
        -> (output_indices: num_split * int64, output_values: num_split * T, output_shape: num_split * int64)
      num_split: int >= 1
      T: type

    A sparse tensor cut into pieces along an axis.
""")


@SparseSplit.shape
def sparse_split_shape(split_dim, indices, values, shape, *, num_split):
    rank = None if shape is None else shape[0]
    return [(None, rank)] * num_split + [(None,)] * num_split + [(rank,)] * num_split


@SparseSplit.host
def sparse_split_host(split_dim, indices, values, shape, *, num_split):
    if split_dim.size != 1:
        invalid(f"Input split_dim should hold one number but received shape {shown(split_dim)}")
    check_parts(indices, values, shape)
    axis = int(split_dim.reshape(()))
    rank = len(shape)
    if not -rank <= axis < rank:
        invalid(f"Input split_dim should be between 0 and rank ({rank}), got {axis}")
    if axis < 0:  # TensorFlow lets it pass at first and then reads beside the sizes
        invalid(f"num_dim must be in the interval [0, {rank})")
    total = int(shape[axis])
    if not 1 <= num_split <= total:
        invalid(
            f"Input num_split should be between 1 and the splitting dimension size ({total}), got {num_split}"
        )
    check_counts(indices, values, shape)
    # The first pieces are longer by one where it does not even out.
    sizes = [total // num_split + (i < total % num_split) for i in range(num_split)]
    starts = np.cumsum([0, *sizes])
    rows, found, dims = [], [], []
    for start, size in zip(starts, sizes, strict=False):
        mine = (indices[:, axis] >= start) & (indices[:, axis] < start + size)
        moved = indices[mine].copy()
        moved[:, axis] -= start
        one = shape.copy()
        one[axis] = size
        rows.append(moved)
        found.append(values[mine])
        dims.append(one)
    return (*rows, *found, *dims)


@SparseSplit.cases
def sparse_split_cases(case):
    case(np.int64(1), np.array([[0, 1], [1, 2]]), [3.0, 4.0], np.array([2, 3]), num_split=2,
         gives=(np.array([[0, 1]]), np.array([[1, 0]]), [3.0], [4.0], np.array([2, 2]), np.array([2, 1])))  # fmt: skip


SparseFillEmptyRows = op("""
    SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, default_value: T)
        -> (output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)
      T: type

    A sparse matrix with a first element in each row that had none.
""")


@SparseFillEmptyRows.shape
def sparse_fill_shape(indices, values, dense_shape, default_value, *, ctx):
    dims = ctx.as_shape("dense_shape")
    rank = None if indices is None else indices[1]
    return [(None, rank), (None,), (dims[0] if dims else None,), (None if indices is None else indices[0],)]


@SparseFillEmptyRows.host
def sparse_fill_host(indices, values, dense_shape, default_value):
    for word, part, rank, name in (
        ("dense_shape", dense_shape, 1, "vector"),
        ("indices", indices, 2, "matrix"),
        ("values", values, 1, "vector"),
        ("default_value", default_value, 0, "scalar"),
    ):
        if part.ndim != rank:
            invalid(f"{word} must be a {name}, saw: {shown(part)}")
    if not len(dense_shape) or not indices.shape[1]:
        invalid("Dense shape cannot be empty.")
    if len(values) != len(indices):
        invalid(
            f"The length of `values` ({len(values)}) must match the first dimension of `indices` ({len(indices)})."
        )
    check_sizes(dense_shape)
    n = int(dense_shape[0])
    if len(indices) and n == 0:
        invalid(f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {len(indices)}")
    rows = indices[:, 0]
    for i, row in enumerate(rows.tolist()):
        if not 0 <= row < n:
            invalid(f"indices({i}, 0) is invalid: {row} >= {n}")
    empty = np.ones(n, bool)
    empty[rows] = False
    extra = np.zeros((int(empty.sum()), indices.shape[1]), np.int64)
    extra[:, 0] = np.flatnonzero(empty)
    fill = np.empty(len(extra), values.dtype)
    fill[:] = default_value[()]
    all_rows = np.concatenate([indices, extra])
    order = np.argsort(all_rows[:, 0], kind="stable")
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return all_rows[order], np.concatenate([values, fill])[order], empty, back[: len(indices)]


@SparseFillEmptyRows.grad
def sparse_fill_grad(op, _indices, dy, _empty, _map):
    to_values, to_default = raw.SparseFillEmptyRowsGrad(op.outputs[3], dy)
    return None, to_values, None, to_default


@SparseFillEmptyRows.cases
def sparse_fill_cases(case):
    case(np.array([[0, 1], [2, 0]]), [3.0, 4.0], np.array([3, 4]), np.float32(7.0), grad=False,
         gives=(np.array([[0, 1], [1, 0], [2, 0]]), [3.0, 7.0, 4.0],
                np.array([False, True, False]), np.array([0, 2])))  # fmt: skip
    case.shapes("[5,2];[5];[2];[]", "[?,2];[?];[3];[5]", values={"dense_shape": np.array([3, 4])})


SparseFillEmptyRowsGrad = op("""
    SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> (d_values: T, d_default_value: T)
      T: type

    The gradient of SparseFillEmptyRows.
""")


@SparseFillEmptyRowsGrad.shape
def sparse_fill_grad_shape(reverse_index_map, grad_values):
    return [reverse_index_map, ()]


@SparseFillEmptyRowsGrad.host
def sparse_fill_grad_host(reverse_index_map, grad_values):
    for word, part in (("reverse_index_map", reverse_index_map), ("grad_values", grad_values)):
        if part.ndim != 1:
            invalid(f"{word} must be a vector, saw: {shown(part)}")
    outside = (reverse_index_map < 0) | (reverse_index_map >= len(grad_values))
    if outside.any():
        invalid(
            f"Elements in reverse index must be in [0, {len(grad_values)}) but got {reverse_index_map[outside][0]}"
        )
    rest = np.ones(len(grad_values), bool)
    rest[reverse_index_map] = False
    return grad_values[reverse_index_map], grad_values[rest].sum(dtype=grad_values.dtype)


@SparseFillEmptyRowsGrad.cases
def sparse_fill_grad_cases(case):
    case(np.array([0, 2]), [3.0, 7.0, 4.0], gives=([3.0, 4.0], np.float32(7.0)))
    case.shapes("[2];[3]", "[2];[]")


# -- public functions ---------------------------------------------------------------------------------------


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
