"""Cutting volumes into patches that lie in the depth of the result."""

from __future__ import annotations

import math

import numpy as np

from headrace.errors import OutOfRangeError, UnimplementedError
from headrace.export import export
from headrace.lazy import jnp, lax
from headrace.opdef import op, raw
from headrace.ops.image.checks import public
from headrace.ops.image.sizes import check_room, invalid, shown
from headrace.shapes import places, same_padding, with_rank

ExtractVolumePatches = op("""
    ExtractVolumePatches(input: T) -> (patches: T)
      ksizes: list(int) >= 5
      strides: list(int) >= 5
      T: realnumbertype
      padding: {"SAME", "VALID"}

    Lays the elements of every window, planes first and channels last, into the depth of one place.
""")  # fmt: skip


def _places(size, kernel, stride, padding):
    """Returns how many windows there are along an axis."""
    return -(-size // stride) if padding == "SAME" else places(size, kernel, stride)


@ExtractVolumePatches.shape
def extract_volume_patches_shape(input, *, ksizes, strides, padding):
    n, *space, depth = with_rank(input, 5)
    for what, values in (("ksizes", ksizes), ("strides", strides)):
        if len(values) != 5:
            raise ValueError(f"ExtractVolumePatches requires the {what} attribute to contain 5 values")
    depth = None if depth is None else depth * math.prod(ksizes[1:4])
    if None in space:
        # TensorFlow 1.15 says here that the result has four axes.
        return (n, None, None, None, depth)
    for stride in strides[1:4]:
        if stride <= 0:
            raise ValueError(f"Stride must be > 0, but got {stride}")
    counts = (_places(*row, padding) for row in zip(space, ksizes[1:4], strides[1:4], strict=True))
    return (n, *counts, depth)


def _checked(shape, ksizes, strides):
    """Checks attrs and the rank when a step runs.

    Raises:
      OpError: They are out of range.
    """
    for what, values in (("ksizes", ksizes), ("strides", strides)):
        if values[0] != 1 or values[4] != 1:
            raise UnimplementedError(None, None, f"Only support {what} across space.")
        if min(values) < 1:
            raise OutOfRangeError(None, None, f"{what} is out of range.")
    if len(shape) != 5:
        raise invalid(f"input must be 5-dimensional{shown(shape)}")


def _patches(input, ksizes, strides, padding, pad, xp):
    _checked(input.shape, ksizes, strides)
    n, *sizes, depth = input.shape
    kernel, steps = ksizes[1:4], strides[1:4]
    try:
        counts = [_places(*row, padding) for row in zip(sizes, kernel, steps, strict=True)]
    except ValueError as e:
        raise invalid(str(e)) from None
    shape = (n, *counts, depth * math.prod(kernel))
    check_room(shape, input.dtype.itemsize)
    if 0 in shape:
        return xp.zeros(shape, input.dtype)
    margins = []
    for size, k, s, m in zip(sizes, kernel, steps, counts, strict=True):
        before = same_padding(size, k, s)[0] if padding == "SAME" else 0
        margins.append((before, max(0, (m - 1) * s + k - size - before)))
    padded = pad(input, margins)
    parts = []
    for at in np.ndindex(*kernel):
        cut = tuple(slice(a, a + (m - 1) * s + 1, s) for a, m, s in zip(at, counts, steps, strict=True))
        parts.append(padded[(slice(None), *cut)])
    return xp.concatenate(parts, axis=-1)


@ExtractVolumePatches.host
def extract_volume_patches_host(input, *, ksizes, strides, padding):
    def pad(x, margins):
        return np.pad(x, ((0, 0), *margins, (0, 0)))

    return _patches(input, ksizes, strides, padding, pad, np)


@ExtractVolumePatches.lower
def extract_volume_patches_lower(input, *, ksizes, strides, padding):
    def pad(x, margins):
        return lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), *((a, b, 0) for a, b in margins), (0, 0, 0)])

    return _patches(input, ksizes, strides, padding, pad, jnp)


