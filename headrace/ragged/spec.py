"""RaggedTensorSpec: what a ragged tensor is like."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import as_dtype, float32, int64
from headrace.export import export
from headrace.graph.tensor import Tensor
from headrace.graph.type_spec import TensorSpec, TypeSpec
from headrace.ragged.tensor import RaggedTensor, from_parts
from headrace.ragged.value import RaggedTensorValue
from headrace.tensor_shape import TensorShape


@export("RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """Describes a RaggedTensor.

    Args:
      shape: Its shape; ragged dimensions are None.
      dtype: The dtype of its values.
      ragged_rank: How many dimensions after the first are ragged; by default all.
      row_splits_dtype: int32 or int64.

    Raises:
      ValueError: The arguments do not fit.
    """

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = int64,
    ):
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        self._ragged_rank = ragged_rank
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")

    @property
    def value_type(self) -> Any:  # type: ignore[override]
        """The class of the values that it describes."""
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """Returns the spec of a RaggedTensor."""
        return cls(value.shape, value.values.dtype, value.ragged_rank, value.row_splits.dtype)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> Any:
        outer = self._shape[0]
        rows: Any = outer.value if hasattr(outer, "value") else outer
        flat = TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
        first = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        others = [TensorSpec([None], self._row_splits_dtype) for _ in range(1, self._ragged_rank)]
        return (
            [TensorSpec(flat, self._dtype), first, *others]
            if self._ragged_rank
            else [TensorSpec(self._shape, self._dtype)]
        )

    def _to_components(self, value: Any) -> Any:
        return [value.flat_values, *value.nested_row_splits] if self._ragged_rank else [value]

    def _from_components(self, components: Any) -> Any:
        values, *splits = components
        if not splits:
            return values
        if all(isinstance(part, np.ndarray) for part in components):
            for each in reversed(splits):
                values = RaggedTensorValue(values, each)
            return values
        result = from_parts(values, splits)
        return result


def _varying_spec(self: RaggedTensor, shape: Any) -> RaggedTensorSpec:
    """Returns the spec of a loop variable that has a shape in all iterations."""
    return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self.row_splits.dtype)


RaggedTensor._varying_spec = _varying_spec  # type: ignore[attr-defined]
RaggedTensor._type_spec = property(RaggedTensorSpec.from_value)  # type: ignore[attr-defined]
