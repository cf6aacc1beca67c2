"""SpaceToBatchND and BatchToSpaceND: blocks of the spatial dimensions moved into the batch, and back."""

from __future__ import annotations

import numpy as np

from headrace import dtypes, shapes
from headrace.graph import name_scope
from headrace.lazy import jnp
from headrace.opdef import constant_node, constant_value, convert_to_tensor, export, op, raw
from headrace.opdef.nodes import zeros
from headrace.ops.array.failing import invalid
from headrace.ops.array.pack import stack
from headrace.ops.array.space import divided, times

SpaceToBatchND = op("""
    SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> (output: T)
      T: type
      Tblock_shape: {int32, int64} = int32
      Tpaddings: {int32, int64} = int32

    Blocks of the padded spatial dimensions moved into the batch.
""")

BatchToSpaceND = op("""
    BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops) -> (output: T)
      T: type
      Tblock_shape: {int32, int64} = int32
      Tcrops: {int32, int64} = int32

    The batch laid out as blocks of the spatial dimensions, which are then cropped.
""")


def _block_rank(block_shape):
    if block_shape is None or len(block_shape) != 1:
        raise ValueError("block_shape must have rank 1.")
    if block_shape[0] is None:
        raise ValueError("block_shape must have known size.")
    return block_shape[0]


def _check_pairs(pairs, n):
    if pairs is not None and len(pairs) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(pairs)}")
    if pairs is not None:
        for have, want in zip(pairs, (n, 2), strict=True):
            if have not in (None, want):
                raise ValueError(f"Dimension must be {want} but is {have}")


def _space_dims(input, n, block, pairs, grow, ctx):
    """Returns the dimensions after the batch, each padded and divided or multiplied and cropped."""
    out = []
    for i in range(n):
        d = input[i + 1]
        if block is None or pairs is None:
            out.append(None)
            continue
        b, (before, after) = int(block[i]), (int(p) for p in pairs[i])
        if grow:
            if before < 0 or after < 0:
                raise ValueError("paddings cannot be negative")
            out.append(divided(None if d is None else d + before + after, b))
        else:
            if before < 0 or after < 0:
                raise ValueError("crops cannot be negative")
            left = None if d is None else d * b - before - after
            if left is not None and left < 0:
                raise ValueError(
                    f"Negative dimension size caused by subtracting {before + after} from {d * b}"
                )
            out.append(left)
    return out


def _batch_shape(input, block_shape, pairs, ctx, second, grow):
    n = _block_rank(block_shape)
    _check_pairs(pairs, n)
    if input is not None and len(input) < n + 1:
        raise ValueError(f"Shape must be at least rank {n + 1} but is rank {len(input)}")
    block, amounts = ctx.constant("block_shape"), ctx.constant(second)
    if block is not None and (block < 1).any():
        raise ValueError("block_shape must be positive")
    if input is None:
        return None
    total = None if block is None else int(np.prod(block))
    if total is None:
        batch = None
    elif grow:
        batch = times(input[0], total)
    else:
        batch = input[0]
        for b in block.tolist():
            batch = divided(batch, b)
    return (batch, *_space_dims(input, n, block, amounts, grow, ctx), *input[n + 1 :])


@SpaceToBatchND.shape
def space_to_batch_nd_shape(input, block_shape, paddings, *, ctx):
    return _batch_shape(input, block_shape, paddings, ctx, "paddings", True)


@BatchToSpaceND.shape
def batch_to_space_nd_shape(input, block_shape, crops, *, ctx):
    return _batch_shape(input, block_shape, crops, ctx, "crops", False)


def _check_block(input, block_shape, pairs):
    n = len(block_shape)
    if input.ndim < n + 1:
        invalid(f"input rank should be >= {n + 1} instead of {input.ndim}")
    if pairs.shape != (n, 2):
        invalid(f"paddings should have shape [{n}, 2] instead of [{','.join(map(str, pairs.shape))}]")
    for i, b in enumerate(block_shape):
        if b < 1:
            invalid(f"All values in block_shape must be positive, got value, {int(b)} at index {i}.")
    return n, [int(b) for b in block_shape], [(int(b), int(a)) for b, a in pairs]


