"""CRC32C, masked as record and table files store it (a checksum of data that holds checksums is weak)."""

from __future__ import annotations

from typing import Any

_DELTA = 0xA282EAD8


def crc32c(data: Any, before: int = 0) -> int:
    """Returns the CRC32C of bytes that follow others whose CRC32C is `before`."""
    import google_crc32c

    return google_crc32c.extend(before, bytes(data))  # type: ignore[no-any-return]


def mask(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + _DELTA) & 0xFFFFFFFF


def masked_crc32c(data: Any) -> int:
    """Returns the masked CRC32C of bytes."""
    return mask(crc32c(data))