@ExtractVolumePatches.grad
def extract_volume_patches_grad(op, dy):
    """Multiplies by the sparse matrix that says which place each element of a patch came from."""
    x = op.inputs[0]
    kernel = op.attrs["ksizes"][1:4]
    space = x.shape.as_list()[1:4]
    shape = public.shape(x)
    batch, channels = shape[0], shape[4]
    # Places are numbered from 1, so that 0 is the padding; then patched like a volume.
    count = 1
    for size in space:
        count = count * size
    numbers = raw.Range(1, 1 + count, 1, Tidx="int64", name="range")
    numbers = public.reshape(numbers, (1, *space, 1))
    attrs = {name: op.attrs[name] for name in ("ksizes", "strides", "padding")}
    sources = raw.ExtractVolumePatches(numbers, **attrs)
    places = op.outputs[0].shape.as_list()[1:4]
    elements = math.prod(places) * math.prod(kernel)
    targets = raw.Range(0, elements, 1, Tidx="int64", name="range")
    targets = public.reshape(targets, (1, *places, math.prod(kernel)))
    pairs = public.concat([public.expand_dims(sources, -1), public.expand_dims(targets, -1)], axis=-1)
    pairs = public.reshape(pairs, (-1, 2))
    ones = public.ones((elements,), dtype=x.dtype.base_dtype)
    with public.name_scope("SparseTensor"):
        dense_shape = public.convert_to_tensor((1 + count, elements), dtype="int64", name="dense_shape")
    start = public.convert_to_tensor((1, 0), dtype="int64")
    size = public.convert_to_tensor((count, elements), dtype="int64")
    matrix = raw.SparseSlice(pairs, ones, dense_shape, start, size)
    spread = public.reshape(dy, (batch, *places, *kernel, channels))
    spread = public.transpose(spread, (1, 2, 3, 4, 5, 6, 0, 7))
    flat = public.reshape(spread, (-1, batch * channels))
    with public.name_scope("SparseTensorDenseMatMul"):
        product = raw.SparseTensorDenseMatMul(*matrix, flat)
    volume = public.reshape(product, (*space, batch, channels))
    return public.transpose(volume, (3, 0, 1, 2, 4))


@ExtractVolumePatches.cases
def extract_volume_patches_cases(case):
    ones = {"ksizes": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}
    case(
        np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2, 1),
        gives=np.arange(8).reshape(1, 1, 1, 1, 8),
        **ones,
    )
    case(np.arange(6, dtype=np.float32).reshape(1, 1, 1, 3, 2), ksizes=[1, 1, 1, 2, 1], strides=[1, 1, 1, 2, 1],
         padding="SAME", gives=np.array([0, 1, 2, 3, 4, 5, 0, 0]).reshape(1, 1, 1, 2, 4))  # fmt: skip
    case(case.normal(2, 3, 4, 5, 3), ksizes=[1, 2, 3, 2, 1], strides=[1, 2, 1, 3, 1], padding="SAME")
    case(case.normal(2, 3, 4, 5, 3), **ones)
    case(np.zeros((1, 1, 2, 2, 1), np.float32), gives=np.zeros((1, 0, 1, 1, 8)), grad=False, **ones)
    case.shapes("[?,4,4,5,3]", "[?,3,3,4,24]", **ones)
    case.shapes("?", "[?,?,?,?,?]", **ones)
    case.fails("[4,4,4,1]", match="must be rank 5 but is rank 4", **ones)
    case.fails((np.zeros((1, 2, 2, 2, 1), np.float32),), ksizes=[2, 1, 1, 1, 1], strides=[1, 1, 1, 1, 1],
               padding="SAME", match="Only support ksizes across space", raises=UnimplementedError)  # fmt: skip
    case.fails((np.zeros((1, 2, 2, 2, 1), np.float32),), ksizes=[1, 0, 1, 1, 1], strides=[1, 1, 1, 1, 1],
               padding="SAME", match="ksizes is out of range", raises=OutOfRangeError)  # fmt: skip


@export("extract_volume_patches")
def extract_volume_patches(input, ksizes, strides, padding, name=None):
    """Returns a volume's patches, each laid into the depth of one place.

    Args:
      input: [batch, planes, rows, columns, channels].
      ksizes: The patches' size, one number an axis.
      strides: How far apart they are, one number an axis.
      padding: "SAME" or "VALID".
      name: A name for the operation.
    """
    return raw.ExtractVolumePatches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)
