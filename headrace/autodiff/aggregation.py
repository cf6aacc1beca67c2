"""Adding up the gradients that reach one tensor along several paths."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph import IndexedSlices, Tensor, get_default_graph, name_scope
from headrace.opdef import raw


@export("AggregationMethod")
class AggregationMethod:
    """How `tf.gradients` adds up several gradients of one tensor.

    `ADD_N` (the default) adds them in one AddN node, `EXPERIMENTAL_TREE` two at a time, `EXPERIMENTAL_ACCUMULATE_N` in
    an AccumulateNV2 node.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def check_method(method: int | None) -> int:
    """Returns the aggregation method, the default for None.

    Raises:
      ValueError: It is none of AggregationMethod's.
    """
    if method is None:
        return AggregationMethod.DEFAULT
    if method not in (0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {method}.")
    return method


def aggregate(grads: list[Any], op_name: str, method: int) -> Any:
    """Returns the sum of several gradients of one output, None if there are none.

    Args:
      grads: Tensors and IndexedSlices.
      op_name: The operation whose output it is, for the names of new nodes.
      method: One of AggregationMethod's.

    Raises:
      TypeError: Something else is among them.
    """
    if not grads:
        return None
    for g in grads:
        if not isinstance(g, (Tensor, IndexedSlices)):
            raise TypeError(f"gradients have to be either all Tensors or all IndexedSlices, not {g!r}")
    if len(grads) == 1:
        return grads[0]
    if not all(isinstance(g, Tensor) for g in grads):
        return aggregate_with_slices(grads)
    if (
        method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N
        and len(grads) > 2
        and all(_is_full(g) for g in grads)
    ):
        return NAMES["accumulate_n"](grads)
    if method in (AggregationMethod.EXPERIMENTAL_TREE, AggregationMethod.EXPERIMENTAL_ACCUMULATE_N):
        with name_scope(op_name + "_gradient_sum"):
            total = grads[0]
            for g in grads[1:]:
                total = raw.AddN([total, g])
            return total
    return _add_by_device(grads)


def _is_full(tensor: Tensor) -> bool:
    return tensor._dims is not None and None not in tensor._dims


def _add_by_device(tensors: list[Tensor]) -> Tensor:
    """Adds tensors of one device there first, so that fewer travel."""
    graph = get_default_graph()
    groups: dict[str, list[Tensor]] = {}
    for t in tensors:
        groups.setdefault(t._op._device, []).append(t)
    sums = []
    for device in sorted(groups):
        group = groups[device]
        if len(group) == 1:
            sums.append(group[0])
            continue
        with graph._colocate_with_for_gradient(group[0]._op, None, ignore_existing=True):
            sums.append(raw.AddN(group))
    return sums[0] if len(sums) == 1 else raw.AddN(sums)


def aggregate_with_slices(grads: list[Any]) -> Any:
    """Returns the sum of gradients some of which are IndexedSlices: joined if all are, else a dense sum."""
    if any(isinstance(g, Tensor) for g in grads):
        return raw.AddN(grads)
    indices = [g.indices for g in grads]
    wide = [i.dtype.base_dtype is dtypes.int64 for i in indices]
    if any(wide):
        indices = [
            i if is_wide else NAMES["cast"](i, dtypes.int64) for i, is_wide in zip(indices, wide, strict=True)
        ]
    concat = NAMES["concat"]
    return IndexedSlices(
        concat([g.values for g in grads], axis=0), concat(indices, axis=0), grads[0].dense_shape
    )
