"""How gradients flow back through broadcasting: BroadcastGradientArgs, and the sums it asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.graph.indexed_slices import IndexedSlices
from headrace.graph.tensor import Tensor
from headrace.opdef import op, raw
from headrace.ops.math.building import int32, shape_of

BroadcastGradientArgs = op("""
    BroadcastGradientArgs(s0: T, s1: T) -> (r0: T, r1: T)
      T: {int32, int64} = DT_INT32

    The axes to sum a gradient over, so that it gets the shape s0 (r0) or s1 (r1) of an operand that was broadcast.
""", grad=None)  # fmt: skip


def reduced_axes(s0: Any, s1: Any) -> tuple[list[int], list[int]]:
    """Returns the axes of the broadcast shape that each operand was repeated along (or has as a 1).

    Raises:
      ValueError: The shapes do not broadcast.
    """
    s0, s1 = list(s0), list(s1)
    if s0 == s1:
        return [], []
    rank = max(len(s0), len(s1))
    s0 = [1] * (rank - len(s0)) + s0
    s1 = [1] * (rank - len(s1)) + s1
    r0, r1 = [], []
    for i, (a, b) in enumerate(zip(s0, s1, strict=True)):
        if a == b:
            if a == 1:
                r0.append(i)
                r1.append(i)
        elif a == 1:
            r0.append(i)
        elif b == 1:
            r1.append(i)
        else:
            raise ValueError(f"{s0} vs {s1}")
    return r0, r1


@BroadcastGradientArgs.shape
def broadcast_gradient_args_shape(s0, s1):
    shapes.with_rank(s0, 1)
    shapes.with_rank(s1, 1)
    return [(None,), (None,)]


@BroadcastGradientArgs.host
def broadcast_gradient_args_host(s0, s1):
    try:
        r0, r1 = reduced_axes(s0.tolist(), s1.tolist())
    except ValueError:
        spell = [f"[{','.join(map(str, s.tolist()))}]" for s in (s0, s1)]
        raise InvalidArgumentError(None, None, f"Incompatible shapes: {spell[0]} vs. {spell[1]}") from None
    return np.array(r0, s0.dtype), np.array(r1, s0.dtype)


@BroadcastGradientArgs.lower(static="s0 s1")
def broadcast_gradient_args_lower(s0, s1):
    return broadcast_gradient_args_host(np.asarray(s0), np.asarray(s1))


@BroadcastGradientArgs.cases
def broadcast_gradient_args_cases(case):
    def ints(*values):
        return np.array(values, np.int32)

    case(ints(2, 3), ints(3), gives=(ints(), ints(0)))
    case(ints(2, 3), ints(2, 3), gives=(ints(), ints()))
    case(ints(2, 1), ints(1, 3), gives=(ints(1), ints(0)))
    case(ints(1, 3), ints(1, 3, 1), gives=(ints(0, 1), ints(0, 2)))
    case(ints(0, 3), ints(3), gives=(ints(), ints(0)))
    case(ints(), ints(5), gives=(ints(0), ints()))
    case.shapes("[2];[?]", "[?];[?]")
    case.fails((ints(2, 3), ints(4)), match=r"Incompatible shapes: \[2,3\] vs. \[4\]")


Reducer = Callable[[Tensor], Tensor]


def reducers(x: Tensor, y: Tensor, fold: bool = True) -> tuple[Reducer, Reducer]:
    """Returns functions that sum a gradient to the shape of `x` and to that of `y`, decided when the graph runs.

    Args:
      x: An operand.
      y: The other operand.
      fold: Whether known shapes become constants.
    """
    shape_x = shape_of(x, optimize=fold)
    shape_y = shape_of(y, optimize=fold)
    axes_x, axes_y = raw.BroadcastGradientArgs(shape_x, shape_y)
    return (
        lambda g: raw.Reshape(raw.Sum(g, axes_x), shape_x),
        lambda g: raw.Reshape(raw.Sum(g, axes_y), shape_y),
    )


def static_reducers(x: Tensor, y: Tensor, dy: Tensor) -> tuple[Reducer, Reducer]:
    """Returns the same, decided now where the shapes are known: no nodes for an operand that was not broadcast."""
    if isinstance(dy, IndexedSlices):
        return reducers(x, y)
    if not (shapes.is_full(x._dims) and shapes.is_full(y._dims)):
        return reducers(x, y, fold=False)
    # Nothing uses the node, but TensorFlow adds it, once a graph and pair of shapes.
    seen = x.graph.__dict__.setdefault("_broadcast_axes", {})
    axes = seen.get((x._dims, y._dims))
    if axes is None:
        raw.BroadcastGradientArgs(int32(x._dims), int32(y._dims))
        axes = seen[x._dims, y._dims] = reduced_axes(x._dims, y._dims)

    def reducer(shape: Any, over: list[int]) -> Reducer:
        if shape == dy._dims:
            return lambda g: g
        return lambda g: raw.Reshape(raw.Sum(g, int32(over)), int32(shape))

    return reducer(x._dims, axes[0]), reducer(y._dims, axes[1])


def same_static_shape(*tensors: Tensor) -> bool:
    """Whether all have one shape, known in full."""
    first = tensors[0]._dims
    return shapes.is_full(first) and all(t._dims == first for t in tensors)
