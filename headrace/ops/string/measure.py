"""Lengths and parts of strings, by bytes or by characters."""

from __future__ import annotations

import numpy as np

from headrace import shapes
from headrace.opdef import export, op, raw
from headrace.opdef.strings import flat, invalid, strings
from headrace.shapes import to_text, unchanged

StringLength = op("""
    StringLength(input: string) -> (output: int32)
      unit: {"BYTE", "UTF8_CHAR"} = "BYTE"

    The length of each string.
""", shape=unchanged)  # fmt: skip


def starts(s: bytes) -> list[int]:
    """Returns where the characters of a UTF-8 string start: all bytes that go on with none."""
    return [i for i, byte in enumerate(s) if byte & 0xC0 != 0x80]


@StringLength.host
def string_length_host(input, *, unit):
    measure = len if unit in ("BYTE", b"BYTE") else lambda s: len(starts(s))
    return np.array([measure(s) for s in flat(input)], np.int32).reshape(np.shape(input))


@StringLength.cases
def string_length_cases(case):
    case(["wheel", "", "h\u00e9"], gives=np.array([5, 0, 3], np.int32))
    case(["wheel", "", "h\u00e9"], unit="UTF8_CHAR", gives=np.array([5, 0, 2], np.int32))
    case.shapes("[2,?]", "[2,?]")


Substr = op("""
    Substr(input: string, pos: T, len: T) -> (output: string)
      T: {int32, int64}
      unit: {"BYTE", "UTF8_CHAR"} = "BYTE"

    The part of each string from a position (from the end, where negative) and of a length, as far as it goes.
""")


@Substr.shape
def substr_shape(input, pos, len):
    if pos is not None and len is not None:
        merged = shapes.merge(pos, len)
    else:
        merged = pos if len is None else len
    return shapes.broadcast(input, merged)


@Substr.host
def substr_host(input, pos, len, *, unit):
    whole = unit in ("BYTE", b"BYTE")
    try:
        shape = np.broadcast_shapes(input.shape, pos.shape)
    except ValueError:
        invalid(f"Incompatible shapes: {to_text(input.shape)} vs. {to_text(pos.shape)}")
    texts = flat(np.broadcast_to(input, shape))
    places = np.broadcast_to(pos, shape).ravel().tolist()
    lengths = np.broadcast_to(len, shape).ravel().tolist()
    out = []
    for i, (s, at, n) in enumerate(zip(texts, places, lengths, strict=True)):
        part = _bytes(s, at, n) if whole else _characters(s, at, n)
        if part is None:
            shown = s.decode("utf-8", "backslashreplace")
            invalid(f"pos {at} out of range for string b'{shown}' at index {i}")
        out.append(part)
    return strings(out, shape)


def _bytes(s, at, n):
    size = len(s)
    if not -size <= at <= size:
        return None
    at = at + size if at < 0 else at
    return s[at:] if n < 0 else s[at : at + n]


def _characters(s, at, n):
    edges = [*starts(s), len(s)]
    size = len(edges) - 1
    if not -size <= at <= size:
        return None
    at = at + size if at < 0 else at
    return s[edges[at] : edges[min(size, at + n)]] if n >= 0 else s[edges[at] :]


@Substr.cases
def substr_cases(case):
    one, three = np.int32(1), np.int32(3)
    case(["wheel", "mill"], one, three, gives=np.array([b"hee", b"ill"], object))
    case(
        ["wheel", "mill race"],
        np.array([-3, 2]),
        np.array([2, 100]),
        gives=np.array([b"ee", b"ll race"], object),
    )
    case("h\u00e9llo", one, np.int32(2), unit="UTF8_CHAR", gives=np.array("\u00e9l".encode(), object))
    case(["hello", "abcde"], np.array([[0], [1]]), np.array([[2], [3]]),
         gives=np.array([[b"he", b"ab"], [b"ell", b"bcd"]], object))  # fmt: skip
    case.shapes("[2];[];[]", "[2]")
    case.shapes("[2,1];[3];[3]", "[2,3]")
    case.fails(("abc", np.int32(5), one), match="pos 5 out of range for string b'abc' at index 0")
    case.fails(
        (["abc", "xyz"], np.array([0, 9]), np.array([1, 1])), match="pos 9 out of range for string b'xyz' at"
    )


@export("strings.length")
def string_length(input, name=None, unit="BYTE"):
    """Returns the length of each string.

    Args:
      input: A tensor of strings.
      name: The node's name.
      unit: "BYTE", or "UTF8_CHAR" to count characters.
    """
    return raw.StringLength(input, unit=unit, name=name)


@export("substr", "strings.substr")
def substr(input, pos, len, name=None, unit="BYTE"):
    """Returns a part of each string.

    Args:
      input: A tensor of strings.
      pos: Where the parts start; negative ones count from the end.
      len: How long the parts are; they stop at the end of the string.
      name: The node's name.
      unit: "BYTE", or "UTF8_CHAR" to count characters.
    """
    return raw.Substr(input, pos, len, unit=unit, name=name)
