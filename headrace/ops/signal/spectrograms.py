"""Short-time Fourier transforms and their inverse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph.default import name_scope
from headrace.opdef import constant_node, constant_value, convert_to_tensor, export, raw
from headrace.opdef.nodes import rank_of, shape_of, zeros
from headrace.ops.signal.framing import frame, overlap_and_add
from headrace.ops.signal.windows import check_scalar, hann_window


def _power_of_two(value: Any) -> Any:
    """Returns the least power of two that is not less, as a node."""
    known = constant_value(value)
    if known is not None:
        return constant_node(int(2 ** math.ceil(math.log(int(known)) / math.log(2.0))), value.dtype)
    bits = raw.Log(raw.Cast(value, DstT=dtypes.float32)) / raw.Log(
        constant_node(2.0, dtypes.float32, name="Log_1/x")
    )
    return raw.Cast(raw.Pow(2.0, raw.Ceil(bits)), DstT=value.dtype)


@export("signal.stft")
def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """Returns the Fourier transforms of overlapping stretches of signals.

    Args:
      signals: A tensor of float32; its last dimension is samples.
      frame_length: The number of samples in a stretch, a scalar.
      frame_step: The number of samples from one start to the next.
      fft_length: The size of the transforms, by default the next power of two.
      window_fn: A function of a length and `dtype=` that gives the window, or None.
      pad_end: Whether the last stretches go beyond the end, filled up with zeros.
      name: The scope of the nodes.

    Returns:
      A tensor of complex64 [..., frames, fft_length // 2 + 1].
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        if signals._dims is not None and not signals._dims:
            raise ValueError(f"Shape {signals.shape} must have rank at least 1")
        frame_length = convert_to_tensor(frame_length, name="frame_length")
        check_scalar(frame_length, "frame_length")
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        check_scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _power_of_two(frame_length)
        else:
            fft_length = convert_to_tensor(fft_length, name="fft_length")
        frames = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype)
        return NAMES["signal.rfft"](frames, [fft_length])


@export("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """Returns a window function for `inverse_stft` that undoes the window of `stft`.

    Args:
      frame_step: The number of samples from one frame's start to the next.
      forward_window_fn: The window function that `stft` was given.
      name: The scope of the nodes.

    Returns:
      A function of a length and `dtype=`.
    """
    with name_scope(name, "inverse_stft_window_fn", [frame_step]):
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        check_scalar(frame_step, "frame_step")

    def window_fn(frame_length, dtype):
        with name_scope(name, "inverse_stft_window_fn", [frame_length]):
            frame_length = convert_to_tensor(frame_length, name="frame_length")
            check_scalar(frame_length, "frame_length")
            window = forward_window_fn(frame_length, dtype=dtype)
            power = raw.Square(window)
            # What the squares of all windows over one sample add up to.
            overlaps = -(-frame_length // frame_step)
            power = raw.Pad(power, [[0, overlaps * frame_step - frame_length]])
            power = raw.Reshape(power, [overlaps, frame_step])
            power = NAMES["reduce_sum"](power, 0, keepdims=True)
            power = raw.Tile(power, [overlaps, 1])
            power = raw.Reshape(power, [overlaps * frame_step])
            return window / power[:frame_length]

    return window_fn


@export("signal.inverse_stft")
def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """Returns the signals of short-time Fourier transforms.

    Args:
      stfts: A tensor of complex64 [..., frames, fft_length // 2 + 1].
      frame_length: The number of samples in a frame, a scalar.
      frame_step: The number of samples from one frame's start to the next.
      fft_length: The size of the transforms, by default the power of two that `stft` takes.
      window_fn: A function of a length and `dtype=` that gives the window, or None. For the exact inverse of
        `stft` use `inverse_stft_window_fn`.
      name: The scope of the nodes.

    Returns:
      A tensor of float32 whose last dimension is samples.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        if stfts._dims is not None and len(stfts._dims) < 2:
            raise ValueError(f"Shape {stfts.shape} must have rank at least 2")
        frame_length = convert_to_tensor(frame_length, name="frame_length")
        check_scalar(frame_length, "frame_length")
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        check_scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _power_of_two(frame_length)
        else:
            fft_length = convert_to_tensor(fft_length, name="fft_length")
            check_scalar(fft_length, "fft_length")
        frames = _of_length(NAMES["signal.irfft"](stfts, [fft_length]), frame_length)
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, frame_step)


def _of_length(frames: Any, frame_length: Any) -> Any:
    """Cuts or fills up frames to a length."""
    known = constant_value(frame_length)
    if known is None or frames._dims is None or frames._dims[-1] is None:
        frames = frames[..., :frame_length]
        rank, shape = rank_of(frames), shape_of(frames)
        before = zeros([rank - 1, 2], dtypes.int32)
        after = [[0, raw.Maximum(0, frame_length - shape[-1])]]
        padded = raw.Pad(frames, NAMES["concat"]([before, after], 0))
        if known is not None and frames._dims is not None:
            padded.set_shape([None] * (len(frames._dims) - 1) + [int(known)])
        return padded
    length, wanted = frames._dims[-1], int(known)
    if length > wanted:
        return frames[..., :wanted]
    if length < wanted:
        rank = len(frames._dims)
        return raw.Pad(frames, np.array([[0, 0]] * (rank - 1) + [[0, wanted - length]], np.int32))
    return frames
