"""Looking up rows of embedding matrices, which may lie in several parts."""

from __future__ import annotations

from headrace.export import export
from headrace.graph.default import colocate_with
from headrace.graph.tensor import Tensor
from headrace.opdef import convert_n_to_tensor, convert_to_tensor, raw
from headrace.ops.nn.names import public
from headrace.shapes import concatenate


@export("nn.embedding_lookup")
def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """Returns the rows of embedding matrices that `ids` name.

    Args:
      params: A matrix (or a tensor of rows of any shape), a partitioned variable, or a list of matrices that
        together are one.
      ids: Row numbers, int32 or int64, of any shape.
      partition_strategy: How rows are spread over several matrices: "mod" deals them out in turn, "div" cuts them
        into blocks.
      name: A name for the operation.
      validate_indices: Kept for compatibility.
      max_norm: If not None, longer rows are shortened to this L2 norm.

    Raises:
      ValueError: `params` is missing or empty, or the strategy is unknown.
    """
    return lookup(params, ids, partition_strategy, name, max_norm)


def lookup(params, ids, partition_strategy="mod", name=None, max_norm=None, transform=None):
    """Does what `embedding_lookup` does; `transform` is applied to the rows where their matrix lies."""
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    if hasattr(params, "_get_variable_list"):  # a partitioned variable
        params = list(params)
    if not isinstance(params, (list, tuple)):
        params = [params]
    params = list(params)
    with public.name_scope(name, "embedding_lookup", [*params, ids]) as scope:
        if not any(is_resource(p) for p in params):
            params = _tensors(params)
        ids = convert_to_tensor(ids, name="ids")
        if len(params) == 1 and (transform is None or ids._rank() == 1):
            return _one(params[0], ids, scope, max_norm, transform)
        return _many(params, ids, partition_strategy, scope, max_norm, transform)


def is_resource(param):
    return not isinstance(param, Tensor) and hasattr(param, "handle") and hasattr(param, "sparse_read")


def _tensors(params):
    if len(params) == 1 and isinstance(params[0], Tensor):
        return params
    return convert_n_to_tensor(params, name="params")


def _one(param, ids, name, max_norm, transform):
    with colocate_with(_op_of(param)):
        rows = _clip(_gather(param, ids, name), ids, max_norm)
        if transform is not None:
            rows = transform(rows)
    # The copy makes sure that what is passed on left the device of the matrix once.
    return raw.Identity(rows)


def _op_of(param):
    return param.op if isinstance(param, Tensor) else param.handle.op


def _gather(param, ids, name=None):
    if is_resource(param):
        return param.sparse_read(ids, name=name)
    return public.gather(param, ids, name=name)


def _many(params, ids, strategy, name, max_norm, transform):
    flat = public.reshape(ids, [-1])
    originals = public.range(public.size(flat))
    parts = len(params)
    if strategy == "mod":
        assignments = flat % parts
        new_ids = flat // parts
    elif strategy == "div":
        assignments, new_ids = _in_blocks(params, flat)
    else:
        raise ValueError(f"Unrecognized partition strategy: {strategy}")
    assignments = public.cast(assignments, "int32")
    gather_ids = raw.DynamicPartition(new_ids, assignments, num_partitions=parts)
    positions = raw.DynamicPartition(originals, assignments, num_partitions=parts)
    rows = []
    for param, mine in zip(params, gather_ids, strict=True):
        with colocate_with(_op_of(param)):
            result = _gather(param, mine)
            if transform is not None:
                result = transform(_clip(result, mine, max_norm))
        rows.append(result)
    joined = raw.ParallelDynamicStitch(positions, rows, name=name)
    if transform is not None:
        return public.reshape(joined, public.concat([public.shape(ids), public.shape(joined)[1:]], 0))
    element = params[0].get_shape()._dims
    element = None if element is None else element[1:]
    inner = _element_shape(params[0]) if element is None or None in element else list(element)
    joined = public.reshape(joined, public.concat([public.shape(ids), inner], 0))
    joined.set_shape(concatenate(ids._dims, element))
    return _clip(joined, ids, max_norm)


def _element_shape(param):
    with colocate_with(_op_of(param)):
        shape = public.shape(param)
    return shape[1:]


