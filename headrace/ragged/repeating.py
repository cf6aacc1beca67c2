"""Ragged tensors repeated, with a dimension more or fewer, and their size and rank."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.opdef.plain_values import plain_value
from headrace.ops.array.concat import concat
from headrace.ops.array.constant import constant_v1
from headrace.ops.array.fill import ones
from headrace.ops.array.gather import gather
from headrace.ops.array.pack import stack
from headrace.ops.array.repeat import repeat
from headrace.ops.array.reshape import expand_dims as dense_expand_dims
from headrace.ops.array.reshape import squeeze as dense_squeeze
from headrace.ops.array.shape import rank as dense_rank
from headrace.ops.array.shape import shape as shape_of
from headrace.ops.array.shape import size as dense_size
from headrace.ops.array.tile import tile as dense_tile
from headrace.ops.flow.assertion import assert_that
from headrace.ops.flow.group import with_dependencies
from headrace.ops.math.cumulative import cumsum
from headrace.ops.math.ranges import range_v1
from headrace.ragged.building import positive_axis
from headrace.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, integer_tensor


def lengths_to_splits(lengths: Any) -> Any:
    """Returns the splits of rows of given lengths."""
    return concat([[0], cumsum(lengths)], axis=-1)


def repeat_ranges(params: Any, splits: Any, repeats: Any) -> Any:
    """Returns the rows of values, each a number of times in a row.

    Args:
      params: The values.
      splits: Their row splits.
      repeats: How many times each row shall come: a number, or one for each row.
    """
    if repeats.shape.ndims:
        starts = repeat(splits[:-1], repeats, axis=0)
        limits = repeat(splits[1:], repeats, axis=0)
    else:
        repeated = repeat(splits, repeats, axis=0)
        count = shape_of(repeated, out_type=repeats.dtype)[0]
        starts = repeated[: count - repeats]
        limits = repeated[repeats:]
    one = ones((), splits.dtype)
    ranges = raw.RaggedRange(starts, limits, one, Tsplits=splits.dtype)
    return gather(params, ranges.rt_dense_values)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """Returns a ragged tensor repeated along each dimension.

    Args:
      input: A RaggedTensor, or what converts to a tensor.
      multiples: How often, for each dimension.
      name: The scope's name.
    """
    with name_scope(name, "RaggedTile", [input, multiples]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not isinstance(input, RaggedTensor):
            return dense_tile(input, multiples, name)
        multiples = integer_tensor(multiples, "multiples", input.row_splits.dtype)
        multiples.shape.assert_has_rank(1)
        known = plain_value(multiples)
        values = _tiled_values(input, multiples, known)
        splits = _tiled_splits(input, multiples, known)
        return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


def _is_one(known: Any, axis: int) -> bool:
    return known is not None and bool(known[axis] == 1)


def _tiled_values(rt: Any, multiples: Any, known: Any) -> Any:
    rank = rt.ragged_rank
    nested = rt.nested_row_splits
    # The numbers of the values in the order in which they shall come.
    ids = range_v1(nested[-1][-1])
    inner = None
    for axis in range(rank, 0, -1):
        splits = nested[axis - 1]
        if inner is not None:
            splits = gather(inner * multiples[axis + 1], splits)
        if not _is_one(known, axis):
            ids = repeat_ranges(ids, splits, multiples[axis])
        inner = splits
    values = gather(rt.flat_values, ids)
    return dense_tile(values, concat([multiples[:1], multiples[rank + 1 :]], axis=0))


def _tiled_splits(rt: Any, multiples: Any, known: Any) -> list[Any]:
    rank = rt.ragged_rank
    nested = rt.nested_row_splits
    # projected[a][b]: where the rows of dimension a begin among the rows of dimension b.
    projected = [{i: nested[i]} for i in range(rank)]
    for source in range(rank):
        for axis in range(source + 1, rank - 1):
            projected[source][axis] = gather(nested[axis], projected[source][axis - 1])
    result = []
    for axis in range(rank):
        lengths = (nested[axis][1:] - nested[axis][:-1]) * multiples[axis + 1]
        repeats: Any = 1
        for outer in range(axis - 1, -1, -1):
            if not _is_one(known, outer + 1):
                splits = projected[outer][axis - 1] * repeats
                lengths = repeat_ranges(lengths, splits, multiples[outer + 1])
            repeats *= multiples[outer + 1]
        lengths = dense_tile(lengths, multiples[:1])
        result.append(lengths_to_splits(lengths))
    return result


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """Returns a ragged tensor with a dimension of size one more.

    Args:
      input: A RaggedTensor, or what converts to a tensor.
      axis: Where the new dimension shall be.
      name: The scope's name.
    """
    with name_scope(name, "RaggedExpandDims", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not isinstance(input, RaggedTensor):
            return dense_expand_dims(input, axis)
        rank = input.shape.ndims
        axis = positive_axis(axis, None if rank is None else rank + 1)
        if axis == 0:
            splits = stack([0, input.nrows()])
        elif axis == 1:
            splits = range_v1(input.nrows() + 1)
        else:
            return input.with_values(expand_dims(input.values, axis - 1))
        return RaggedTensor.from_row_splits(input, splits, validate=False)


def size(input: Any, out_type: Any, name: str | None = None) -> Any:
    """Returns the number of values of a ragged tensor."""
    values = input.flat_values if isinstance(input, RaggedTensor) else input
    return dense_size(values, out_type=out_type, name=name)


def rank(input: Any, name: str | None = None) -> Any:
    """Returns the number of dimensions of a ragged tensor."""
    with name_scope(name, "RaggedRank", [input]) as scope:
        if not isinstance(input, RaggedTensor):
            return dense_rank(input, scope)
        return input.ragged_rank + dense_rank(input.flat_values)


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Returns a ragged tensor without dimensions of size one.

    Args:
      input: A RaggedTensor.
      axis: The dimensions to drop.
      name: The scope's name.

    Raises:
      TypeError: `axis` is no list of integers.
      ValueError: There is no axis, or no such dimension.
    """
    with name_scope(name, "RaggedSqueeze", [input]):
        input = convert_to_tensor(input) if not isinstance(input, RaggedTensor) else input
        if not isinstance(input, RaggedTensor):
            return dense_squeeze(input, axis, name)
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        if isinstance(axis, int):
            axis = [axis]
        elif not isinstance(axis, (list, tuple)) or not all(isinstance(d, int) for d in axis):
            raise TypeError("Axis must be a list or tuple of integers.")
        axes = {positive_axis(d, input.shape.ndims) for d in axis}
        dense = sorted(d - input.ragged_rank for d in axes if d > input.ragged_rank)
        ragged = sorted(d for d in axes if 0 < d <= input.ragged_rank) + [0] * (0 in axes)
        return _squeezed(input, ragged, dense, name)


def _squeezed(rt: Any, ragged: list[int], dense: list[int], name: str | None) -> Any:
    one = constant_v1(1, dtype=rt.row_splits.dtype)
    lengths = rt.nested_row_lengths()
    splits: list[Any] = list(rt.nested_row_splits)
    checks = []
    drop_first = False
    for axis in ragged:
        if axis:
            fits = NAMES["reduce_all"](NAMES["equal"](lengths[axis - 1], one))
            splits[axis - 1] = None
        else:
            two = constant_v1(2, dtype="int32")
            fits = NAMES["equal"](dense_size(rt.row_splits), two)
            drop_first = True
        checks.append(assert_that(fits, [f"the given axis (axis = {axis}) is not squeezable!"]))
    values = with_dependencies(checks, rt.flat_values)
    if dense:
        values = dense_squeeze(values, dense)
    left = [s for s in splits if s is not None]
    if drop_first and not left:
        return dense_squeeze(values, [0], name)
    return RaggedTensor.from_nested_row_splits(values, left[1:] if drop_first else left)
