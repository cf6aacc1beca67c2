"""Histograms with bins of one width."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import dtypes, shapes
from headrace.errors import InvalidArgumentError
from headrace.export import NAMES, export
from headrace.graph.default import name_scope
from headrace.lazy import jnp
from headrace.opdef import convert_to_tensor, op, raw
from headrace.ops.math.building import cast_to, shape_of

HistogramFixedWidth = op("""
    HistogramFixedWidth(values: T, value_range: T, nbins: int32) -> (out: dtype)
      T: {int32, int64, float, double}
      dtype: {int32, int64} = DT_INT32

    How many values fall into each of `nbins` bins that divide a range; the first and the last take what is beyond.
""")  # fmt: skip


@HistogramFixedWidth.shape
def histogram_shape(values, value_range, nbins, *, ctx):
    (ends,) = shapes.with_rank(value_range, 1)
    if ends not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {ends}")
    shapes.with_rank(nbins, 0)
    known = ctx.constant("nbins")
    if known is None:
        return (None,)
    if known <= 0:
        raise ValueError(f"Requires nbins > 0: {known}")
    return (int(known),)


def _check(value_range: Any, nbins: Any) -> int:
    """Checks the shapes, and the number of bins; returns it.

    Raises:
      InvalidArgumentError: One of them is wrong.
    """
    if value_range.shape != (2,):
        raise InvalidArgumentError(None, None, "value_range should be a vector of 2 elements.")
    if nbins.ndim:
        raise InvalidArgumentError(None, None, "nbins should be a scalar.")
    if nbins <= 0:
        raise InvalidArgumentError(None, None, f"nbins should be a positive number, but got '{nbins}'")
    return int(nbins)


def _bins(xp: Any, values: Any, low: Any, high: Any, bins: int) -> Any:
    """Returns the bin of each value."""
    width = (high.astype(np.float64) - low.astype(np.float64)) / bins
    # What lies below is moved to the start before subtracting, so that nothing overflows there.
    above = (xp.maximum(values.reshape(-1), low) - low).astype(np.float64)
    return xp.minimum(above / width, bins - 1.0).astype(np.int32)


@HistogramFixedWidth.host
def histogram_host(values, value_range, nbins, *, dtype):
    bins = _check(value_range, nbins)
    low, high = value_range
    if not low < high:
        raise InvalidArgumentError(
            None,
            None,
            f"value_range should satisfy value_range[0] < value_range[1], but got '[{low:g}, {high:g}]'",
        )
    if np.isnan(values).any():
        raise InvalidArgumentError(None, None, "values should not hold NaN")
    return np.bincount(_bins(np, values, low, high, bins), minlength=bins).astype(dtype.storage)


@HistogramFixedWidth.lower(static="nbins")
def histogram_lower(values, value_range, nbins, *, dtype, ctx):
    bins = _check(value_range, nbins)
    low, high = value_range[0], value_range[1]
    ctx.check(low < high, "value_range should satisfy value_range[0] < value_range[1]")
    ctx.check(jnp.logical_not(jnp.isnan(values)).all(), "values should not hold NaN")
    return jnp.zeros(bins, dtype.storage).at[_bins(jnp, values, low, high, bins)].add(1)


@HistogramFixedWidth.cases
def histogram_cases(case):
    ends = np.float32([0.0, 5.0])
    case([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], ends, np.int32(5), gives=np.int32([2, 1, 1, 0, 2]))
    case(np.zeros(0, np.float32), ends, np.int32(2), dtype="int64", gives=np.int64([0, 0]))
    case(np.int64([[1, 4], [2, 9]]), np.int64([0, 5]), np.int32(4), gives=np.int32([1, 1, 0, 2]))
    case(np.float64([np.inf, -np.inf]), np.float64([0, 5]), np.int32(3), gives=np.int32([1, 0, 1]))
    case.shapes("?;[2];[]", "[?]")
    case.shapes("?;[2];[]", "[7]", values={"nbins": np.int32(7)})
    case.fails("?;[3];[]", match="Dimension must be 2 but is 3")
    case.fails("?;[2];[1]", match="Shape must be rank 0")
    case.fails("?;[2];[]", match="Requires nbins > 0: 0", values={"nbins": np.int32(0)})
    case.fails(([1.0], ends[::-1].copy(), np.int32(2)), match=r"value_range\[0\] < value_range\[1\]")
    case.fails(([np.nan], ends, np.int32(2)), match="should not hold NaN")


@export("histogram_fixed_width")
def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """Returns how many values fall into each bin.

    Args:
      values: A tensor of numbers.
      value_range: The lower end of the first bin and the upper end of the last; these take what is beyond as well.
      nbins: The number of bins, a scalar.
      dtype: int32 or int64.
      name: The node's name.
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as name:
        return raw.HistogramFixedWidth(values, value_range, nbins, dtype=dtype, name=name)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """Returns the bin that each value falls into.

    Args:
      values: A tensor of numbers.
      value_range: The lower end of the first bin and the upper end of the last; these take what is beyond as well.
      nbins: The number of bins, a scalar.
      dtype: int32 or int64.
      name: The scope of the nodes.

    Returns:
      A tensor of the shape of `values`.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        shape = shape_of(values)
        values = raw.Reshape(values, [-1])
        value_range = convert_to_tensor(value_range, name="value_range")
        nbins = convert_to_tensor(nbins, dtypes.int32, name="nbins")
        count = cast_to(nbins, values.dtype)
        share = NAMES["truediv"](
            values - value_range[0], value_range[1] - value_range[0], name="scaled_values"
        )
        places = NAMES["floor"](count * share, name="indices")
        # Cut off before the cast, since the integers may have no room for what is beyond.
        places = cast_to(NAMES["clip_by_value"](places, 0, count - 1), dtypes.int32)
        return raw.Reshape(places, shape)
