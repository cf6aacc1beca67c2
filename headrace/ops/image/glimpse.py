"""Windows of images around given places, with noise where they leave the image."""

from __future__ import annotations

import numpy as np

from headrace.export import export
from headrace.lazy import jax, jnp
from headrace.opdef import op, raw
from headrace.ops.image.sizes import check_room, invalid, shown, static_size
from headrace.shapes import merge_dim, with_rank

ExtractGlimpse = op("""
    ExtractGlimpse(input: float, size: int32, offsets: float) -> (glimpse: float)
      centered: bool = true
      normalized: bool = true
      uniform_noise: bool = true
      noise: string = "uniform"

    A window of each image with its middle at a place (y, x), from the image's middle if centered, in parts of the
    image if normalized.
""", grad=None)  # fmt: skip


@ExtractGlimpse.shape
def extract_glimpse_shape(input, size, offsets, *, uniform_noise, noise, ctx):
    batch, *_, depth = with_rank(input, 4)
    places, two = with_rank(offsets, 2)
    if None not in (batch, places) and batch != places:
        raise ValueError(f"Dimensions must be equal, but are {batch} and {places}")
    if two not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {two}")
    if uniform_noise and noise not in ("", "uniform"):
        raise ValueError("The uniform_noise and noise should not be specified at the same time")
    window = static_size(size, ctx)
    known = ctx.constant("size")
    for d in () if known is None else known:
        if d < 0:
            raise ValueError(f"Dimension {int(d)} must be >= 0")
    return (merge_dim(batch, places), *window, depth)


def _checked(input, size, offsets, uniform_noise, noise):
    """Returns the windows' height and width, and the kind of noise.

    Raises:
      InvalidArgumentError: An operand has a wrong shape, or there is no such noise.
    """
    if noise not in ("uniform", "gaussian", "zero"):
        raise invalid(f"The noise could only be uniform, gaussian, or zero, got{noise}")
    if len(input.shape) != 4:
        raise invalid(f"input must be 4-dimensional (batch_size, height, width, depth){shown(input.shape)}")
    size = np.asarray(size)
    if size.shape != (2,):
        raise invalid(f"input must be a vector of size 2 (height, width){shown(size.shape)}")
    if len(offsets.shape) != 2:
        raise invalid(f"input must be a matrix{shown(offsets.shape)}")
    if offsets.shape[0] != input.shape[0]:
        raise invalid(f"first dimension should be batch{shown(offsets.shape)}")
    if offsets.shape[1] != 2:
        raise invalid(f"second dimension should be of size 2 (y,x){shown(offsets.shape)}")
    height, width = (int(d) for d in size)
    if height < 0 or width < 0:
        raise invalid(f"size must not be negative: {shown(size)}")
    check_room((input.shape[0], height, width, input.shape[3]), 4)
    return height, width, "uniform" if uniform_noise else noise


def _place(offsets, sizes, window, centered, normalized, xp):
    """Returns the first row and column of each window."""
    places = []
    for i, (size, extent) in enumerate(zip(sizes, window, strict=True)):
        at = offsets[:, i]
        if normalized:
            at = at * np.float32(size)
        if centered:
            at = at / np.float32(2) + np.float32(size) / np.float32(2)
        at = at - np.float32(extent) / np.float32(2)
        # Far outside is outside; beyond that no integer holds the place.
        at = xp.clip(xp.where(xp.isnan(at), np.float32(-(2**30)), at), -(2.0**30), 2.0**30)
        places.append(at.astype(np.int64))
    return places


def _windows(input, size, offsets, centered, normalized, noise, xp):
    _, rows, columns, _ = input.shape
    if not rows or not columns:
        return noise
    tops, lefts = _place(offsets, (rows, columns), size, centered, normalized, xp)
    y = tops[:, None] + np.arange(size[0])
    x = lefts[:, None] + np.arange(size[1])
    inside = ((y >= 0) & (y < rows))[:, :, None] & ((x >= 0) & (x < columns))[:, None]
    number = np.arange(input.shape[0])[:, None, None]
    picked = input[number, xp.clip(y, 0, rows - 1)[:, :, None], xp.clip(x, 0, columns - 1)[:, None]]
    return xp.where(inside[..., None], picked, noise)


def _noise(input, size, kind, uniform, normal, xp):
    """Returns what is where windows leave their image; `uniform` and `normal` make numbers of a shape.

    Uniform noise lies between the image's least and greatest number. Gaussian noise has each channel's mean and
    deviation, and is clipped there. As the op has no seeds (TensorFlow takes the time), the numbers hang on the image.
    """
    shape = (input.shape[0], *size, input.shape[3])
    if kind == "zero" or input.size == 0 or 0 in shape:
        return xp.zeros(shape, np.float32)
    low, high = (f(input, axis=(1, 2, 3), keepdims=True) for f in (xp.min, xp.max))
    if kind == "uniform":
        return low + uniform(shape) * (high - low)
    mean, deviation = (f(input, axis=(1, 2), keepdims=True) for f in (xp.mean, xp.std))
    return xp.clip(mean + normal(shape) * deviation, low, high)


