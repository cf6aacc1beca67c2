"""Means and variances, and normalization with them, as graphs of other ops."""

from __future__ import annotations

from headrace.export import export
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.nn.names import public, renamed


@export("nn.moments")
def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """Returns the mean and the variance of `x` over some axes.

    Args:
      x: A tensor.
      axes: The axes, a list of ints.
      shift: Not used.
      name: A name for the operation.
      keep_dims: The deprecated name of `keepdims`.
      keepdims: Whether the axes stay, as ones.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with public.name_scope(name, "moments", [x, axes]):
        # float16 is too narrow to sum squares in.
        narrow = x.dtype.name == "float16"
        y = public.cast(x, "float32") if narrow else x
        mean = public.reduce_mean(y, axes, keepdims=True, name="mean")
        variance = public.reduce_mean(
            raw.SquaredDifference(y, raw.StopGradient(mean)), axes, keepdims=True, name="variance"
        )
        if not keep:
            mean = public.squeeze(mean, axes)
            variance = public.squeeze(variance, axes)
        if narrow:
            return public.cast(mean, x.dtype), public.cast(variance, x.dtype)
        return mean, variance


@export("nn.weighted_moments")
def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """Returns the mean and the variance of `x` over some axes, every element counted by its weight.

    Args:
      x: A tensor.
      axes: The axes.
      frequency_weights: The weights, of a shape that broadcasts with that of `x`.
      name: A name for the operation.
      keep_dims: The deprecated name of `keepdims`.
      keepdims: Whether the axes stay, as ones.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with public.name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        dtype = x.dtype.base_dtype
        narrow = dtype.name == "float16"
        if narrow:
            x = public.cast(x, "float32")
        if weights.dtype.base_dtype is not x.dtype.base_dtype:
            weights = public.cast(weights, x.dtype.base_dtype)
        weighted = public.reduce_sum(
            raw.Mul(weights, x, name="mul"), axes, name="weighted_input_sum", keepdims=True
        )
        spread = raw.AddV2(weights, public.zeros_like(x), name="add")
        total = public.reduce_sum(spread, axes, name="sum_of_weights", keepdims=True)
        divisor = raw.Reciprocal(total, name="inv_weight_sum")
        mean = raw.Mul(weighted, divisor)
        squares = raw.Mul(weights, raw.SquaredDifference(x, mean), name="mul")
        variance = raw.Mul(public.reduce_sum(squares, axes, name="weighted_distsq", keepdims=True), divisor)
        if not keep:
            mean = public.squeeze(mean, axis=axes)
            variance = public.squeeze(variance, axis=axes)
        if narrow:
            mean, variance = public.cast(mean, "float16"), public.cast(variance, "float16")
        return mean, variance


@export("nn.sufficient_statistics")
def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """Returns what mean and variance can be computed from: the count, the sum, the sum of squares, the shift.

    Args:
      x: A tensor.
      axes: The axes to sum over.
      shift: A value near the mean that is subtracted first, for accuracy; None for none.
      keep_dims: The deprecated name of `keepdims`.
      name: A name for the operation.
      keepdims: Whether the axes stay, as ones.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    axes = sorted(set(axes))
    with public.name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        dims = x._dims
        if dims is not None and all(dims[a] is not None for a in axes):
            count = 1
            for a in axes:
                count *= dims[a]
            count = public.constant(count, dtype=x.dtype)
        else:
            sizes = public.gather(public.cast(public.shape(x), x.dtype), axes)
            count = public.reduce_prod(sizes, name="count")
        if shift is not None:
            shift = convert_to_tensor(shift, name="shift")
            first = raw.Sub(x, shift)
            second = raw.SquaredDifference(x, shift)
        else:
            first = x
            second = raw.Square(x)
        first = public.reduce_sum(first, axes, keepdims=keep, name="mean_ss")
        second = public.reduce_sum(second, axes, keepdims=keep, name="var_ss")
    return count, first, second, shift


@export("nn.normalize_moments")
def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Returns the mean and the variance that sufficient statistics stand for.

    Args:
      counts: How many values there were.
      mean_ss: Their sum, less the shift.
      variance_ss: The sum of their squares, less the shift.
      shift: The shift, or None.
      name: A name for the operation.
    """
    with public.name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = raw.Reciprocal(counts, name="divisor")
        if shift is not None:
            shifted = raw.Mul(mean_ss, divisor, name="shifted_mean")
            mean = raw.Add(shifted, shift, name="mean")
        else:
            shifted = mean = raw.Mul(mean_ss, divisor, name="mean")
        variance = raw.Sub(raw.Mul(variance_ss, divisor), raw.Square(shifted), name="variance")
    return mean, variance


@export("nn.batch_normalization")
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """Returns `x` normalized by a mean and a variance, scaled and shifted.

    Args:
      x: A tensor.
      mean: What is subtracted.
      variance: What is divided by, the square root of.
      offset: What is added at the end, or None.
      scale: What is multiplied by before, or None.
      variance_epsilon: What is added to the variance.
      name: A name for the operation.
    """
    with public.name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inverse = raw.Rsqrt(raw.AddV2(variance, variance_epsilon, name="add"))
        if scale is not None:
            inverse = raw.Mul(inverse, scale, name="mul")
        scaled = raw.Mul(x, public.cast(inverse, x.dtype), name="mul")
        if offset is not None:
            product = raw.Mul(mean, inverse, name="mul")
            # A variable's own operator reads it first.
            is_variable = hasattr(offset, "read_value")
            rest = offset - product if is_variable else raw.Sub(offset, product, name="sub")
        else:
            rest = raw.Mul(raw.Neg(mean), inverse, name="mul")
        return raw.AddV2(scaled, public.cast(rest, x.dtype), name="add")


@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t=None,
    m=None,
    v=None,
    beta=None,
    gamma=None,
    variance_epsilon=None,
    scale_after_normalization=None,
    name=None,
    input=None,
    mean=None,
    variance=None,
):
    """Returns `batch_normalization` under its first argument names.

    Args:
      t: A tensor.
      m: The mean.
      v: The variance.
      beta: The offset.
      gamma: The scale.
      variance_epsilon: What is added to the variance.
      scale_after_normalization: Whether the scale is used.
      name: A name for the operation.
      input: Another name of `t`.
      mean: Another name of `m`.
      variance: Another name of `v`.
    """
    t, m, v = (
        renamed("input", input, "t", t),
        renamed("mean", mean, "m", m),
        renamed("variance", variance, "v", v),
    )
    return batch_normalization(
        t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name
    )
