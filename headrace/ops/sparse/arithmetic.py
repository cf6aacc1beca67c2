"""Sums, reductions and softmax of sparse tensors."""

from __future__ import annotations

import math

import numpy as np

from headrace import shapes
from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor, as_sparse, is_sparse
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.strings import invalid
from headrace.ops.sparse.checks import check_counts, check_gradient, check_pair, check_prefixed, shown
from headrace.ops.sparse.names import renamed

_REAL = "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"

SparseAdd = op(f"""
    SparseAdd(a_indices: int64, a_values: T, a_shape: int64,
        b_indices: int64, b_values: T, b_shape: int64, thresh: Treal)
        -> (sum_indices: int64, sum_values: T, sum_shape: int64)
      T: numbertype
      Treal: {_REAL}

    The sum of two sparse tensors, without what is less than a threshold.
""")


@SparseAdd.shape
def sparse_add_shape(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    (rank,) = shapes.with_rank(a_shape, 1)
    return [(None, rank), (None,), (rank,)]


def _merged(a_indices, b_indices):
    """Returns all coordinates in order, each with its place in the two lists, or None."""
    places = {}
    for i, row in enumerate(map(tuple, a_indices.tolist())):
        places[row] = (i, None)
    for i, row in enumerate(map(tuple, b_indices.tolist())):
        places[row] = (places.get(row, (None, None))[0], i)
    return sorted(places.items())


@SparseAdd.host
def sparse_add_host(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    check_pair((a_indices, a_values, a_shape), (b_indices, b_values, b_shape))
    if thresh.ndim:
        invalid(f"The magnitude threshold must be a scalar: got shape {shown(thresh)}")
    zero = a_values.dtype.type(0)
    rows, values = [], []
    for row, (i, j) in _merged(a_indices, b_indices):
        total = (zero if i is None else a_values[i]) + (zero if j is None else b_values[j])
        # Only real sums are held against the threshold; what is in one of the two stays.
        if i is None or j is None or abs(total) >= thresh:
            rows.append(row)
            values.append(total)
    return (
        np.array(rows, np.int64).reshape(len(rows), len(a_shape)),
        np.array(values, a_values.dtype),
        a_shape,
    )


@SparseAdd.grad
def sparse_add_grad(op, _indices, dy, _shape):
    a, b = raw.SparseAddGrad(dy, op.inputs[0], op.inputs[3], op.outputs[0])
    a.set_shape(op.inputs[1].shape)
    b.set_shape(op.inputs[4].shape)
    return None, a, None, None, b, None, None


@SparseAdd.cases
def sparse_add_cases(case):
    shape = np.array([2, 2])
    case(np.array([[0, 1], [1, 0]]), [1.0, 2.0], shape, np.array([[1, 0]]), [3.0], shape, np.float32(0.0), grad=False,
         gives=(np.array([[0, 1], [1, 0]]), [1.0, 5.0], shape))  # fmt: skip
    case.shapes("[?,2];[?];[2];[?,2];[?];[2];[]", "[?,2];[?];[2]")


SparseAddGrad = op("""
    SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64)
        -> (a_val_grad: T, b_val_grad: T)
      T: numbertype

    The gradient of SparseAdd with respect to the values.
""", grad=None)  # fmt: skip


@SparseAddGrad.shape
def sparse_add_grad_shape(backprop_val_grad, a_indices, b_indices, sum_indices):
    return [(shapes.with_rank(x, 2)[0],) for x in (a_indices, b_indices)]


@SparseAddGrad.host
def sparse_add_grad_host(backprop_val_grad, a_indices, b_indices, sum_indices):
    every = (a_indices, b_indices, sum_indices)
    if any(x.ndim != 2 for x in every):
        invalid(f"Input indices should be matrices but received shapes: {' and '.join(map(shown, every))}")
    check_gradient(backprop_val_grad, sum_indices, "sum_indices")
    if len({x.shape[1] for x in every}) > 1:
        invalid(
            "The densified operands should have the same ndims; for A, B, sum got: "
            + "".join(str(x.shape[1]) for x in every)
        )
    place = {tuple(row): i for i, row in enumerate(sum_indices.tolist())}

    def picked(rows):
        out = np.zeros(len(rows), backprop_val_grad.dtype)
        for i, row in enumerate(rows.tolist()):
            found = place.get(tuple(row))
            if found is not None:
                out[i] = backprop_val_grad[found]
        return out

    return picked(a_indices), picked(b_indices)


@SparseAddGrad.cases
def sparse_add_grad_cases(case):
    case([5.0, 6.0], np.array([[0, 1]]), np.array([[1, 0]]), np.array([[0, 1], [1, 0]]), gives=([5.0], [6.0]))


def _extreme(name, pick, types):
    made = op(f"""
        SparseSparse{name}(a_indices: int64, a_values: T, a_shape: int64,
            b_indices: int64, b_values: T, b_shape: int64)
            -> (output_indices: int64, output_values: T)
          T: {types}

        The {name.lower()} of two sparse tensors, element by element.
    """)

    @made.shape
    def shape(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        return [(None, None), (None,)]

    @made.host
    def host(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        check_pair((a_indices, a_values, a_shape), (b_indices, b_values, b_shape), "ab")
        zero = a_values.dtype.type(0)
        merged = _merged(a_indices, b_indices)
        values = [
            pick(zero if i is None else a_values[i], zero if j is None else b_values[j])
            for _, (i, j) in merged
        ]
        rows = np.array([row for row, _ in merged], np.int64).reshape(len(merged), len(a_shape))
        return rows, np.array(values, a_values.dtype)

    @made.cases
    def cases(case):
        dims = np.array([2])
        case(np.array([[0]]), [3.0], dims, np.array([[0], [1]]), [4.0, 5.0], dims, grad=False)

    return made


def _extreme_grad(op, _, dy):
    # TensorFlow has a function for it that can't be called, as it takes too few arguments.
    raise TypeError(f"Gradient for {op.type} is not implemented.")


SparseSparseMaximum = _extreme("Maximum", np.maximum, _REAL)
SparseSparseMinimum = _extreme("Minimum", np.minimum, "numbertype")
SparseSparseMaximum.grad(_extreme_grad)
SparseSparseMinimum.grad(_extreme_grad)


def _reduced(name, compute, types, **options):
    """Declares a reduction to a dense tensor and one to a sparse tensor."""
    inputs = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"
    dense = op(f"""
        SparseReduce{name}({inputs}) -> (output: T)
          keep_dims: bool = false
          T: {types}

        The {name.lower()} of a sparse tensor's elements along axes, as a dense tensor.
    """, **options)  # fmt: skip
    sparse = op(f"""
        SparseReduce{name}Sparse({inputs}) -> (output_indices: int64, output_values: T, output_shape: int64)
          keep_dims: bool = false
          T: {types}

        The {name.lower()} of a sparse tensor's elements along axes, as a sparse tensor.
    """, shape=lambda *_: [None, None, None])  # fmt: skip

    @dense.shape
    def shape(input_indices, input_values, input_shape, reduction_axes, *, keep_dims, ctx):
        dims, axes = ctx.as_shape("input_shape"), ctx.constant("reduction_axes")
        if dims is None or axes is None or None in dims:
            return None
        # What is out of bounds, the kernel refuses; here it only goes by the remainder.
        gone = {int(math.fmod(a + len(dims), len(dims))) for a in np.ravel(axes) if dims}
        return tuple(1 if i in gone else d for i, d in enumerate(dims) if keep_dims or i not in gone)

    def groups(input_indices, input_values, input_shape, reduction_axes, keep_dims):
        if input_indices.ndim != 2:
            invalid(f"indices must be a matrix, but got: {shown(input_indices)}")
        if input_values.ndim != 1:
            invalid(f"vals must be a vec, but got: {shown(input_values)}")
        if input_shape.ndim != 1:
            invalid(f"Expected input_shape to be a vector; got shape: {shown(input_shape)}")
        rank = len(input_shape)
        gone = set()
        for axis in np.ravel(reduction_axes).tolist():
            if not -rank <= axis < rank:
                invalid(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
            gone.add(axis % rank)
        check_counts(input_indices, input_values, input_shape)
        kept = [i for i in range(rank) if i not in gone]
        found = {}
        for row, value in zip(input_indices[:, kept].tolist(), input_values, strict=True):
            found.setdefault(tuple(row), []).append(value)
        out = {}
        for row, values in found.items():
            if keep_dims:
                place = [0] * rank
                for i, at in zip(kept, row, strict=True):
                    place[i] = at
                row = tuple(place)
            out[row] = compute(np.array(values, input_values.dtype))
        dims = [1 if i in gone else int(d) for i, d in enumerate(input_shape) if keep_dims or i not in gone]
        return out, dims

    @dense.host
    def host(input_indices, input_values, input_shape, reduction_axes, *, keep_dims):
        found, dims = groups(input_indices, input_values, input_shape, reduction_axes, keep_dims)
        out = np.zeros(dims, input_values.dtype)
        for row, value in found.items():
            # TensorFlow writes where the row-major place of the coordinates falls, outside of the output too.
            if not all(0 <= i < d for i, d in zip(row, dims, strict=True)):
                invalid(f"indices {list(row)} are out of bounds of the output {dims}")
            out[row] = value
        return out

    @sparse.host
    def sparse_host(input_indices, input_values, input_shape, reduction_axes, *, keep_dims):
        found, dims = groups(input_indices, input_values, input_shape, reduction_axes, keep_dims)
        rows = sorted(found)
        values = np.array([found[row] for row in rows], input_values.dtype)
        return np.array(rows, np.int64).reshape(len(rows), len(dims)), values, np.array(dims, np.int64)

    @dense.cases
    def cases(case):
        where = np.array([[0, 0], [0, 1], [2, 0]])
        case(where, [5.0, 4.0, 3.0], np.array([3, 4]), np.int32(1), grad=False,
             gives=[float(compute(np.array([5.0, 4.0]))), 0.0, 3.0])  # fmt: skip
        case(where, [5.0, 4.0, 3.0], np.array([3, 4]), np.array([0, 1], np.int32), keep_dims=True, grad=False)
        case.shapes(
            "[?,2];[?];[2];[]", "[3]", values={"input_shape": np.array([3, 4]), "reduction_axes": np.int32(1)}
        )

    @sparse.cases
    def sparse_cases(case):
        where = np.array([[0, 0], [0, 1], [2, 0]])
        case(where, [5.0, 4.0, 3.0], np.array([3, 4]), np.int32(1),
             gives=(np.array([[0], [2]]), [float(compute(np.array([5.0, 4.0]))), 3.0], np.array([3])))  # fmt: skip

    return dense, sparse


SparseReduceSum, SparseReduceSumSparse = _reduced("Sum", lambda v: v.sum(dtype=v.dtype), "numbertype")
SparseReduceMax, SparseReduceMaxSparse = _reduced("Max", np.max, _REAL)


@SparseReduceSum.grad
def sparse_reduce_sum_grad(op, dy):
    indices, _, dense_shape, axes = op.inputs
    shape = raw.Cast(dense_shape, DstT="int32")
    rank = NAMES["size"](shape)
    axes = raw.FloorMod(raw.AddV2(axes, rank, name="add"), rank, name="mod")
    count = NAMES["shape"](axes)
    places = NAMES["range"](rank)
    ones = raw.Fill(count, 1)
    kept = raw.DynamicStitch([places, axes], [shape, ones])
    dy = raw.Reshape(dy, kept)
    scale = raw.FloorDiv(dense_shape, raw.Cast(kept, DstT="int64"), name="floordiv")
    return None, raw.GatherNd(dy, raw.FloorDiv(indices, scale, name="floordiv")), None, None


SparseSoftmax = op("""
    SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64) -> (output: T)
      T: {float, double}

    Softmax along the last axis over the elements that are there.
""")


@SparseSoftmax.shape
def sparse_softmax_shape(sp_indices, sp_values, sp_shape):
    return shapes.with_rank(sp_values, 1)


@SparseSoftmax.host
def sparse_softmax_host(sp_indices, sp_values, sp_shape):
    check_prefixed("sp", sp_indices, sp_values, sp_shape)
    if len(sp_shape) < 2:
        dims = " ".join(map(str, sp_shape.tolist()))
        invalid(f"Input should have rank >= 2, but received shape: {dims}")
    check_counts(sp_indices, sp_values, sp_shape)
    out = np.empty_like(sp_values)
    rows = {}
    for i, row in enumerate(sp_indices[:, :-1].tolist()):
        rows.setdefault(tuple(row), []).append(i)
    for places in rows.values():
        e = np.exp(sp_values[places] - sp_values[places].max())
        out[places] = e / e.sum()
    return out


@SparseSoftmax.grad
def sparse_softmax_grad(op, dy):
    indices, _, dense_shape = op.inputs
    y = op.outputs[0]
    total = raw.SparseReduceSum(
        indices, raw.Mul(y, dy, name="mul"), dense_shape, np.array([-1], np.int32), keep_dims=True
    )
    rest = raw.SparseDenseCwiseAdd(indices, dy, dense_shape, raw.Neg(total))
    return None, raw.Mul(rest, y, name="mul"), None


@SparseSoftmax.cases
def sparse_softmax_cases(case):
    case(np.array([[0, 0], [0, 1], [2, 0]]), [5.0, 4.0, 3.0], np.array([3, 4]), grad=False,
         gives=[0.7310586, 0.26894143, 1.0], tol=1e-6)  # fmt: skip
    case.shapes("[?,2];[4];[2]", "[4]")


# -- public functions ---------------------------------------------------------------------------------------


@export("sparse_add", "sparse.add")
def sparse_add(a, b, threshold=None, thresh=None):
    """Returns the sum of two tensors of which at least one is sparse.

    Args:
      a: A SparseTensor or a tensor.
      b: A SparseTensor or a tensor.
      threshold: With two sparse tensors, sums of less than this size are left out; zero by default.
      thresh: The old name of `threshold`.

    Returns:
      A SparseTensor if both are sparse, else a tensor.

    Raises:
      TypeError: Neither is sparse.
    """
    threshold = renamed(threshold, "threshold", thresh, "thresh")
    threshold = 0 if threshold is None else threshold
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if is_sparse(a) and is_sparse(b):
        a, b = as_sparse(a), as_sparse(b)
        real = a.values.dtype.real_dtype.base_dtype
        threshold = convert_to_tensor(threshold, dtype=real, name="threshold")
        indices, values, dense_shape = raw.SparseAdd(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, threshold
        )
        known, other = a.shape, b.shape
        known.assert_is_compatible_with(other)
        if known.ndims is not None and other.ndims is not None:
            dims = shapes.broadcast(tuple(known.as_list()), tuple(other.as_list()))
            if None not in dims:
                dense_shape = list(dims)
        return SparseTensor(indices, values, dense_shape)
    sparse, dense = (as_sparse(a), b) if is_sparse(a) else (as_sparse(b), a)
    return raw.SparseTensorDenseAdd(sparse.indices, sparse.values, sparse.dense_shape, dense)


def _axes(sp_input, axis):
    if axis is not None:
        return axis
    rank = sp_input.shape.ndims
    if rank is not None:
        return NAMES["constant"](np.arange(rank, dtype=np.int32))
    return raw.Range(0, NAMES["rank"](sp_input), 1, name="range")


def _reduce(kind, sp_input, axis, keepdims, reduction_axes, keep_dims):
    sp_input = as_sparse(sp_input)
    keep = bool(renamed(keepdims, "keepdims", keep_dims, "keep_dims"))
    if axis is not None and reduction_axes is not None:
        raise ValueError("Can't specify both axis' and 'reduction_indices'.")
    axis = reduction_axes if axis is None else axis
    return kind(
        sp_input.indices, sp_input.values, sp_input.dense_shape, _axes(sp_input, axis), keep_dims=keep
    )


@export("sparse_reduce_sum", "sparse.reduce_sum")
def sparse_reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Returns the sum of a sparse tensor's elements along axes, as a dense tensor.

    Args:
      sp_input: The SparseTensor.
      axis: The axes, by default all.
      keepdims: Whether the axes are kept, with length 1.
      reduction_axes: The old name of `axis`.
      keep_dims: The old name of `keepdims`.
    """
    return _reduce(SparseReduceSum, sp_input, axis, keepdims, reduction_axes, keep_dims)


@export("sparse_reduce_sum_sparse", "sparse.reduce_sum_sparse")
def sparse_reduce_sum_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Returns the sum of a sparse tensor's elements along axes, as a SparseTensor; see `sparse_reduce_sum`."""
    return SparseTensor(*_reduce(SparseReduceSumSparse, sp_input, axis, keepdims, reduction_axes, keep_dims))


@export("sparse_reduce_max", "sparse.reduce_max")
def sparse_reduce_max(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Returns the greatest of a sparse tensor's elements along axes; see `sparse_reduce_sum`."""
    return _reduce(SparseReduceMax, sp_input, axis, keepdims, reduction_axes, keep_dims)


@export("sparse_reduce_max_sparse", "sparse.reduce_max_sparse")
def sparse_reduce_max_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Returns the greatest of a sparse tensor's elements along axes, as a SparseTensor; see `sparse_reduce_sum`."""
    return SparseTensor(*_reduce(SparseReduceMaxSparse, sp_input, axis, keepdims, reduction_axes, keep_dims))


def _pairwise(kind, default, sp_a, sp_b, name):
    with name_scope(name, default, [sp_a.indices, sp_a.values, sp_b.indices, sp_b.values]) as scope:
        indices, values = kind(
            sp_a.indices,
            sp_a.values,
            sp_a.dense_shape,
            sp_b.indices,
            sp_b.values,
            sp_b.dense_shape,
            name=scope,
        )
    return SparseTensor(indices, values, sp_a.dense_shape)


@export("sparse_maximum", "sparse.maximum")
def sparse_maximum(sp_a, sp_b, name=None):
    """Returns the greater elements of two sparse tensors of one shape.

    Args:
      sp_a: A SparseTensor.
      sp_b: A SparseTensor.
      name: The node's name.
    """
    return _pairwise(SparseSparseMaximum, "SparseSparseMaximum", sp_a, sp_b, name)


@export("sparse_minimum", "sparse.minimum")
def sparse_minimum(sp_a, sp_b, name=None):
    """Returns the lesser elements of two sparse tensors of one shape.

    Args:
      sp_a: A SparseTensor.
      sp_b: A SparseTensor.
      name: The node's name.
    """
    return _pairwise(SparseSparseMinimum, "SparseSparseMinimum", sp_a, sp_b, name)


@export("sparse_softmax", "sparse.softmax")
def sparse_softmax(sp_input, name=None):
    """Returns softmax along the last axis over the elements that are there.

    Args:
      sp_input: A SparseTensor of at least two dimensions.
      name: The scope's name.
    """
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = raw.SparseSoftmax(sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)
