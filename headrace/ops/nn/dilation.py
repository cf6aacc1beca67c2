"""Grayscale dilation and erosion of images: the greatest of the window's elements, each with an offset of its own."""

from __future__ import annotations

import itertools

import numpy as np

from headrace.errors import InvalidArgumentError, UnimplementedError
from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.nn.names import public, renamed
from headrace.ops.nn.windows import paddings
from headrace.shapes import merge_dim, places, to_text, with_rank

_ATTRS = """
      T: realnumbertype
      strides: list(int) >= 4
      rates: list(int) >= 4
      padding: {"SAME", "VALID"}
"""

Dilation2D = op(f"""
    Dilation2D(input: T, filter: T) -> (output: T){_ATTRS}
    The greatest sum of an element and its place's entry of `filter` in every window.
""")  # fmt: skip


def _extent(size, reach, stride, padding):
    """Returns how many windows fit along an axis; `reach` is from a window's first element to its last."""
    if stride < 1:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    return -(-size // stride) if padding == "SAME" else places(size, reach, stride)


@Dilation2D.shape
def dilation2d_shape(input, filter, *, strides, rates, padding):
    n, height, width, depth = with_rank(input, 4)
    for what, values in (("stride", strides), ("rates", rates)):
        if len(values) != 4:
            raise ValueError(
                f"Dilation2D requires the {what} attribute to contain 4 values, but got: {len(values)}"
            )
    rows, columns, filter_depth = with_rank(filter, 3)
    depth = merge_dim(depth, filter_depth)
    if None in (height, width, rows, columns):
        return (n, None, None, depth)
    size = [
        _extent(m, (k - 1) * r + 1, s, padding)
        for m, k, s, r in zip((height, width), (rows, columns), strides[1:3], rates[1:3], strict=True)
    ]
    return (n, *size, depth)


class _Taps:
    """The places of a filter, each with the slice of the padded images that it meets."""

    def __init__(self, input, filter, strides, rates, padding):
        if len(input.shape) != 4:
            raise _invalid(f"input must be 4-dimensional{to_text(tuple(input.shape))}")
        if len(filter.shape) != 3:
            raise _invalid(f"filter must be 3-dimensional: {to_text(tuple(filter.shape))}")
        for what, values in (("Stride", strides), ("Rate", rates)):
            if values[0] != 1 or values[3] != 1:
                raise UnimplementedError(None, None, f"{what} is only supported across spatial dimensions.")
            if min(values[1:3]) < 1:
                raise _invalid(f"{what} must be > 0, but got {min(values[1:3])}")
        if input.shape[3] != filter.shape[2]:
            raise _invalid(
                f"input and filter must have the same depth: {input.shape[3]} vs {filter.shape[2]}"
            )
        self.shape = tuple(input.shape)
        self.kernel, self.steps, self.rates = filter.shape[:2], strides[1:3], rates[1:3]
        sizes = self.shape[1:3]
        rows = zip(sizes, self.kernel, self.steps, self.rates, strict=True)
        try:
            self.outputs = tuple(_extent(n, (k - 1) * r + 1, s, padding) for n, k, s, r in rows)
        except ValueError as error:
            raise _invalid(str(error)) from None
        self.pads = paddings(sizes, self.kernel, self.steps, self.rates, padding)
        self.output_shape = (self.shape[0], *self.outputs, self.shape[3])

    def __iter__(self):
        for place in itertools.product(*(range(k) for k in self.kernel)):
            starts = [p * r for p, r in zip(place, self.rates, strict=True)]
            cut = tuple(
                slice(a, a + (m - 1) * s + 1, s)
                for a, m, s in zip(starts, self.outputs, self.steps, strict=True)
            )
            yield place, (slice(None), *cut)

    def padded(self, xp, x, value=0):
        # The last window of VALID padding may end before the image does, and a dilated one's slice after it.
        return xp.pad(x, ((0, 0), *self.pads, (0, 0)), constant_values=value)

    def scan(self, xp, x, filter):
        """Returns the windows' greatest sums, and which tap gave each first; -1 where none is above the lowest."""
        low = np.iinfo(x.dtype).min if np.dtype(x.dtype).kind in "iu" else _lowest(x.dtype)
        best = xp.full(self.output_shape, low, x.dtype)
        at = xp.full(self.output_shape, -1, np.int32)
        if 0 in self.output_shape:
            return best, at
        values = self.padded(xp, x)
        inside = self.padded(xp, xp.ones((1, *self.shape[1:3], 1), bool), False)
        for i, (place, cut) in enumerate(self):
            sums = (values[cut] + filter[place]).astype(x.dtype)
            better = inside[cut] & (sums > best)
            best = xp.where(better, sums, best)
            at = xp.where(better, np.int32(i), at)
        return best, at

    def first_inside(self, xp):
        """Returns the number of each window's first tap that lies in the image."""
        inside = np.pad(np.ones((1, *self.shape[1:3], 1), bool), ((0, 0), *self.pads, (0, 0)))
        found = np.full((1, *self.outputs, 1), -1, np.int32)
        for i, (_, cut) in enumerate(self):
            found = np.where((found < 0) & inside[cut], np.int32(i), found)
        return xp.asarray(found)


def _lowest(dtype):
    import ml_dtypes

    return ml_dtypes.finfo(dtype).min


def _invalid(message):
    return InvalidArgumentError(None, None, message)


def _dilated(xp, input, filter, strides, rates, padding):
    return _Taps(input, filter, strides, rates, padding).scan(xp, input, filter)[0]


@Dilation2D.host
def dilation2d_host(input, filter, *, strides, rates, padding):
    with np.errstate(all="ignore"):
        return _dilated(np, input, filter, strides, rates, padding)


@Dilation2D.lower
def dilation2d_lower(input, filter, *, strides, rates, padding):
    return _dilated(jnp, input, filter, strides, rates, padding)


@Dilation2D.grad
def dilation2d_grad(op, dy):
    attrs = {name: op.attrs[name] for name in ("strides", "rates", "padding")}
    x, w = op.inputs
    return raw.Dilation2DBackpropInput(x, w, dy, **attrs), raw.Dilation2DBackpropFilter(x, w, dy, **attrs)


_UNIT = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
_IMAGE = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32).reshape(1, 2, 2, 1)
_FILTER = np.array([[0.4, 0.3], [0.1, 0.0]], np.float32).reshape(2, 2, 1)


