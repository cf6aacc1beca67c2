"""The matrix that takes spectrograms to the mel scale."""

from __future__ import annotations

from typing import Any

from headrace import dtypes
from headrace.dtypes import as_dtype
from headrace.export import NAMES
from headrace.graph.default import name_scope
from headrace.graph.tensor import Tensor
from headrace.opdef import constant_value, convert_to_tensor, export, raw
from headrace.ops.signal.framing import frame

# mel = 1127 ln(1 + hertz / 700)
_BREAK_HERTZ = 700.0
_FACTOR = 1127.0


def _mel(hertz: Any) -> Any:
    with name_scope(None, "hertz_to_mel", [hertz]):
        return _FACTOR * raw.Log(1.0 + hertz / _BREAK_HERTZ)


def _check(bins: Any, sample_rate: Any, low: Any, high: Any, dtype: Any) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if not isinstance(sample_rate, Tensor):
        if sample_rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if high > sample_rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {high} for sample_rate: {sample_rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


@export("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins=20,
    num_spectrogram_bins=129,
    sample_rate=8000,
    lower_edge_hertz=125.0,
    upper_edge_hertz=3800.0,
    dtype=dtypes.float32,
    name=None,
):
    """Returns a matrix that adds up frequencies to triangular bands on the mel scale.

    Args:
      num_mel_bins: The number of bands.
      num_spectrogram_bins: The number of frequencies, from 0 to half of `sample_rate`; a scalar.
      sample_rate: Samples a second, a number or a constant tensor.
      lower_edge_hertz: Where the first band begins.
      upper_edge_hertz: Where the last band ends.
      dtype: A floating type.
      name: The scope of the nodes.

    Returns:
      A tensor of shape [num_spectrogram_bins, num_mel_bins].

    Raises:
      ValueError: An argument is out of its range.
    """
    dtype = as_dtype(dtype)
    with name_scope(name, "linear_to_mel_weight_matrix") as name:
        if isinstance(sample_rate, Tensor):
            known = constant_value(sample_rate)
            if known is None:
                raise ValueError(
                    "`sample_rate` was a non-constant Tensor. Must be a Python float or a constant Tensor."
                )
            sample_rate = known
        _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        rate = convert_to_tensor(sample_rate, dtype, name="sample_rate")
        low = convert_to_tensor(lower_edge_hertz, dtype, name="lower_edge_hertz")
        high = convert_to_tensor(upper_edge_hertz, dtype, name="upper_edge_hertz")
        zero = convert_to_tensor(0.0, dtype)
        # The constant frequency belongs to no band.
        skipped = 1
        frequencies = NAMES["linspace"](zero, rate / 2.0, num_spectrogram_bins)[skipped:]
        mels = raw.ExpandDims(_mel(frequencies), 1)
        edges = NAMES["linspace"](_mel(low), _mel(high), num_mel_bins + 2)
        edges = frame(edges, frame_length=3, frame_step=1)
        begin, middle, end = (raw.Reshape(t, [1, num_mel_bins]) for t in NAMES["split"](edges, 3, axis=1))
        rising = (mels - begin) / (middle - begin)
        falling = (end - mels) / (end - middle)
        weights = raw.Maximum(zero, raw.Minimum(rising, falling))
        return raw.Pad(weights, [[skipped, 0], [0, 0]], name=name)
