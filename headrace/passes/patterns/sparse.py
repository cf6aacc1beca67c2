"""Gradients of rows that are known to be different ones."""

from __future__ import annotations

from typing import Any

from headrace.graph import Operation, Tensor
from headrace.passes.rewrite import Inputs, Pattern, Rewriter

_DISTINCT = ("Unique", "UniqueWithCounts")


def _made_by(t: Tensor, here: Rewriter, *types: str) -> Inputs | None:
    """Returns the inputs of the node that makes a tensor if it is one of these and the step runs it."""
    op = t._op
    return here.inputs(op) if op.type in types and not here.is_fed(t) else None


def _reshaped_to(t: Tensor, here: Rewriter) -> tuple[Tensor, Tensor] | None:
    made = _made_by(t, here, "Reshape")
    return (made[0], made[1]) if made is not None else None


def _first_part(shape: Tensor, here: Rewriter) -> Tensor | None:
    """Returns what a shape that was put together begins with."""
    made = _made_by(shape, here, "ConcatV2")
    return made[0] if made is not None else None


def _counts(number: Tensor, of: Tensor, here: Rewriter) -> tuple[Operation, ...] | None:
    """Returns the nodes that compute the length of a vector, None if it is not that."""
    sliced = _made_by(number, here, "StridedSlice")
    if sliced is None:
        return None
    shaped = _made_by(sliced[0], here, "Shape")
    attrs = number._op.attrs
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask")
    if shaped is None or shaped[0] is not of or attrs.get("shrink_axis_mask") != 1:
        return None
    if any(attrs.get(mask) for mask in masks):
        return None
    first = here.constant(sliced[1])
    return (number._op, sliced[0]._op) if first is not None and first.tolist() == [0] else None


def _distinct_again(op: Operation, inputs: Inputs, here: Rewriter) -> Any:
    rows, numbers, count = inputs
    again = numbers._op
    indices = _made_by(numbers, here, *_DISTINCT)
    if indices is None or numbers is not again._outputs[1]:
        return None
    # Indices and rows have been given one shape by the gradient of a lookup: there is a row for each index.
    reshaped, shape_of_rows = _reshaped_to(indices[0], here), _reshaped_to(rows, here)
    if reshaped is None or shape_of_rows is None:
        return None
    first, length = reshaped
    if first is not first._op._outputs[0] or _made_by(first, here, *_DISTINCT) is None:
        return None
    if _first_part(shape_of_rows[1], here) is not length:
        return None
    expanded = _made_by(length, here, "ExpandDims")
    size = None if expanded is None else _made_by(expanded[0], here, "Size")
    if size is None or size[0] is not first:
        return None
    counting = _counts(count, again._outputs[0], here)
    if counting is None or again._device != op._device or not here.stands_for(indices[0], again._outputs[0]):
        return None
    for each in (*counting, again):
        here.absorb(each)
    # A sum begins with zero, so that of -0.0 is 0.0: the sign of a zero is all that differs.
    return rows


def _looked_up(tf: Any, x: Any, ids: Any, twice: bool) -> Any:
    """Sums for each row of what was looked up, as an optimizer asks for them."""
    if twice:
        ids = tf.unique(ids)[0]
    size = tf.expand_dims(tf.size(ids), 0)
    indices = tf.reshape(ids, size)
    rows = tf.reshape(tf.gather(x, ids), tf.concat([size, [3]], 0))
    distinct, numbers = tf.unique(indices)
    total = tf.unsorted_segment_sum(rows, numbers, tf.shape(distinct)[0])
    return tf.gather(total, tf.range(tf.shape(distinct)[0])) * tf.cast(distinct[0], tf.float32)


def _ids(tf: Any, x: Any) -> Any:
    return tf.cast(tf.is_nan(tf.reshape(x, [6])), tf.int32)


def _without_shape(tf: Any, x: Any) -> Any:
    """Rows of whose number nothing is known."""
    ids = tf.unique(_ids(tf, x))[0]
    distinct, numbers = tf.unique(tf.reshape(ids, tf.expand_dims(tf.size(ids), 0)))
    return tf.unsorted_segment_sum(tf.gather(x, ids), numbers, tf.shape(distinct)[0])


PATTERN = Pattern(
    "distinct again",
    "UnsortedSegmentSum",
    _distinct_again,
    why="What `embedding_lookup_sparse` looks up are distinct rows, and optimizers look for the distinct ones among "
    "them and add up those of each once more: two of the more expensive nodes of a sparse step, on the host.",
    fires=(lambda tf, x: _looked_up(tf, x, _ids(tf, x), True),),
    alone=(lambda tf, x: _looked_up(tf, x, _ids(tf, x), False), _without_shape),
    is_exact=False,
)
