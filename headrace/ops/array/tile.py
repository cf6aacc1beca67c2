"""Tile, BroadcastTo and BroadcastArgs: a tensor repeated along its dimensions."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.errors import InvalidArgumentError
from headrace.graph import IndexedSlices, name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.nodes import ones, shape_of, size_of
from headrace.ops.array.failing import invalid, shown
from headrace.ops.array.pack import stack
from headrace.tensor_shape import TensorShape, to_tuple

Tile = op("""
    Tile(input: T, multiples: Tmultiples) -> (output: T)
      T: type
      Tmultiples: {int32, int64} = int32

    A tensor repeated `multiples[i]` times along each dimension i.
""")


@Tile.shape
def tile_shape(input, multiples, *, ctx):
    if multiples is not None and len(multiples) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(multiples)}")
    if (
        multiples is not None
        and multiples[0] is not None
        and input is not None
        and len(input) != multiples[0]
    ):
        raise ValueError(f"Shape must be rank {len(input)} but is rank {multiples[0]}")
    times = ctx.as_shape("multiples")
    if times is None:
        return None if input is None else (None,) * len(input)
    input = shapes.with_rank(input, len(times))
    for d, m in zip(input, times, strict=True):
        if None not in (d, m) and d * m >= 2**63:
            raise ValueError(f"Negative dimension size caused by overflow when multiplying {d} and {m}")
    return tuple(None if d is None or m is None else d * m for d, m in zip(input, times, strict=True))


def _tile(input, multiples, xp):
    if len(multiples) != input.ndim:
        invalid(
            f"Expected multiples argument to be a vector of length {input.ndim} but got length {len(multiples)}"
        )
    for i, m in enumerate(multiples):
        if m < 0:
            invalid(f"Expected multiples[{i}] >= 0, but got {int(m)}")
    return xp.tile(input, tuple(int(m) for m in multiples))


@Tile.host
def tile_host(input, multiples):
    return _tile(input, multiples, np)


@Tile.lower(static="multiples")
def tile_lower(input, multiples):
    return _tile(input, multiples, jnp)


@Tile.grad
def tile_grad(op, dy):
    shape = shape_of(op.inputs[0], out_type=op.inputs[1].dtype.base_dtype)
    # Each dimension becomes two, (repeats, size); the repeats are summed up.
    split = raw.Reshape(
        raw.Transpose(raw.Pack([op.inputs[1], shape], name="stack"), [1, 0], name="transpose"), [-1]
    )
    axes = raw.Range(0, size_of(split), 2, name="range")
    if isinstance(dy, IndexedSlices):
        # Rows of a repetition are rows of the operand: what goes to the same one is summed up here.
        rows = shape[0]
        dy = raw.UnsortedSegmentSum(dy.values, raw.FloorMod(dy.indices, rows), rows)
        split = raw.ConcatV2([[1], split[1:]], 0, name="concat")
    return raw.Sum(raw.Reshape(dy, split), axes), None


@Tile.cases
def tile_cases(case):
    case([[1.0, 2.0]], [2, 2], gives=[[1.0, 2.0, 1.0, 2.0]] * 2)
    case([1.0, 2.0], [0], gives=np.zeros([0], np.float32), grad=False)
    case.shapes("[?,3];[2]", "[?,6]", values={"multiples": [2, 2]})
    case.shapes("?;[2]", "[?,?]", values={"multiples": [2, 2]})
    case.fails("[2,3];[1]", match="Shape must be rank 2 but is rank 1", values={"multiples": [2]})
    case.fails(([1.0], [-1]), match=r"Expected multiples\[0\] >= 0, but got -1")


BroadcastTo = op("""
    BroadcastTo(input: T, shape: Tidx) -> (output: T)
      T: type
      Tidx: {int32, int64} = int32

    A tensor broadcast to a shape by NumPy's rules.
""")


@BroadcastTo.shape
def broadcast_to_shape(input, shape, *, ctx):
    shapes.with_rank(shape, 1)
    if shape is not None and shape[0] is not None:
        shapes.with_rank_at_most(input, shape[0])
    out = ctx.as_shape("shape")
    if out is None or input is None:
        return out
    shapes.with_rank_at_most(input, len(out))
    return shapes.broadcast(input, out)


def _broadcast_to(input, shape, xp):
    dims = tuple(int(d) for d in shape)
    if input.ndim > len(dims):
        invalid(f"Rank of input ({input.ndim}) must be no greater than rank of output shape ({len(dims)}).")
    if input.shape == dims:
        return input
    for have, want in zip(reversed(input.shape), reversed(dims), strict=False):
        if have not in (1, want):
            invalid(f"Incompatible shapes: {shown(input.shape)} vs. {shown(dims)}")
    shapes.check_count(dims)
    return xp.broadcast_to(input, dims)


@BroadcastTo.host
def broadcast_to_host(input, shape):
    return np.array(_broadcast_to(input, shape, np))


@BroadcastTo.lower(static="shape")
def broadcast_to_lower(input, shape):
    return _broadcast_to(input, shape, jnp)


@BroadcastTo.grad
def broadcast_to_grad(op, dy):
    shape = shape_of(op.inputs[0])
    axes = raw.BroadcastGradientArgs(op.inputs[1], shape)[1]
    return raw.Reshape(raw.Sum(dy, axes, keep_dims=True), shape), None


@BroadcastTo.cases
def broadcast_to_cases(case):
    case([[1.0], [2.0]], [2, 2], gives=[[1.0, 1.0], [2.0, 2.0]])
    case([1.0, 2.0], [2, 2], gives=[[1.0, 2.0], [1.0, 2.0]])
    case.shapes("[?,3];[3]", "[2,2,3]", values={"shape": [2, 2, 3]})
    case.shapes("[2,3];[3]", "[?,2,3]")
    case.fails("[2,3];[2]", match="Dimensions must be equal, but are 3 and 2", values={"shape": [2, 2]})
    case.fails(([1.0, 2.0], [3]), match=r"Incompatible shapes: \[2\] vs. \[3\]")


BroadcastArgs = op("""
    BroadcastArgs(s0: T, s1: T) -> (r0: T)
      T: {int32, int64} = int32

    The shape that two shapes broadcast to.
