"""Sorted string tables, in the format of LevelDB, which checkpoints' index files have.

A table is data blocks, an index block that names the last key of each, and a footer. A block holds its keys without
what they share with the key before; every 16th is whole.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from headrace import errors
from headrace.formats import varint
from headrace.formats.checksum import masked_crc32c

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5
_RESTART_INTERVAL = 16
_BLOCK_SIZE = 262_144


class _Block:
    def __init__(self) -> None:
        self.bytes = bytearray()
        self._restarts = [0]
        self._since = 0
        self._last = b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._since < _RESTART_INTERVAL:
            most = min(len(key), len(self._last))
            while shared < most and key[shared] == self._last[shared]:
                shared += 1
        else:
            self._restarts.append(len(self.bytes))
            self._since = 0
        self.bytes += varint.encode(shared) + varint.encode(len(key) - shared) + varint.encode(len(value))
        self.bytes += key[shared:] + value
        self._last = key
        self._since += 1

    def finish(self) -> bytes:
        return bytes(self.bytes) + struct.pack(
            f"<{len(self._restarts) + 1}I", *self._restarts, len(self._restarts)
        )


def _separator(before: bytes, after: bytes | None) -> bytes:
    """Returns a short key that is not below `before` and is below `after`."""
    if after is None:
        for i, byte in enumerate(before):
            if byte != 0xFF:
                return before[:i] + bytes([byte + 1])
        return before
    i = 0
    while i < min(len(before), len(after)) and before[i] == after[i]:
        i += 1
    if i < min(len(before), len(after)) and before[i] != 0xFF and before[i] + 1 < after[i]:
        return before[:i] + bytes([before[i] + 1])
    return before


def build(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Returns a table file of items that are sorted by key."""
    out = bytearray()

    def put(block: bytes) -> bytes:
        handle = varint.encode(len(out)) + varint.encode(len(block))
        out.extend(block + b"\0" + struct.pack("<I", masked_crc32c(block + b"\0")))
        return handle

    index = _Block()
    block = _Block()
    last: bytes | None = None
    waiting: tuple[bytes, bytes] | None = None  # a finished block's last key and handle
    for key, value in items:
        if waiting is not None:
            index.add(_separator(waiting[0], key), waiting[1])
            waiting = None
        block.add(key, value)
        last = key
        if len(block.bytes) >= _BLOCK_SIZE:
            waiting = (key, put(block.finish()))
            block = _Block()
    if last is not None and block.bytes:
        waiting = (last, put(block.finish()))
    meta = put(_Block().finish())
    if waiting is not None:
        index.add(_separator(waiting[0], None), waiting[1])
    footer = meta + put(index.finish())
    return bytes(out) + footer.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


def read(data: bytes, name: str = "table") -> dict[bytes, bytes]:
    """Returns the items of a table file.

    Args:
      data: The file's bytes.
      name: What error messages call it.

    Raises:
      DataLossError: The file is no table, is cut short or does not match its checksums.
    """
    if len(data) < _FOOTER:
        raise errors.DataLossError(None, None, f"{name}: file is too short to be an sstable")
    footer = data[-_FOOTER:]
    if struct.unpack("<Q", footer[-8:])[0] != _MAGIC:
        raise errors.DataLossError(None, None, f"{name}: not an sstable (bad magic number)")
    at = 0
    _, at = varint.decode(footer, at)
    _, at = varint.decode(footer, at)
    offset, at = varint.decode(footer, at)
    size, at = varint.decode(footer, at)
    items: dict[bytes, bytes] = {}
    for _, handle in _entries(_block(data, offset, size, name), name):
        start, then = varint.decode(handle, 0)
        length, _ = varint.decode(handle, then)
        items.update(_entries(_block(data, start, length, name), name))
    return items


def _block(data: bytes, offset: int, size: int, name: str) -> bytes:
    end = offset + size
    if end + _TRAILER > len(data):
        raise errors.DataLossError(None, None, f"{name}: truncated block read")
    if struct.unpack("<I", data[end + 1 : end + _TRAILER])[0] != masked_crc32c(data[offset : end + 1]):
        raise errors.DataLossError(None, None, f"{name}: block checksum mismatch")
    if data[end] != 0:
        raise errors.UnimplementedError(
            None, None, f"{name}: the table is compressed with method {data[end]}"
        )
    return data[offset:end]


def _entries(block: bytes, name: str) -> list[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise errors.DataLossError(None, None, f"{name}: bad block contents")
    (count,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 * (count + 1)
    if end < 0:
        raise errors.DataLossError(None, None, f"{name}: bad block contents")
    out = []
    at, key = 0, b""
    while at < end:
        shared, at = varint.decode(block, at)
        unshared, at = varint.decode(block, at)
        length, at = varint.decode(block, at)
        if shared > len(key) or at + unshared + length > end:
            raise errors.DataLossError(None, None, f"{name}: bad entry in block")
        key = key[:shared] + block[at : at + unshared]
        at += unshared
        out.append((key, block[at : at + length]))
        at += length
    return out
