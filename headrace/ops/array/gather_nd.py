"""GatherNd, ScatterNd and their relatives: slices picked or written by coordinates."""

from __future__ import annotations

import math

import numpy as np

from headrace import shapes
from headrace.graph import IndexedSlices
from headrace.lazy import jnp
from headrace.opdef import export, nodes, op, raw
from headrace.ops.array.failing import invalid, shown

GatherNd = op("""
    GatherNd(params: Tparams, indices: Tindices) -> (output: Tparams)
      Tparams: type
      Tindices: {int32, int64}

    The slices of `params` whose coordinates the last dimension of `indices` holds.
""")


@GatherNd.shape
def gather_nd_shape(params, indices):
    shapes.with_rank_at_least(indices, 1)
    depth = None if indices is None else indices[-1]
    if params is None or depth is None:
        return None
    if depth > len(params):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: {shapes.to_text(indices)} and params "
            f"shape: {shapes.to_text(params)}"
        )
    return indices[:-1] + params[depth:]


def _coordinates(indices):
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def _check(indices, shape, what):
    """Refuses coordinates outside a shape."""
    depth = indices.shape[-1]
    bad = np.zeros(indices.shape[:-1], bool)
    for i in range(depth):
        bad |= (indices[..., i] < 0) | (indices[..., i] >= shape[i])
    if bad.any():
        place = np.unravel_index(int(np.flatnonzero(bad.ravel())[0]), bad.shape) if bad.ndim else ()
        at = "indices" + (f"[{','.join(str(int(p)) for p in place)}]" if bad.ndim else "")
        spot = ", ".join(str(int(i)) for i in indices[place])
        invalid(f"{at} = [{spot}] does not index into {what} {shown(shape)}")


def _check_size(params, indices):
    if 0 in params.shape and 0 not in indices.shape[:-1]:
        invalid(f"Requested more than 0 entries, but params is empty.  Params shape: {shown(params.shape)}")


@GatherNd.host
def gather_nd_host(params, indices):
    if indices.ndim < 1:
        invalid("indices must be at least a vector")
    if indices.shape[-1] > params.ndim:
        invalid(
            f"index innermost dimension length must be <= params rank; saw: {indices.shape[-1]} vs. {params.ndim}"
        )
    _check_size(params, indices)
    _check(indices, params.shape, "param shape")
    if indices.shape[-1] == 0:
        return np.array(np.broadcast_to(params, indices.shape[:-1] + params.shape))
    return np.asarray(params[_coordinates(indices)])


def _fits(indices, shape):
    limits = np.array(shape[: indices.shape[-1]], indices.dtype)
    return jnp.all((indices >= 0) & (indices < limits))


@GatherNd.lower
def gather_nd_lower(params, indices, *, ctx):
    _check_size(params, indices)
    if indices.shape[-1] == 0:
        return jnp.broadcast_to(params, indices.shape[:-1] + params.shape)
    ctx.check(_fits(indices, params.shape), "coordinates are out of range")
    return params[_coordinates(indices)]


@GatherNd.grad
def gather_nd_grad(op, dy):
    params, indices = op.inputs
    shape = nodes.shape_of(params, out_type=indices.dtype.base_dtype)
    if indices._dims is not None and len(indices._dims) == 2 and indices._dims[-1] == 1:
        return IndexedSlices(dy, raw.Squeeze(indices, squeeze_dims=[-1]), shape), None
    return raw.ScatterNd(indices, dy, shape), None


@GatherNd.cases
def gather_nd_cases(case):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    case(x, [[1, 2], [0, 0]], gives=[5.0, 0.0])
    case(x, [[1], [1]], gives=x[[1, 1]], grad=False)
    case(x, np.array([1, 0]), gives=3.0)
    case(x, np.zeros([2, 0], np.int32), gives=np.stack([x, x]))
    case.shapes("[5,3];[?,1]", "[?,3]")
    case.shapes("[5,3];[2,?]", "?")
    case.fails("[5,3];[?,3]", match="must be <= params.rank")
    case.fails(
        (x, [[0, 0], [0, 3]]), match=r"indices\[1\] = \[0, 3\] does not index into param shape \[2,3\]"
    )


