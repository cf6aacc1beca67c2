"""RaggedTensorToSparse: the values of a ragged tensor with their coordinates."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.opdef import op, raw
from headrace.opdef.nodes import shape_of
from headrace.opdef.strings import invalid

RaggedTensorToSparse = op("""
    RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: T)
        -> (sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64)
      RAGGED_RANK: int >= 1
      T: type
      Tsplits: {int32, int64} = DT_INT64

    A sparse tensor of the same elements.
""")


@RaggedTensorToSparse.shape
def ragged_to_sparse_shape(rt_nested_splits, rt_dense_values, *, RAGGED_RANK):
    for splits in rt_nested_splits:
        shapes.with_rank(splits, 1)
    if rt_dense_values is None:
        return [(None, None), (None,), (None,)]
    count = shapes.num_elements(rt_dense_values)
    rank = RAGGED_RANK + len(rt_dense_values)
    return [(count, rank), (count,), (rank,)]


def _check(nested, values):
    for i, splits in enumerate(nested):
        if not splits.size:
            invalid("ragged splits may not be empty.")
        if splits.ndim != 1:
            invalid("ragged splits must be vectors")
        if splits[0] != 0:
            invalid("First value of ragged splits must be 0.")
        if (np.diff(splits) < 0).any():
            invalid("Ragged splits must be sorted")
        size = nested[i + 1].size - 1 if i + 1 < len(nested) else (len(values) if values.ndim else -1)
        if splits[-1] != size:
            invalid("Final value of ragged splits must match the length the corresponding ragged values.")


@RaggedTensorToSparse.host
def ragged_to_sparse_host(rt_nested_splits, rt_dense_values):
    _check(rt_nested_splits, rt_dense_values)
    lengths = [np.diff(splits).astype(np.int64) for splits in rt_nested_splits]
    # Coordinates, dimension by dimension: each row's are repeated for the elements in it.
    places = np.arange(len(lengths[0]), dtype=np.int64)[:, None]
    for each in lengths:
        starts = np.repeat(np.cumsum(each) - each, each)
        within = np.arange(int(each.sum()), dtype=np.int64) - starts
        places = np.concatenate([np.repeat(places, each, axis=0), within[:, None]], axis=1)
    inner = rt_dense_values.shape[1:]
    if inner:
        cells = np.indices(inner, dtype=np.int64).reshape(len(inner), -1).T
        places = np.concatenate(
            [np.repeat(places, len(cells), axis=0), np.tile(cells, (len(places), 1))], axis=1
        )
    widest = [int(each.max()) if each.size else 0 for each in lengths]
    shape = np.array([len(lengths[0]), *widest, *inner], np.int64)
    return places, rt_dense_values.reshape(-1), shape


@RaggedTensorToSparse.grad
def ragged_to_sparse_grad(op, _indices, dy, _shape):
    values = op.inputs[-1]
    return [None] * (len(op.inputs) - 1) + [raw.Reshape(dy, shape_of(values))]


@RaggedTensorToSparse.cases
def ragged_to_sparse_cases(case):
    case(
        (np.array([0, 2, 3]),),
        [1.0, 2.0, 3.0],
        gives=(np.array([[0, 0], [0, 1], [1, 0]]), [1.0, 2.0, 3.0], np.array([2, 2])),
    )
    case(
        (np.array([0, 2, 2], np.int32),),
        [[1.0, 2.0], [3.0, 4.0]],
        gives=(
            np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]),
            [1.0, 2.0, 3.0, 4.0],
            np.array([2, 2, 2]),
        ),
    )
    case((np.array([0, 2]), np.array([0, 0, 1])), [5.0],
         gives=(np.array([[0, 1, 0]]), [5.0], np.array([1, 2, 1])))  # fmt: skip
    case.shapes("[3];[?,4]", "[?,3];[?];[3]")
    case.shapes("[3];[2,4]", "[8,3];[8];[3]")
    case.fails(((np.array([1, 2]),), [1.0, 2.0]), match="First value of ragged splits must be 0")
    case.fails(((np.array([0, 3]),), [1.0, 2.0]), match="must match the length")
    case.fails(((np.array([], np.int64),), [1.0]), match="may not be empty")
