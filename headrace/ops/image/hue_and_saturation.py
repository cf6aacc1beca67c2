"""Turning the hue of images, and making their colours stronger or weaker."""

from __future__ import annotations

import numpy as np

from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.image.sizes import invalid, shown
from headrace.shapes import with_rank_at_least

_T = """
      T: {half, float} = float
"""


def _images(images, _):
    return with_rank_at_least(images, 3)


def _check(images, factor, what):
    if len(images.shape) < 3:
        raise invalid(f"input must be at least 3-D, got shape{shown(images.shape)}")
    if factor.shape:
        raise invalid(f"{what} must be scalar: {shown(factor.shape)}")
    if images.shape[-1] != 3:
        raise invalid(f"input must have 3 channels but instead has {images.shape[-1]} channels.")


def _channels(images):
    """Returns red, green and blue in float32."""
    return tuple(images[..., i].astype(np.float32) for i in range(3))


def _chosen(places, rows, xp):
    """Returns, element by element, what the row says whose number is in `places`; the last one where none is."""
    found = rows[-1]
    for i in range(len(rows) - 1):
        found = xp.where(places == i, rows[i], found)
    return found


def _wrapped(x, xp):
    """Returns numbers taken into [0, 6); by adding or subtracting sixes, as TensorFlow does, but for large ones."""
    for _ in range(2):
        x = xp.where(x < 0, x + np.float32(6), x)
        x = xp.where(x >= 6, x - np.float32(6), x)
    return xp.where((x < 0) | (x >= 6), x - np.float32(6) * xp.floor(x / np.float32(6)), x)


AdjustHue = op(f"""
    AdjustHue(images: T, delta: float) -> (output: T){_T}
    Images whose hue is turned by `delta` of a whole turn.
""", shape=_images)  # fmt: skip


def _hue_adjusted(images, delta, xp):
    _check(images, delta, "delta")
    red, green, blue = _channels(images)
    # Which is greatest, in the middle, and least; and the sixth of the circle that says so.
    first, lower, higher = red < green, blue < red, blue > green
    between = xp.where(lower, 1, xp.where(higher, 3, 2))
    others = xp.where(blue < green, 0, xp.where(blue > red, 4, 5))
    sector = xp.where(first, between, others)
    most = _chosen(sector, (red, green, green, blue, blue, red), xp)
    middle = _chosen(sector, (green, red, blue, green, red, blue), xp)
    least = _chosen(sector, (blue, blue, red, red, green, green), xp)
    one = np.float32(1)
    part = (middle - least) / (most - least)
    hue = sector.astype(np.float32) + xp.where(sector % 2 == 0, part, one - part)
    hue = xp.where(most == least, np.float32(0), hue)
    hue = _wrapped(hue + delta * np.float32(6), xp)
    # NaN goes to the last sixth.
    sector = xp.where(xp.isnan(hue), 5, xp.floor(xp.where(xp.isnan(hue), 0, hue)).astype(np.int32))
    part = hue - sector.astype(np.float32)
    middle = least + xp.where(sector % 2 == 0, part, one - part) * (most - least)
    red = _chosen(sector, (most, middle, least, least, middle, most), xp)
    green = _chosen(sector, (middle, most, most, middle, least, least), xp)
    blue = _chosen(sector, (least, least, middle, most, most, middle), xp)
    return xp.stack([red, green, blue], axis=-1).astype(images.dtype)


@AdjustHue.host
def adjust_hue_host(images, delta):
    with np.errstate(all="ignore"):
        return _hue_adjusted(images, delta, np)


@AdjustHue.lower
def adjust_hue_lower(images, delta):
    return _hue_adjusted(images, delta, jnp)


_COLORS = np.array([[1, 0, 0], [0.5, 1, 0.5], [0.25, 0.25, 0.25], [0, 0.5, 1]], np.float32).reshape(2, 2, 3)


def _failures(case, what):
    case.fails("[4,3];[]", match="Shape must be at least rank 3 but is rank 2")
    case.fails(
        (np.zeros((2, 2, 4), np.float32), np.float32(0)), match="input must have 3 channels but instead has 4"
    )
    case.fails((_COLORS, np.zeros(1, np.float32)), match=rf"{what} must be scalar: \[1\]")


