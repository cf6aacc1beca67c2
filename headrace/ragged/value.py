"""RaggedTensorValue: what a session gives for a RaggedTensor."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from headrace.export import export


@export("ragged.RaggedTensorValue")
class RaggedTensorValue:
    """Rows of different lengths, as arrays.

    Args:
      values: The rows one after the other: an array, or a RaggedTensorValue.
      row_splits: Where each row begins, and where the last one ends: a vector of int32 or int64.

    Raises:
      TypeError: `row_splits` is something else.
    """

    def __init__(self, values: Any, row_splits: Any):
        if not (
            isinstance(row_splits, (np.ndarray, np.generic))
            and row_splits.dtype in (np.int64, np.int32)
            and row_splits.ndim == 1
        ):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if (
            isinstance(values, RaggedTensorValue)
            and np.asarray(row_splits).dtype != np.asarray(values.row_splits).dtype
        ):
            raise ValueError(
                "row_splits and values.row_splits must have the same dtype; "
                f"got {np.asarray(row_splits).dtype} and {np.asarray(values.row_splits).dtype}"
            )
        self._values = values
        self._row_splits = row_splits

    @property
    def values(self) -> Any:
        return self._values

    @property
    def row_splits(self) -> Any:
        return self._row_splits

    @property
    def flat_values(self) -> Any:
        """The values without any splits."""
        value = self.values
        while isinstance(value, RaggedTensorValue):
            value = value.values
        return value

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of all ragged dimensions, the outermost first."""
        value, splits = self, [self.row_splits]
        while isinstance(value.values, RaggedTensorValue):
            value = value.values
            splits.append(value.row_splits)
        return tuple(splits)

    @property
    def ragged_rank(self) -> int:
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape; None stands for a dimension of different sizes."""
        return (self._row_splits.shape[0] - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Returns the rows as lists."""
        values = (
            self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        )
        splits = self._row_splits.tolist()
        return [values[a:b] for a, b in itertools.pairwise(splits)]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"
