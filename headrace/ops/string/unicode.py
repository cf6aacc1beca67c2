"""Strings in Unicode's encodings, by way of code points."""

from __future__ import annotations

import codecs
import itertools
import unicodedata

import numpy as np

from headrace.dtypes import as_dtype
from headrace.opdef import export, op, raw
from headrace.opdef.strings import attr_text, each, flat, invalid, strings
from headrace.shapes import to_text, unchanged, with_rank

_ERRORS = """
      input_encoding: string
      errors: {"strict", "replace", "ignore"} = "replace"
      replacement_char: int = 65533
      replace_control_characters: bool = false
      Tsplits: {int32, int64} = int64
"""

UnicodeTranscode = op("""
    UnicodeTranscode(input: string) -> (output: string)
      input_encoding: string
      output_encoding: {"UTF-8", "UTF-16-BE", "UTF-32-BE"}
      errors: {"strict", "replace", "ignore"} = "replace"
      replacement_char: int = 65533
      replace_control_characters: bool = false

    The strings in another encoding.
""", shape=unchanged)  # fmt: skip

UnicodeDecode = op(f"""
    UnicodeDecode(input: string) -> (row_splits: Tsplits, char_values: int32){_ERRORS}
    The code points of all strings, and where those of each begin.
""")

UnicodeDecodeWithOffsets = op(f"""
    UnicodeDecodeWithOffsets(input: string) -> (row_splits: Tsplits, char_values: int32,
                                                char_to_byte_starts: int64){_ERRORS}
    The code points of all strings, where those of each begin, and at which byte each code point does.
""")

UnicodeEncode = op("""
    UnicodeEncode(input_values: int32, input_splits: Tsplits) -> (output: string)
      errors: {"ignore", "replace", "strict"} = "replace"
      output_encoding: {"UTF-8", "UTF-16-BE", "UTF-32-BE"}
      replacement_char: int = 65533
      Tsplits: {int32, int64} = int64

    The strings that runs of code points spell.
""")


def _codec(name):
    try:
        return codecs.lookup(attr_text(name)).name
    except LookupError:
        invalid(f"Could not create converter for input encoding: {attr_text(name)}")


def code_points(s, encoding, errors, replacement, controls=False):
    """Returns the code points of a string, each with the byte at which it starts."""
    out = []
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    at = start = 0
    while at < len(s):
        try:
            text = decoder.decode(s[at : at + 1], final=at + 1 == len(s))
            at += 1
        except UnicodeDecodeError:
            if errors == "strict":
                invalid("Invalid formatting on input string")
            if errors == "replace":
                out.append((replacement, start))
            decoder.reset()
            # The byte that broke a sequence off begins anew; one that began none is gone.
            at += at == start
            start = at
            continue
        for character in text:
            point = ord(character)
            if controls and unicodedata.category(character) == "Cc":
                point = replacement
            out.append((point, start))
        if text:
            start = at
    return out


_OUT = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def _encode(points, encoding):
    """Returns what code points spell. Two halves of a character that meet make it up; UTF-8 has no lone halves."""
    units = "".join(map(chr, points)).encode("utf-16-be", "surrogatepass")
    text = units.decode("utf-16-be", "surrogatepass")
    if attr_text(encoding) == "UTF-8":
        text = "".join("\ufffd" if "\ud800" <= c < "\ue000" else c for c in text)
    return text.encode(_OUT[attr_text(encoding)], "surrogatepass")


def _check_replacement(point):
    if not 0 <= point <= 0x10FFFF:
        invalid("replacement_char out of unicode codepoint range")


@UnicodeTranscode.host
def unicode_transcode_host(
    input, *, input_encoding, output_encoding, errors, replacement_char, replace_control_characters
):
    _check_replacement(replacement_char)
    codec, errors = _codec(input_encoding), attr_text(errors)

    def transcoded(s):
        points = code_points(s, codec, errors, replacement_char, replace_control_characters)
        return _encode([p for p, _ in points], output_encoding)

    return each(transcoded, input)


def _decode_shape(input):
    n = 1
    if input is None:
        n = None
    else:
        for d in input:
            n = None if d is None or n is None else n * d
    return (None if n is None else n + 1,), (None,)


@UnicodeDecode.shape
def unicode_decode_shape(input):
    return list(_decode_shape(input))


@UnicodeDecodeWithOffsets.shape
def unicode_decode_with_offsets_shape(input):
    splits, values = _decode_shape(input)
    return [splits, values, values]


