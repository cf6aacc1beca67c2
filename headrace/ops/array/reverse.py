"""Reverse, ReverseSequence and Roll: elements in another order along dimensions."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.ops.array.failing import invalid

ReverseV2 = op("""
    ReverseV2(tensor: T, axis: Tidx) -> (output: T)
      Tidx: {int32, int64} = int32
      T: {uint8, int8, uint16, int16, int32, int64, bool, bfloat16, half, float, double, complex64, complex128, string}

    A tensor reversed along the dimensions in `axis`.
""")


def _axes(rank, axis):
    """Returns the axes as non-negative numbers.

    Raises:
      ValueError: One is out of range or given twice.
    """
    out = []
    for i, a in enumerate(axis.tolist()):
        at = a + rank if a < 0 else a
        if not 0 <= at < rank:
            raise ValueError(f"'axis'[{i}] = {a} is out of valid range [0, {rank - 1}")
        if at in out:
            raise ValueError(f"axis {at} specified more than once.")
        out.append(at)
    return out


@ReverseV2.shape
def reverse_v2_shape(tensor, axis, *, ctx):
    shapes.with_rank(axis, 1)
    known = ctx.constant("axis")
    if known is not None and tensor is not None:
        _axes(len(tensor), known)
    if tensor is None and axis is not None and axis[0] is not None:
        return None
    return tensor


def _checked(tensor, axis):
    try:
        return _axes(tensor.ndim, np.asarray(axis))
    except ValueError as e:
        invalid(str(e))


@ReverseV2.host
def reverse_v2_host(tensor, axis):
    return np.flip(tensor, _checked(tensor, axis))


@ReverseV2.lower(static="axis")
def reverse_v2_lower(tensor, axis):
    return jnp.flip(tensor, _checked(tensor, axis))


@ReverseV2.grad
def reverse_v2_grad(op, dy):
    return raw.ReverseV2(dy, op.inputs[1]), None


@ReverseV2.cases
def reverse_v2_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], [0], gives=[[3.0, 4.0], [1.0, 2.0]])
    case([[1.0, 2.0], [3.0, 4.0]], [-1, 0], gives=[[4.0, 3.0], [2.0, 1.0]])
    case([1.0, 2.0], np.zeros([0], np.int64), gives=[1.0, 2.0])
    case.shapes("[2,?];[1]", "[2,?]")
    case.fails("[2,3];[1]", match=r"'axis'\[0\] = 2 is out of valid range \[0, 1", values={"axis": [2]})
    case.fails("[2,3];[2]", match="axis 0 specified more than once", values={"axis": [0, 0]})


Reverse = op("""
    Reverse(tensor: T, dims: bool) -> (output: T)
      T: {uint8, int8, uint16, int16, int32, int64, bool, half, float, double, complex64, complex128, string}

    A tensor reversed along the dimensions for which `dims` is true: the old form.
""")


@Reverse.shape
def reverse_shape(tensor, dims):
    shapes.with_rank(dims, 1)
    if tensor is not None and dims is not None and dims[0] not in (None, len(tensor)):
        raise ValueError(f"Shape must be rank {dims[0]} but is rank {len(tensor)}")
    return shapes.with_rank(tensor, dims[0]) if dims is not None and dims[0] is not None else tensor


def _reverse(tensor, dims, xp):
    if len(dims) != tensor.ndim:
        invalid(
            "'dims' must have the same number of values as 'input' has dimensions. "
            f"'input' has {tensor.ndim}'dims' has {len(dims)} values"
        )
    return xp.flip(tensor, [i for i, d in enumerate(dims) if d])


@Reverse.host
def reverse_host(tensor, dims):
    return _reverse(tensor, dims, np)


@Reverse.lower(static="dims")
def reverse_lower(tensor, dims):
    return _reverse(tensor, dims, jnp)


@Reverse.grad
def reverse_grad(op, dy):
    return raw.Reverse(dy, op.inputs[1]), None


@Reverse.cases
def reverse_cases(case):
    case([[1.0, 2.0], [3.0, 4.0]], np.array([True, False]), gives=[[3.0, 4.0], [1.0, 2.0]])
    case.shapes("?;[2]", "[?,?]")


ReverseSequence = op("""
    ReverseSequence(input: T, seq_lengths: Tlen) -> (output: T)
      seq_dim: int
      batch_dim: int = 0
      T: type
      Tlen: {int32, int64} = int64

    The first `seq_lengths[i]` places along `seq_dim` reversed, for each i along `batch_dim`.