def _in_blocks(params, flat):
    """Returns for each id which matrix has it and where: the first ones have one row more if it does not even out."""
    parts = len(params)
    total = 0
    for p in params:
        rows = p.get_shape().as_list()[0] if p.get_shape().ndims is not None else None
        total = None if rows is None or total is None else total + rows
    if total is not None:
        total = public.constant(total, flat.dtype)
    else:
        sizes = []
        for p in params:
            with colocate_with(_op_of(p)):
                sizes.append(public.shape(p)[0])
        total = public.reduce_sum(public.cast(public.stack(sizes), flat.dtype))
    per_part = total // parts
    extras = total % parts
    assignments = raw.Maximum(flat // (per_part + 1), (flat - extras) // per_part)
    new_ids = public.where(raw.Less(assignments, extras), flat % (per_part + 1), (flat - extras) % per_part)
    return assignments, new_ids


def _clip(rows, ids, max_norm):
    """Shortens rows to an L2 norm, over all axes that the ids do not have."""
    if max_norm is None:
        return rows
    ids_rank, rank = ids._rank(), rows._rank()
    if ids_rank is not None and rank is not None:
        axes = list(range(ids_rank, rank))
    else:
        axes = public.range(public.rank(ids), public.rank(rows))
    return public.clip_by_norm(rows, max_norm, axes=axes)


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None, max_norm=None
):
    """Returns for each row of sparse ids the combination of the embeddings that it names.

    Args:
      params: Embedding matrices, as in `embedding_lookup`.
      sp_ids: A SparseTensor of ids, [rows, any].
      sp_weights: A SparseTensor of weights of the same indices, or None for ones.
      partition_strategy: "mod" or "div".
      name: A name for the operation.
      combiner: "mean" (the default), "sqrtn" (divided by the weights' L2 norm) or "sum".
      max_norm: If not None, longer rows are shortened to this L2 norm.

    Raises:
      ValueError: The combiner is unknown, or shapes do not fit.
      TypeError: `sp_ids` or `sp_weights` is no SparseTensor.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    if hasattr(params, "_get_variable_list"):
        params = list(params)
    if not isinstance(params, list):
        params = [params]
    if not hasattr(sp_ids, "dense_shape"):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        if not hasattr(sp_weights, "dense_shape"):
            raise TypeError("sp_weights must be either None or SparseTensor")
        for part in ("values", "indices", "dense_shape"):
            getattr(sp_ids, part).shape.assert_is_compatible_with(getattr(sp_weights, part).shape)
    with public.name_scope(name, "embedding_lookup_sparse", [*params, sp_ids]) as scope:
        segments = sp_ids.indices[:, 0]
        if segments.dtype.name != "int32":
            segments = public.cast(segments, "int32")
        ids, places = public.unique(sp_ids.values)
        rows = embedding_lookup(params, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if rows.dtype.name in ("float16", "bfloat16"):
            rows = public.cast(rows, "float32")
        if sp_weights is None:
            kind = {
                "sum": raw.SparseSegmentSum,
                "mean": raw.SparseSegmentMean,
                "sqrtn": raw.SparseSegmentSqrtN,
            }
            return kind[combiner](rows, places, segments, name=scope)
        return _weighted(rows, places, segments, sp_weights.values, combiner, scope)


def _weighted(rows, places, segments, weights, combiner, name):
    if weights.dtype is not rows.dtype:
        weights = public.cast(weights, rows.dtype)
    rows = public.gather(rows, places)
    # One axis for the weights' own, then as many ones as a row has axes.
    ones = raw.Fill(public.expand_dims(raw.Sub(public.rank(rows), 1, name="sub"), 0), 1)
    shape = public.concat([public.shape(weights), ones], 0)
    dims, weight_dims = rows._dims, weights._dims
    weights = public.reshape(weights, shape)
    if dims is not None:
        weights.set_shape(concatenate(weight_dims, (1,) * (len(dims) - 1)))
    rows = raw.Mul(rows, weights, name="mul")
    if combiner == "sum":
        return raw.SegmentSum(rows, segments, name=name)
    total = raw.SegmentSum(rows, segments)
    if combiner == "mean":
        return raw.RealDiv(total, raw.SegmentSum(weights, segments), name=name)
    squares = raw.SegmentSum(raw.Pow(weights, 2.0), segments)
    return raw.RealDiv(total, raw.Sqrt(squares), name=name)
