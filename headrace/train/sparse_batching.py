"""SparseTensors in queues: a queue holds the numbers under which a map of the session keeps them."""

from __future__ import annotations

from typing import Any

from headrace.export import NAMES
from headrace.graph import colocate_with, control_dependencies
from headrace.graph.sparse_tensor import SparseTensor
from headrace.opdef import constant_value


class StoredSparse:
    """Which components of some examples are sparse, and the maps that keep them."""

    def __init__(self) -> None:
        self._maps: dict[int, Any] = {}
        self._ranks: dict[int, int | None] = {}

    def store(self, tensors: list[Any], enqueue_many: bool, keep_input: Any) -> list[Any]:
        """Returns the components of one source's examples with numbers in place of SparseTensors.

        Args:
          tensors: The components.
          enqueue_many: Whether they are of several examples.
          keep_input: Whether the examples are kept.
        """
        stored = [
            self._number(i, t, enqueue_many, keep_input) if isinstance(t, SparseTensor) else t
            for i, t in enumerate(tensors)
        ]
        # What is put into a queue needs a shape that all elements have.
        return [
            NAMES["expand_dims"](s, [-1]) if isinstance(t, SparseTensor) else s
            for t, s in zip(tensors, stored, strict=True)
        ]

    def _number(self, i: int, sparse: SparseTensor, enqueue_many: bool, keep_input: Any) -> Any:
        add = "_add_many_sparse_to_tensors_map" if enqueue_many else "_add_sparse_to_tensors_map"
        first = self._maps.get(i)

        def put() -> Any:
            number = NAMES[f"python.ops.sparse_ops.{add}"](
                sparse, shared_name=None if first is None else first.name
            )
            self._maps.setdefault(i, number.op)
            rank = sparse.dense_shape.shape.as_list()[0] if sparse.dense_shape.shape.ndims else None
            self._ranks.setdefault(i, None if rank is None else rank + (not enqueue_many))
            return number

        known = constant_value(keep_input)
        if known is None or not known.all():
            raise NotImplementedError("SparseTensors in batches of which some examples are left out")
        return put()

    def restore(self, batch: Any) -> Any:
        """Returns a batch with SparseTensors in place of their numbers."""
        if not self._maps:
            return batch
        parts: list[Any] = list(batch) if isinstance(batch, (list, tuple)) else [batch]
        for i, kept in self._maps.items():
            numbers = NAMES["squeeze"](parts[i], [1])
            parts[i] = NAMES["python.ops.sparse_ops._take_many_sparse_from_tensors_map"](
                sparse_map_op=kept, sparse_handles=numbers, rank=self._ranks[i]
            )
        # Whoever uses one component takes all of them out of their maps.
        whole = [_after([p.op for j, p in enumerate(parts) if j != i], part) for i, part in enumerate(parts)]
        # A single one is given as it is, as in TensorFlow.
        return whole if len(whole) > 1 else parts[0]


def _after(operations: list[Any], part: Any) -> Any:
    """Returns a component that is there once some operations have run."""
    if isinstance(part, SparseTensor):
        pieces = [_after_one(operations, t) for t in (part.indices, part.values, part.dense_shape)]
        return SparseTensor(*pieces)
    return _after_one(operations, part)


def _after_one(operations: list[Any], tensor: Any) -> Any:
    with colocate_with(tensor), control_dependencies(operations):
        return NAMES["identity"](tensor, name="control_dependency")
