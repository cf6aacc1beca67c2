"""Numbers by the bucket they fall into, and comparisons packed into bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.lazy import jnp
from headrace.opdef import op

Bucketize = op("""
    Bucketize(input: T) -> (output: int32)
      T: {int32, int64, float, double}
      boundaries: list(float)

    How many of the rising `boundaries` an element reaches; NaN reaches all.
""", shape=shapes.unchanged)  # fmt: skip


def _bucket(xp: Any, x: Any, boundaries: Any) -> Any:
    edges = np.array(boundaries, np.float32)
    if np.any(np.diff(edges) < 0):
        raise InvalidArgumentError(None, None, "Expected sorted boundaries")
    if x.dtype.kind in "iu":
        x = x.astype(np.float32)
    return xp.searchsorted(edges.astype(x.dtype), x, side="right").astype(np.int32)


@Bucketize.host
def bucketize_host(input, *, boundaries):
    return np.asarray(_bucket(np, input, boundaries))


@Bucketize.lower
def bucketize_lower(input, *, boundaries):
    return _bucket(jnp, input, boundaries)


@Bucketize.cases
def bucketize_cases(case):
    rows = [[-5.0, 10000.0], [150.0, 10.0], [5.0, 100.0]]
    case(rows, boundaries=[0.0, 10.0, 100.0], gives=np.int32([[0, 3], [3, 2], [1, 3]]))
    case([np.nan, np.inf, -np.inf], boundaries=[0.5, 1.5], gives=np.int32([2, 2, 0]))
    case(np.int64([-1, 0, 1, 2]), boundaries=[0.5, 1.5], gives=np.int32([0, 0, 1, 2]))
    case([1.0, 2.0], boundaries=[], gives=np.int32([0, 0]))
    case.shapes("[2,?]", "[2,?]", boundaries=[1.0])
    case.fails(([1.0],), match="Expected sorted boundaries", boundaries=[2.0, 1.0])


CompareAndBitpack = op("""
    CompareAndBitpack(input: T, threshold: T) -> (output: uint8)
      T: {bool, half, float, double, int8, int16, int32, int64}

    Whether each element exceeds a threshold, eight answers to a byte, the first in the highest bit. Booleans are
    packed as they are.
""")  # fmt: skip


@CompareAndBitpack.shape
def compare_and_bitpack_shape(input, threshold):
    shapes.with_rank(threshold, 0)
    if shapes.with_rank_at_least(input, 1) is None:
        return None
    last = input[-1]
    if last is not None and last % 8:
        raise ValueError(f"Dimension size must be evenly divisible by 8 but is {last}")
    return (*input[:-1], None if last is None else last // 8)


def _packed(xp: Any, x: Any, threshold: Any) -> Any:
    shown = "[" + ",".join(map(str, x.shape)) + "]"
    if not x.ndim:
        raise InvalidArgumentError(None, None, "Input should be at least a vector, but saw a scalar.")
    if threshold.ndim:
        shape = ",".join(map(str, threshold.shape))
        raise InvalidArgumentError(None, None, f"Compare must be a scalar, but saw shape: [{shape}]")
    if x.shape[-1] % 8:
        raise InvalidArgumentError(
            None, None, f"Inner dimension of input should be divisible by 8, but saw shape: {shown}"
        )
    bits = x if x.dtype == bool else x > threshold
    return xp.packbits(bits, axis=-1)


@CompareAndBitpack.host
def compare_and_bitpack_host(input, threshold):
    return _packed(np, input, threshold)


@CompareAndBitpack.lower
def compare_and_bitpack_lower(input, threshold):
    return _packed(jnp, input, threshold)


@CompareAndBitpack.cases
def compare_and_bitpack_cases(case):
    case([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, np.nan]], np.float32(4.0), gives=np.uint8([[14]]))
    case(np.array([True, False] * 4), np.array(True), gives=np.uint8([170]))
    case(np.zeros([3, 0], np.float32), np.float32(0.0), gives=np.zeros([3, 0], np.uint8))
    case.shapes("[?,16];[]", "[?,2]")
    case.fails("[3,7];[]", match="Dimension size must be evenly divisible by 8 but is 7")
    case.fails("[8];[1]", match="Shape must be rank 0 but is rank 1")
