"""DynamicPartition and DynamicStitch: slices dealt out by number, and put together again."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.lazy import jnp
from headrace.opdef import constant_node, export, op, raw
from headrace.opdef.nodes import shape_of
from headrace.ops.array.failing import invalid, shown

DynamicPartition = op("""
    DynamicPartition(data: T, partitions: int32) -> (outputs: num_partitions * T)
      num_partitions: int >= 1
      T: type

    The slices of `data` dealt out to as many tensors as there are partitions.
""")


@DynamicPartition.shape
def dynamic_partition_shape(data, partitions, *, num_partitions):
    if data is None or partitions is None:
        return [None] * num_partitions
    if len(data) < len(partitions):
        raise ValueError(f"Shape must be at least rank {len(partitions)} but is rank {len(data)}")
    for a, b in zip(data, partitions, strict=False):
        shapes.merge_dim(a, b)
    return [(None, *data[len(partitions) :])] * num_partitions


@DynamicPartition.host  # no `lower`: the sizes depend on values
def dynamic_partition_host(data, partitions, *, num_partitions):
    if data.shape[: partitions.ndim] != partitions.shape:
        invalid(
            f"data.shape must start with partitions.shape, got data.shape = {shown(data.shape)}, partitions.shape = "
            f"{shown(partitions.shape)}"
        )
    bad = (partitions < 0) | (partitions >= num_partitions)
    if bad.any():
        place = np.unravel_index(int(np.flatnonzero(bad.ravel())[0]), partitions.shape)
        at = f"[{','.join(str(int(p)) for p in place)}]" if partitions.ndim else ""
        invalid(f"partitions{at} = {int(partitions[place])} is not in [0, {num_partitions})")
    flat = data.reshape((partitions.size, *data.shape[partitions.ndim :]))
    numbers = partitions.reshape(-1)
    return tuple(flat[numbers == i] for i in range(num_partitions))


@DynamicPartition.grad
def dynamic_partition_grad(op, *dys):
    data, partitions = op.inputs
    n = op.attrs["num_partitions"]
    # Partitions the places in the same way, so that the gradients can be put back there.
    prefix = shape_of(partitions)
    places = raw.Range(
        0, raw.Prod(prefix, constant_node(np.array([0], np.int32), name="Const")), 1, name="range"
    )
    parts = raw.DynamicPartition(raw.Reshape(places, prefix), partitions, num_partitions=n)
    return raw.Reshape(raw.DynamicStitch(parts, list(dys)), shape_of(data)), None


@DynamicPartition.cases
def dynamic_partition_cases(case):
    case([1.0, 2.0, 3.0], [1, 0, 1], num_partitions=3, gives=([2.0], [1.0, 3.0], np.zeros([0], np.float32)))
    case([[1.0, 2.0], [3.0, 4.0]], [[1, 0], [0, 0]], num_partitions=2, gives=([2.0, 3.0, 4.0], [1.0]))
    case.shapes("[4,3];[4]", "[?,3];[?,3]", num_partitions=2)
    case.fails("[4,3];[3]", match="Dimensions must be equal, but are 4 and 3", num_partitions=1)
    case.fails(([1.0, 2.0], [0, 2]), match=r"partitions\[1\] = 2 is not in \[0, 2\)", num_partitions=2)


_STITCH = """
      N: int >= 1
      T: type
"""

DynamicStitch = op(f"""
    DynamicStitch(indices: N * int32, data: N * T) -> (merged: T){_STITCH}
    One tensor of slices, each at the place its index says; later ones win.
""")

ParallelDynamicStitch = op(f"""
    ParallelDynamicStitch(indices: N * int32, data: N * T) -> (merged: T){_STITCH}
    DynamicStitch where no place is written twice.
