"""IndexedSlices and SparseTensor: tensors of which only some rows, or some elements, are kept."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.graph.tensor import Tensor
from headrace.tensor_shape import TensorShape


@export("IndexedSlices")
class IndexedSlices:
    """Rows of a larger tensor: row `indices[i]` is `values[i]`; rows named twice add up.

    Args:
      values: A tensor of shape [n, ...].
      indices: A 1-D integer tensor of n row numbers.
      dense_shape: The larger tensor's shape as a 1-D integer tensor, or None.
    """

    _is_composite_tensor = True

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None):
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Any:
        return self._values

    @property
    def indices(self) -> Any:
        return self._indices

    @property
    def dense_shape(self) -> Any:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        if self._dense_shape is None:
            return TensorShape(None)
        from headrace.graph import hooks

        return TensorShape(hooks.constant_as_shape(self._dense_shape))

    @property
    def name(self) -> str:
        return self._values.name  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        return self._values.device  # type: ignore[no-any-return]

    @property
    def op(self) -> Any:
        return self._values.op

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def graph(self) -> Any:
        return self._values.graph

    def consumers(self) -> Any:
        return self._values.consumers()

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        dense = f", dense_shape={self._dense_shape}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices}, values={self._values}{dense})"


def flat_tensors(value: Any) -> list[Tensor]:
    """Returns the tensors that a Tensor, IndexedSlices or SparseTensor is made of."""
    if isinstance(value, IndexedSlices):
        parts = [value.values, value.indices, value.dense_shape]
        return [p for p in parts if p is not None]
    if hasattr(value, "_is_composite_tensor"):
        return [value.indices, value.values, value.dense_shape]
    return [value]
