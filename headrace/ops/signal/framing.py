"""Signals as overlapping frames, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph.default import name_scope
from headrace.opdef import constant_node, constant_value, convert_to_tensor, export, raw
from headrace.opdef.nodes import rank_of, shape_of, size_of, zeros, zeros_like
from headrace.ops.signal.windows import check_scalar

_NO_DIMS = np.zeros(0, np.int32)


def _check_rank(tensor: Any, rank: int) -> None:
    if tensor._dims is not None and len(tensor._dims) < rank:
        raise ValueError(f"Shape {tensor.shape} must have rank at least {rank}")


def _known(tensor: Any) -> int | None:
    value = constant_value(tensor)
    return None if value is None else int(value)


def _greatest_common_divisor(a: Any, b: Any) -> Any:
    x, y = _known(a), _known(b)
    with name_scope(None, "gcd", [a, b]):
        if x is not None and y is not None:
            while y:
                x, y = y, x % y
            return constant_node(x, dtypes.int32)
        return NAMES["while_loop"](
            lambda _, y: raw.Greater(y, zeros_like(y)), lambda x, y: [y, raw.FloorMod(x, y)], [a, b]
        )[0]


def _static_shape(signal: Any, frame_length: Any, frame_step: Any, pad_end: bool, axis: Any) -> Any:
    """Returns what is known of the shape of the frames."""
    length, step, axis = _known(frame_length), _known(frame_step), _known(axis)
    if signal._dims is None or axis is None:
        return None
    dims = list(signal._dims)
    samples = dims[axis]
    axis %= len(dims)
    outer, inner = dims[:axis], dims[axis + 1 :]
    frames = None
    if samples is not None and length is not None and step is not None and step:
        frames = -(-samples // step) if pad_end else max(0, (samples - length + step) // step)
    return [*outer, frames, length, *inner]


@export("signal.frame")
def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Cuts a signal into frames, which overlap where the step is shorter than a frame.

    Args:
      signal: A tensor.
      frame_length: The number of samples in a frame, a scalar.
      frame_step: The number of samples from one frame's start to the next.
      pad_end: Whether the last frames go beyond the end, filled up with `pad_value`, instead of being left out.
      pad_value: What stands beyond the end.
      axis: The dimension along which to cut.
      name: The scope of the nodes.

    Returns:
      A tensor that has frames and samples in place of `axis`.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        concat, reshape = NAMES["concat"], raw.Reshape
        signal = convert_to_tensor(signal, name="signal")
        frame_length = convert_to_tensor(frame_length, name="frame_length")
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        axis = convert_to_tensor(axis, name="axis")
        _check_rank(signal, 1)
        for scalar, scalar_name in (
            (frame_length, "frame_length"),
            (frame_step, "frame_step"),
            (axis, "axis"),
        ):
            check_scalar(scalar, scalar_name)
        static = _static_shape(signal, frame_length, frame_step, pad_end, axis)

        signal_rank = rank_of(signal)
        axis = NAMES["range"](signal_rank)[axis]  # negative ones count from the end
        signal_shape = shape_of(signal)
        outer, samples, inner = NAMES["split"](signal_shape, [axis, 1, signal_rank - 1 - axis])
        length = reshape(samples, _NO_DIMS)
        num_outer, num_inner = size_of(outer), size_of(inner)
        if pad_end:
            pad_value = convert_to_tensor(pad_value, signal.dtype)
            num_frames = -(-length // frame_step)
            lacking = raw.Maximum(0, frame_length + frame_step * (num_frames - 1) - length)
            paddings = concat(
                [zeros([num_outer, 2], dtypes.int32), [[0, lacking]], zeros([num_inner, 2], dtypes.int32)], 0
            )
            signal = raw.PadV2(signal, paddings, pad_value)
            signal_shape = shape_of(signal)
            length = signal_shape[axis]
        else:
            num_frames = raw.Maximum(0, 1 + (length - frame_length) // frame_step)

        # Every frame consists of pieces that begin at multiples of their own length.
        piece = _greatest_common_divisor(frame_length, frame_step)
        in_frame, in_step, in_signal = frame_length // piece, frame_step // piece, length // piece
        whole = concat([outer, [in_signal * piece], inner], 0)
        pieces_shape = concat([outer, [in_signal, piece], inner], 0)
        cut = NAMES["strided_slice"](signal, zeros_like(signal_shape), whole)
        pieces = reshape(cut, pieces_shape)
        starts = reshape(NAMES["range"](num_frames) * in_step, [num_frames, 1])
        offsets = reshape(NAMES["range"](in_frame), [1, in_frame])
        frames = NAMES["gather"](pieces, starts + offsets, axis=axis)
        frames = reshape(frames, concat([outer, [num_frames, frame_length], inner], 0))
        if static is not None:
            frames.set_shape(static)
        return frames


@export("signal.overlap_and_add")
def overlap_and_add(signal, frame_step, name=None):
    """Adds up frames where they overlap: the counterpart of `frame`.

    Args:
      signal: A tensor whose last two dimensions are frames and their samples.
      frame_step: The number of samples from one frame's start to the next, a scalar integer.
      name: The scope of the nodes.

    Returns:
      A tensor whose last dimension is the signal.

    Raises:
      ValueError: `signal` has less than two dimensions, or `frame_step` is not a scalar integer.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        concat, reshape = NAMES["concat"], raw.Reshape
        signal = convert_to_tensor(signal, name="signal")
        _check_rank(signal, 2)
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        check_scalar(frame_step, "frame_step")
        if not frame_step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {frame_step.dtype}")
        shape = shape_of(signal)
        outer = shape[:-2]
        num_outer = size_of(outer)
        frame_length, frames = shape[-1], shape[-2]
        output_length = frame_length + frame_step * (frames - 1)

        if _known(frame_step) is not None and signal._dims and _known(frame_step) == signal._dims[-1]:
            return reshape(signal, concat([outer, [output_length]], 0), name="fast_path")

        # With frames cut into pieces of a step each, piece j of frame i belongs to place i + j. Zeros at the ends
        # let the pieces of one number be taken as rows that are shifted against each other.
        pieces = -(-frame_length // frame_step)
        paddings = [[0, pieces], [0, pieces * frame_step - frame_length]]
        paddings = concat([zeros([num_outer, 2], dtypes.int32), paddings], 0)
        signal = raw.Pad(signal, paddings)
        signal = reshape(signal, concat([outer, [frames + pieces, pieces, frame_step]], 0))
        order = concat([NAMES["range"](num_outer), num_outer + [1, 0, 2]], 0)
        signal = NAMES["transpose"](signal, order)
        signal = reshape(signal, concat([outer, [(frames + pieces) * pieces, frame_step]], 0))
        signal = signal[..., : (frames + pieces - 1) * pieces, :]
        signal = reshape(signal, concat([outer, [pieces, frames + pieces - 1, frame_step]], 0))
        signal = NAMES["reduce_sum"](signal, -3)
        signal = reshape(signal, concat([outer, [(frames + pieces - 1) * frame_step]], 0))
        return signal[..., :output_length]
