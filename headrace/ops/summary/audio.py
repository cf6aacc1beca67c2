"""Summaries of sound."""

from __future__ import annotations

import struct

import numpy as np

from headrace.dtypes import float32
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.ops.summary.message import invalid, numbered, scalar_tag, serialized, shown
from headrace.ops.summary.naming import collect, summary_scope

AudioSummary = op("""
    AudioSummary(tag: string, tensor: float) -> (summary: string)
      sample_rate: float
      max_outputs: int >= 1 = 3
      deprecated 15

    A Summary with the first sounds of a batch as WAV files.
""", grad=None)  # fmt: skip

AudioSummaryV2 = op("""
    AudioSummaryV2(tag: string, tensor: float, sample_rate: float) -> (summary: string)
      max_outputs: int >= 1 = 3

    A Summary with the first sounds of a batch as WAV files.
""", grad=None)  # fmt: skip


@AudioSummary.shape
def audio_summary_shape(tag, tensor):
    return ()


@AudioSummaryV2.shape
def audio_summary_v2_shape(tag, tensor, sample_rate):
    return ()


def to_wav(sound, rate):
    """Returns sound [frames, channels] between -1 and 1 as a WAV file of 16 bits."""
    channels = sound.shape[1]
    if not sound.size:
        invalid("audio is null")
    wide = np.nan_to_num(sound.astype(np.float64) * 32768, nan=0.0)
    # Halves are rounded away from zero.
    samples = np.clip(np.trunc(wide + np.copysign(0.5, wide)), -32768, 32767)
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _summary(tag, tensor, rate, most):
    from headrace.proto import Summary

    tag = scalar_tag(tag, "Tag must be a scalar")
    tensor = np.asarray(tensor)
    if tensor.ndim not in (2, 3):
        invalid(f"Tensor must be 3-D or 2-D, got: {shown(tensor.shape)}")
    if np.size(rate) != 1:
        invalid(f"sample_rate must be a scalar, got {shown(np.shape(rate))}")
    rate = float(np.asarray(rate).ravel()[0])
    if not rate > 0:
        invalid("sample_rate must be > 0")
    if tensor.ndim == 2:
        tensor = tensor[..., None]
    summary = Summary()
    for i, sound in enumerate(tensor[:most]):
        value = summary.value.add(tag=numbered(tag, "audio", i, most))
        value.audio.sample_rate = rate
        value.audio.length_frames, value.audio.num_channels = sound.shape
        value.audio.encoded_audio_string = to_wav(sound, round(rate))
        value.audio.content_type = "audio/wav"
    return serialized(summary)


@AudioSummary.host
def audio_summary_host(tag, tensor, *, sample_rate, max_outputs):
    return _summary(tag, tensor, sample_rate, max_outputs)


@AudioSummaryV2.host
def audio_summary_v2_host(tag, tensor, sample_rate, *, max_outputs):
    return _summary(tag, tensor, sample_rate, max_outputs)


@AudioSummary.cases
def audio_summary_cases(case):
    case(b"au", case.uniform(2, 5, low=-1), sample_rate=8000.0)
    case.shapes("[];?", "[]", sample_rate=8000.0)
    case.fails((b"au", np.zeros((1, 2), np.float32)), match="sample_rate must be > 0", sample_rate=-1.0)


@AudioSummaryV2.cases
def audio_summary_v2_cases(case):
    case(b"au", case.uniform(2, 5, 2, low=-1), np.float32(8000), max_outputs=1)
    case(b"au", np.zeros((0, 5), np.float32), np.float32(8000), gives=b"")
    case.shapes("[];[?,?];[]", "[]")
    case.fails(
        (b"au", np.zeros(3, np.float32), np.float32(8)), match=r"Tensor must be 3-D or 2-D, got: \[3\]"
    )
    case.fails((b"au", np.zeros((1, 0), np.float32), np.float32(8)), match="audio is null")


@export("summary.audio")
def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    """Returns a serialized Summary with sounds.

    Args:
      name: The node's name, and the tag within the name scope.
      tensor: The sounds, [batch, frames] or [batch, frames, channels], between -1 and 1.
      sample_rate: How many frames a second has.
      max_outputs: How many sounds of the batch are taken at most.
      collections: Names of the collections that get the summary; by default `tf.GraphKeys.SUMMARIES`.
      family: A prefix of the tag, by which tensorboard groups.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        sample_rate = convert_to_tensor(sample_rate, dtype=float32, name="sample_rate")
        out = raw.AudioSummaryV2(
            tag=tag, tensor=tensor, max_outputs=max_outputs, sample_rate=sample_rate, name=scope
        )
        collect(out, collections)
    return out