""")


@ReverseSequence.shape
def reverse_sequence_shape(input, seq_lengths, *, seq_dim, batch_dim):
    shapes.with_rank(seq_lengths, 1)
    if input is None:
        return None
    rank = len(input)
    if batch_dim >= rank:
        raise ValueError(f"batch_dim must be < input rank: {batch_dim} vs. {rank}")
    if seq_dim >= rank:
        raise ValueError(f"seq_dim must be < input rank: {seq_dim} vs. {rank}")
    n = None if seq_lengths is None else seq_lengths[0]
    n = shapes.merge_dim(input[batch_dim], n)
    return (*input[:batch_dim], n, *input[batch_dim + 1 :])


def _sources(input, seq_lengths, seq_dim, batch_dim, xp):
    """Returns where each place of the result comes from along `seq_dim`, for broadcasting."""
    n = input.shape[seq_dim]
    lengths = xp.reshape(seq_lengths, [-1 if i == batch_dim else 1 for i in range(input.ndim)])
    places = xp.reshape(xp.arange(n), [n if i == seq_dim else 1 for i in range(input.ndim)])
    return xp.broadcast_to(xp.where(places < lengths, lengths - 1 - places, places), input.shape)


@ReverseSequence.host
def reverse_sequence_host(input, seq_lengths, *, seq_dim, batch_dim):
    if seq_dim == batch_dim:
        invalid(f"batch_dim == seq_dim == {seq_dim}")
    if len(seq_lengths) != input.shape[batch_dim]:
        invalid(
            f"len(seq_lens) != input.dims({batch_dim}), ({len(seq_lengths)} vs. {input.shape[batch_dim]})"
        )
    for i, n in enumerate(seq_lengths.tolist()):
        if n < 0:
            invalid(f"seq_lens({i}) < 0")
        if n > input.shape[seq_dim]:
            invalid(f"seq_lens({i}) > input.dims({seq_dim})")
    return np.take_along_axis(input, _sources(input, seq_lengths, seq_dim, batch_dim, np), seq_dim)


@ReverseSequence.lower
def reverse_sequence_lower(input, seq_lengths, *, seq_dim, batch_dim, ctx):
    fits = (seq_lengths >= 0) & (seq_lengths <= input.shape[seq_dim])
    ctx.check(jnp.all(fits), "a sequence length is out of range")
    return jnp.take_along_axis(input, _sources(input, seq_lengths, seq_dim, batch_dim, jnp), seq_dim)


@ReverseSequence.grad
def reverse_sequence_grad(op, dy):
    dims = {"seq_dim": op.attrs["seq_dim"], "batch_dim": op.attrs["batch_dim"]}
    return raw.ReverseSequence(dy, op.inputs[1], **dims), None


@ReverseSequence.cases
def reverse_sequence_cases(case):
    case([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.array([2, 3]), seq_dim=1,
         gives=[[2.0, 1.0, 3.0], [6.0, 5.0, 4.0]])  # fmt: skip
    case([[1.0, 2.0], [3.0, 4.0]], [0, 2], seq_dim=0, batch_dim=1, gives=[[1.0, 4.0], [3.0, 2.0]])
    case.shapes("[?,3];[5]", "[5,3]", seq_dim=1)
    case.fails("[2,3,4];[3]", match="Dimensions must be equal, but are 2 and 3", seq_dim=1)
    case.fails(([[1.0, 2.0]], [3]), match=r"seq_lens\(0\) > input.dims\(1\)", seq_dim=1)


Roll = op("""
    Roll(input: T, shift: Tshift, axis: Taxis) -> (output: T)
      T: type
      Tshift: {int32, int64}
      Taxis: {int32, int64}

    The elements shifted along dimensions; what leaves at one end comes in at the other.
