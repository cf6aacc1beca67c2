"""Red, green and blue to hue, saturation and value, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.errors import FailedPreconditionError
from headrace.export import export
from headrace.lazy import jnp
from headrace.opdef import op, raw
from headrace.ops.image.checks import public
from headrace.ops.image.sizes import invalid, shown
from headrace.shapes import with_rank_at_least

_T = """
      T: {half, bfloat16, float, double} = float
"""


def _colors(images):
    dims = with_rank_at_least(images, 1)
    if dims is not None and dims[-1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {dims[-1]}")
    return None if dims is None else (*dims[:-1], 3)


def _check(images):
    if not images.shape:
        raise invalid(f"input must be at least 1D{shown(images.shape)}")
    if images.shape[-1] != 3:
        raise FailedPreconditionError(
            None, None, f"input must have 3 channels but input only has {images.shape[-1]} channels."
        )


def _constant(value: Any, like: Any) -> Any:
    return like.dtype.type(value)


def hsv_of(red: Any, green: Any, blue: Any, xp: Any) -> tuple[Any, Any, Any]:
    """Returns hue, saturation and value; NaN is passed over by the greatest and the least."""
    value = xp.fmax(red, xp.fmax(green, blue))
    extent = value - xp.fmin(red, xp.fmin(green, blue))
    one, six = _constant(1, red), _constant(6, red)
    saturation = xp.where(value > 0, extent / value, 0 * one)
    scale = (one / extent) * (one / six)
    hue = xp.where(
        red == value,
        scale * (green - blue),
        xp.where(
            green == value,
            scale * (blue - red) + _constant(2, red) / six,
            scale * (red - green) + _constant(4, red) / six,
        ),
    )
    hue = xp.where(extent > 0, hue, 0 * one)
    return xp.where(hue < 0, hue + one, hue), saturation, value


RGBToHSV = op(f"""
    RGBToHSV(images: T) -> (output: T){_T}
    Hue, saturation and value of colours, the former two in [0, 1].
