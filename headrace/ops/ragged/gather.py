"""RaggedGather: rows of a ragged tensor picked by their numbers."""

from __future__ import annotations

import itertools

import numpy as np

from headrace import shapes
from headrace.export import NAMES
from headrace.graph import IndexedSlices
from headrace.opdef import op, raw
from headrace.opdef.nodes import shape_of
from headrace.opdef.strings import invalid

RaggedGather = op("""
    RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, params_dense_values: Tvalues,
                 indices: Tindices)
        -> (output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, output_dense_values: Tvalues)
      Tvalues: type
      Tindices: {int32, int64}
      Tsplits: {int32, int64} = DT_INT64
      PARAMS_RAGGED_RANK: int >= 1
      OUTPUT_RAGGED_RANK: int >= 0

    The rows that `indices` names, a ragged tensor itself.
""")


@RaggedGather.shape
def ragged_gather_shape(
    params_nested_splits, params_dense_values, indices, *, PARAMS_RAGGED_RANK, OUTPUT_RAGGED_RANK
):
    for splits in params_nested_splits:
        shapes.with_rank(splits, 1)
    if params_dense_values is not None and not params_dense_values:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    shapes.with_rank(indices, OUTPUT_RAGGED_RANK - PARAMS_RAGGED_RANK + 1)
    values = None if params_dense_values is None else (None, *params_dense_values[1:])
    return [(None,)] * OUTPUT_RAGGED_RANK + [values]


def check_splits(nested, size):
    """Refuses row splits that are not in order or point past the values.

    Raises:
      errors.InvalidArgumentError: They are, or do.
    """
    for splits, inner in zip(nested, [*(len(s) - 1 for s in nested[1:]), size], strict=True):
        if (np.diff(splits) < 0).any():
            invalid("Ragged splits must be sorted")
        if len(splits) and splits[0] < 0:
            invalid("Ragged splits must be non-negative")
        if len(splits) and splits[-1] > inner:
            invalid("Ragged splits must not point past values")


def _picked(splits, starts, ends):
    """Returns the splits of runs of rows, and the runs of values that those rows hold."""
    lengths = [splits[a + 1 : b + 1] - splits[a:b] for a, b in zip(starts, ends, strict=True)]
    out = np.cumsum(np.concatenate([[0], *lengths]), dtype=splits.dtype)
    return out, splits[starts], splits[ends]


@RaggedGather.host
def ragged_gather_host(
    params_nested_splits, params_dense_values, indices, *, PARAMS_RAGGED_RANK, OUTPUT_RAGGED_RANK
):
    if params_dense_values.ndim == 0:
        invalid("params.rank must be nonzero")
    rows = len(params_nested_splits[0]) - 1
    chosen = indices.ravel()
    for place, index in enumerate(chosen.tolist()):
        if not 0 <= index < rows:
            where = (
                ",".join(str(int(p)) for p in np.unravel_index(place, indices.shape)) if indices.ndim else ""
            )
            invalid(f"indices[{where}] = {index} is not in [0, {rows})")
    check_splits(params_nested_splits, len(params_dense_values))
    kind = params_nested_splits[0].dtype
    nested = []
    # The dimensions of the indices but the last one are uniform.
    count = 1
    for outer, inner in itertools.pairwise(indices.shape):
        count *= outer
        nested.append((np.arange(count + 1) * inner).astype(kind))
    starts = params_nested_splits[0][chosen]
    ends = params_nested_splits[0][chosen + 1]
    if OUTPUT_RAGGED_RANK >= PARAMS_RAGGED_RANK:
        nested.append(np.concatenate([[0], np.cumsum(ends - starts)]).astype(kind))
    for splits in params_nested_splits[1:]:
        out, starts, ends = _picked(splits, starts, ends)
        nested.append(out)
    pieces = [params_dense_values[a:b] for a, b in zip(starts, ends, strict=True)]
    values = np.concatenate(pieces) if pieces else params_dense_values[:0]
    return [*nested, values] if len(nested) == OUTPUT_RAGGED_RANK else [*nested[1:], values]


@RaggedGather.grad
def ragged_gather_grad(op, *dys):
    n = op.attrs["PARAMS_RAGGED_RANK"]
    nested, values, indices = op.inputs[:n], op.inputs[n], op.inputs[n + 1]
    # Where each row begins among the values, past all splits between.
    bounds = nested[0]
    for splits in nested[1:]:
        bounds = NAMES["gather"](splits, bounds)
    rows = raw.Reshape(indices, [-1])
    starts = NAMES["gather"](bounds, rows)
    limits = NAMES["gather"](bounds[1:], rows)
    places = NAMES["ragged.range"](starts, limits)
    slices = IndexedSlices(dys[-1], places.values, shape_of(values))
    return [None] * n + [slices, None]


@RaggedGather.cases
def ragged_gather_cases(case):
    splits = (np.array([0, 2, 3]),)
    case(splits, [1.0, 2.0, 3.0], np.array([1, 0, 1]), OUTPUT_RAGGED_RANK=1,
         gives=(np.array([0, 1, 3, 4]), [3.0, 1.0, 2.0, 3.0]))  # fmt: skip
    case(
        splits,
        [[1.0], [2.0], [3.0]],
        np.array([[1], [0]], np.int32),
        OUTPUT_RAGGED_RANK=2,
        gives=(np.array([0, 1, 2]), np.array([0, 1, 3]), [[3.0], [1.0], [2.0]]),
    )
    case(splits, [1.0, 2.0, 3.0], np.array(1), OUTPUT_RAGGED_RANK=0, gives=[3.0])
    case.shapes("[3];[3,4];[2]", "[?];[?,4]", OUTPUT_RAGGED_RANK=1)
    case.fails("[3];[3,4];[2]", match="must be rank 2 but is rank 1", OUTPUT_RAGGED_RANK=2)
    case.fails("[3];[];[2]", match="at least rank 1", OUTPUT_RAGGED_RANK=1)
    case.fails((splits, [1.0, 2.0, 3.0], np.array([0, 2])), match=r"indices\[1\] = 2 is not in \[0, 2\)",
               OUTPUT_RAGGED_RANK=1)  # fmt: skip
    case.fails(
        ((np.array([0, 2, 1]),), [1.0, 2.0], np.array([0])), match="must be sorted", OUTPUT_RAGGED_RANK=1
    )
    case.fails((splits, [1.0, 2.0], np.array([0])), match="must not point past", OUTPUT_RAGGED_RANK=1)
    case.fails(((np.array([-9, 2]),), [1.0, 2.0], np.array([0])), match="non-negative", OUTPUT_RAGGED_RANK=1)
