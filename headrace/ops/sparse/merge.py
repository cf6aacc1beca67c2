"""Sparse tensors whose values become places: merged with others, or marked in a dense tensor."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor, as_sparse
from headrace.opdef import constant_node, constant_value, convert_to_tensor, export, raw


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
      ValueError: There are not as many sizes as tensors of ids.
    """
    if isinstance(sp_ids, (list, tuple)):
        if not isinstance(vocab_size, (list, tuple)):
            raise TypeError(
                f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}"
            )
    else:
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


@export("sparse_reset_shape", "sparse.reset_shape")
def sparse_reset_shape(sp_input, new_shape=None):
    """Returns a sparse tensor with another shape and the same coordinates.

    Args:
      sp_input: The SparseTensor.
      new_shape: The shape, not less than the old one; by default the least that holds all elements.

    Raises:
      ValueError: The new shape is less than the old one.
    """
    sp_input = as_sparse(sp_input)
    indices = raw.Identity(sp_input.indices)
    values = raw.Identity(sp_input.values)
    old = raw.Identity(sp_input.dense_shape)
    if new_shape is None:
        last = raw.Max(indices, 0)
        least = constant_node(0, "int64")
        # Without any element there is no greatest coordinate; the least shape is then of zeros.
        return SparseTensor(indices, values, raw.Maximum(least, raw.Add(last, NAMES["ones_like"](old))))
    new_shape = NAMES["cast"](convert_to_tensor(new_shape), "int64")
    new_shape.shape.with_rank(1).dims[0].merge_with(old.shape.with_rank(1).dims[0])
    wanted, known = constant_value(new_shape), sp_input.shape
    if wanted is not None and known.is_fully_defined():
        dims = wanted.tolist()
        if any(d < k for d, k in zip(dims, known.as_list(), strict=True)):
            shown = " ".join(map(str, known.as_list())), " ".join(map(str, dims))
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  "
                f"Found new_shape ([{shown[0]}]), sp_input.shape ([{shown[1]}])."
            )
        return SparseTensor(indices, values, dims)
    return SparseTensor(indices, values, new_shape)
