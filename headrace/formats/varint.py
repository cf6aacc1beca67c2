"""Variable-length integers: seven bits a byte, the lowest first."""

from __future__ import annotations

from headrace import errors


def encode(value: int) -> bytes:
    """Returns a non-negative integer as a varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes, at: int) -> tuple[int, int]:
    """Returns the varint that starts at a position, and the position after it.

    Raises:
      DataLossError: The bytes end inside it, or it has more than ten.
    """
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise errors.DataLossError(None, None, "corrupted file: a number is cut short")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