@ExtractGlimpse.host
def extract_glimpse_host(input, size, offsets, *, centered, normalized, uniform_noise, noise):
    *size, kind = _checked(input, size, offsets, uniform_noise, noise)
    seeds = [np.asarray(v, np.float32).sum() for v in (input, offsets)]
    generator = np.random.default_rng(np.array(seeds, np.float32).view(np.uint32))
    with np.errstate(all="ignore"):
        outside = _noise(
            input,
            size,
            kind,
            lambda shape: generator.random(shape, np.float32),
            lambda shape: generator.standard_normal(shape, np.float32),
            np,
        )
        return _windows(input, size, offsets, centered, normalized, outside, np)


@ExtractGlimpse.lower(static="size")
def extract_glimpse_lower(input, size, offsets, *, centered, normalized, uniform_noise, noise):
    *size, kind = _checked(input, size, offsets, uniform_noise, noise)
    seeds = jnp.stack([input.sum(), offsets.sum()])
    key = jax.random.wrap_key_data(jax.lax.bitcast_convert_type(seeds, jnp.uint32), impl="threefry2x32")
    outside = _noise(
        input,
        size,
        kind,
        lambda shape: jax.random.uniform(key, shape, np.float32),
        lambda shape: jax.random.normal(key, shape, np.float32),
        jnp,
    )
    return _windows(input, size, offsets, centered, normalized, outside, jnp)


@ExtractGlimpse.cases
def extract_glimpse_cases(case):
    image = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1)
    two, middle = np.array([2, 2], np.int32), np.zeros((1, 2), np.float32)
    plain = {"uniform_noise": False, "noise": "zero"}
    case(image, np.array([3, 3], np.int32), middle, gives=image, **plain)
    case(image, two, np.array([[2, 3]], np.float32), centered=False, normalized=False,
         gives=np.array([6, 0, 9, 0]).reshape(1, 2, 2, 1), **plain)  # fmt: skip
    case(
        image, two, np.array([[1, -1]], np.float32), gives=np.array([0, 7, 0, 0]).reshape(1, 2, 2, 1), **plain
    )
    case(image, two, np.array([[np.nan, 1e30]], np.float32), gives=np.zeros((1, 2, 2, 1)), **plain)
    case(
        np.full((1, 1, 2, 3), 5, np.float32),
        np.array([4, 4], np.int32),
        middle,
        gives=np.full((1, 4, 4, 3), 5),
    )
    case(np.full((1, 1, 2, 3), 5, np.float32), np.array([4, 4], np.int32), middle, noise="gaussian",
         uniform_noise=False, gives=np.full((1, 4, 4, 3), 5))  # fmt: skip
    case(case.normal(2, 5, 6, 3), np.array([4, 9], np.int32), case.normal(2, 2), **plain)
    case.shapes("[?,4,4,3];[2];[5,?]", "[5,?,?,3]")
    case.shapes("[?,4,4,3];[2];[5,?]", "[5,2,2,3]", values={"size": two})
    case.fails("[4,4,3];[2];[1,2]", match="Shape must be rank 4 but is rank 3")
    case.fails("[1,4,4,3];[3];[1,2]", match="Dimension must be 2 but is 3")
    case.fails("[1,4,4,3];[2];[2,2]", match="Dimensions must be equal, but are 1 and 2")
    case.fails("[1,4,4,3];[2];[1,2]", match="should not be specified at the same time", noise="zero")
    case.fails((image, two, middle), match="The noise could only be", noise="pink", uniform_noise=False)
    case.fails((image, -two, middle), match="Dimension -2 must be|size must not be negative", **plain)


@export("image.extract_glimpse")
def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):
    """Returns a window of each image, with noise where it leaves the image.

    Args:
      input: [batch, height, width, channels].
      size: The windows' height and width.
      offsets: [batch, 2], y and x of each window's middle.
      centered: Whether places are from the image's middle, 1 being half the image; else from its upper left corner.
      normalized: Whether places are in parts of the image, not in pixels.
      uniform_noise: Whether the noise is uniform; so it is if not, too, in TensorFlow 1.15.
      name: A name for the operation.
    """
    return raw.ExtractGlimpse(
        input, size, offsets, centered=centered, normalized=normalized, uniform_noise=uniform_noise, name=name
    )


@export("compat.v2.image.extract_glimpse")
def extract_glimpse_v2(input, size, offsets, centered=True, normalized=True, noise="uniform", name=None):
    """Returns a window of each image; see `tf.image.extract_glimpse`. `noise` is uniform, gaussian or zero."""
    return raw.ExtractGlimpse(
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        noise=noise,
        uniform_noise=False,
        name=name,
    )