def _space_to_batch(x, block_shape, paddings, xp):
    n, block, pads = _check_block(x, block_shape, paddings)
    for b, a in pads:
        if b < 0 or a < 0:
            invalid("Paddings must be non-negative")
    rest = x.shape[n + 1 :]
    x = xp.pad(x, [(0, 0), *pads, *[(0, 0)] * len(rest)])
    split = [x.shape[0]]
    for i, (d, b) in enumerate(zip(x.shape[1 : n + 1], block, strict=True)):
        if d % b:
            invalid(f"padded_shape[{i}]={d} is not divisible by block_shape[{i}]={b}")
        split += [d // b, b]
    x = x.reshape(*split, *rest)
    order = [*range(2, 2 * n + 1, 2), 0, *range(1, 2 * n + 1, 2), *range(2 * n + 1, x.ndim)]
    return xp.transpose(x, order).reshape(split[0] * int(np.prod(block)), *split[1::2], *rest)


def _batch_to_space(x, block_shape, crops, xp):
    n, block, cuts = _check_block(x, block_shape, crops)
    total = int(np.prod(block))
    if x.shape[0] % total:
        invalid(f"Input batch dimension ({x.shape[0]}) is not divisible by product of block sizes ({total})")
    rest = x.shape[n + 1 :]
    space = x.shape[1 : n + 1]
    batch = x.shape[0] // total
    x = x.reshape(*block, batch, *space, *rest)
    order = [n]
    for i in range(n):
        order += [n + 1 + i, i]
    x = xp.transpose(x, [*order, *range(2 * n + 1, x.ndim)])
    x = x.reshape(batch, *[d * b for d, b in zip(space, block, strict=True)], *rest)
    index = [slice(None)]
    for i, (before, after) in enumerate(cuts):
        if before < 0 or after < 0:
            invalid("Crops must be non-negative")
        size = x.shape[i + 1] - before - after
        if size < 0:
            invalid(f"cropped_shape[{i}]={size} must be non-negative")
        index.append(slice(before, before + size))
    return x[tuple(index)]


@SpaceToBatchND.host
def space_to_batch_nd_host(input, block_shape, paddings):
    return _space_to_batch(input, block_shape, paddings, np)


@SpaceToBatchND.lower(static="block_shape paddings")
def space_to_batch_nd_lower(input, block_shape, paddings):
    return _space_to_batch(input, block_shape, np.asarray(paddings), jnp)


@BatchToSpaceND.host
def batch_to_space_nd_host(input, block_shape, crops):
    return _batch_to_space(input, block_shape, crops, np)


@BatchToSpaceND.lower(static="block_shape crops")
def batch_to_space_nd_lower(input, block_shape, crops):
    return _batch_to_space(input, block_shape, np.asarray(crops), jnp)


@SpaceToBatchND.grad
def space_to_batch_nd_grad(op, dy):
    return raw.BatchToSpaceND(dy, op.inputs[1], op.inputs[2]), None, None


@BatchToSpaceND.grad
def batch_to_space_nd_grad(op, dy):
    return raw.SpaceToBatchND(dy, op.inputs[1], op.inputs[2]), None, None


@SpaceToBatchND.cases
def space_to_batch_nd_cases(case):
    case.needs_known("block_shape must have (rank 1|known size)")
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1)
    y = np.array([[0, 1], [0, 2], [0, 4], [3, 5]], np.float32).reshape(4, 1, 2, 1)
    case(x, [2, 2], [[0, 0], [1, 0]], gives=y)
    case.shapes(
        "[1,4,?,1];[2];[2,2]", "[4,3,?,1]", values={"block_shape": [2, 2], "paddings": [[1, 1], [0, 2]]}
    )
    case.shapes("[?,4,4,1];[2];?", "[?,?,?,1]", values={"block_shape": [2, 2]})
    case.fails("[1,4,4,1];[2];[2,2]", match="evenly divisible by 3 but is 4",
               values={"block_shape": [2, 3], "paddings": [[1, 1], [0, 0]]})  # fmt: skip


@BatchToSpaceND.cases
def batch_to_space_nd_cases(case):
    case.needs_known("block_shape must have (rank 1|known size)")
    x = np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1)
    case(x, [2, 2], [[0, 0], [0, 0]], gives=np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1))
    case(x, [2, 2], [[0, 1], [1, 0]], gives=[[[[1.0]]]])
    case.shapes("[?,4,?,1];[2];[2,2]", "[?,6,?,1]", values={"block_shape": [2, 2], "crops": [[1, 1], [0, 2]]})
    case.fails("[3,4,4,1];[2];[2,2]", match="evenly divisible by 2 but is 3",
               values={"block_shape": [2, 2], "crops": [[1, 1], [0, 2]]})  # fmt: skip


SpaceToBatch = op("""
    SpaceToBatch(input: T, paddings: Tpaddings) -> (output: T)
      T: type
      Tpaddings: {int32, int64} = int32
      block_size: int >= 2

    SpaceToBatchND for images and square blocks: the old form.
""")

BatchToSpace = op("""
    BatchToSpace(input: T, crops: Tidx) -> (output: T)
      T: type
      block_size: int >= 2
      Tidx: {int32, int64} = int32

    BatchToSpaceND for images and square blocks: the old form.
""")


def _square_shape(input, pairs, block_size, ctx, grow):
    dims = shapes.with_rank(input, 4)
    _check_pairs(pairs, 2)
    amounts = ctx.constant(1)
    total = block_size**2
    batch = times(dims[0], total) if grow else divided(dims[0], total)
    return (batch, *_space_dims(dims, 2, [block_size] * 2, amounts, grow, ctx), dims[3])


@SpaceToBatch.shape
def space_to_batch_shape(input, paddings, *, block_size, ctx):
    return _square_shape(input, paddings, block_size, ctx, True)


@BatchToSpace.shape
def batch_to_space_shape(input, crops, *, block_size, ctx):
    return _square_shape(input, crops, block_size, ctx, False)


@SpaceToBatch.host
def space_to_batch_host(input, paddings, *, block_size):
    return _space_to_batch(input, [block_size] * 2, paddings, np)


