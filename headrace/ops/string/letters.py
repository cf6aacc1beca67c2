"""Case, blanks and base64."""

from __future__ import annotations

import base64
import re

import numpy as np

from headrace.opdef import export, op, raw
from headrace.opdef.strings import attr_text, each, invalid
from headrace.shapes import unchanged

StringLower = op("""
    StringLower(input: string) -> (output: string)
      encoding: string = ""

    The strings in lower case: ASCII letters, or all of UTF-8.
""", shape=unchanged)  # fmt: skip

StringUpper = op("""
    StringUpper(input: string) -> (output: string)
      encoding: string = ""

    The strings in upper case: ASCII letters, or all of UTF-8.
""", shape=unchanged)  # fmt: skip

StringStrip = op("""
    StringStrip(input: string) -> (output: string)

    The strings without blanks at both ends.
""", shape=unchanged)  # fmt: skip

EncodeBase64 = op("""
    EncodeBase64(input: string) -> (output: string)
      pad: bool = false

    The strings in web-safe base64.
""", shape=unchanged, grad=None)  # fmt: skip

DecodeBase64 = op("""
    DecodeBase64(input: string) -> (output: string)

    The strings that web-safe base64 stands for.
""", shape=unchanged, grad=None)  # fmt: skip


def _cased(input, encoding, plain, full):
    encoding = attr_text(encoding)
    if encoding not in ("", "utf-8"):
        invalid("only utf-8 or '' (no encoding) is supported, received " + encoding)
    if not encoding:
        return each(plain, input)
    return each(
        lambda s: full(s.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"), input
    )


@StringLower.host
def string_lower_host(input, *, encoding):
    return _cased(input, encoding, bytes.lower, str.lower)


@StringUpper.host
def string_upper_host(input, *, encoding):
    return _cased(input, encoding, bytes.upper, str.upper)


@StringStrip.host
def string_strip_host(input):
    return each(bytes.strip, input)


@EncodeBase64.host
def encode_base64_host(input, *, pad):
    def encoded(s):
        out = base64.urlsafe_b64encode(s)
        return out if pad else out.rstrip(b"=")

    return each(encoded, input)


_BASE64 = re.compile(rb"[A-Za-z0-9_-]*=*")


@DecodeBase64.host
def decode_base64_host(input):
    def decoded(s):
        if not _BASE64.fullmatch(s):
            invalid("Invalid character found in base64.")
        bare = s.rstrip(b"=")
        if len(bare) % 4 == 1:
            invalid("Base64 string length cannot be 1 modulo 4.")
        return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))

    return each(decoded, input)


@StringLower.cases
def string_lower_cases(case):
    case(["AB\u00c9"], gives=np.array(["ab\u00c9".encode()], object))
    case(["AB\u00c9"], encoding="utf-8", gives=np.array(["ab\u00e9".encode()], object))
    case.shapes("[2,?]", "[2,?]")


@StringUpper.cases
def string_upper_cases(case):
    case(["ab\u00e9"], gives=np.array(["AB\u00e9".encode()], object))
    case(["ab\u00e9\u00df"], encoding="utf-8", gives=np.array(["AB\u00c9SS".encode()], object))
    case.shapes("[2,?]", "[2,?]")


@StringStrip.cases
def string_strip_cases(case):
    case(["  a b \t\n", ""], gives=np.array([b"a b", b""], object))
    case.shapes("[2,?]", "[2,?]")


@EncodeBase64.cases
def encode_base64_cases(case):
    case(["wheel", "", b"\xfb\xff"], gives=np.array([b"d2hlZWw", b"", b"-_8"], object))
    case(["wheel"], pad=True, gives=np.array([b"d2hlZWw="], object))
    case.shapes("[2,?]", "[2,?]")


@DecodeBase64.cases
def decode_base64_cases(case):
    case(["d2hlZWw", "d2hlZWw=", ""], gives=np.array([b"wheel", b"wheel", b""], object))
    case.shapes("[2,?]", "[2,?]")
    case.fails((["@@@"],), match="Invalid character found in base64")


@export("strings.lower")
def string_lower(input, encoding="", name=None):
    """Returns strings in lower case.

    Args:
      input: A tensor of strings.
      encoding: "" for ASCII letters alone, or "utf-8".
      name: The node's name.
    """
    return raw.StringLower(input, encoding=encoding, name=name)


@export("strings.upper")
def string_upper(input, encoding="", name=None):
    """Returns strings in upper case.

    Args:
      input: A tensor of strings.
      encoding: "" for ASCII letters alone, or "utf-8".
      name: The node's name.
    """
    return raw.StringUpper(input, encoding=encoding, name=name)


@export("string_strip", "strings.strip")
def string_strip(input, name=None):
    """Returns strings without blanks at both ends.

    Args:
      input: A tensor of strings.
      name: The node's name.
    """
    return raw.StringStrip(input, name=name)


@export("encode_base64", "io.encode_base64")
def encode_base64(input, pad=False, name=None):
    """Returns strings in web-safe base64.

    Args:
      input: A tensor of strings.
      pad: Whether `=` fills up at the end.
      name: The node's name.
    """
    return raw.EncodeBase64(input, pad=pad, name=name)


@export("decode_base64", "io.decode_base64")
def decode_base64(input, name=None):
    """Returns the strings that web-safe base64 stands for.

    Args:
      input: A tensor of strings.
      name: The node's name.
    """
    return raw.DecodeBase64(input, name=name)
