"""Sparse tensors whose values become places: merged with others, or marked in a dense tensor."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor, as_sparse, is_sparse
from headrace.opdef import export, raw


@export("sparse_merge", "sparse.merge")
def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    """Returns a sparse tensor whose last coordinates are the values of others, with given values there.

    Args:
      sp_ids: A SparseTensor of integers, or a list of such.
      sp_values: A SparseTensor of the same places.
      vocab_size: What the integers are less than, or a list of such numbers.
      name: The scope's name.
      already_sorted: Whether the result's coordinates already are in order.

    Raises:
      TypeError: The ids are not sparse, or there is a list of ids without one of sizes, or the other way round.
      ValueError: There are not as many sizes as tensors of ids.
    """
    if isinstance(sp_ids, (list, tuple)):
        if not isinstance(vocab_size, (list, tuple)):
            raise TypeError(
                f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}"
            )
    else:
        if not is_sparse(sp_ids):
            raise TypeError(f"sp_ids has to be a SparseTensor or list thereof. Found {type(sp_ids)}")
        if isinstance(vocab_size, (list, tuple)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
        sp_ids, vocab_size = [sp_ids], [vocab_size]
    if len(sp_ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    sp_ids = [as_sparse(s) for s in sp_ids]
    sp_values = as_sparse(sp_values)
    with name_scope(name, "SparseMerge", [sp_ids, sp_values]):
        return merged(sp_ids, sp_values.values, vocab_size, already_sorted)


def merged(sp_ids, values, sizes, already_sorted=False):
    """Does what `sparse_merge` does, with the values as a tensor."""
    concat, cast = NAMES["concat"], NAMES["cast"]
    ids = [NAMES["expand_dims"](cast(s.values, "int64"), 1) for s in sp_ids]
    sizes = [cast(size, "int64") for size in sizes]
    indices = concat([sp_ids[0].indices[:, :-1], *ids], 1)
    dense_shape = concat([sp_ids[0].dense_shape[:-1], [*sizes]], 0)
    sparse = SparseTensor(indices, values, dense_shape)
    if already_sorted:
        return sparse
    ordered = NAMES["sparse_reorder"](sparse)
    return SparseTensor(ordered.indices, ordered.values, dense_shape)


@export("sparse_to_indicator", "sparse.to_indicator")
def sparse_to_indicator(sp_input, vocab_size, name=None):
    """Returns a dense boolean tensor that is true at the places that the values of a sparse one name.

    Args:
      sp_input: A SparseTensor of integers.
      vocab_size: What the integers are less than.
      name: The node's name.
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input]) as scope:
        count = NAMES["shape"](sp_input.indices)[0]
        true = raw.Fill(NAMES["expand_dims"](count, 0), True)
        marks = SparseTensor(sp_input.indices, true, sp_input.dense_shape)
        found = merged([sp_input], marks.values, [vocab_size])
        return NAMES["sparse_tensor_to_dense"](found, default_value=False, validate_indices=False, name=scope)
