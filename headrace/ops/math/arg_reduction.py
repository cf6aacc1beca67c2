"""ArgMax and ArgMin: where the extreme is."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes, shapes
from headrace.errors import InvalidArgumentError
from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.math.aliases import renamed


def _axis(x: Any, dimension: Any) -> int:
    axis, rank = int(dimension), x.ndim
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            None, None, f"Expected dimension in the range [{-rank}, {rank}), but got {axis}"
        )
    axis %= rank
    if x.shape[axis] == 0 and x.size == 0 and all(d for i, d in enumerate(x.shape) if i != axis):
        shape = ",".join(map(str, x.shape))
        raise InvalidArgumentError(None, None, f"Reduction axis {axis} is empty in shape [{shape}]")
    return axis


def _declare(name: str, largest: bool, doc: str, gives: Any) -> None:
    made = op(f"""
        {name}(input: T, dimension: Tidx) -> (output: output_type)
          T: numbertype
          Tidx: {{int32, int64}} = DT_INT32
          output_type: {{int32, int64}} = DT_INT64

        {doc}
    """)  # fmt: skip

    @made.shape
    def arg_shape(input: Any, dimension: Any, *, ctx: Any) -> Any:
        shapes.with_rank(dimension, 0)
        axis = ctx.constant("dimension")
        if input is None:
            return None
        rank = len(input)
        if rank <= 1:
            return ()
        if axis is None:
            return (None,) * (rank - 1)
        if not -rank <= axis < rank:
            raise ValueError(
                f"Dimension ({axis}) must be in the range [{-rank}, {rank}), where {rank} is the number of dimensions"
                " in the input."
            )
        axis = int(axis) % rank
        return input[:axis] + input[axis + 1 :]

    def compute(xp: Any, x: Any, axis: int, dtype: Any) -> Any:
        if x.dtype.kind not in "iub":
            worst = x.dtype.type(-np.inf if largest else np.inf)
            if xp is jnp or np.isnan(x).any():
                x = xp.where(xp.isnan(x), worst, x)
        return (xp.argmax if largest else xp.argmin)(x, axis).astype(dtype)

    @made.host
    def arg_host(input: Any, dimension: Any, *, output_type: Any) -> Any:
        axis = _axis(input, dimension)
        if input.size == 0:
            return np.zeros(input.shape[:axis] + input.shape[axis + 1 :], output_type.storage)
        return np.asarray(compute(np, input, axis, output_type.storage))

    @made.lower(static="dimension")
    def arg_lower(input: Any, dimension: Any, *, output_type: Any) -> Any:
        axis = _axis(input, dimension)
        if input.size == 0:
            return jnp.zeros(input.shape[:axis] + input.shape[axis + 1 :], output_type.storage)
        return compute(jnp, input, axis, output_type.storage)

    @made.grad
    def arg_grad(op: Any, dy: Any) -> Any:
        return [None, None]

    @made.cases
    def arg_cases(case: Any) -> None:
        x = [[2.0, 1.0, 2.0], [np.nan, 5.0, 5.0]]
        case(x, np.int32(1), gives=np.array(gives, np.int64))
        case(case.integers(3, 4), np.int32(-2), output_type="int32")
        case(np.zeros((0, 2), np.float32), np.int32(1), gives=np.zeros(0, np.int64))
        case.shapes("[2,?,4];[]", "[2,4]", values={"dimension": -2})
        case.shapes("[2,3];[]", "[?]")
        case.fails("[2,3];[]", match=r"must be in the range \[-2, 2\)", values={"dimension": 2})
        case.fails(
            (np.zeros((2, 0), np.float32), np.int32(1)), match=r"Reduction axis 1 is empty in shape \[2,0\]"
        )


_declare("ArgMax", True, "The index of the greatest element along an axis, the first of several.", [0, 1])
_declare("ArgMin", False, "The index of the least element along an axis, the first of several.", [1, 1])


@export("argmax", "math.argmax")
def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """Returns the index of the greatest element along an axis, the first of several.

    Args:
      input: A tensor of numbers.
      axis: The axis; by default the first.
      name: The node's name.
      dimension: The old name of `axis`.
      output_type: int32 or int64.

    Raises:
      ValueError: Both `axis` and `dimension` are given.
    """
    axis = renamed("axis", axis, "dimension", dimension)
    return raw.ArgMax(input, 0 if axis is None else axis, output_type=output_type, name=name)


@export("argmin", "math.argmin")
def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """Returns the index of the least element along an axis, the first of several.

    Args:
      input: A tensor of numbers.
      axis: The axis; by default the first.
      name: The node's name.
      dimension: The old name of `axis`.
      output_type: int32 or int64.

    Raises:
      ValueError: Both `axis` and `dimension` are given.
    """
    axis = renamed("axis", axis, "dimension", dimension)
    return raw.ArgMin(input, 0 if axis is None else axis, output_type=output_type, name=name)


@export("arg_max")
def arg_max(input, dimension, output_type=dtypes.int64, name=None):
    """Returns the index of the greatest element along an axis; see `tf.argmax`."""
    return raw.ArgMax(input, dimension, output_type=output_type, name=name)


@export("arg_min")
def arg_min(input, dimension, output_type=dtypes.int64, name=None):
    """Returns the index of the least element along an axis; see `tf.argmin`."""
    return raw.ArgMin(input, dimension, output_type=output_type, name=name)