""")


@BroadcastArgs.shape
def broadcast_args_shape(s0, s1):
    shapes.with_rank(s0, 1)
    shapes.with_rank(s1, 1)
    if s0 is None or s1 is None or s0[0] is None or s1[0] is None:
        return (None,)
    return (max(s0[0], s1[0]),)


@BroadcastArgs.host
def broadcast_args_host(s0, s1):
    out = []
    for i in range(-max(len(s0), len(s1)), 0):
        a = int(s0[i]) if -i <= len(s0) else 1
        b = int(s1[i]) if -i <= len(s1) else 1
        if a != b and a != 1 and b != 1:
            invalid(f"Incompatible shapes: {shown(s0)} vs. {shown(s1)}")
        out.append(b if a == 1 else a)
    return np.array(out, s0.dtype)


@BroadcastArgs.lower(static="s0 s1")
def broadcast_args_lower(s0, s1):
    return broadcast_args_host(np.asarray(s0), np.asarray(s1))


@BroadcastArgs.cases
def broadcast_args_cases(case):
    case([2, 1], [3], gives=np.array([2, 3], np.int32))
    case(np.zeros([0], np.int64), np.array([4]), gives=np.array([4]))
    case.shapes("[2];[3]", "[3]")
    case.fails(([2, 3], [4]), match="Incompatible shapes")


TileGrad = op("""
    TileGrad(input: T, multiples: int32) -> (output: T)
      T: type
      deprecated 3

    The sum of a tensor's repeats: the old gradient of Tile.
""")


@TileGrad.shape
def tile_grad_shape(input, multiples):
    return None


def _tile_sum(input, multiples, xp):
    pairs = []
    for d, m in zip(input.shape, multiples, strict=True):
        if m <= 0 or d % m:
            raise InvalidArgumentError(None, None, f"a dimension of {d} is not tiled {int(m)} times")
        pairs += [int(m), d // int(m)]
    return xp.reshape(input, pairs).sum(tuple(range(0, len(pairs), 2)), dtype=input.dtype)


@TileGrad.host
def tile_grad_host(input, multiples):
    return np.asarray(_tile_sum(input, multiples, np))


@TileGrad.lower(static="multiples")
def tile_grad_lower(input, multiples):
    return _tile_sum(input, multiples, jnp)


@TileGrad.cases
def tile_grad_cases(case):
    case([1.0, 2.0, 3.0, 4.0], [2], gives=[4.0, 6.0])


@export("tile", "manip.tile")
def tile(input, multiples, name=None):
    """Returns a tensor repeated along its dimensions.

    Args:
      input: The tensor.
      multiples: How often along each dimension.
      name: The node's name.
    """
    return raw.Tile(input, multiples, name=name)


@export("broadcast_to")
def broadcast_to(input, shape, name=None):
    """Returns a tensor broadcast to a shape.

    Args:
      input: The tensor.
      shape: The shape.
      name: The node's name.

    Raises:
      ValueError: The tensor does not broadcast to it.
    """
    return raw.BroadcastTo(input, shape, name=name)


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x, shape_y):
    """Returns the shape that two shapes broadcast to, as a tensor.

    Args:
      shape_x: A vector of integers.
      shape_y: Another.
    """
    return raw.BroadcastArgs(shape_x, shape_y)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x, shape_y):
    """Returns the shape that two shapes broadcast to.

    Args:
      shape_x: A TensorShape.
      shape_y: Another.

    Raises:
      ValueError: They do not broadcast.
    """
    try:
        return TensorShape.of(shapes.broadcast(to_tuple(shape_x), to_tuple(shape_y)))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


@export("meshgrid")
def meshgrid(*args, **kwargs):
    """Returns the coordinates of a grid: for each vector a tensor that holds it along one of the grid's dimensions.

    Args:
      *args: The vectors.
      **kwargs: `indexing`, "xy" (the first two dimensions swapped, the default) or "ij"; `name`, the scope's name.

    Raises:
      TypeError: There are other keywords.
      ValueError: `indexing` is neither.
    """

    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        rank = len(args)
        beside = [1] * rank
        grid = [raw.Reshape(stack(x), [*beside[:i], -1, *beside[i + 1 :]]) for i, x in enumerate(args)]
        sizes = [size_of(x) for x in args]

        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and rank > 1:
            grid[0] = raw.Reshape(grid[0], [1, -1, *[1] * (rank - 2)])
            grid[1] = raw.Reshape(grid[1], [-1, 1, *[1] * (rank - 2)])
            sizes[0], sizes[1] = sizes[1], sizes[0]
        factor = ones(sizes, dtype)
        return [x * factor for x in grid]