ScatterNd = op("""
    ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> (output: T)
      T: type
      Tindices: {int32, int64}

    Zeros of shape `shape` with `updates` added at the coordinates `indices`.
""")


def scatter_shape(output, indices, updates):
    """Checks the shapes of a scatter; returns the output's."""
    if output is not None and shapes.num_elements(output) == 0:
        some = (indices is not None and shapes.num_elements(indices) not in (None, 0)) or (
            updates is not None and shapes.num_elements(updates) not in (None, 0)
        )
        if some:
            raise ValueError("Indices and updates specified for empty output shape")
    if indices is None or updates is None or len(indices) == 0:
        return output
    outer = len(indices) - 1
    try:
        shapes.merge(indices[:-1], updates[:outer])
    except ValueError as e:
        raise ValueError(
            f"The outer {outer} dimensions of indices.shape={shapes.to_text(indices)} must match the outer {outer} "
            f"dimensions of updates.shape={shapes.to_text(updates)}: {e}"
        ) from None
    if output is None or indices[-1] is None:
        return output
    inner = len(output) - indices[-1]
    try:
        shapes.merge(output[indices[-1] :] if inner >= 0 else (), updates[outer:])
    except ValueError as e:
        raise ValueError(
            f"The inner {inner} dimensions of output.shape={shapes.to_text(output)} must match the inner "
            f"{len(updates) - outer} dimensions of updates.shape={shapes.to_text(updates)}: {e}"
        ) from None
    return output


@ScatterNd.shape
def scatter_nd_shape(indices, updates, shape, *, ctx):
    shapes.with_rank(shape, 1)
    rank = None if shape is None or shape[0] is None else (None,) * shape[0]
    scatter_shape(rank, indices, updates)
    return scatter_shape(ctx.as_shape("shape"), indices, updates)


def _check_scatter(indices, updates, shape):
    if indices.ndim < 1:
        invalid("Indices shape must have rank at least one. Found:" + shown(indices.shape))
    outer = indices.shape[:-1]
    depth = indices.shape[-1]
    if (not shape or 0 in shape) and (indices.size or updates.size):
        invalid("Indices and updates specified for empty output shape")
    if updates.shape[: len(outer)] != outer:
        invalid(
            f"Outer dimensions of indices and update must match. Indices shape: {shown(indices.shape)}, updates "
            f"shape:{shown(updates.shape)}"
        )
    inner = updates.shape[len(outer) :]
    if depth > len(shape) or len(inner) != len(shape) - depth:
        invalid(
            "Inner dimensions of output shape must match inner dimensions of updates shape. Output: "
            f"{shown(shape)} updates: {shown(updates.shape)}"
        )
    if inner != tuple(shape[depth:]):
        invalid(
            f"The inner {len(inner)} dimensions of output.shape={shown(shape)} must match the inner {len(inner)} "
            f"dimensions of updates.shape={shown(updates.shape)}"
        )


def _scatter_host(output, indices, updates, how):
    _check_scatter(indices, updates, output.shape)
    _check(indices, output.shape, "shape")
    at = _coordinates(indices) if indices.shape[-1] else (np.newaxis,)
    if how == "update":
        output[at if indices.shape[-1] else ...] = updates if indices.shape[-1] else updates[-1]
        return output
    add = np.add if how == "add" else np.subtract
    if output.dtype == np.bool_:
        add = np.logical_or
    if not indices.shape[-1]:
        for u in updates.reshape((math.prod(indices.shape[:-1]), *output.shape)):
            output = add(output, u).astype(output.dtype)
        return output
    if output.dtype == object:  # strings are joined, and np.add.at knows numbers only
        for place in np.ndindex(indices.shape[:-1]):
            spot = tuple(indices[place])
            output[spot] = output[spot] + updates[place]
        return output
    add.at(output, at, updates)
    return output


