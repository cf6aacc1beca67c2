"""What recognizers look at instead of samples: spectrograms and mel-frequency cepstra."""

from __future__ import annotations

import functools
import math

import numpy as np

from headrace.opdef import op
from headrace.opdef.strings import invalid
from headrace.shapes import with_rank

AudioSpectrogram = op("""
    AudioSpectrogram(input: float) -> (spectrogram: float)
      window_size: int
      stride: int
      magnitude_squared: bool = false

    How strong each frequency is, window by window.
""")

Mfcc = op("""
    Mfcc(spectrogram: float, sample_rate: int32) -> (output: float)
      upper_frequency_limit: float = 4000.0
      lower_frequency_limit: float = 20.0
      filterbank_channel_count: int = 40
      dct_coefficient_count: int = 13

    The cosine transform of the logarithm of strength by mel, the pitch that is heard.
""")

_MOST_WEIGHTS = 1 << 26
_FLOOR = 1e-12  # nothing is taken to be weaker, so that logarithms are finite


def _transform_size(window_size):
    return 1 << (window_size - 1).bit_length()


@AudioSpectrogram.shape
def audio_spectrogram_shape(input, *, window_size, stride):
    length, channels = with_rank(input, 2)
    if window_size < 2 or stride < 1:
        return (channels, None, None)
    count = None if length is None else max((length - window_size) // stride + 1, 0)
    return (channels, count, _transform_size(window_size) // 2 + 1)


@AudioSpectrogram.host
def audio_spectrogram_host(input, *, window_size, stride, magnitude_squared):
    input = np.asarray(input)
    if input.ndim != 2:
        invalid(f"input must be 2-dimensional[{','.join(map(str, input.shape))}]")
    if window_size < 2 or stride < 1:
        invalid(f"Spectrogram initialization failed for window size {window_size} and stride {stride}")
    length, channels = input.shape
    count = max((length - window_size) // stride + 1, 0)
    size = _transform_size(window_size)
    if not count or not channels:
        return np.zeros((channels, count, size // 2 + 1), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(input.T, window_size, 1)[:, ::stride]
    hann = 0.5 - 0.5 * np.cos(2 * math.pi / window_size * np.arange(window_size))
    out = np.fft.rfft(windows * hann, size)
    squares = out.real**2 + out.imag**2
    return (squares if magnitude_squared else np.sqrt(squares)).astype(np.float32)


@Mfcc.shape
def mfcc_shape(spectrogram, sample_rate, *, dct_coefficient_count):
    channels, count, _ = with_rank(spectrogram, 3)
    with_rank(sample_rate, 0)
    return (channels, count, max(dct_coefficient_count, 0))


def _mel(frequency):
    return 1127 * np.log1p(np.asarray(frequency, np.float64) / 700)


@functools.lru_cache(maxsize=16)
def _filters(bins, rate, low, high, count):
    """Returns the weight of each frequency in each band, [bins, bands].

    Bands are triangles on the mel scale whose feet are the peaks of their neighbours.
    """
    edges = np.linspace(_mel(low), _mel(high), count + 2)
    width = 0.5 * rate / (bins - 1)
    mels = _mel(width * np.arange(bins))
    inside = np.arange(bins)
    inside = (inside >= int(1.5 + low / width)) & (inside <= int(high / width))
    rising = (mels[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - mels[:, None]) / (edges[2:] - edges[1:-1])
    return np.where(inside[:, None], np.maximum(np.minimum(rising, falling), 0), 0)


@Mfcc.host
def mfcc_host(
    spectrogram,
    sample_rate,
    *,
    upper_frequency_limit,
    lower_frequency_limit,
    filterbank_channel_count,
    dct_coefficient_count,
):
    spectrogram = np.asarray(spectrogram)
    if spectrogram.ndim != 3:
        invalid(f"spectrogram must be 3-dimensional[{','.join(map(str, spectrogram.shape))}]")
    if np.ndim(sample_rate):
        shown = ",".join(map(str, np.shape(sample_rate)))
        invalid(f"Input sample_rate should be a scalar tensor, got [{shown}]")
    rate, bins = int(sample_rate), spectrogram.shape[2]
    bands, wanted = filterbank_channel_count, dct_coefficient_count
    low, high = float(lower_frequency_limit), float(upper_frequency_limit)
    possible = 1 <= wanted <= bands and bins >= 2 and rate > 0 and 0 <= low < high
    if not possible or bins * bands > _MOST_WEIGHTS:
        invalid(f"Mfcc initialization failed for channel count {bins} and sample rate {rate}")
    if high * (bins - 1) // (0.5 * rate) >= bins:
        # Frequencies that the spectrogram does not have are asked for: TensorFlow leaves the output as it is.
        return np.zeros((*spectrogram.shape[:2], wanted), np.float32)
    with np.errstate(invalid="ignore"):
        strength = np.sqrt(spectrogram.astype(np.float64)) @ _filters(bins, rate, low, high, bands)
        logarithms = np.log(np.maximum(strength, _FLOOR))
    angles = math.pi / bands * np.outer(np.arange(wanted), np.arange(bands) + 0.5)
    return (logarithms @ (math.sqrt(2 / bands) * np.cos(angles)).T).astype(np.float32)


@AudioSpectrogram.cases
def audio_spectrogram_cases(case):
    case(np.array([[0.0], [1.0], [0.0], [-1.0], [0.0]], np.float32), window_size=4, stride=1,
         gives=[[[0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]])  # fmt: skip
    case(case.normal(40, 1), window_size=7, stride=3, magnitude_squared=True)
    case(case.normal(9, 2), window_size=4, stride=2)
    case.shapes("[50,1]", "[1,15,5]", window_size=7, stride=3)
    case.shapes("[?,2]", "[2,?,9]", window_size=16, stride=3)
    case.fails("[3]", window_size=2, stride=1, match="must be rank 2 but is rank 1")
    case.fails((np.zeros((9, 1), np.float32),), window_size=1, stride=1, match="window size 1 and stride 1")
    case.fails((np.zeros((9, 1), np.float32),), window_size=4, stride=0, match="window size 4 and stride 0")


@Mfcc.cases
def mfcc_cases(case):
    case(np.abs(case.normal(1, 2, 65)), np.int32(8000))
    case(np.abs(case.normal(2, 1, 9)), np.int32(100), upper_frequency_limit=40.0, lower_frequency_limit=0.0,
         filterbank_channel_count=3, dct_coefficient_count=2)  # fmt: skip
    case.shapes("[2,?,5];[]", "[2,?,13]")
    case.fails("[2,5];[]", match="must be rank 3 but is rank 2")
    case.fails((np.ones((1, 1, 9), np.float32), np.int32(0)), match="channel count 9 and sample rate 0")
    case.fails((np.ones((1, 1, 1), np.float32), np.int32(8)), match="channel count 1 and sample rate 8")
