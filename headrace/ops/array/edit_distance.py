"""EditDistance: how many edits make one sequence of another. Runs on the host only."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.opdef import export, op, raw
from headrace.ops.array.failing import invalid, shown

EditDistance = op("""
    EditDistance(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64,
                 truth_values: T, truth_shape: int64) -> (output: float)
      normalize: bool = true
      T: type

    The Levenshtein distance between the sequences of two sparse tensors.
""", grad=None)  # fmt: skip


@EditDistance.shape
def edit_distance_shape(
    hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape, *, ctx
):
    for sparse in (
        (hypothesis_indices, hypothesis_values, hypothesis_shape),
        (truth_indices, truth_values, truth_shape),
    ):
        rows, columns = shapes.with_rank(sparse[0], 2)
        [count], [rank] = shapes.with_rank(sparse[1], 1), shapes.with_rank(sparse[2], 1)
        if None not in (rows, count) and rows != count:
            raise ValueError(f"Number of elements in index ({rows}) and values ({count}) do not match.")
        if None not in (columns, rank) and columns != rank:
            raise ValueError(f"Index rank ({columns}) and shape rank ({rank}) do not match.")
    one, other = ctx.constant("hypothesis_shape"), ctx.constant("truth_shape")
    if one is None or other is None:
        return None
    if len(one) != len(other):
        raise ValueError(
            f"Num elements of hypothesis_shape does not match truth_shape: {len(one)} vs. {len(other)}"
        )
    return tuple(int(max(a, b)) for a, b in zip(one[:-1], other[:-1], strict=True))


def _groups(indices, values):
    """Returns the sequences by their coordinates."""
    groups: dict[tuple[int, ...], list[object]] = {}
    for row, value in zip(indices.tolist(), values.tolist(), strict=True):
        groups.setdefault(tuple(row[:-1]), []).append(value)
    return groups


def _distance(a, b):
    """Returns the least number of insertions, deletions and replacements that make `b` of `a`."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


@EditDistance.host
def edit_distance_host(
    hypothesis_indices,
    hypothesis_values,
    hypothesis_shape,
    truth_indices,
    truth_values,
    truth_shape,
    *,
    normalize,
):
    for word, indices, values, shape in (
        ("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape),
        ("truth", truth_indices, truth_values, truth_shape),
    ):
        if len(values) != len(indices):
            invalid(
                "indices and values rows (indexing dimension) must match. "
                f"(indices = {len(indices)}, values = {len(values)})"
            )
        if indices.shape[1] != len(shape):
            invalid(
                f"Expected {word}_shape.NumElements == #cols({word}_indices), their shapes are: [{len(shape)}] and "
                f"{shown(indices.shape)}"
            )
    if min(len(hypothesis_shape), len(truth_shape)) < 2:
        invalid(
            "Input SparseTensors must have rank at least 2, but truth_shape rank is: "
            f"{min(len(hypothesis_shape), len(truth_shape))}"
        )
    if len(hypothesis_shape) != len(truth_shape):
        invalid(
            "Expected hypothesis_shape and truth_shape to have the same length, but saw "
            f"{shown(hypothesis_shape)} and {shown(truth_shape)}"
        )
    dims = np.maximum(hypothesis_shape, truth_shape)[:-1]
    out = np.zeros(tuple(int(d) for d in dims), np.float32)
    hypotheses, truths = (
        _groups(hypothesis_indices, hypothesis_values),
        _groups(truth_indices, truth_values),
    )
    for key in hypotheses.keys() | truths.keys():
        if any(not 0 <= k < d for k, d in zip(key, dims, strict=True)):
            invalid(f"got an index {shown(key)} outside of the shape {shown(dims)}")
        mine, wanted = hypotheses.get(key, []), truths.get(key, [])
        if normalize and not wanted:
            out[key] = np.inf
        else:
            out[key] = _distance(mine, wanted) / (len(wanted) if normalize else 1)
    return out


@EditDistance.cases
def edit_distance_cases(case):
    rows = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1]])
    truth = np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1]])
    sparse = (rows, [1, 2, 3], np.array([2, 1, 2]), truth, [1, 2, 9], np.array([2, 2, 2]))
    case(*sparse, normalize=False, gives=[[1.0, 1.0], [1.0, 0.0]])
    case(*sparse, gives=[[np.inf, 1.0], [0.5, 0.0]])


@export("edit_distance")
def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """Returns the Levenshtein distances between the sequences of two SparseTensors.

    Args:
      hypothesis: A SparseTensor; its last dimension holds the sequences.
      truth: Another of the same rank.
      normalize: Whether distances are divided by the lengths of the sequences of `truth`.
      name: The node's name.

    Raises:
      TypeError: One of the two is no SparseTensor.
    """
    for what, value in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not (hasattr(value, "indices") and hasattr(value, "values") and hasattr(value, "dense_shape")):
            raise TypeError(f"{what} must be a SparseTensor.")
    return raw.EditDistance(
        hypothesis.indices,
        hypothesis.values,
        hypothesis.dense_shape,
        truth.indices,
        truth.values,
        truth.dense_shape,
        normalize=normalize,
        name=name,
    )
