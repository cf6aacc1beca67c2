"""Dropout: a graph of random numbers and a product."""

from __future__ import annotations

import numbers

from headrace.export import export
from headrace.opdef import constant_value, convert_to_tensor, raw
from headrace.ops.nn.names import public
from headrace.tensor_shape import TensorShape


@export("nn.dropout")
def dropout_v1(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Returns `x` with elements zeroed at random and the others scaled up, so that the mean stays.

    Args:
      x: A tensor of floats.
      keep_prob: The probability that an element is kept; deprecated for `rate`.
      noise_shape: The shape of the random choice, which is broadcast to that of `x`.
      seed: The op-level seed; see `tf.set_random_seed`.
      name: A name for the operation.
      rate: The probability that an element is zeroed.

    Raises:
      ValueError: The rate is missing, given twice or not in [0, 1), or `x` is not of floats.
    """
    try:
        keep_rate = 1.0 - keep_prob if keep_prob is not None else None
    except TypeError:
        raise ValueError(f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})") from None
    if keep_rate is not None and rate is not None:
        raise ValueError("Cannot specify both 'keep_prob' and 'rate'")
    rate = keep_rate if rate is None else rate
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    return dropout(x, rate, noise_shape, seed, name)


def dropout(x, rate, noise_shape=None, seed=None, name=None):
    """Returns `x` with a fraction `rate` of its elements zeroed at random; see `dropout_v1`."""
    with public.name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        dtype = x.dtype.base_dtype
        if not dtype.is_floating:
            raise ValueError(
                f"x has to be a floating point tensor since it's going to be scaled. Got a {dtype} tensor instead."
            )
        if isinstance(rate, numbers.Real):
            if not 0 <= rate < 1:
                raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}")
            if rate == 0:
                return x
        rate = convert_to_tensor(rate, dtype=dtype, name="rate")
        _check_scalar(rate)
        if constant_value(rate) == 0:
            return x
        noise = public.random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=dtype)
        scale = 1.0 / (1.0 - rate)
        kept = raw.GreaterEqual(noise, rate)
        result = raw.Mul(raw.Mul(x, scale, name="mul"), public.cast(kept, dtype), name="mul")
        result.set_shape(x._dims)
        return result


def _check_scalar(rate):
    if rate._dims is not None and len(rate._dims):
        raise ValueError(f"Shape {rate.shape} must have rank 0")


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        return public.shape(x)
    try:
        wanted = TensorShape(noise_shape)
    except (TypeError, ValueError):
        return noise_shape
    dims = x._dims
    if dims is not None and wanted.ndims == len(dims):
        # An unknown dimension of the noise means that of `x`, where that is known.
        return TensorShape([d if w is None else w for w, d in zip(wanted.as_list(), dims, strict=True)])
    return noise_shape
