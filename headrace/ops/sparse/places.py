"""Sparse tensors made of sparse tensors: reordered, reshaped, cut, joined, filled up."""

from __future__ import annotations

import math

import numpy as np

from headrace import shapes
from headrace.errors import InternalError
from headrace.export import NAMES
from headrace.graph.sparse_tensor import SparseTensor
from headrace.opdef import constant_as_shape, op, raw
from headrace.opdef.strings import invalid
from headrace.ops.sparse.checks import check_counts, check_gradient, check_parts, check_sizes, shown
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
    order = raw.InvertPermutation(NAMES["sparse_reorder"](places).values)
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
    outside = ((indices < 0) | (indices >= shape)).any(1)
    if outside.any():  # TensorFlow 1.15 writes beside the pieces
        at = int(outside.argmax())
        invalid(f"indices[{at}] = {indices[at].tolist()} is out of bounds of {shape.tolist()}")
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
    rows, rank = with_rank(indices, 2)
    (count,) = with_rank(values, 1)
    rows = merge_dim(rows, count)
    rank = merge_dim(rank, with_rank(dense_shape, 1)[0])
    with_rank(default_value, 0)
    dims = ctx.as_shape("dense_shape")
    return [(None, rank), (None,), (dims[0] if dims else None,), (rows,)]


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
    shapes.with_rank(grad_values, 1)
    return [shapes.with_rank(reverse_index_map, 1), ()]


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