""", shape=_colors)  # fmt: skip


def _to_hsv(images, xp):
    _check(images)
    return xp.stack(hsv_of(*(images[..., i] for i in range(3)), xp), axis=-1)


@RGBToHSV.host
def rgb_to_hsv_host(images):
    with np.errstate(all="ignore"):
        return _to_hsv(images, np)


@RGBToHSV.lower
def rgb_to_hsv_lower(images):
    return _to_hsv(images, jnp)


@RGBToHSV.grad
def rgb_to_hsv_grad(op, dy):
    """Builds TensorFlow's nodes: which colour is greatest and least as numbers, and sums of every case's formula."""
    x, y = op.inputs[0], op.outputs[0]
    r, g, b = (x[..., i] for i in range(3))
    saturation, value = y[..., 1], y[..., 2]

    def number(condition):
        # Of float32 only, so that TensorFlow refuses other types further on.
        return public.cast(condition, "float32")

    def both(one, other):
        return number(raw.LogicalAnd(one, other, name="and"))

    r_most, g_most, b_most = both(r >= b, r >= g), both(g > r, g >= b), both(b > r, b > g)
    r_least, g_least, b_least = both(r < b, r < g), both(g <= r, g < b), both(b <= r, b <= g)

    def inverse(z):
        return raw.DivNoNan(1.0, z, name="div_no_nan")

    def by_saturation(c, most, least, others):
        (one, one_most, one_least), (two, two_most, two_least) = others
        positive = number(c > 0)
        falling = most * raw.Add(one_least * one, two_least * two) * inverse(raw.Square(c))
        rising = least * -1 * inverse(one_most * one + two_most * two)
        return positive * raw.Add(falling, rising)

    red, green, blue = (r, r_most, r_least), (g, g_most, g_least), (b, b_most, b_least)
    saturations = (
        by_saturation(*red, (green, blue)),
        by_saturation(*green, (red, blue)),
        by_saturation(*blue, (green, red)),
    )

    def itself(c, one, other):
        """The colour is the greatest."""
        turned = number(c[0] > 0) * c[1] * -1 * (one[0] - other[0])
        return 60 * (turned * inverse(raw.Square(saturation)) * inverse(raw.Square(value)))

    def least(c, most, above, sign):
        """The colour is the least, below the two colours of `above`: the greatest less or plus the middle one."""
        first = number(most[0] > 0) * most[1] * c[2] * (above[0] - above[1])
        return 60 * (first * inverse(raw.Square(sign[0] - sign[1])))

    def middle(most, other, sign, below):
        """The colour is between the greatest and `other`."""
        first = number(most[0] > 0) * most[1] * other[2]
        if sign < 0:
            first = first * -1
        return 60 * (first * inverse(below[0] - below[1]))

    hues = []
    for terms in (
        (
            lambda: itself(red, green, blue),
            lambda: least(red, green, (b, g), (r, g)),
            lambda: middle(green, blue, -1, (g, b)),
            lambda: least(red, blue, (b, g), (b, r)),
            lambda: middle(blue, green, 1, (b, g)),
        ),
        (
            lambda: itself(green, blue, red),
            lambda: least(green, red, (r, b), (r, g)),
            lambda: middle(red, blue, 1, (r, b)),
            lambda: least(green, blue, (r, b), (b, g)),
            lambda: middle(blue, red, -1, (b, r)),
        ),
        (
            lambda: itself(blue, red, green),
            lambda: least(blue, red, (g, r), (r, b)),
            lambda: middle(red, green, -1, (r, g)),
            lambda: least(blue, green, (g, r), (g, b)),
            lambda: middle(green, red, 1, (g, r)),
        ),
    ):
        parts = [term() for term in terms]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        hues.append(total / 360)
    by_value = public.stack([dy[..., 2] * most for most in (r_most, g_most, b_most)], axis=-1)
    by_saturations = public.stack([dy[..., 1] * each for each in saturations], axis=-1)
    by_hue = public.stack([dy[..., 0] * each for each in hues], axis=-1)
    return raw.Add(raw.Add(by_value, by_saturations), by_hue)


_RGB = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 1, 1], [0.25, 0.25, 0.25], [0, 0, 0], [1, 0, 0.5]]
_HSV = [[0, 1, 1], [1 / 3, 1, 1], [2 / 3, 1, 1], [0.5, 0.5, 1], [0, 0, 0.25], [0, 0, 0], [11 / 12, 1, 1]]


@RGBToHSV.cases
def rgb_to_hsv_cases(case):
    case(np.array(_RGB, np.float32), gives=_HSV, grad=False)
    # The gradient can't be compared in double precision: TensorFlow has it of float32 only.
    case(case.uniform(2, 3, 4, 3), grad=False)
    case(case.uniform(0, 3), gives=np.zeros((0, 3)), grad=False)
    case.shapes("[2,?]", "[2,3]")
    case.shapes("?", "?")
    case.fails("[]", match="Shape must be at least rank 1 but is rank 0")
    case.fails("[2,4]", match="Dimension must be 3 but is 4")


HSVToRGB = op(f"""
    HSVToRGB(images: T) -> (output: T){_T}
    Red, green and blue of colours given by hue, saturation and value.
""", shape=_colors, grad=None)  # fmt: skip


def _to_rgb(images, xp):
    _check(images)
    hue, saturation, value = (images[..., i] for i in range(3))
    turn = hue * _constant(6, hue)
    zero, one, two, three, four = (_constant(n, hue) for n in range(5))
    parts = (xp.abs(turn - three) - one, two - xp.abs(turn - two), two - xp.abs(turn - four))
    parts = (xp.minimum(xp.maximum(part, zero), one) for part in parts)
    return xp.stack([((one - saturation) + saturation * part) * value for part in parts], axis=-1)


@HSVToRGB.host
def hsv_to_rgb_host(images):
    with np.errstate(all="ignore"):
        return _to_rgb(images, np)


@HSVToRGB.lower
def hsv_to_rgb_lower(images):
    return _to_rgb(images, jnp)


@HSVToRGB.cases
def hsv_to_rgb_cases(case):
    case(np.array(_HSV, np.float32), gives=_RGB)
    case(case.normal(2, 3, 3))
    case.shapes("[2,?]", "[2,3]")
    case.fails("[]", match="Shape must be at least rank 1 but is rank 0")
    case.fails("[2,4]", match="Dimension must be 3 but is 4")


@export("image.rgb_to_hsv")
def rgb_to_hsv(images, name=None):
    """Returns hue, saturation and value of colours.

    Args:
      images: Any shape that ends in 3: red, green and blue, in [0, 1].
      name: A name for the operation.
    """
    return raw.RGBToHSV(images, name=name)


@export("image.hsv_to_rgb")
def hsv_to_rgb(images, name=None):
    """Returns red, green and blue of colours.

    Args:
      images: Any shape that ends in 3: hue, saturation and value, in [0, 1].
      name: A name for the operation.
    """
    return raw.HSVToRGB(images, name=name)