@AdjustHue.cases
def adjust_hue_cases(case):
    case(_COLORS, np.float32(1 / 3), tol=2e-6, gives=np.array(
        [[0, 1, 0], [0.5, 0.5, 1], [0.25, 0.25, 0.25], [1, 0, 0.5]]).reshape(2, 2, 3))  # fmt: skip
    case(case.uniform(2, 5, 4, 3), np.float32(-0.3))
    case(case.uniform(0, 4, 3), np.float32(0.2), gives=np.zeros((0, 4, 3)))
    case.shapes("[?,4,?,3];[]", "[?,4,?,3]")
    _failures(case, "delta")


AdjustSaturation = op(f"""
    AdjustSaturation(images: T, scale: float) -> (output: T){_T}
    Images whose colours' saturation is multiplied by `scale`, to 1 at most.
""", shape=_images)  # fmt: skip


def _saturation_adjusted(images, scale, xp):
    _check(images, scale, "scale")
    red, green, blue = _channels(images)
    zero, one, two, six = (np.float32(n) for n in (0, 1, 2, 6))
    value = xp.maximum(red, xp.maximum(green, blue))
    extent = value - xp.minimum(red, xp.minimum(green, blue))
    saturation = xp.where(value > 0, extent / value, zero)
    unit = one / (six * extent)

    def shifted(part, thirds):
        # In float64, as the constants are doubles in TensorFlow.
        return ((unit * part).astype(np.float64) + thirds / 3).astype(np.float32)

    hue = xp.where(
        red == value,
        unit * (green - blue),
        xp.where(green == value, shifted(blue - red, 1), shifted(red - green, 2)),
    )
    hue = xp.where(extent <= 0, zero, hue)
    hue = xp.where(hue < 0, hue + one, hue)
    chroma = xp.minimum(one, xp.maximum(zero, saturation * scale)) * value
    base = value - chroma
    turn = hue * six
    sector = xp.where(xp.isnan(turn), 6, xp.where(xp.isnan(turn), 0, turn).astype(np.int32))
    fold = turn
    for _ in range(4):
        fold = xp.where(fold <= 0, fold + two, fold)
        fold = xp.where(fold >= 2, fold - two, fold)
    middle = chroma * (one - xp.abs(fold - one))
    none = xp.zeros_like(chroma)
    red = _chosen(sector, (chroma, middle, none, none, middle, chroma, none), xp)
    green = _chosen(sector, (middle, chroma, chroma, middle, none, none, none), xp)
    blue = _chosen(sector, (none, none, middle, chroma, chroma, middle, none), xp)
    return xp.stack([red + base, green + base, blue + base], axis=-1).astype(images.dtype)


@AdjustSaturation.host
def adjust_saturation_host(images, scale):
    with np.errstate(all="ignore"):
        return _saturation_adjusted(images, scale, np)


@AdjustSaturation.lower
def adjust_saturation_lower(images, scale):
    return _saturation_adjusted(images, scale, jnp)


@AdjustSaturation.cases
def adjust_saturation_cases(case):
    case(_COLORS, np.float32(0.5), tol=2e-6, gives=np.array(
        [[1, 0.5, 0.5], [0.75, 1, 0.75], [0.25, 0.25, 0.25], [0.5, 0.75, 1]]).reshape(2, 2, 3))  # fmt: skip
    case(_COLORS, np.float32(9), tol=2e-6, gives=np.array(
        [[1, 0, 0], [0, 1, 0], [0.25, 0.25, 0.25], [0, 0.5, 1]]).reshape(2, 2, 3))  # fmt: skip
    case(case.uniform(2, 5, 4, 3), np.float32(1.7))
    case(case.uniform(0, 4, 3), np.float32(0.2), gives=np.zeros((0, 4, 3)))
    case.shapes("[?,4,?,3];[]", "[?,4,?,3]")
    _failures(case, "scale")
