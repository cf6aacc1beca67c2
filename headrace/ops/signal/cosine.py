"""Discrete cosine transforms, and the cepstral coefficients made with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.export import NAMES
from headrace.graph.default import name_scope
from headrace.opdef import convert_to_tensor, export, raw
from headrace.opdef.nodes import shape_of


def _check(x: Any, type: Any, n: Any, axis: Any, norm: Any) -> None:
    """Checks the arguments of both directions.

    Raises:
      NotImplementedError: `axis` is not the last.
      ValueError: Another argument is out of its range.
    """
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        last = x.shape[-1].value if x.shape.ndims else None
        if last is not None and last < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _last_size(x: Any) -> Any:
    """Returns the size of the last dimension: a number where it is known."""
    last = None if x._dims is None else x._dims[-1]
    return shape_of(x)[-1] if last is None else last


def _first_and_others(first: Any, others: Any, count: int) -> Any:
    """Returns one number and then another again and again, `count` in all."""
    return raw.PadV2(raw.ExpandDims(first, 0), [[0, count - 1]], constant_values=others)


def _turns(count: Any, sign: int) -> Any:
    """Returns 2 exp(sign i pi k / 2 n) for k = 0 ... n - 1."""
    numbers = NAMES["range"](count)
    angles = (-numbers if sign < 0 else numbers) * math.pi * 0.5 / count
    return 2.0 * raw.Exp(NAMES["complex"](0.0, angles))


@export("signal.dct", "spectral.dct")
def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """Returns the discrete cosine transform along the last dimension.

    Args:
      input: A tensor of float32.
      type: 1, 2 or 3.
      n: The number of samples to transform, by default all; what is missing is taken as zero.
      axis: -1.
      norm: "ortho" for an orthogonal transform, or None.
      name: The scope of the nodes.

    Raises:
      ValueError: An argument is out of its range.
      NotImplementedError: `axis` is not -1.
    """
    # The parameters hide `type` and `input`, as TensorFlow's do.
    kind = type
    with name_scope(name, "dct", [input]):
        x = convert_to_tensor(input, dtypes.float32)
        _check(x, kind, n, axis, norm)
        seq_len = _last_size(x)
        if n is not None:
            if n <= seq_len:
                x = x[..., 0:n]
            else:
                rank = len(x.shape)
                paddings = np.zeros([rank, 2], np.int32)
                paddings[rank - 1, 1] = n - seq_len
                x = raw.Pad(x, NAMES["constant"](paddings))
        size = _last_size(x)
        count = raw.Cast(convert_to_tensor(size, name="Cast/x"), DstT=dtypes.float32)
        return (_first_kind, _second_kind, _third_kind)[kind - 1](x, size, count, norm)


def _first_kind(x: Any, size: Any, count: Any, norm: Any) -> Any:
    mirrored = NAMES["concat"]([x, x[..., -2:0:-1]], -1)
    return raw.Real(NAMES["signal.rfft"](mirrored))


def _second_kind(x: Any, size: Any, count: Any, norm: Any) -> Any:
    turns = _turns(count, -1)
    spectrum = NAMES["signal.rfft"](x, fft_length=[2 * size])[..., :size]
    out = NAMES["real"](spectrum * turns)
    if norm == "ortho":
        first = 0.5 * raw.Rsqrt(count)
        others = first * raw.Sqrt(2.0)
        out = out * _first_and_others(first, others, size)
    return out


def _third_kind(x: Any, size: Any, count: Any, norm: Any) -> Any:
    if norm == "ortho":
        first = raw.Sqrt(count)
        others = first * raw.Sqrt(0.5)
        x = x * _first_and_others(first, others, size)
    else:
        x = x * count
    turns = _turns(count, 1)
    spectrum = turns * NAMES["complex"](x, 0.0)
    return NAMES["signal.irfft"](spectrum, fft_length=[2 * size])[..., :size]


@export("signal.idct", "spectral.idct")
def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """Returns the inverse discrete cosine transform along the last dimension.

    Without `norm` the inverse is up to a factor: 1 / (2 n), for type 1 1 / (2 (n - 1)).

    Args:
      input: A tensor of float32.
      type: 1, 2 or 3.
      n: None.
      axis: -1.
      norm: "ortho" for an orthogonal transform, or None.
      name: The scope of the nodes.

    Raises:
      ValueError: An argument is out of its range.
      NotImplementedError: `axis` is not -1.
    """
    _check(input, type, n, axis, norm)
    return dct(input, type={1: 1, 2: 3, 3: 2}[type], n=n, axis=axis, norm=norm, name=name)


@export("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Returns the cepstral coefficients of spectrograms on the mel scale.

    Args:
      log_mel_spectrograms: A tensor of float32 whose last dimension is the logarithms in mel bins.
      name: The scope of the nodes.

    Raises:
      ValueError: There are no mel bins.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms, dtypes.float32)
        bins = None if x._dims is None else x._dims[-1]
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        size = _last_size(x)
        coefficients = dct(x)
        bins = raw.Cast(convert_to_tensor(size, name="Cast/x"), DstT=dtypes.float32)
        return coefficients * raw.Rsqrt(bins * 2.0)
