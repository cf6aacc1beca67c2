"""WAV files of 16-bit samples."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_MOST = (1 << 31) - 1


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        out = self.data[self.at : self.at + size]
        if len(out) < size:
            raise ValueError("Data too short when trying to read string")
        self.at += size
        return out

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def expect(self, text: bytes) -> None:
        found = self.take(len(text))
        if found != text:
            raise ValueError(f"Header mismatch: Expected {text.decode()} but found {found.decode('latin-1')}")


def _read_format(reader: _Reader) -> tuple[int, int]:
    """Returns how many channels there are, and the rate."""
    size = reader.number(4)
    if size not in (16, 18):
        raise ValueError(f"Bad file size for WAV: Expected 16 or 18, but got{size}")
    form, channels, rate, second, sample, bits = struct.unpack("<HHIIHH", reader.take(16))
    reader.take(size - 16)
    if form != 1:
        raise ValueError(f"Bad audio format for WAV: Expected 1 (PCM), but got{form}")
    if channels < 1:
        raise ValueError(f"Bad number of channels for WAV: Expected at least 1, but got {channels}")
    if bits != 16:
        raise ValueError(f"Can only read 16-bit WAV files, but received {bits}")
    if sample != 2 * channels:
        raise ValueError(f"Bad bytes per sample in WAV header: Expected {2 * channels} but got {sample}")
    expected = sample * rate & 0xFFFFFFFF
    if second != expected:
        raise ValueError(
            f"Bad bytes per second in WAV header: Expected {expected} but got {second} (sample_rate={rate}, "
            f"bytes_per_sample={sample})"
        )
    return channels, rate


def decode(data: bytes) -> tuple[np.ndarray[Any, Any], int]:
    """Returns the samples, float32 from -1 to 1 of shape [samples, channels], and the rate.

    Args:
      data: The file.

    Raises:
      ValueError: The file is damaged or of another kind.
    """
    reader = _Reader(data)
    reader.expect(b"RIFF")
    reader.number(4)
    reader.expect(b"WAVE")
    reader.expect(b"fmt ")
    channels, rate = _read_format(reader)
    samples = None
    while reader.at < len(data):
        kind, size = reader.take(4), reader.number(4)
        if size > _MOST:
            name = kind.decode("latin-1")
            raise ValueError(f"WAV data chunk '{name}' is too large: {size} bytes, but the limit is {_MOST}")
        if kind != b"data":
            reader.at += size
            continue
        if samples is not None:
            raise ValueError("More than one data chunk found in WAV")
        count = size // (2 * channels)
        samples = np.frombuffer(reader.take(2 * channels * count), "<i2").reshape(count, channels)
    if samples is None:
        raise ValueError("No data chunk found in WAV")
    return samples.astype(np.float32) / np.float32(32768), rate


def encode(samples: np.ndarray[Any, Any], rate: int) -> bytes:
    """Returns samples, [samples, channels], as a WAV file.

    Args:
      samples: Floats; what is beyond -1 and 1 is cut off.
      rate: How many there are a second.
    """
    channels = samples.shape[1]
    scaled = samples.astype(np.float64) * 32768
    rounded = np.trunc(scaled + np.copysign(0.5, scaled))
    whole: bytes = np.nan_to_num(np.clip(rounded, -32768, 32767), nan=0.0).astype("<i2").tobytes()
    head = struct.pack("<HHIIHH", 1, channels, rate, rate * 2 * channels & 0xFFFFFFFF, 2 * channels, 16)
    body = b"WAVEfmt \x10\0\0\0" + head + b"data" + struct.pack("<I", len(whole)) + whole
    return b"RIFF" + struct.pack("<I", len(body)) + body
