"""Sparse tensors in other shapes: with another axis, or with other bounds."""

from __future__ import annotations

from headrace.export import NAMES
from headrace.graph import colocate_with, control_dependencies, name_scope
from headrace.graph.sparse_tensor import SparseTensor, as_sparse
from headrace.opdef import constant_node, convert_to_tensor, export, raw
from headrace.opdef.plain_values import plain_value


@export("sparse.expand_dims")
def sparse_expand_dims(sp_input, axis=None, name=None):
    """Returns a sparse tensor with an axis of length 1 more.

    Args:
      sp_input: The SparseTensor, of a known rank.
      axis: Before which axis the new one comes, or, if negative, after which, from the end; the last by default.
      name: The scope's name.

    Raises:
      ValueError: The rank is unknown, or the axis is out of bounds.
    """
    rank = sp_input.dense_shape.shape.dims[0]
    convert, concat, cut = convert_to_tensor, NAMES["concat"], NAMES["slice"]
    with name_scope(name, "expand_dims", [sp_input]):
        axis = convert(-1 if axis is None else axis, name="axis")
        axis = NAMES["where_v2"](axis >= 0, axis, axis + rank + 1)
        count = NAMES["shape"](sp_input.indices)[0]
        zeros = NAMES["zeros"]([count, 1], dtype="int64")
        before = cut(sp_input.indices, [0, 0], [-1, axis])
        after = cut(sp_input.indices, [0, axis], [-1, -1])
        indices = concat([before, zeros, after], axis=1)
        outer = cut(sp_input.dense_shape, [0], [axis])
        inner = cut(sp_input.dense_shape, [axis], [-1])
        one = convert([1], name="new_shape", dtype="int64")
        return SparseTensor(indices, sp_input.values, concat([outer, one, inner], axis=0))


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
    wanted, known = plain_value(new_shape), sp_input.shape
    if wanted is not None and known.is_fully_defined():
        dims = wanted.tolist()
        if any(d < k for d, k in zip(dims, known.as_list(), strict=True)):
            shown = " ".join(map(str, known.as_list())), " ".join(map(str, dims))
            # TensorFlow's sentence names the two the other way round.
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  "
                f"Found new_shape ([{shown[0]}]), sp_input.shape ([{shown[1]}])."
            )
        return SparseTensor(indices, values, dims)
    size = NAMES["shape"]
    same_rank = NAMES["assert_equal"](size(old), size(new_shape))
    new_shape = _after(same_rank, new_shape)
    large = NAMES["assert_less_equal"](old, new_shape)
    return SparseTensor(indices, values, _after(large, new_shape))


def _after(check, tensor):
    """Returns a tensor as it is once a check has passed."""
    with name_scope(None, "control_dependency", [check, tensor]) as scope:
        with colocate_with(tensor), control_dependencies([check]):
            return raw.Identity(tensor, name=scope)
