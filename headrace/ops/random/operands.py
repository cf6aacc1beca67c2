"""What the random ops have in common: how their shape operand is made and read."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.opdef import convert_to_tensor, raw
from headrace.shapes import check_count, with_rank
from headrace.tensor_shape import Dimension

FLOATS = "{half, bfloat16, float, double}"
INDEX = "{int32, int64}"


def shape_tensor(shape: Any) -> Any:
    """Returns the tensor for a `shape` argument: int32 where nothing says otherwise, named "shape".

    Args:
      shape: A tensor, an array, a TensorShape, or a list of integers, Dimensions and scalar tensors.
    """
    if not isinstance(shape, (list, tuple)):
        return convert_to_tensor(shape, name="shape")
    dims = [d.value if isinstance(d, Dimension) else d for d in shape]
    if not all(isinstance(d, (int, np.integer)) for d in dims):
        return convert_to_tensor(dims, name="shape")
    # An empty list would be float32 otherwise, and NumPy integers int64.
    fits = all(abs(int(d)) < 2**31 for d in dims)
    return convert_to_tensor([int(d) for d in dims], dtypes.int32 if fits else dtypes.int64, name="shape")


def shape_rule(shape: Any, *_: Any, ctx: Any) -> Any:
    """The output has the shape that the operand `shape` holds."""
    with_rank(shape, 1)
    return ctx.as_shape("shape")


def check_seed_shape(seed: Any) -> None:
    """Checks the static shape of a seed operand: [2].

    Raises:
      ValueError: It is another.
    """
    (length,) = with_rank(seed, 1)
    if length not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {length}")


def static_dims(shape: Any) -> tuple[int, ...]:
    """Returns the value of a shape operand as a tuple.

    Raises:
      ValueError: A dimension is negative, or there are too many elements.
    """
    dims = tuple(int(d) for d in shape)
    for d in dims:
        if d < 0:
            raise ValueError(f"Dimension {d} must be >= 0")
    check_count(dims)
    return dims


def check_range(low: Any, high: Any, count: int) -> None:
    """Checks the bounds of random integers, where they are known and anything is to be made.

    Raises:
      ValueError: There is no integer between them.
    """
    known = isinstance(low, (np.ndarray, np.generic)) and isinstance(high, (np.ndarray, np.generic))
    if count and known and low >= high:
        raise ValueError(f"Need minval < maxval, got {low} >= {high}")


_UNIFORM_TYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def upper_end(dtype: Any, maxval: Any) -> Any:
    """Returns `maxval`, or what it is when not given.

    Raises:
      ValueError: `dtype` has no uniform numbers, or it is an integer type and `maxval` is None.
    """
    if dtype not in _UNIFORM_TYPES:
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        return 1
    return maxval


def stretched(numbers: Any, low: Any, high: Any, name: str) -> Any:
    """Returns numbers of [0, 1) stretched over [low, high)."""
    return raw.Add(raw.Mul(numbers, raw.Sub(high, low, name="sub"), name="mul"), low, name=name)


def shifted(numbers: Any, mean: Any, stddev: Any, name: str) -> Any:
    """Returns standard normal numbers with this mean and deviation."""
    return raw.Add(raw.Mul(numbers, stddev, name="mul"), mean, name=name)