@SpaceToBatch.lower(static="paddings")
def space_to_batch_lower(input, paddings, *, block_size):
    return _space_to_batch(input, [block_size] * 2, np.asarray(paddings), jnp)


@BatchToSpace.host
def batch_to_space_host(input, crops, *, block_size):
    return _batch_to_space(input, [block_size] * 2, crops, np)


@BatchToSpace.lower(static="crops")
def batch_to_space_lower(input, crops, *, block_size):
    return _batch_to_space(input, [block_size] * 2, np.asarray(crops), jnp)


@SpaceToBatch.grad
def space_to_batch_grad(op, dy):
    return raw.BatchToSpaceND(dy, [op.attrs["block_size"]] * 2, op.inputs[1]), None


@BatchToSpace.grad
def batch_to_space_grad(op, dy):
    return raw.SpaceToBatchND(dy, [op.attrs["block_size"]] * 2, op.inputs[1]), None


@SpaceToBatch.cases
def space_to_batch_cases(case):
    case(np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1), [[0, 0], [0, 0]], block_size=2,
         gives=np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1))  # fmt: skip


@BatchToSpace.cases
def batch_to_space_cases(case):
    case(np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1), [[0, 0], [0, 0]], block_size=2,
         gives=np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1))  # fmt: skip


@export("space_to_batch_nd", "manip.space_to_batch_nd")
def space_to_batch_nd(input, block_shape, paddings, name=None):
    """Moves blocks of the padded spatial dimensions into the batch.

    Args:
      input: The tensor: batch, spatial dimensions, the rest.
      block_shape: A block's size along each spatial dimension.
      paddings: How many zeros before and after, for each spatial dimension.
      name: The node's name.
    """
    return raw.SpaceToBatchND(input, block_shape, paddings, name=name)


@export("batch_to_space_nd", "manip.batch_to_space_nd")
def batch_to_space_nd(input, block_shape, crops, name=None):
    """Lays the batch out as blocks of the spatial dimensions.

    Args:
      input: The tensor: batch, spatial dimensions, the rest.
      block_shape: A block's size along each spatial dimension.
      crops: How many places to cut off before and after, for each spatial dimension.
      name: The node's name.
    """
    return raw.BatchToSpaceND(input, block_shape, crops, name=name)


@export("space_to_batch", "nn.space_to_batch")
def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """Moves square blocks of padded images into the batch.

    Args:
      input: The images.
      paddings: How many zeros before and after, for height and width.
      block_size: A block's side.
      name: The node's name.
      block_shape: Another name of `block_size`.
    """
    side = block_size if block_shape is None else block_shape
    result = space_to_batch_nd(
        input, paddings=paddings, block_shape=np.array([side, side]).astype(np.int32), name=name
    )
    result.set_shape(result.shape.with_rank(4))
    return result


@export("batch_to_space")
def batch_to_space(input, crops, block_size, name=None, block_shape=None):
    """Lays the batch out as square blocks of images.

    Args:
      input: The images.
      crops: How many places to cut off before and after, for height and width.
      block_size: A block's side.
      name: The node's name.
      block_shape: Another name of `block_size`.
    """
    side = block_size if block_shape is None else block_shape
    result = batch_to_space_nd(
        input, crops=crops, block_shape=np.array([side, side]).astype(np.int32), name=name
    )
    result.set_shape(result.shape.with_rank(4))
    return result


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """Returns the paddings that make spatial dimensions divisible by blocks, and the crops that undo them.

    Args:
      input_shape: The spatial dimensions.
      block_shape: A block's size along each.
      base_paddings: The paddings wanted anyway, by default none.
      name: The scope's name.

    Returns:
      A pair (paddings, crops) of matrices with two columns.
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
        block_shape = convert_to_tensor(block_shape, dtype=dtypes.int32, name="block_shape")
        n = block_shape.shape.with_rank(1).as_list()[0]
        if n == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        input_shape.shape.assert_is_compatible_with([n])
        if base_paddings is not None:
            base_paddings = convert_to_tensor(base_paddings, dtype=dtypes.int32, name="base_paddings")
            base_paddings.shape.assert_is_compatible_with([n, 2])
        else:
            base_paddings = zeros([n, 2], dtypes.int32)
        block, sizes, base = (constant_value(t) for t in (block_shape, input_shape, base_paddings))
        if block is not None and sizes is not None and base is not None:
            before, after = base[:, 0], base[:, 1]
            extra = (block - (sizes + before + after) % block) % block
            paddings = np.stack([before, after + extra], 1).astype(np.int32)
            crops = np.stack([np.zeros_like(extra), extra], 1).astype(np.int32)
            return constant_node(paddings, name="paddings"), constant_node(crops, name="crops")
        before, after = base_paddings[:, 0], base_paddings[:, 1]
        full = input_shape + before + after
        extra = (block_shape - full % block_shape) % block_shape
        end = after + extra
        paddings = stack([[before[i], end[i]] for i in range(n)], name="paddings")
        crops = stack([[0, extra[i]] for i in range(n)], name="crops")
        return paddings, crops
