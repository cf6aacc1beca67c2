"""The wire format of protocol buffers, read and written field by field without knowing the message."""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, GROUP, END, FIXED32 = range(6)


class WireError(ValueError):
    """What is not a message.

    Attributes:
      number: The number of the field that is damaged, None if that is its tag.
    """

    number: int | None = None


def varint(value: int) -> bytes:
    """Returns an integer as a varint; a negative one takes ten bytes."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, data: bytes) -> bytes:
    """Returns a field of bytes with its tag and length."""
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns a varint and where the next thing begins.

    Raises:
      WireError: It does not end.
    """
    value = 0
    for i in range(10):
        if at + i >= len(data):
            raise WireError("a number is cut off")
        byte = data[at + i]
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value & (1 << 64) - 1, at + i + 1
    raise WireError("a number is too long")


def _skip(data: bytes, at: int, kind: int, number: int, depth: int) -> int:
    if kind == VARINT:
        return read_varint(data, at)[1]
    if kind == BYTES:
        size, at = read_varint(data, at)
        end = at + size
    elif kind == GROUP:
        if depth > 100:
            raise WireError("groups are nested too deeply")
        while True:
            tag, at = read_varint(data, at)
            if tag & 7 == END:
                if tag >> 3 != number:
                    raise WireError("another group ends")
                return at
            at = _skip(data, at, tag & 7, tag >> 3, depth + 1)
    elif kind in (FIXED64, FIXED32):
        end = at + (8 if kind == FIXED64 else 4)
    else:
        raise WireError("a wire type that there is not")
    if end > len(data):
        raise WireError("a field is cut off")
    return end


def fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields number, wire type and content of each field; a group with its tags, bytes without their length.

    Raises:
      WireError: The data is no message.
    """
    at = 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise WireError("a field has no number")
        try:
            end = _skip(data, at, kind, number, 0)
        except WireError as e:
            e.number = number
            raise
        if kind == GROUP:
            yield number, kind, data[start:end]
        elif kind == BYTES:
            yield number, kind, data[read_varint(data, at)[1] : end]
        else:
            yield number, kind, data[at:end]
        at = end


def zigzag(value: int) -> int:
    """Returns a signed number as the unsigned one that a zigzag varint holds."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def unpack(form: str, data: bytes) -> int | float:
    out: int | float = struct.unpack("<" + form, data)[0]
    return out
