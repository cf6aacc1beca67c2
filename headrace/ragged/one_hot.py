"""One-hot encoding of ragged tensors."""

from __future__ import annotations

from typing import Any

from headrace.graph import name_scope
from headrace.ops.array.one_hot import one_hot as dense_one_hot
from headrace.ragged.building import positive_axis
from headrace.ragged.tensor import convert_to_tensor_or_ragged_tensor


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Returns a ragged tensor with a vector for each number.

    Args:
      indices: A RaggedTensor of integers.
      depth: The size of the vectors.
      on_value: What stands at the number's place.
      off_value: What stands elsewhere.
      axis: Where the new dimension shall be, not before a ragged one.
      dtype: The type of the result.
      name: The scope's name.

    Raises:
      ValueError: The axis lies before a ragged dimension.
    """
    with name_scope(name, "RaggedOneHot", [indices]):
        indices = convert_to_tensor_or_ragged_tensor(indices, name="indices")
        if axis is not None:
            axis = positive_axis(axis, indices.shape.ndims)
            if axis < indices.ragged_rank:
                raise ValueError("axis may not be less than indices.ragged_rank.")
        return indices.with_flat_values(
            dense_one_hot(indices.flat_values, depth, on_value, off_value, axis, dtype)
        )
