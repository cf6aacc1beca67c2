"""Dimensions and vectors turned from one order of the letters N, H, W and C into another."""

from __future__ import annotations

import numpy as np

from headrace.lazy import jnp
from headrace.opdef import op
from headrace.ops.array.failing import invalid, shown
from headrace.shapes import unchanged

_ATTRS = """
      T: {int32, int64} = int32
      src_format: string = "NHWC"
      dst_format: string = "NCHW"
"""


def _formats(src_format, dst_format):
    """Returns both formats as text.

    Raises:
      InvalidArgumentError: They are no two orders of the same letters.
    """
    src, dst = (f.decode() if isinstance(f, bytes) else f for f in (src_format, dst_format))
    for what, text in (("Source", src), ("Destination", dst)):
        if len(text) not in (4, 5):
            name = "src_format" if what == "Source" else "dst_format"
            invalid(f"{what} format must be of length 4 or 5, received {name} = {text}")
    if sorted(src) != sorted(dst) or len(set(src)) != len(src):
        invalid(f"Destination and source format must determine a permutation, got {src} and {dst}")
    return src, dst


DataFormatDimMap = op(f"""
    DataFormatDimMap(x: T) -> (y: T){_ATTRS}
    Where the dimensions of one data format stand in another.
""", shape=unchanged)  # fmt: skip


def _mapped(xp, x, src_format, dst_format):
    src, dst = _formats(src_format, dst_format)
    places = np.array([dst.index(letter) for letter in src], x.dtype)
    # Beyond the ends the kernel looks at the lowest bits only, which is to count round.
    return xp.asarray(places)[x % len(src)]


@DataFormatDimMap.host
def data_format_dim_map_host(x, *, src_format, dst_format):
    return _mapped(np, x, src_format, dst_format)


@DataFormatDimMap.lower
def data_format_dim_map_lower(x, *, src_format, dst_format):
    return _mapped(jnp, x, src_format, dst_format)


@DataFormatDimMap.cases
def data_format_dim_map_cases(case):
    case(np.int32([0, 1, 2, 3, -1, -4]), gives=np.int32([0, 2, 3, 1, 1, 0]))
    case(np.int64(2), dst_format="HWNC", gives=np.int64(1))
    case(np.int32([3, 1]), src_format="NCHW", dst_format="NHWC", gives=np.int32([2, 3]))
    case.shapes("[?,2]", "[?,2]")
    case.fails(
        (np.int32([0]),), match="must be of length 4 or 5, received src_format = NHW", src_format="NHW"
    )
    case.fails((np.int32([0]),), match="must determine a permutation, got NHWC and ABCD", dst_format="ABCD")


DataFormatVecPermute = op(f"""
    DataFormatVecPermute(x: T) -> (y: T){_ATTRS}
    A vector with an element, or a matrix with a row, for each dimension of one data format, in the order of another.
""", shape=unchanged)  # fmt: skip


def _permuted(x, src_format, dst_format):
    src, dst = _formats(src_format, dst_format)
    if x.ndim not in (1, 2):
        invalid(f"input must be a vector or 2D tensor, but got shape {shown(x.shape)}")
    if x.ndim == 1 and len(x) != len(src):
        invalid(f"1D input must be of size {len(src)}, but got shape {shown(x.shape)}")
    if x.ndim == 2 and len(x) != len(src):
        invalid(f"First dimension of 2D input must be of size {len(src)}, but got shape {shown(x.shape)}")
    if x.ndim == 2 and x.shape[1] != 2:
        invalid(f"Second dimension of 2D input must be of size 2, but got shape {shown(x.shape)}")
    return x[np.array([src.index(letter) for letter in dst])]


@DataFormatVecPermute.host
@DataFormatVecPermute.lower
def data_format_vec_permute_compute(x, *, src_format, dst_format):
    return _permuted(x, src_format, dst_format)


@DataFormatVecPermute.cases
def data_format_vec_permute_cases(case):
    case(np.int32([1, 2, 3, 4]), gives=np.int32([1, 4, 2, 3]))
    case(np.int64([1, 2, 3, 4]), dst_format="HWNC", gives=np.int64([2, 3, 1, 4]))
    pairs = np.int32([[1, 2], [3, 4], [5, 6], [7, 8]])
    case(pairs, src_format="NCHW", dst_format="NHWC", gives=np.int32([[1, 2], [5, 6], [7, 8], [3, 4]]))
    case.shapes("[4]", "[4]")
    case.fails((np.int32([1, 2, 3]),), match=r"1D input must be of size 4, but got shape \[3\]")
    case.fails((np.int32(1),), match=r"input must be a vector or 2D tensor, but got shape \[\]")
    case.fails((np.int32([[1], [2], [3], [4]]),), match="Second dimension of 2D input must be of size 2")
