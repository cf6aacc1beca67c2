"""Strings as the bytes of numbers, and compressed strings."""

from __future__ import annotations

import gzip
import zlib

import numpy as np

from headrace import errors
from headrace.dtypes import as_dtype
from headrace.opdef import export, op, raw
from headrace.opdef.strings import attr_text, each, flat, invalid
from headrace.shapes import unchanged, with_rank

DecodeRaw = op("""
    DecodeRaw(bytes: string) -> (output: out_type)
      out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool}
      little_endian: bool = true

    The numbers whose bytes the strings are; all strings must be of one length.
""", grad=None)  # fmt: skip


@DecodeRaw.shape
def decode_raw_shape(bytes):
    return None if bytes is None else (*bytes, None)


def _numbers(texts, kind, little_endian, shape):
    joined = np.frombuffer(b"".join(texts), kind.newbyteorder("<" if little_endian else ">"))
    return joined.astype(kind).reshape(shape)


@DecodeRaw.host
def decode_raw_host(bytes, *, out_type, little_endian):
    kind = as_dtype(out_type).storage
    texts = flat(bytes)
    shape = np.shape(bytes)
    if not texts:
        return np.zeros((*shape, 0), kind)
    length = len(texts[0])
    for i, s in enumerate(texts):
        if len(s) != length:
            invalid(
                "DecodeRaw requires input strings to all be the same size, but element "
                f"{i} has size {length} != {len(s)}"
            )
    if length % kind.itemsize:
        invalid(
            f"Input to DecodeRaw has length {length} that is not a multiple of {kind.itemsize}, the size of "
            f"{as_dtype(out_type).name}"
        )
    return _numbers(texts, kind, little_endian, (*shape, length // kind.itemsize))


@DecodeRaw.cases
def decode_raw_cases(case):
    case(["sixteen letters."], out_type="int64", gives=np.array([[2336916743072016755, 3347144728137459052]]))
    case(["abcd"], out_type="int16", gives=np.array([[25185, 25699]], np.int16))
    case("abcd", out_type="int16", little_endian=False, gives=np.array([24930, 25444], np.int16))
    case(b"\x01\x00", out_type="bool", gives=np.array([True, False]))
    case(np.array([], object), out_type="int16", gives=np.zeros((0, 0), np.int16))
    case.shapes("[2,?]", "[2,?,?]", out_type="int8")
    case.fails((["abc", "a"],), out_type="uint8", match="element 1 has size 3 != 1")
    case.fails(("abc",), out_type="int16", match="length 3 that is not a multiple of 2, the size of int16")


DecodePaddedRaw = op("""
    DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> (output: out_type)
      out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64}
      little_endian: bool = true

    The numbers whose bytes the strings are, after these were cut or filled up to one length.
""", grad=None)  # fmt: skip


@DecodePaddedRaw.shape
def decode_padded_raw_shape(input_bytes, fixed_length, *, out_type, ctx):
    with_rank(fixed_length, 0)
    if input_bytes is None:
        return None
    length = ctx.constant("fixed_length")
    if length is None:
        return (*input_bytes, None)
    size = as_dtype(out_type).storage.itemsize
    if int(length) < 0:
        raise ValueError(
            f"Dimension size, given by scalar input 1, must be non-negative but is {int(length)}"
        )
    if int(length) % size:
        raise ValueError(f"Dimension size must be evenly divisible by {size} but is {int(length)}")
    return (*input_bytes, int(length) // size)


@DecodePaddedRaw.host
def decode_padded_raw_host(input_bytes, fixed_length, *, out_type, little_endian):
    kind = as_dtype(out_type).storage
    length = int(fixed_length)
    if length % kind.itemsize:
        invalid(f"fixed_length ({length}) must be a multiple of the size of out_type ({kind.itemsize})")
    if length <= 0:
        invalid(f"fixed_length ({length}) must be greater than zero.")
    texts = [s[:length].ljust(length, b"\0") for s in flat(input_bytes)]
    return _numbers(texts, kind, little_endian, (*np.shape(input_bytes), length // kind.itemsize))


@DecodePaddedRaw.cases
def decode_padded_raw_cases(case):
    case(["a"], np.int32(8), out_type="int64", gives=np.array([[97]]))
    case(["a", "abc"], np.int32(2), out_type="uint8", gives=np.array([[97, 0], [97, 98]], np.uint8))
    case.shapes("[2];[]", "[2,3]", values={"fixed_length": np.int32(6)}, out_type="int16")
    case.fails(
        (["a"], np.int32(3)), out_type="int16", match="Dimension size must be evenly divisible by 2 but is 3"
    )


DecodeCompressed = op("""
    DecodeCompressed(bytes: string) -> (output: string)
      compression_type: string = ""

    The strings that were compressed by zlib or gzip.
""", shape=unchanged)  # fmt: skip


def _inflated(window):
    """Makes a function that inflates; what ends early counts as far as it goes, what comes after not at all."""

    def inflate(data):
        try:
            return zlib.decompressobj(window).decompress(data)
        except zlib.error as e:
            reason = str(e).rpartition(": ")[2]
            raise errors.DataLossError(None, None, f"inflate() failed with error -3: {reason}") from None

    return inflate


@DecodeCompressed.host
def decode_compressed_host(bytes, *, compression_type):
    readers = {"": lambda s: s, "ZLIB": _inflated(zlib.MAX_WBITS), "GZIP": _inflated(zlib.MAX_WBITS | 16)}
    kind = attr_text(compression_type)
    if kind not in readers:
        invalid("Only ZLIB, GZIP or NONE are supported compressions")
    return each(readers[kind], bytes)


@DecodeCompressed.cases
def decode_compressed_cases(case):
    hello = np.array([b"hello"], object)
    case([zlib.compress(b"hello")], compression_type="ZLIB", gives=hello)
    case([gzip.compress(b"hello")], compression_type="GZIP", gives=hello)
    case(["hello"], gives=hello)
    case([gzip.compress(b"hello") + b"more"], compression_type="GZIP", gives=hello)
    case([zlib.compress(b"hello")[:-4]], compression_type="ZLIB", gives=hello)
    case.fails(
        (["junk"],), compression_type="ZLIB", raises=errors.DataLossError, match="incorrect header check"
    )
    case.fails((["x"],), compression_type="LZ4", match="Only ZLIB, GZIP or NONE are supported compressions")
    case.shapes("[2,?]", "[2,?]")


@export("decode_raw", "io.decode_raw")
def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
    """Returns the numbers whose bytes strings are.

    Args:
      input_bytes: A tensor of strings, all of one length.
      out_type: The numbers' type.
      little_endian: Whether the lowest byte comes first.
      name: The node's name.
      bytes: The same as `input_bytes`.

    Returns:
      A tensor with one axis more, along which the numbers of a string lie.

    Raises:
      ValueError: `out_type` is missing.
    """
    strings = input_bytes if bytes is None else bytes
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return raw.DecodeRaw(strings, out_type=out_type, little_endian=little_endian, name=name)


@export("decode_compressed", "io.decode_compressed")
def decode_compressed(bytes, compression_type="", name=None):
    """Returns the strings that were compressed.

    Args:
      bytes: A tensor of strings.
      compression_type: "", "ZLIB" or "GZIP".
      name: The node's name.
    """
    return raw.DecodeCompressed(bytes, compression_type=compression_type, name=name)