def _scatter_lower(output, indices, updates, how, ctx):
    _check_scatter(indices, updates, output.shape)
    if indices.shape[-1] == 0:
        flat = jnp.reshape(updates, (math.prod(indices.shape[:-1]), *output.shape))
        if how == "update":
            return flat[-1] if flat.shape[0] else output
        total = flat.sum(0, dtype=output.dtype)
        return output + total if how == "add" else output - total
    ctx.check(_fits(indices, output.shape), "coordinates are out of range")
    at = output.at[_coordinates(indices)]
    if how == "update":
        return at.set(updates)
    return at.add(updates) if how == "add" else at.add(-updates)


def _check_sizes(indices, updates, shape):
    if shape.ndim != 1:
        invalid("Shape must be a vector")
    for d in shape:
        if d < 0:
            invalid(f"Dimension {int(d)} must be >= 0")
    if 0 in shape and (indices.size or updates.size):
        invalid(f"Indices and updates specified for empty output.  indices shape: {shown(indices.shape)}")


@ScatterNd.host
def scatter_nd_host(indices, updates, shape):
    _check_sizes(indices, updates, shape)
    output = np.zeros(tuple(int(d) for d in shape), updates.dtype)
    if updates.dtype == object:
        output.fill(b"")
    return _scatter_host(output, indices, updates, "add")


@ScatterNd.lower(static="shape")
def scatter_nd_lower(indices, updates, shape, *, ctx):
    _check_sizes(indices, updates, shape)
    output = jnp.zeros(tuple(int(d) for d in shape), updates.dtype)
    return _scatter_lower(output, indices, updates, "add", ctx)


@ScatterNd.grad
def scatter_nd_grad(op, dy):
    return None, raw.GatherNd(dy, op.inputs[0]), None


@ScatterNd.cases
def scatter_nd_cases(case):
    case([[1], [1], [3]], [1.0, 2.0, 4.0], [4], gives=[0.0, 3.0, 0.0, 4.0])
    case([[0, 1]], [5.0], [2, 2], gives=[[0.0, 5.0], [0.0, 0.0]])
    case(np.array([[1]]), [[1.0, 2.0]], np.array([2, 2]), gives=[[0.0, 0.0], [1.0, 2.0]])
    case.shapes("[2,1];[2,3];[2]", "[5,3]", values={"shape": [5, 3]})
    case.shapes("[2,1];[2,3];?", "?")
    case.fails("[2,1];[3,3];[2]", match="The outer 1 dimensions of indices.shape", values={"shape": [5, 3]})
    case.fails("[2,1];[2,4];[2]", match="The inner 1 dimensions of output.shape", values={"shape": [5, 3]})
    case.fails(([[5]], [1.0], [3]), match=r"indices\[0\] = \[5\] does not index into shape \[3\]")


def _tensor_scatter(name, how, doc):
    made = op(f"""
        {name}(tensor: T, indices: Tindices, updates: T) -> (output: T)
          T: type
          Tindices: {{int32, int64}}

        {doc}
    """)
    made.shape(lambda tensor, indices, updates: scatter_shape(tensor, indices, updates))
    made.host(lambda tensor, indices, updates: _scatter_host(tensor.copy(), indices, updates, how))

    @made.lower
    def lower(tensor, indices, updates, *, ctx):
        return _scatter_lower(jnp.asarray(tensor), indices, updates, how, ctx)

    return made


TensorScatterUpdate = _tensor_scatter(
    "TensorScatterUpdate", "update", "A copy of a tensor with slices at the coordinates `indices` replaced."
)
TensorScatterAdd = _tensor_scatter(
    "TensorScatterAdd", "add", "A copy of a tensor with `updates` added at the coordinates `indices`."
)
TensorScatterSub = _tensor_scatter(
    "TensorScatterSub", "sub", "A copy of a tensor with `updates` subtracted at the coordinates `indices`."
)


@TensorScatterUpdate.grad
def tensor_scatter_update_grad(op, dy):
    indices = op.inputs[1]
    updates = raw.GatherNd(dy, indices)
    kept = raw.TensorScatterUpdate(
        raw.Identity(dy), indices, nodes.zeros_like(op.inputs[2], op.inputs[0].dtype)
    )
    return kept, None, updates


