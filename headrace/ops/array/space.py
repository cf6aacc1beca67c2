"""SpaceToDepth and DepthToSpace: blocks of an image moved into its depth, and back."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.lazy import jnp
from headrace.opdef import export, op, raw
from headrace.ops.array.failing import invalid

_BLOCK = """
      T: type
      block_size: int >= 2
      data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"
"""

SpaceToDepth = op(f"""
    SpaceToDepth(input: T) -> (output: T){_BLOCK}
    Each square block of an image laid along its depth.
""")

DepthToSpace = op(f"""
    DepthToSpace(input: T) -> (output: T){_BLOCK}
    The depth of an image laid out as square blocks.
""")


def divided(size, by):
    """Returns a dimension divided by a number, None if it is not known."""
    if size is None:
        return None
    if size % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {size}")
    return size // by


def times(size, by):
    """Returns a dimension multiplied by a number, None if it is not known."""
    return None if size is None else size * by


@SpaceToDepth.shape
def space_to_depth_shape(input, *, block_size, data_format):
    if data_format == "NCHW_VECT_C":
        n, c, h, w, v = shapes.with_rank(input, 5)
        return (n, times(c, block_size**2), divided(h, block_size), divided(w, block_size), v)
    dims = shapes.with_rank(input, 4)
    at = {name: i for i, name in enumerate(data_format)}
    out = list(dims)
    out[at["H"]] = divided(dims[at["H"]], block_size)
    out[at["W"]] = divided(dims[at["W"]], block_size)
    out[at["C"]] = times(dims[at["C"]], block_size**2)
    return tuple(out)


@DepthToSpace.shape
def depth_to_space_shape(input, *, block_size, data_format):
    if data_format == "NCHW_VECT_C":
        n, c, h, w, v = shapes.with_rank(input, 5)
        return (n, divided(c, block_size**2), times(h, block_size), times(w, block_size), v)
    dims = shapes.with_rank(input, 4)
    at = {name: i for i, name in enumerate(data_format)}
    out = list(dims)
    out[at["H"]] = times(dims[at["H"]], block_size)
    out[at["W"]] = times(dims[at["W"]], block_size)
    out[at["C"]] = divided(dims[at["C"]], block_size**2)
    return tuple(out)


def _to_nhwc(x, data_format, xp):
    if data_format == "NHWC":
        return x
    if data_format == "NCHW":
        return xp.transpose(x, (0, 2, 3, 1))
    n, c, h, w, v = x.shape
    return xp.transpose(x, (0, 2, 3, 1, 4)).reshape(n, h, w, c * v)


def _from_nhwc(x, data_format, xp):
    if data_format == "NHWC":
        return x
    if data_format == "NCHW":
        return xp.transpose(x, (0, 3, 1, 2))
    n, h, w, c = x.shape
    return xp.transpose(x.reshape(n, h, w, c // 4, 4), (0, 3, 1, 2, 4))


def _space_to_depth(x, block, data_format, xp):
    x = _to_nhwc(x, data_format, xp)
    n, h, w, c = x.shape
    if h % block or w % block:
        invalid(f"Image width {w} and height {h} should be divisible by block_size: {block}")
    x = x.reshape(n, h // block, block, w // block, block, c)
    x = xp.transpose(x, (0, 1, 3, 2, 4, 5)).reshape(n, h // block, w // block, block * block * c)
    return _from_nhwc(x, data_format, xp)


def _depth_to_space(x, block, data_format, xp):
    x = _to_nhwc(x, data_format, xp)
    n, h, w, c = x.shape
    if c % (block * block):
        invalid(f"Input depth dimension {c} should be divisible by: {block * block}")
    x = x.reshape(n, h, w, block, block, c // (block * block))
    x = xp.transpose(x, (0, 1, 3, 2, 4, 5)).reshape(n, h * block, w * block, c // (block * block))
    return _from_nhwc(x, data_format, xp)


@SpaceToDepth.host
def space_to_depth_host(input, *, block_size, data_format):
    return _space_to_depth(input, block_size, data_format, np)


@SpaceToDepth.lower
def space_to_depth_lower(input, *, block_size, data_format):
    return _space_to_depth(input, block_size, data_format, jnp)


@DepthToSpace.host
def depth_to_space_host(input, *, block_size, data_format):
    return _depth_to_space(input, block_size, data_format, np)


@DepthToSpace.lower
def depth_to_space_lower(input, *, block_size, data_format):
    return _depth_to_space(input, block_size, data_format, jnp)


@SpaceToDepth.grad
def space_to_depth_grad(op, dy):
    return raw.DepthToSpace(dy, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"])


@DepthToSpace.grad
def depth_to_space_grad(op, dy):
    return raw.SpaceToDepth(dy, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"])


@SpaceToDepth.cases
def space_to_depth_cases(case):
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    y = [[[[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]], [[8.0, 9.0, 12.0, 13.0], [10.0, 11.0, 14.0, 15.0]]]]
    case(x, block_size=2, gives=y)
    case(case.normal(1, 3, 2, 4), block_size=2, data_format="NCHW")
    case.shapes("[1,?,4,3]", "[1,?,2,12]", block_size=2)
    case.fails("[1,3,4,4]", match="evenly divisible by 2 but is 3", block_size=2)


@DepthToSpace.cases
def depth_to_space_cases(case):
    x = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    y = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    case(x, block_size=2, gives=np.array(y, np.float32).reshape(1, 4, 4, 1))
    case(case.normal(1, 8, 2, 1), block_size=2, data_format="NCHW")
    case.shapes("[1,8,2,?]", "[1,2,4,?]", block_size=2, data_format="NCHW")
    case.fails("[1,2,2,3]", match="evenly divisible by 4 but is 3", block_size=2)


@export("space_to_depth", "nn.space_to_depth")
def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    """Lays each square block of images along their depth.

    Args:
      input: The images.
      block_size: A block's side.
      name: The node's name.
      data_format: "NHWC", "NCHW" or "NCHW_VECT_C".
    """
    return raw.SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


@export("depth_to_space", "nn.depth_to_space")
def depth_to_space(input, block_size, name=None, data_format="NHWC"):
    """Lays the depth of images out as square blocks.

    Args:
      input: The images.
      block_size: A block's side.
      name: The node's name.
      data_format: "NHWC", "NCHW" or "NCHW_VECT_C".
    """
    return raw.DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)
