"""tf.ragged.range, and values sorted into partitions."""

from __future__ import annotations

from typing import Any

from headrace.dtypes import as_dtype, int64
from headrace.export import NAMES, export
from headrace.graph import control_dependencies, name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.array.gather import gather as dense_gather
from headrace.ops.flow.checks import assert_equal, assert_less
from headrace.ops.math.cast import cast
from headrace.ragged.gathering import gather
from headrace.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor


@export("ragged.range")
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """Returns a ragged tensor with a range of numbers in each row.

    Args:
      starts: Where each row starts; where it ends, starting at 0, if there are no limits.
      limits: The number that each row does not reach.
      deltas: The steps.
      dtype: The type of the numbers.
      name: The node's name.
      row_splits_dtype: int32 or int64.
    """
    row_splits_dtype = as_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]) as scope:
        starts = convert_to_tensor(starts, dtype=dtype, name="starts")
        limits = convert_to_tensor(limits, dtype=dtype, name="limits")
        deltas = convert_to_tensor(deltas, dtype=dtype, name="deltas")
        if dtype is None:
            starts, limits, deltas = _common_type([starts, limits, deltas])
        found = raw.RaggedRange(starts, limits, deltas, Tsplits=row_splits_dtype, name=scope)
        return RaggedTensor.from_row_splits(found.rt_dense_values, found.rt_nested_splits, validate=False)


_ORDER = ("int32", "int64", "float32", "float64")


def _common_type(tensors: list[Any]) -> list[Any]:
    """Casts tensors to the widest of their types."""
    kinds = [t.dtype.name for t in tensors]
    for kind in kinds:
        if kind not in _ORDER:
            raise ValueError(f"{as_dtype(kind)!r} is not in list")
    widest = max(kinds, key=_ORDER.index)
    return [cast(t, widest) for t in tensors]


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    """Returns a ragged tensor whose rows are the values of each partition.

    Args:
      data: The values, ragged or not.
      partitions: For each of them, or for each row, the partition it belongs to.
      num_partitions: How many partitions there are.
      name: The scope's name.

    Raises:
      ValueError: The partitions' rank is unknown, or the shapes do not fit.
    """
    with name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        kind = data.row_splits.dtype if isinstance(data, RaggedTensor) else None
        partitions = convert_to_tensor_or_ragged_tensor(partitions, name="partitions", preferred_dtype=kind)
        num_partitions = convert_to_tensor(
            num_partitions, name="num_partitions", preferred_dtype=partitions.dtype
        )
        if kind is not None:
            partitions = NAMES["cast"](partitions, kind)
            num_partitions = cast(num_partitions, kind)
        num_partitions.shape.assert_has_rank(0)
        rank = partitions.shape.ndims
        if rank is None:
            raise ValueError("partitions must have known rank.")
        if rank == 0:
            return _whole(data, partitions, num_partitions)
        if rank == 1:
            return _sorted(data, partitions, num_partitions)
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, row_splits_dtype=partitions.dtype, ragged_rank=1)
        if not isinstance(partitions, RaggedTensor):
            partitions = RaggedTensor.from_tensor(
                partitions, row_splits_dtype=partitions.dtype, ragged_rank=max(data.ragged_rank, rank - 1)
            )
        check = assert_equal(
            data.row_splits,
            partitions.row_splits,
            message="data and partitions have incompatible ragged shapes",
        )
        with control_dependencies([check]):
            return stack_dynamic_partitions(data.values, partitions.values, num_partitions)


def _sorted(data: Any, partitions: Any, num_partitions: Any) -> Any:
    order = NAMES["argsort"](partitions, stable=True)
    partitions = dense_gather(partitions, order)
    data = gather(data, order) if isinstance(data, RaggedTensor) else dense_gather(data, order)
    check = assert_less(
        partitions[-1:], num_partitions, message="partitions must be less than num_partitions"
    )
    with control_dependencies([check]):
        return RaggedTensor.from_value_rowids(data, partitions, nrows=num_partitions, validate=False)


def _whole(data: Any, partitions: Any, num_partitions: Any) -> Any:
    return RaggedTensor.from_value_rowids(
        NAMES["stack"]([data]), NAMES["stack"]([partitions]), nrows=num_partitions, validate=False
    )


def dynamic_partition(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    """Returns a list of the values of each partition.

    Args:
      data: The values, ragged or not.
      partitions: For each of them, or for each row, the partition it belongs to.
      num_partitions: How many partitions there are.
      name: The scope's name.

    Raises:
      TypeError: `num_partitions` is no integer, or negative.
    """
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    result = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [result[i] for i in range(num_partitions)]
