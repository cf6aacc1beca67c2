"""tf.repeat: every element, row or column several times."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.export import NAMES, export
from headrace.graph.default import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.opdef.nodes import rank_of, shape_of
from headrace.ops.array.batched import cast_to


@export("repeat")
def repeat(input, repeats, axis=None, name=None):
    """Returns a tensor with its elements repeated.

    Args:
      input: The tensor.
      repeats: How often, for all elements along `axis` or for each of them.
      axis: The dimension; None for the elements of the flattened tensor.
      name: The scope of the nodes.
    """
    if axis is None:
        input = NAMES["reshape"](input, [-1])
        axis = 0
    return _repeated(input, repeats, axis, name)


def _repeated(data: Any, repeats: Any, axis: Any, name: str | None) -> Any:
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    with name_scope(name, "Repeat", [data, repeats]):
        data = convert_to_tensor(data, name="data")
        repeats = cast_to(convert_to_tensor(repeats, name="repeats"), dtypes.int32)
        if repeats._dims is not None and len(repeats._dims) > 1:
            raise ValueError(f"Shape {repeats.shape} must have rank at most 1")
        if data._dims is None:
            raise ValueError("data must have a known rank")
        data_shape = shape_of(data)
        rank = len(data._dims)
        axis = _axis(axis, rank)
        if repeats._dims is not None and len(repeats._dims) == 1:
            data.shape[axis].assert_is_compatible_with(repeats.shape[0])
        if repeats._dims == ():
            # All of them the same number of times: one more dimension, and it goes into the next.
            tiled = _tiled(raw.ExpandDims(data, axis + 1), repeats, axis + 1)
            shape = NAMES["concat"]([data_shape[:axis], [-1], data_shape[axis + 1 :]], 0)
            return raw.Reshape(tiled, shape)
        concat = NAMES["concat"]
        if repeats._dims is None or len(repeats._dims) != axis + 1:
            own_shape = shape_of(repeats)
            lead = data_shape[: axis + 1 - rank_of(repeats)]
            repeats = raw.BroadcastTo(repeats, concat([lead, own_shape], 0))
            repeats.set_shape([None] * (axis + 1))
        most = raw.Maximum(0, NAMES["reduce_max"](repeats))
        mask = NAMES["sequence_mask"](repeats, most)
        tiled = _tiled(raw.ExpandDims(data, axis + 1), most, axis + 1)
        kept = NAMES["boolean_mask"](tiled, mask)
        if axis == 0:
            return kept
        return raw.Reshape(kept, concat([data_shape[:axis], [-1], data_shape[axis + 1 :]], 0))


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
    return axis % rank


def _tiled(data: Any, times: Any, axis: int) -> Any:
    """Repeats a dimension of size 1."""
    multiples = [1] * len(data._dims)
    multiples[axis] = times
    return raw.Tile(data, multiples)