@Dilation2D.cases
def dilation2d_cases(case):
    case(_IMAGE, _FILTER, gives=np.full((1, 1, 1, 1), 0.5), **_UNIT)
    case(_IMAGE, _FILTER, grad=False, gives=np.array([0.5, 0.6, 0.7, 0.8]).reshape(1, 2, 2, 1),
         **{**_UNIT, "padding": "SAME"})  # fmt: skip
    case(
        case.normal(2, 5, 6, 2),
        case.normal(2, 3, 2),
        strides=[1, 1, 2, 1],
        rates=[1, 2, 1, 1],
        padding="SAME",
    )
    case(case.integers(1, 3, 3, 2), case.integers(2, 2, 2), **_UNIT)
    case(np.full((1, 1, 1, 1), np.nan, np.float32), np.zeros((1, 1, 1), np.float32), grad=False,
         gives=np.full((1, 1, 1, 1), -3.4028235e38), **_UNIT)  # fmt: skip
    case.shapes("[?,8,8,?];[3,3,2]", "[?,6,6,2]", **_UNIT)
    case.shapes("[?,8,?,2];[3,?,2]", "[?,?,?,2]", **_UNIT)
    case.fails("[1,8,8,3];[3,3,2]", match="Dimensions must be equal, but are 3 and 2", **_UNIT)
    case.fails("[1,8,8,3];[10,3,3]", match="output size would be negative: -1", **_UNIT)
    case.fails("[8,8,3];[3,3,3]", match="must be rank 4 but is rank 3", **_UNIT)
    case.fails((_IMAGE, _FILTER), match="Rate must be > 0", **{**_UNIT, "rates": [1, 0, 1, 1]})
    case.fails((_IMAGE, _FILTER), match="only supported across spatial", raises=UnimplementedError,
               **{**_UNIT, "strides": [2, 1, 1, 1]})  # fmt: skip


def _input_shape(input, filter, out_backprop):
    return input


def _filter_shape(input, filter, out_backprop):
    return filter


Dilation2DBackpropInput = op(f"""
    Dilation2DBackpropInput(input: T, filter: T, out_backprop: T) -> (in_backprop: T){_ATTRS}
    Sends each gradient to the element that gave its window's greatest sum.
""", shape=_input_shape)  # fmt: skip


def _checked(input, filter, out_backprop, strides, rates, padding):
    taps = _Taps(input, filter, strides, rates, padding)
    if tuple(out_backprop.shape) != taps.output_shape:
        raise _invalid("out_backprop has incompatible size.")
    return taps


def _input_gradient(xp, input, filter, out_backprop, strides, rates, padding):
    taps = _checked(input, filter, out_backprop, strides, rates, padding)
    _, at = taps.scan(xp, input, filter)
    if 0 in taps.output_shape:
        return xp.zeros(input.shape, input.dtype)
    at = xp.where(at < 0, taps.first_inside(xp), at)
    sums = taps.padded(xp, xp.zeros(input.shape, input.dtype))
    for i, (_, cut) in enumerate(taps):
        part = xp.where(at == i, out_backprop, np.zeros((), input.dtype))
        if xp is np:
            sums[cut] += part
        else:
            sums = sums.at[cut].add(part)
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(input.shape[1:3], taps.pads, strict=True))
    return sums[(slice(None), *inner)]