@TensorScatterAdd.grad
def tensor_scatter_add_grad(op, dy):
    updates = raw.GatherNd(dy, op.inputs[1])
    return raw.Identity(dy), None, updates


@TensorScatterSub.grad
def tensor_scatter_sub_grad(op, dy):
    updates = raw.GatherNd(dy, op.inputs[1])
    return raw.Identity(dy), None, raw.Neg(updates)


@TensorScatterUpdate.cases
def tensor_scatter_update_cases(case):
    case([1.0, 2.0, 3.0], [[2], [0]], [7.0, 8.0], gives=[8.0, 2.0, 7.0])
    case.shapes("[5,3];[2,1];[2,3]", "[5,3]")
    case.fails("[5,3];[2,1];[2,4]", match="The inner 1 dimensions of output.shape")
    case.fails(([1.0, 2.0], [[5]], [3.0]), match=r"indices\[0\] = \[5\] does not index into shape \[2\]")


@TensorScatterAdd.cases
def tensor_scatter_add_cases(case):
    case([1.0, 2.0], [[1], [1]], [3.0, 4.0], gives=[1.0, 9.0])


@TensorScatterSub.cases
def tensor_scatter_sub_cases(case):
    case([1.0, 2.0], [[1], [1]], [3.0, 4.0], gives=[1.0, -5.0])


ScatterNdNonAliasingAdd = op("""
    ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T) -> (output: T)
      T: {numbertype, bool}
      Tindices: {int32, int64}

    A tensor with `updates` added at the coordinates `indices`.
""")


@ScatterNdNonAliasingAdd.shape
def scatter_nd_non_aliasing_add_shape(input, indices, updates):
    return scatter_shape(input, indices, updates)


@ScatterNdNonAliasingAdd.host
def scatter_nd_non_aliasing_add_host(input, indices, updates):
    return _scatter_host(input.copy(), indices, updates, "add")


@ScatterNdNonAliasingAdd.lower
def scatter_nd_non_aliasing_add_lower(input, indices, updates, *, ctx):
    return _scatter_lower(jnp.asarray(input), indices, updates, "add", ctx)


@ScatterNdNonAliasingAdd.grad
def scatter_nd_non_aliasing_add_grad(op, dy):
    return dy, None, raw.GatherNd(dy, op.inputs[1])


@ScatterNdNonAliasingAdd.cases
def scatter_nd_non_aliasing_add_cases(case):
    case([1.0, 2.0], [[1], [1]], [3.0, 4.0], gives=[1.0, 9.0])


@export("scatter_nd", "manip.scatter_nd")
def scatter_nd(indices, updates, shape, name=None):
    """Returns zeros with values added at coordinates.

    Args:
      indices: The coordinates, in the last dimension.
      updates: What is added there; values of equal coordinates add up.
      shape: The result's shape.
      name: The node's name.
    """
    return raw.ScatterNd(indices, updates, shape, name=name)


@export("tensor_scatter_update", "tensor_scatter_nd_update")
def tensor_scatter_update(tensor, indices, updates, name=None):
    """Returns a copy of a tensor with the slices at coordinates replaced.

    Args:
      tensor: The tensor.
      indices: The coordinates, in the last dimension.
      updates: The new slices.
      name: The node's name.
    """
    return raw.TensorScatterUpdate(tensor, indices, updates, name=name)


@export("tensor_scatter_add", "tensor_scatter_nd_add")
def tensor_scatter_add(tensor, indices, updates, name=None):
    """Returns a copy of a tensor with values added at coordinates.

    Args:
      tensor: The tensor.
      indices: The coordinates, in the last dimension.
      updates: What is added.
      name: The node's name.
    """
    return raw.TensorScatterAdd(tensor, indices, updates, name=name)


@export("tensor_scatter_sub", "tensor_scatter_nd_sub")
def tensor_scatter_sub(tensor, indices, updates, name=None):
    """Returns a copy of a tensor with values subtracted at coordinates.

    Args:
      tensor: The tensor.
      indices: The coordinates, in the last dimension.
      updates: What is subtracted.
      name: The node's name.
    """
    return raw.TensorScatterSub(tensor, indices, updates, name=name)
