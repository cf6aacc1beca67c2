"""Looking up sparse rows of ids that may be empty or hold ids that are none."""

from __future__ import annotations

from typing import Any

from headrace.export import export
from headrace.opdef import convert_to_tensor
from headrace.ops.nn.embedding import is_resource
from headrace.ops.nn.names import public, public_nn


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean", default_id: Any = None,
    name: str | None = None, partition_strategy: str = "div", max_norm: float | None = None,
) -> Any:  # fmt: skip
    """Returns for each row of sparse ids the combination of the embeddings that it names, of empty rows too.

    Negative ids, and ids with a weight of 0 or less unless weights are added up, are left out.

    Args:
      embedding_weights: Embedding matrices, as in `embedding_lookup`.
      sparse_ids: A SparseTensor of ids, of rank 2 or more.
      sparse_weights: A SparseTensor of weights of the same indices, or None for ones.
      combiner: "mean", "sqrtn" or "sum".
      default_id: What an empty row is looked up by; None for an embedding of zeros.
      name: A name for the operation.
      partition_strategy: How rows are spread over several matrices.
      max_norm: If not None, longer rows are shortened to this L2 norm.

    Raises:
      ValueError: There are no embeddings.
    """
    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    if hasattr(embedding_weights, "_get_variable_list"):
        embedding_weights = list(embedding_weights)
    if not isinstance(embedding_weights, list):
        embedding_weights = [embedding_weights]
    if not embedding_weights:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    dtype = None if sparse_weights is None else sparse_weights.dtype
    embedding_weights = [
        w if is_resource(w) and dtype in (None, w.dtype) else convert_to_tensor(w, dtype=dtype)
        for w in embedding_weights
    ]
    operands = [*embedding_weights, sparse_ids, sparse_weights]
    with public.name_scope(name, "embedding_lookup", operands) as scope:
        original = sparse_ids.dense_shape
        rank_dim = sparse_ids.dense_shape.get_shape()[0]
        rank = public.size(original) if rank_dim.value is None else rank_dim.value
        flat = [
            public.reduce_prod(public.slice(original, [0], [rank - 1])), public.gather(original, rank - 1)
        ]  # fmt: skip
        sparse_ids = public.sparse_reshape(sparse_ids, flat)
        if sparse_weights is not None:
            sparse_weights = public.SparseTensor(
                sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape
            )
        sparse_ids, sparse_weights = _without_invalid(sparse_ids, sparse_weights)
        if combiner != "sum":
            sparse_ids, sparse_weights = _with_weight(sparse_ids, sparse_weights)
        sparse_ids, empty = public.sparse_fill_empty_rows(sparse_ids, default_id or 0)
        if sparse_weights is not None:
            sparse_weights, _ = public.sparse_fill_empty_rows(sparse_weights, 1.0)
        result = public_nn.embedding_lookup_sparse(
            embedding_weights, sparse_ids, sparse_weights, combiner=combiner,
            partition_strategy=partition_strategy, name=None if default_id is None else scope, max_norm=max_norm,
        )  # fmt: skip
        if default_id is None:
            # Rows that were empty were looked up by an id of no meaning.
            empty = public.tile(public.reshape(empty, [-1, 1]), public.stack([1, public.shape(result)[1]]))
            result = public.where(empty, public.zeros_like(result), result, name=scope)
        outer = public.slice(public.cast(original, "int32"), [0], [rank - 1])
        final = public.reshape(
            result, public.concat([outer, public.slice(public.shape(result), [1], [-1])], 0)
        )
        rows = public.TensorShape(None if rank_dim.value is None else [None] * (rank_dim.value - 1))
        final.set_shape(rows.concatenate(result.get_shape()[1:]))
        return final


def _without_invalid(ids: Any, weights: Any) -> tuple[Any, Any]:
    valid = public.greater_equal(ids.values, 0)
    if weights is not None:
        valid = public.logical_and(valid, public.ones_like(weights.values, dtype="bool"))
    ids = public.sparse_retain(ids, valid)
    if weights is not None:
        weights = public.sparse_retain(weights, valid)
    return ids, weights


def _with_weight(ids: Any, weights: Any) -> tuple[Any, Any]:
    if weights is not None:
        positive = public.greater(weights.values, 0)
        ids = public.sparse_retain(ids, positive)
        weights = public.sparse_retain(weights, positive)
    return ids, weights