""")


@DynamicStitch.shape
@ParallelDynamicStitch.shape
def dynamic_stitch_shape(indices, data, *, ctx):
    rest = None
    greatest = -1
    for i, (index, values) in enumerate(zip(indices, data, strict=True)):
        known = ctx.constant(i) if greatest is not None else None
        if known is None:
            greatest = None
        elif known.size:
            greatest = max(greatest, int(known.max()))
        if index is None or values is None:
            continue
        asked, ctx.asked = ctx.asked, {}
        if len(values) < len(index):
            raise ValueError(f"Shape must be at least rank {len(index)} but is rank {len(values)}")
        for a, b in zip(values, index, strict=False):
            shapes.merge_dim(a, b)
        rest = shapes.merge(rest, values[len(index) :])
        ctx.asked = asked
    return None if rest is None else (None if greatest is None else greatest + 1, *rest)


def _rest(indices, data):
    rest = data[0].shape[indices[0].ndim :]
    for i, (index, values) in enumerate(zip(indices, data, strict=True)):
        if values.shape[: index.ndim] != index.shape:
            invalid(
                f"data[{i}].shape = {shown(values.shape)} does not start with indices[{i}].shape = {shown(index.shape)}"
            )
        if values.shape[index.ndim :] != rest:
            invalid(
                f"Need data[0].shape[{indices[0].ndim}:] = data[{i}].shape[{index.ndim}:], got data[0].shape = "
                f"{shown(data[0].shape)}, data[{i}].shape = {shown(values.shape)}"
            )
    return rest


@DynamicStitch.host
@ParallelDynamicStitch.host
def dynamic_stitch_host(indices, data):
    rest = _rest(indices, data)
    flat = np.concatenate([i.reshape(-1) for i in indices])
    size = int(flat.max()) + 1 if flat.size else 0
    for index in indices:
        bad = index < 0
        if bad.any():
            place = np.unravel_index(int(np.flatnonzero(bad.ravel())[0]), index.shape)
            invalid(f"indices[{','.join(str(int(p)) for p in place)}] is out of range")
    merged = np.zeros((size, *rest), data[0].dtype)
    if merged.dtype == object:
        merged.fill(b"")
    for index, values in zip(indices, data, strict=True):
        for at, value in zip(index.reshape(-1), values.reshape((index.size, *rest)), strict=True):
            merged[at] = value
    return merged


@DynamicStitch.lower(static="indices")
@ParallelDynamicStitch.lower(static="indices")
def dynamic_stitch_lower(indices, data):
    rest = _rest(indices, data)
    flat = np.concatenate([np.asarray(i).reshape(-1) for i in indices])
    size = int(flat.max()) + 1 if flat.size else 0
    if (flat < 0).any():
        return dynamic_stitch_host(tuple(np.asarray(i) for i in indices), data)
    # For each place the row that was written there last; places that none was written to become zeros.
    rows = jnp.concatenate(
        [jnp.reshape(values, (np.size(i), *rest)) for i, values in zip(indices, data, strict=True)]
    )
    last = np.full(size, len(flat))
    last[flat] = np.arange(len(flat))
    zero = jnp.zeros((1, *rest), rows.dtype)
    return jnp.concatenate([rows, zero])[last]


def _stitch_gradient(op, dy):
    n = op.attrs["N"]
    return [None] * n + [raw.GatherV2(dy, index, 0) for index in op.inputs[:n]]


@DynamicStitch.grad
def dynamic_stitch_grad(op, dy):
    return _stitch_gradient(op, dy)


@ParallelDynamicStitch.grad
def parallel_dynamic_stitch_grad(op, dy):
    return _stitch_gradient(op, dy)


@DynamicStitch.cases
def dynamic_stitch_cases(case):
    case(([0, 2], np.int32(1)), ([[1.0], [2.0]], [3.0]), gives=[[1.0], [3.0], [2.0]])
    case(([0, 0], [1, 0]), ([1.0, 2.0], [3.0, 4.0]), gives=[4.0, 3.0], grad=False)
    case.shapes("[2];[];[2,3];[3]", "[?,3]")
    case.fails("[2];[];[2,3];[4]", match="Dimension 0 in both shapes must be equal, but are 3 and 4")


@ParallelDynamicStitch.cases
def parallel_dynamic_stitch_cases(case):
    case(([1], [0]), ([1.0], [2.0]), gives=[2.0, 1.0])


@export("dynamic_partition")
def dynamic_partition(data, partitions, num_partitions, name=None):
    """Deals the slices of a tensor out to several.

    Args:
      data: The tensor.
      partitions: Each slice's number.
      num_partitions: How many tensors there are.
      name: The node's name.
    """
    return raw.DynamicPartition(data, partitions, num_partitions=num_partitions, name=name)


@export("dynamic_stitch")
def dynamic_stitch(indices, data, name=None):
    """Puts the slices of several tensors together in one.

    Args:
      indices: For each tensor its slices' places.
      data: The tensors.
      name: The node's name.
    """
    return raw.DynamicStitch(indices, data, name=name)