""")


@Roll.shape
def roll_shape(input, shift, axis):
    shapes.with_rank_at_least(input, 1)
    shapes.with_rank_at_most(shift, 1)
    shapes.with_rank_at_most(axis, 1)
    if shift is not None and axis is not None:
        shapes.merge(shift, axis)
    return input


def _moves(input, shift, axis):
    if shift.ndim > 1:
        invalid("shift must be a scalar or a 1-D vector. Found: " + str(list(shift.shape)))
    if axis.ndim > 1:
        invalid("axis must be a scalar or a 1-D vector. Found: " + str(list(axis.shape)))
    if shift.shape != axis.shape:
        invalid("shift and axis must have the same size")
    axes = []
    for a in np.atleast_1d(axis).tolist():
        at = a + input.ndim if a < 0 else a
        if not 0 <= at < input.ndim:
            invalid(f"axis {at} is out of range")
        axes.append(at)
    return tuple(np.atleast_1d(shift).tolist()), tuple(axes)


@Roll.host
def roll_host(input, shift, axis):
    return np.roll(input, *_moves(input, shift, axis))


@Roll.lower(static="axis")
def roll_lower(input, shift, axis):
    axis = np.atleast_1d(axis)
    _moves(input, np.zeros(np.shape(shift), np.int32), axis if np.ndim(shift) else axis.reshape(()))
    flat = jnp.atleast_1d(shift)
    for i, a in enumerate(axis.tolist()):
        input = jnp.roll(input, flat[i], a)
    return input


@Roll.grad
def roll_grad(op, dy):
    return raw.Roll(dy, raw.Neg(op.inputs[1]), op.inputs[2]), None, None


@Roll.cases
def roll_cases(case):
    case([1.0, 2.0, 3.0], np.int32(1), np.int32(0), gives=[3.0, 1.0, 2.0])
    case([[1.0, 2.0], [3.0, 4.0]], np.array([1, -1]), [0, -1], gives=[[4.0, 3.0], [2.0, 1.0]])
    case.shapes("[2,?];[];[]", "[2,?]")
    case.fails("[];[];[]", match="Shape must be at least rank 1 but is rank 0")
    case.fails(([1.0, 2.0], np.int32(1), np.int32(1)), match="axis 1 is out of range")


@export("reverse", "reverse_v2", "manip.reverse")
def reverse(tensor, axis, name=None):
    """Returns a tensor reversed along dimensions.

    Args:
      tensor: The tensor.
      axis: The dimensions, a vector.
      name: The node's name.
    """
    return raw.ReverseV2(tensor, axis, name=name)


@export("reverse_sequence")
def reverse_sequence(
    input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None
):
    """Returns a tensor with the beginning of each sequence in it reversed.

    Args:
      input: The tensor.
      seq_lengths: How long each sequence is.
      seq_axis: The dimension along which a sequence runs.
      batch_axis: The dimension along which the sequences lie side by side, by default the first.
      name: The node's name.
      seq_dim: The old name of `seq_axis`.
      batch_dim: The old name of `batch_axis`.

    Raises:
      ValueError: A dimension is given by both names.
    """
    for new, old, which in ((seq_axis, seq_dim, "seq"), (batch_axis, batch_dim, "batch")):
        if new is not None and old is not None:
            raise ValueError(f"Cannot specify both '{which}_dim' and '{which}_axis'")
    seq_axis = seq_dim if seq_axis is None else seq_axis
    batch_axis = batch_dim if batch_axis is None else batch_axis
    if seq_axis is None:
        raise TypeError("Expected int for argument 'seq_dim' not None.")
    return raw.ReverseSequence(input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis or 0, name=name)


@export("roll", "manip.roll")
def roll(input, shift, axis, name=None):
    """Returns a tensor with its elements shifted along dimensions, around the ends.

    Args:
      input: The tensor.
      shift: By how many places, a number or one for each dimension.
      axis: The dimension or dimensions.
      name: The node's name.
    """
    return raw.Roll(input, shift, axis, name=name)
