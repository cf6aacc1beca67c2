"""Bincount: how often each small integer occurs."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.graph.default import name_scope
from headrace.lazy import jnp
from headrace.opdef import constant_node, convert_to_tensor, op, raw
from headrace.ops.math.building import cast_to, shape_of
from headrace.ops.math.reduce_functions import reduce_with

Bincount = op("""
    Bincount(arr: int32, size: int32, weights: T) -> (bins: T)
      T: {int32, int64, float, double}

    How often each of 0 .. size-1 occurs in arr, or the sum of the weights where it does.
""")  # fmt: skip


@Bincount.shape
def bincount_shape(arr, size, weights, *, ctx):
    shapes.with_rank(size, 0)
    n = ctx.constant("size")
    if n is None:
        return (None,)
    if n < 0:
        raise ValueError(f"size ({n}) must be non-negative")
    return (int(n),)


def _weights(arr, weights):
    if 0 < weights.size < arr.size:
        raise InvalidArgumentError(None, None, f"{weights.size} weights are too few for {arr.size} values")
    return weights.reshape(-1)[: arr.size] if weights.size else None


@Bincount.host
def bincount_host(arr, size, weights):
    n, values = int(size), arr.reshape(-1)
    if n < 0:
        raise InvalidArgumentError(None, None, f"size ({n}) must be non-negative")
    if values.size and values.min() < 0:
        raise InvalidArgumentError(None, None, "Input arr must be non-negative!")
    given = _weights(arr, weights)
    counts = np.bincount(values[values < n], None if given is None else given[values < n], n)
    return counts.astype(weights.dtype)


@Bincount.lower(static="size")
def bincount_lower(arr, size, weights, *, ctx):
    n, values = int(size), arr.reshape(-1)
    ctx.check((values >= 0).all(), "Input arr must be non-negative!")
    given = _weights(arr, weights)
    added = jnp.ones(values.shape, weights.dtype) if given is None else given
    return jnp.zeros(n, weights.dtype).at[values].add(added, mode="drop")


@Bincount.cases
def bincount_cases(case):
    case(np.int32([0, 2, 2, 5]), np.int32(6), np.zeros(0, np.int32), gives=np.int32([1, 0, 2, 0, 0, 1]))
    case(np.int32([0, 2, 2, 5]), np.int32(3), np.float32([1, 2, 3, 4]), gives=[1.0, 0.0, 5.0])
    case.shapes("[?];[];[0]", "[6]", values={"size": 6})
    case.fails(
        (np.int32([0, -2]), np.int32(3), np.zeros(0, np.int32)), match="Input arr must be non-negative!"
    )


@export("bincount", "math.bincount")
def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32):
    """Returns how often each of 0, 1, 2 ... occurs, or the sum of the weights where it does.

    Args:
      arr: An int32 tensor of values that are not negative.
      weights: A weight for each value.
      minlength: How many counts to give at least.
      maxlength: How many counts to give at most; greater values do not count.
      dtype: The type of the counts if there are no weights.
    """
    with name_scope("bincount"):
        arr = convert_to_tensor(arr, dtype=dtypes.int32, name="arr")
        nonempty = reduce_with("Prod", shape_of(arr), None, None, None) > 0
        size = cast_to(nonempty, dtypes.int32) * (reduce_with("Max", arr, None, None, None) + 1)
        if minlength is not None:
            size = raw.Maximum(convert_to_tensor(minlength, dtype=dtypes.int32, name="minlength"), size)
        if maxlength is not None:
            size = raw.Minimum(convert_to_tensor(maxlength, dtype=dtypes.int32, name="maxlength"), size)
        if weights is not None:
            return raw.UnsortedSegmentSum(convert_to_tensor(weights, name="weights"), arr, size)
        return raw.Bincount(arr, size, constant_node([], dtype))
