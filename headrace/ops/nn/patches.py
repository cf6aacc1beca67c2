"""Cutting images into patches that lie in the depth of the result."""

from __future__ import annotations

import math

import numpy as np

from headrace.errors import OutOfRangeError, UnimplementedError
from headrace.export import export
from headrace.lazy import jnp, lax
from headrace.opdef import op, raw
from headrace.ops.nn.names import public, renamed
from headrace.ops.nn.windows import kernel_places, paddings
from headrace.shapes import places, with_rank

ExtractImagePatches = op("""
    ExtractImagePatches(images: T) -> (patches: T)
      ksizes: list(int) >= 4
      strides: list(int) >= 4
      rates: list(int) >= 4
      T: realnumbertype
      padding: {"SAME", "VALID"}

    Lays the elements of every window, rows first and channels last, into the depth of one pixel.
""")  # fmt: skip


def _places(size, kernel, stride, rate, padding):
    """Returns how many windows there are along an axis."""
    return -(-size // stride) if padding == "SAME" else places(size, (kernel - 1) * rate + 1, stride)


def _check(**attrs):
    """Refuses windows that slide over the batch or the depth, or that are none."""
    for name, values in attrs.items():
        if len(values) != 4 or values[0] != 1 or values[3] != 1:
            raise UnimplementedError(None, None, f"Only support {name} across space.")
        if min(values) < 1:
            raise OutOfRangeError(None, None, f"{name} is out of range.")


@ExtractImagePatches.shape
def extract_image_patches_shape(images, *, ksizes, strides, rates, padding):
    try:
        _check(ksizes=ksizes, strides=strides, rates=rates)
    except (UnimplementedError, OutOfRangeError):
        if images is not None and None not in images[1:3] and min(strides[1:3]) < 1:
            raise ValueError(f"Stride must be > 0, but got {min(strides[1:3])}") from None
        return (None,) * 4  # the kernel refuses it
    n, height, width, depth = with_rank(images, 4)
    depth = None if depth is None else depth * ksizes[1] * ksizes[2]
    if height is None or width is None:
        return (n, None, None, depth)
    rows, columns = (
        _places(size, ksizes[i], strides[i], rates[i], padding) for i, size in ((1, height), (2, width))
    )
    return (n, rows, columns, depth)


@ExtractImagePatches.lower
def extract_image_patches_lower(images, *, ksizes, strides, rates, padding):
    _check(ksizes=ksizes, strides=strides, rates=rates)
    n, *sizes, depth = images.shape
    kernel, steps, gaps = ksizes[1:3], strides[1:3], rates[1:3]
    pads = paddings(sizes, kernel, steps, gaps, padding)
    spans = [(k - 1) * r + 1 for k, r in zip(kernel, gaps, strict=True)]
    rows, columns = kernel_places(sizes, spans, steps, pads)
    if 0 in (n, rows, columns, depth):
        return jnp.zeros((n, rows, columns, depth * math.prod(kernel)), images.dtype)
    config = [(0, 0, 0)]
    for size, k, s, r, m, (before, _) in zip(
        sizes,
        kernel,
        steps,
        gaps,
        (rows, columns),
        pads,
        strict=True,
    ):
        config.append((before, (m - 1) * s + (k - 1) * r + 1 - size - before, 0))
    padded = lax.pad(images, jnp.zeros((), images.dtype), [*config, (0, 0, 0)])
    parts = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * gaps[0], j * gaps[1]
            end = (n, top + (rows - 1) * steps[0] + 1, left + (columns - 1) * steps[1] + 1, depth)
            parts.append(lax.slice(padded, (0, top, left, 0), end, (1, *steps, 1)))
    return jnp.concatenate(parts, axis=-1)


@ExtractImagePatches.grad
def extract_image_patches_grad(op, dy):
    """Multiplies by the sparse matrix that says which pixel each element of a patch came from."""
    height, width = op.attrs["ksizes"][1:3]
    batch, rows_in, columns_in, depth = _sizes(op.inputs[0], (0, 1, 2, 3))
    # Pixels are numbered from 1, so that 0 is the padding; then patched like an image.
    pixels = raw.AddV2(np.int64(1), raw.Mul(rows_in, columns_in, name="mul"), name="add")
    numbered = _reshaped(raw.Range(1, pixels, 1, Tidx="int64", name="range"), [1, rows_in, columns_in, 1])
    attrs = {name: op.attrs[name] for name in ("ksizes", "strides", "rates", "padding")}
    sources = raw.ExtractImagePatches(numbered, **attrs)
    rows_out, columns_out = _sizes(op.outputs[0], (1, 2))
    elements = raw.Mul(rows_out, columns_out, name="mul")
    elements = raw.Mul(raw.Mul(elements, np.int64(height), name="mul"), np.int64(width), name="mul")
    targets = raw.Range(0, elements, 1, Tidx="int64", name="range")
    targets = _reshaped(targets, [1, rows_out, columns_out, height * width])
    pairs = public.concat([public.expand_dims(sources, -1), public.expand_dims(targets, -1)], -1)
    pairs = public.reshape(pairs, [-1, 2])
    ones = public.ones((elements,), dtype=op.inputs[0].dtype)
    with public.name_scope("SparseTensor"):
        dense_shape = public.convert_to_tensor([pixels, elements], dtype="int64", name="dense_shape")
    inside = raw.Sub(pixels, np.int64(1), name="sub")
    start = public.convert_to_tensor((1, 0), dtype="int64")
    size = public.convert_to_tensor((inside, elements), dtype="int64")
    matrix = raw.SparseSlice(pairs, ones, dense_shape, start, size)
    spread = _reshaped(dy, [batch, rows_out, columns_out, height, width, depth])
    spread = public.transpose(spread, (1, 2, 3, 4, 0, 5))
    flat = _reshaped(spread, [-1, raw.Mul(batch, depth, name="mul")])
    with public.name_scope("SparseTensorDenseMatMul"):
        product = raw.SparseTensorDenseMatMul(*matrix, flat)
    image = _reshaped(product, [rows_in, columns_in, batch, depth])
    return public.transpose(image, (2, 0, 1, 3))


def _sizes(x, axes):
    shape = public.shape(x, out_type="int64")
    return [shape[i] for i in axes]


def _reshaped(x, dims):
    """Reshapes to sizes that are partly int64 tensors, which are cast."""
    with public.name_scope("Reshape") as scope:
        dims = [d if isinstance(d, int) else public.cast(d, "int32") for d in dims]
        return raw.Reshape(x, dims, name=scope)


@ExtractImagePatches.cases
def extract_image_patches_cases(case):
    ones = {"ksizes": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    case(
        np.arange(1, 13, dtype=np.float32).reshape(1, 2, 3, 2),
        ksizes=[1, 2, 2, 1],
        strides=[1, 1, 2, 1],
        rates=[1, 1, 1, 1],
        padding="SAME",
        gives=[
            [
                [[1, 2, 3, 4, 7, 8, 9, 10], [5, 6, 0, 0, 11, 12, 0, 0]],
                [[7, 8, 9, 10, 0, 0, 0, 0], [11, 12] + [0] * 6],
            ]
        ],
    )
    case(
        np.arange(1, 17, dtype=np.int64).reshape(1, 4, 4, 1),
        ksizes=[1, 2, 2, 1],
        strides=[1, 1, 1, 1],
        rates=[1, 2, 2, 1],
        padding="VALID",
        gives=[[[[1, 3, 9, 11], [2, 4, 10, 12]], [[5, 7, 13, 15], [6, 8, 14, 16]]]],
    )
    case(case.normal(2, 5, 6, 3), **ones)
    case.shapes("[1,4,?,3]", "[1,?,?,12]", **ones)
    case.shapes("[1,1,4,1]", "[1,0,3,4]", **ones)
    case.fails("[4,4,1]", match="must be rank 4 but is rank 3", **ones)


@export("extract_image_patches", "image.extract_image_patches")
def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None):
    """Returns an image's patches, each laid into the depth of one pixel.

    Args:
      images: Images, channels last.
      ksizes: The patches' size, one number an axis.
      strides: How far apart they are, one number an axis.
      rates: The steps inside them, one number an axis.
      padding: "SAME" or "VALID".
      name: A name for the operation.
      sizes: Another name of `ksizes`.
    """
    ksizes = renamed("sizes", sizes, "ksizes", ksizes)
    return raw.ExtractImagePatches(
        images, ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name
    )


@export("image.extract_patches")
def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Returns an image's patches, each laid into the depth of one pixel; see `extract_image_patches`."""
    return raw.ExtractImagePatches(
        images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name
    )