def _decoded(input, input_encoding, errors, replacement_char, controls, splits_type):
    _check_replacement(replacement_char)
    codec, errors = _codec(input_encoding), attr_text(errors)
    rows = [code_points(s, codec, errors, replacement_char, controls) for s in flat(input)]
    splits = np.cumsum([0, *map(len, rows)]).astype(as_dtype(splits_type).storage)
    points = [p for row in rows for p in row]
    values = np.array([p for p, _ in points], np.int32)
    return splits, values, np.array([start for _, start in points], np.int64)


@UnicodeDecode.host
def unicode_decode_host(
    input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
):
    return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits)[:2]


@UnicodeDecodeWithOffsets.host
def unicode_decode_with_offsets_host(
    input, *, input_encoding, errors, replacement_char, replace_control_characters, Tsplits
):
    return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, Tsplits)


@UnicodeEncode.shape
def unicode_encode_shape(input_values, input_splits):
    with_rank(input_values, 1)
    (n,) = with_rank(input_splits, 1)
    if n == 0:
        raise ValueError("Negative dimension size caused by subtracting 1 from 0")
    return (None if n is None else n - 1,)


@UnicodeEncode.host
def unicode_encode_host(input_values, input_splits, *, errors, output_encoding, replacement_char):
    _check_replacement(replacement_char)
    errors = attr_text(errors)

    def allowed(points):
        for p in points:
            if 0 <= p <= 0x10FFFF:
                yield p
            elif errors == "strict":
                invalid("Code point value out of valid Unicode range.")
            elif errors == "replace":
                yield replacement_char

    for name, part in (("input_values", input_values), ("input_splits", input_splits)):
        if part.ndim != 1:
            invalid(f"{name} must be a vector, got shape {to_text(part.shape)}")
    if not input_splits.size:
        invalid("input_splits must not be empty")
    # The first split is not looked at, and one that goes back makes an empty string.
    ends = list(itertools.accumulate([0, *input_splits.tolist()[1:]], max))
    if ends[-1] > len(input_values):
        invalid(f"input_splits must be in [0, {len(input_values)}], not {ends[-1]}")
    rows = [input_values[a:b].tolist() for a, b in itertools.pairwise(ends)]
    return strings([_encode(allowed(row), output_encoding) for row in rows], (len(rows),))


@UnicodeTranscode.cases
def unicode_transcode_cases(case):
    utf8 = dict(input_encoding="UTF-8", output_encoding="UTF-8")
    case(["h\u00e9".encode("latin1")], input_encoding="ISO-8859-1", output_encoding="UTF-8",
         gives=np.array(["h\u00e9".encode()], object))  # fmt: skip
    case([b"a\xffb"], input_encoding="UTF-8", output_encoding="UTF-16-BE",
         gives=np.array([b"\x00a\xff\xfd\x00b"], object))  # fmt: skip
    case([b"a\xffb"], errors="ignore", gives=np.array([b"ab"], object), **utf8)
    case(
        [b"a\x07b"],
        replace_control_characters=True,
        replacement_char=63,
        gives=np.array([b"a?b"], object),
        **utf8,
    )
    case.shapes("[2,?]", "[2,?]", **utf8)
    case.fails(([b"a\xffb"],), errors="strict", match="Invalid formatting on input string", **utf8)


@UnicodeDecode.cases
def unicode_decode_cases(case):
    case(["h\u00e9", "", "x"], input_encoding="UTF-8",
         gives=(np.array([0, 2, 2, 3]), np.array([104, 233, 120], np.int32)))  # fmt: skip
    case.shapes("[2,3]", "[7];[?]", input_encoding="UTF-8")


@UnicodeDecodeWithOffsets.cases
def unicode_decode_with_offsets_cases(case):
    case(["h\u00e9x"], input_encoding="UTF-8",
         gives=(np.array([0, 3]), np.array([104, 233, 120], np.int32), np.array([0, 1, 3])))  # fmt: skip
    case.shapes("[2]", "[3];[?];[?]", input_encoding="UTF-8")


@UnicodeEncode.cases
def unicode_encode_cases(case):
    case(np.array([104, 233, 120], np.int32), np.array([0, 2, 2, 3]), output_encoding="UTF-8",
         gives=np.array(["h\u00e9".encode(), b"", b"x"], object))  # fmt: skip
    case.shapes("[?];[4]", "[3]", output_encoding="UTF-8")


@export("strings.unicode_transcode")
def unicode_transcode(
    input,
    input_encoding,
    output_encoding,
    errors="replace",
    replacement_char=65533,
    replace_control_characters=False,
    name=None,
):
    """Returns strings in another encoding.

    Args:
      input: A tensor of strings.
      input_encoding: Their encoding.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: What to do about malformed input: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces it.
      replace_control_characters: Whether control characters are replaced too.
      name: The node's name.
    """
    return raw.UnicodeTranscode(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )
