"""Gradients of reductions, node for node TensorFlow's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace import dtypes, shapes
from headrace.graph.default import colocate_with, device
from headrace.opdef import constant_node, constant_value, raw
from headrace.ops.math.building import cast_to, int32, range_to, rank_of, shape_of, size_of


def kept_shape(input_shape: Any, axes: Any) -> Any:
    """Adds the nodes that compute the shape which a reduction with keep_dims has.

    Args:
      input_shape: The shape of the reduction's input: a tensor, or a sequence if it is known.
      axes: The reduced axes: a tensor, or a sequence.
    """
    input_shape = cast_to(input_shape, dtypes.int32)
    axes = cast_to(axes, dtypes.int32)
    rank = size_of(input_shape)
    axes = (axes + rank) % rank
    axes_shape = shape_of(axes)
    every = range_to(rank)
    return raw.DynamicStitch([every, axes], [input_shape, raw.Fill(axes_shape, 1)])


def _ratio(x: Any, y: Any) -> Any:
    """Returns x // y as nodes, and x where y is 0."""
    return x // raw.Maximum(y, 1)


def _known_kept_shape(graph: Any, dims: tuple[int, ...], axes: list[int]) -> tuple[Any, Any]:
    """Returns the kept shape and how often it repeats; TensorFlow adds the nodes once a graph, shape and axes."""
    known = graph.__dict__.setdefault("_reduced_shapes", {})
    key = dims, tuple(axes)
    if key not in known:
        kept_shape(list(dims), axes)
        gone = {a % len(dims) for a in axes}
        kept = int32([1 if i in gone else d for i, d in enumerate(dims)])
        _ratio(int32(dims), kept)
        known[key] = kept, int32(dims) // np.maximum(kept, 1)
    return known[key]


def sum_grad(op: Any, dy: Any) -> Any:
    return [_spread(op, dy), None]


def _spread(op: Any, dy: Any) -> Any:
    """Repeats a gradient along the axes that were summed over."""
    x, indices = op.inputs
    dims = x._dims
    if dims is not None:
        axes = constant_value(indices)
        if axes is not None:
            axes = np.atleast_1d(axes).tolist()
            if axes == list(range(len(dims))):
                dy = raw.Reshape(dy, int32([1] * len(dims)))
                size = constant_node(int32(dims)) if shapes.is_full(dims) else shape_of(x)
                return raw.Tile(dy, size)
            if shapes.is_full(dims):
                kept, repeats = _known_kept_shape(op.graph, dims, axes)
                return raw.Tile(raw.Reshape(dy, kept), repeats)
    input_shape = shape_of(x)
    with colocate_with(input_shape):
        kept = kept_shape(input_shape, indices)
        repeats = _ratio(input_shape, kept)
    return raw.Tile(raw.Reshape(dy, kept), repeats)


def mean_grad(op: Any, dy: Any) -> Any:
    dx = _spread(op, dy)
    x, y = op.inputs[0], op.outputs[0]
    if shapes.is_full(x._dims) and shapes.is_full(y._dims):
        factor = constant_node(math.prod(x._dims) // max(math.prod(y._dims), 1), dx.dtype.base_dtype)
    else:
        input_shape = shape_of(x)
        output_shape = shape_of(y)
        factor = _ratio(_product(input_shape), _product(output_shape))
    return [dx / cast_to(factor, dx.dtype), None]


def _product(sizes: Any) -> Any:
    return raw.Prod(sizes, constant_node(int32([0])))


def extreme_grad(op: Any, dy: Any) -> Any:
    """The gradient goes to the elements that equal the maximum or minimum, in equal parts."""
    x, indices = op.inputs
    kept = kept_shape(shape_of(x), indices)
    y = raw.Reshape(op.outputs[0], kept)
    dy = raw.Reshape(dy, kept)
    chosen = cast_to(raw.Equal(y, x), dy.dtype)
    number = raw.Reshape(raw.Sum(chosen, indices), kept)
    return [chosen / number * dy, None]


def prod_grad(op: Any, dy: Any) -> Any:
    """Each element's factor is the product of the others, from exclusive products of both sides: 0 is no problem."""
    x, indices = op.inputs
    input_shape = shape_of(x)
    flat_indices = raw.Reshape(indices, int32([-1]))
    kept = kept_shape(input_shape, indices)
    repeats = _ratio(input_shape, kept)
    dy = raw.Tile(raw.Reshape(dy, kept), repeats)
    # Bring the reduced axes to the front and pack them into one. This is arithmetic on shapes, for the host.
    with device("/cpu:0"):
        rank = rank_of(x)
        flat_indices = (flat_indices + rank) % rank
        reduced = cast_to(flat_indices, dtypes.int32)
        others = raw.ListDiff(range_to(rank), reduced)[0]
        order = raw.ConcatV2([reduced, others], 0, name="concat")
        number_reduced = _product(raw.GatherV2(input_shape, reduced, 0))
        number_others = _product(raw.GatherV2(input_shape, others, 0))
    permuted = raw.Transpose(x, order, name="transpose")
    permuted_shape = shape_of(permuted)
    packed = raw.Reshape(permuted, [number_reduced, number_others])
    left = raw.Cumprod(packed, 0, exclusive=True)
    right = raw.Cumprod(packed, 0, exclusive=True, reverse=True)
    factors = raw.Reshape(_conjugate(left) * _conjugate(right), permuted_shape)
    back = raw.InvertPermutation(order)
    dx = dy * raw.Transpose(factors, back, name="transpose")
    return [raw.Reshape(dx, input_shape), None]


def _conjugate(x: Any) -> Any:
    return raw.Conj(x) if x.dtype.is_complex else x
