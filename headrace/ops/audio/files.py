"""Sound as files."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.formats import wav
from headrace.opdef import op, raw
from headrace.opdef.strings import invalid
from headrace.shapes import with_rank

DecodeWav = op("""
    DecodeWav(contents: string) -> (audio: float, sample_rate: int32)
      desired_channels: int = -1
      desired_samples: int = -1

    The samples of a WAV file and their rate.
""")

EncodeWav = op("""
    EncodeWav(audio: float, sample_rate: int32) -> (contents: string)

    Samples as a WAV file.
""")


def _wanted(what, size):
    if size < -1:
        raise ValueError(f"{what} must be non-negative, got {size}")
    return None if size == -1 else size


@DecodeWav.shape
def decode_wav_shape(contents, *, desired_channels, desired_samples):
    with_rank(contents, 0)
    channels = _wanted("channels", desired_channels)
    return [(_wanted("samples", desired_samples), channels), ()]


@DecodeWav.host
def decode_wav_host(contents, *, desired_channels, desired_samples):
    contents = np.asarray(contents, object)
    if contents.ndim:
        invalid(f"contents must be scalar, got shape [{','.join(map(str, contents.shape))}]")
    try:
        audio, rate = wav.decode(contents.item())
    except ValueError as e:
        invalid(str(e))
    if desired_samples >= 0:
        lacking = desired_samples - len(audio)
        audio = audio[:desired_samples] if lacking <= 0 else np.pad(audio, [(0, lacking), (0, 0)])
    if desired_channels >= 0:
        # Channels that the file does not have are like its last.
        audio = audio[:, np.minimum(np.arange(desired_channels), audio.shape[1] - 1)]
    return np.ascontiguousarray(audio), np.array(rate, np.uint32).astype(np.int32)


@EncodeWav.shape
def encode_wav_shape(audio, sample_rate):
    with_rank(audio, 2)
    with_rank(sample_rate, 0)
    return ()


@EncodeWav.host
def encode_wav_host(audio, sample_rate):
    audio = np.asarray(audio)
    if audio.ndim != 2:
        invalid(f"audio must be 2-dimensional[{','.join(map(str, audio.shape))}]")
    if np.ndim(sample_rate):
        invalid(
            f"Input sample_rate should be a scalar tensor, got [{','.join(map(str, np.shape(sample_rate)))}]"
        )
    if not audio.size:
        invalid("audio is null")
    rate = int(sample_rate)
    if rate <= 0:
        invalid(f"sample_rate must be in (0, 2^32), got: {rate % (1 << 64)}")
    if audio.shape[1] >= 1 << 16:
        invalid(f"num_channels must be in (0, 2^16), got: {audio.shape[1]}")
    return wav.encode(audio, rate)


@DecodeWav.cases
def decode_wav_cases(case):
    file = wav.encode(np.array([[0.5, -1.0], [0.25, 0.0], [0.0, 1.0]], np.float32), 8000)
    rate = np.array(8000, np.int32)
    case(file, gives=(np.array([[0.5, -1], [0.25, 0], [0, 32767 / 32768]], np.float32), rate))
    case(
        file,
        desired_channels=1,
        desired_samples=4,
        gives=(np.array([[0.5], [0.25], [0], [0]], np.float32), rate),
    )
    case(file, desired_channels=3, desired_samples=1, gives=(np.array([[0.5, -1, -1]], np.float32), rate))
    case.shapes("[]", "[?,?];[]")
    case.shapes("[]", "[7,2];[]", desired_channels=2, desired_samples=7)
    case.fails("[1]", match="must be rank 0 but is rank 1")
    case.fails("[]", desired_samples=-2, match="samples must be non-negative, got -2")
    case.fails((b"junk",), match="Header mismatch: Expected RIFF but found junk")
    case.fails((file[:20],), match="Data too short when trying to read string")


@EncodeWav.cases
def encode_wav_cases(case):
    audio = np.array([[0.0], [1.0], [-1.0], [0.5], [1.5], [-9.0], [np.nan]], np.float32)
    head = b"RIFF2\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\x0e\0\0\0"
    case(audio, np.int32(8000), gives=head + b"\0\0\xff\x7f\0\x80\0@\xff\x7f\0\x80\0\0")
    case.shapes("[?,2];[]", "[]")
    case.fails("[2];[]", match="must be rank 2 but is rank 1")
    case.fails((np.zeros((0, 1), np.float32), np.int32(1)), match="audio is null")
    case.fails(
        (np.zeros((1, 1), np.float32), np.int32(0)), match=r"sample_rate must be in \(0, 2\^32\), got: 0"
    )


@export("audio.decode_wav")
def decode_wav(contents, desired_channels=-1, desired_samples=-1, name=None):
    """Returns the samples of a WAV file and their rate.

    Args:
      contents: A scalar string, a file of 16-bit samples.
      desired_channels: How many channels the result has; -1 for as many as the file.
      desired_samples: How many samples it has, cut off or filled with zeros; -1 for as many as the file.
      name: The node's name.

    Returns:
      Named outputs `audio`, float32 from -1 to 1 of shape [samples, channels], and `sample_rate`.
    """
    return raw.DecodeWav(
        contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name
    )


@export("audio.encode_wav")
def encode_wav(audio, sample_rate, name=None):
    """Returns samples as a WAV file, a scalar string.

    Args:
      audio: float32 of shape [samples, channels]; what is beyond -1 and 1 is cut off.
      sample_rate: A scalar int32.
      name: The node's name.
    """
    return raw.EncodeWav(audio, sample_rate, name=name)