def _filter_gradient(xp, input, filter, out_backprop, strides, rates, padding):
    taps = _checked(input, filter, out_backprop, strides, rates, padding)
    _, at = taps.scan(xp, input, filter)
    at = xp.maximum(at, 0)
    rows = [
        xp.where(at == i, out_backprop, np.zeros((), input.dtype)).sum((0, 1, 2), dtype=input.dtype)
        for i, _ in enumerate(taps)
    ]
    return xp.stack(rows).reshape(filter.shape) if rows else xp.zeros(filter.shape, input.dtype)


@Dilation2DBackpropInput.host
def dilation2d_backprop_input_host(input, filter, out_backprop, *, strides, rates, padding):
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(_input_gradient(np, input, filter, out_backprop, strides, rates, padding))


@Dilation2DBackpropInput.lower
def dilation2d_backprop_input_lower(input, filter, out_backprop, *, strides, rates, padding):
    return _input_gradient(jnp, input, filter, out_backprop, strides, rates, padding)


@Dilation2DBackpropInput.cases
def dilation2d_backprop_input_cases(case):
    case(_IMAGE, _FILTER, np.ones((1, 1, 1, 1), np.float32), grad=False,
         gives=np.array([1, 0, 0, 0]).reshape(1, 2, 2, 1), **_UNIT)  # fmt: skip
    case(case.normal(2, 5, 6, 2), case.normal(2, 3, 2), case.normal(2, 5, 3, 2),
         strides=[1, 1, 2, 1], rates=[1, 2, 1, 1], padding="SAME")  # fmt: skip
    case.shapes("[?,8,?,3];[3,3,3];?", "[?,8,?,3]", **_UNIT)
    case.fails((_IMAGE, _FILTER, _IMAGE), match="out_backprop has incompatible size", **_UNIT)


Dilation2DBackpropFilter = op(f"""
    Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T) -> (filter_backprop: T){_ATTRS}
    Adds up the gradients of the windows whose greatest sum each entry of the filter gave.
""", shape=_filter_shape)  # fmt: skip


@Dilation2DBackpropFilter.host
def dilation2d_backprop_filter_host(input, filter, out_backprop, *, strides, rates, padding):
    with np.errstate(all="ignore"):
        return _filter_gradient(np, input, filter, out_backprop, strides, rates, padding)


@Dilation2DBackpropFilter.lower
def dilation2d_backprop_filter_lower(input, filter, out_backprop, *, strides, rates, padding):
    return _filter_gradient(jnp, input, filter, out_backprop, strides, rates, padding)


@Dilation2DBackpropFilter.cases
def dilation2d_backprop_filter_cases(case):
    case(_IMAGE, _FILTER, np.ones((1, 1, 1, 1), np.float32), grad=False,
         gives=np.array([1, 0, 0, 0]).reshape(2, 2, 1), **_UNIT)  # fmt: skip
    case(case.normal(2, 5, 6, 2), case.normal(2, 3, 2), case.normal(2, 5, 3, 2),
         strides=[1, 1, 2, 1], rates=[1, 2, 1, 1], padding="SAME")  # fmt: skip
    case.shapes("?;[3,?,3];?", "[3,?,3]", **_UNIT)


@export("nn.dilation2d")
def dilation2d(
    input, filter=None, strides=None, rates=None, padding=None, name=None, filters=None, dilations=None
):
    """Returns the grayscale dilation of images.

    Args:
      input: Images, [batch, height, width, channels].
      filter: What is added before the greatest is taken, [height, width, channels].
      strides: The window's steps, one an axis.
      rates: The steps inside the window, one an axis.
      padding: "SAME" or "VALID".
      name: A name for the operation.
      filters: Another name of `filter`.
      dilations: Another name of `rates`.
    """
    filter = renamed("filters", filters, "filter", filter)
    rates = renamed("dilations", dilations, "rates", rates)
    return raw.Dilation2D(input, filter, strides=strides, rates=rates, padding=padding, name=name)


@export("nn.erosion2d")
def erosion2d(value, kernel, strides, rates, padding, name=None):
    """Returns the grayscale erosion of images: the dilation of what is dark.

    Args:
      value: Images, [batch, height, width, channels].
      kernel: What is subtracted before the least is taken, [height, width, channels].
      strides: The window's steps, one an axis.
      rates: The steps inside the window, one an axis.
      padding: "SAME" or "VALID".
      name: A name for the operation.
    """
    with public.name_scope(name, "erosion2d", [value, kernel]) as scope:
        return public.negative(
            raw.Dilation2D(
                public.negative(value), public.reverse_v2(kernel, [0, 1]), strides=strides, rates=rates,
                padding=padding, name=scope,
            )
        )  # fmt: skip
