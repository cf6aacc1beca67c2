"""Tensordot: contraction of any axes of two tensors, by way of one matrix product."""

from __future__ import annotations

import math
from typing import Any

from headrace import dtypes, shapes
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.graph.tensor import Tensor
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.math.building import int32, range_to, rank_of, shape_of
from headrace.ops.math.matmul import matmul
from headrace.ops.math.ranges import range_v1
from headrace.ops.math.reduce_functions import reduce_with


def _as_matrix(t: Tensor, axes: Any, flipped: bool) -> tuple[Tensor, Any, Any]:
    """Turns a tensor into a matrix with the contracted axes together.

    Args:
      t: The tensor.
      axes: The contracted axes, a list or a tensor.
      flipped: Whether they come first.

    Returns:
      The matrix, the sizes of the other axes (a list or a tensor), and what is known of them.
    """
    if t._dims is not None and isinstance(axes, list):
        rank = len(t._dims)
        axes = [a + rank if a < 0 else a for a in axes]
        free = [i for i in range(rank) if i not in axes]
        known = [t._dims[i] for i in free]
        if shapes.is_full(t._dims):
            order = axes + free if flipped else free + axes
            size = [math.prod(known), math.prod(t._dims[i] for i in axes)]  # type: ignore[misc]
            turned = raw.Transpose(t, int32(order), name="transpose")
            return raw.Reshape(turned, int32(size[::-1] if flipped else size)), known, known
        axes = convert_to_tensor(int32(axes), dtypes.int32, name="axes")
        free = convert_to_tensor(int32(free), dtypes.int32, name="free")
        shape = shape_of(t)
    else:
        known = None
        shape = shape_of(t)
        rank = rank_of(t)
        axes = convert_to_tensor(axes, dtypes.int32, name="axes")
        axes = raw.Select(raw.GreaterEqual(axes, 0), axes, axes + rank)
        free = raw.ListDiff(range_to(rank), axes)[0]
    free_sizes = raw.GatherV2(shape, free, 0)
    axes_sizes = raw.GatherV2(shape, axes, 0)
    size = [
        reduce_with("Prod", free_sizes, None, None, None),
        reduce_with("Prod", axes_sizes, None, None, None),
    ]
    order = raw.ConcatV2([axes, free] if flipped else [free, axes], 0, name="concat")
    size = raw.Pack(size[::-1] if flipped else size, name="stack")
    return raw.Reshape(raw.Transpose(t, order, name="transpose"), size), free_sizes, known


def _contracted(a: Tensor, axes: Any) -> tuple[Any, Any]:
    """Returns the contracted axes of each operand.

    Raises:
      ValueError: `axes` makes no sense.
    """
    if isinstance(axes, int) or (getattr(axes, "ndim", 1) == 0 and not isinstance(axes, Tensor)):
        n = int(axes)
        if n < 0:
            raise ValueError("'axes' must be at least 0.")
        if a._dims is not None:
            rank = len(a._dims)
            if n > rank:
                raise ValueError(f"'axes' must not be larger than the number of dimensions of tensor {a}.")
            return list(range(rank - n, rank)), list(range(n))
        rank = rank_of(a)
        return range_v1(rank - n, rank, dtype=dtypes.int32), range_v1(n, dtype=dtypes.int32)
    if isinstance(axes, (list, tuple)) or hasattr(axes, "tolist"):
        if len(axes) != 2:
            raise ValueError("'axes' must be an integer or have length 2.")
        pair = [_as_list(each) for each in axes]
        if isinstance(pair[0], list) and isinstance(pair[1], list) and len(pair[0]) != len(pair[1]):
            raise ValueError(
                f"Different number of contraction axes 'a' and 'b', {len(pair[0])} != {len(pair[1])}."
            )
        return pair[0], pair[1]
    both = convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
    return both[0], both[1]


def _as_list(axes: Any) -> Any:
    if isinstance(axes, Tensor):
        return axes
    if hasattr(axes, "tolist"):
        axes = axes.tolist()
    return list(axes) if isinstance(axes, (list, tuple)) else [axes]


@export("tensordot", "linalg.tensordot")
def tensordot(a, b, axes, name=None):
    """Returns the sum of products of two tensors over chosen axes of each.

    Args:
      a: The left tensor.
      b: The right tensor.
      axes: A number n for the last n axes of `a` and the first n of `b`; or two lists of axes.
      name: The name of the result's node.

    Raises:
      ValueError: `axes` does not fit the tensors.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b")
        a_axes, b_axes = _contracted(a, axes)
        a_matrix, a_free, a_known = _as_matrix(a, a_axes, flipped=False)
        b_matrix, b_free, b_known = _as_matrix(b, b_axes, flipped=True)
        product = matmul(a_matrix, b_matrix)
        if isinstance(a_free, list) and isinstance(b_free, list):
            return raw.Reshape(product, int32(a_free + b_free), name=scope)
        a_free = convert_to_tensor(int32(a_free) if isinstance(a_free, list) else a_free, dtypes.int32)
        b_free = convert_to_tensor(int32(b_free) if isinstance(b_free, list) else b_free, dtypes.int32)
        out = raw.Reshape(product, raw.ConcatV2([a_free, b_free], 0, name="concat"), name=scope)
        if a_known is not None and b_known is not None:
            out.set_shape(a_known + b_known)
        return out
