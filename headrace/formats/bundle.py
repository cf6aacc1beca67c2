"""Tensor bundles: the checkpoint format V2, `prefix.index` with one or more `prefix.data-00000-of-00001`.

The index is a sorted table from tensor name to BundleEntryProto; under the empty name stands a BundleHeaderProto. A
tensor saved in slices has an entry that lists them, and one entry a slice under an encoded key.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace import errors
from headrace.dtypes import as_dtype, string
from headrace.formats import table, varint
from headrace.formats.checksum import crc32c, mask
from headrace.platform.file_io import files_of

Slice = tuple[tuple[int, int], ...]
"""For each dimension its start and length."""


def data_path(prefix: str, shard: int, shards: int) -> str:
    """Returns the path of a data file."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def paths(prefix: str) -> list[str]:
    """Returns the paths of a bundle's files."""
    return [prefix + ".index", *glob.glob(glob.escape(prefix) + ".data-?????-of-?????")]


def slice_key(name: str, part: Slice) -> bytes:
    """Returns the key of one slice of a tensor: it sorts by name, then by place."""
    out = b"\0" + name.encode().replace(b"\xff", b"\xff\0").replace(b"\0", b"\0\xff") + b"\0\x01"
    out += _number(len(part))
    for start, length in part:
        out += _signed(start) + _signed(length)
    return out


def _number(value: int) -> bytes:
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def _signed(value: int) -> bytes:
    bits = (value if value >= 0 else ~value).bit_length() + 1
    size = max(1, -(-bits // 7))
    head = (
        (0xFF00 >> size & 0xFF).to_bytes(1, "big")
        if size < 8
        else b"\xff" + (0xFF00 >> (size - 8) & 0xFF).to_bytes(1, "big")
    )
    raw = value.to_bytes(size, "big", signed=True)
    return bytes(b ^ (head[i] if i < len(head) else 0) for i, b in enumerate(raw))


def write(prefix: str, tensors: Iterable[tuple[str, Any, tuple[int, ...] | None, Slice | None]]) -> None:
    """Writes a bundle of one data file.

    Args:
      prefix: What the files' names start with.
      tensors: (name, array, whole shape, slice): the latter two None for a whole tensor.
    """
    from headrace.proto import BundleEntryProto, BundleHeaderProto

    items: dict[bytes, Any] = {}
    files, prefix = files_of(prefix)
    folder = os.path.dirname(prefix)
    if folder and not files.isdir(folder):
        # One missing level is made, as TensorFlow makes it; opening the file tells of any other trouble.
        with contextlib.suppress(OSError):
            files.mkdir(folder)
    offset = 0
    with files.open(data_path(prefix, 0, 1), "wb") as data:
        for name, array, whole, part in sorted(tensors, key=lambda t: t[0]):
            payload, checksum = _payload(array)
            entry = BundleEntryProto(offset=offset, size=len(payload), crc32c=checksum)
            entry.dtype = _dtype_of(array).as_datatype_enum
            entry.shape.SetInParent()
            for d in np.shape(array):
                entry.shape.dim.add(size=d)
            data.write(payload)
            offset += len(payload)
            if part is None:
                items[name.encode()] = entry
                continue
            full = items.setdefault(name.encode(), BundleEntryProto(dtype=entry.dtype))
            if not full.shape.dim:
                full.shape.SetInParent()
                for d in whole or ():
                    full.shape.dim.add(size=d)
            extent = full.slices.add()
            for start, length in part:
                extent.extent.add(start=start, length=length)
            items[slice_key(name, tuple(part))] = entry
    header = BundleHeaderProto(num_shards=1)
    header.version.producer = 1
    rows = [(b"", header), *sorted(items.items())]
    with files.open(prefix + ".index", "wb") as index:
        index.write(table.build((key, message.SerializeToString()) for key, message in rows))


def _dtype_of(array: Any) -> Any:
    return string if array.dtype == object else as_dtype(array.dtype)


def _payload(array: Any) -> tuple[bytes, int]:
    if array.dtype != object:
        payload = np.ascontiguousarray(array).tobytes()
        return payload, mask(crc32c(payload))
    flat = [v if isinstance(v, bytes) else str(v).encode() for v in array.ravel().tolist()]
    lengths = b"".join(varint.encode(len(v)) for v in flat)
    # The lengths' checksum is over fixed-size numbers, not over the varints that are stored.
    crc = crc32c(b"".join(struct.pack("<I" if len(v) < 2**32 else "<Q", len(v)) for v in flat))
    stored = struct.pack("<I", mask(crc))
    crc = crc32c(stored, crc)
    for v in flat:
        crc = crc32c(v, crc)
    return lengths + stored + b"".join(flat), mask(crc)


class Reader:
    """Reads tensors of a bundle.

    Args:
      prefix: What the files' names start with.

    Raises:
      NotFoundError: There is no such bundle.
      DataLossError: The index is corrupt.
    """

    def __init__(self, prefix: str):
        from headrace.proto import BundleHeaderProto

        self._files, prefix = files_of(prefix)
        self._prefix = prefix
        path = prefix + ".index"
        if not self._files.exists(path):
            raise errors.NotFoundError(
                None,
                None,
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {prefix}",
            )
        with self._files.open(path, "rb") as f:
            self._items = table.read(f.read(), path)
        header = self._items.pop(b"", None)
        if header is None:
            raise errors.DataLossError(None, None, f"{path}: the header is missing")
        self._header = _parse(BundleHeaderProto, header, path)
        if self._header.endianness != 0:
            raise errors.UnimplementedError(None, None, f"{path}: big-endian bundles are not supported")

    def entries(self) -> dict[str, tuple[Any, tuple[int, ...]]]:
        """Returns name -> (dtype, shape) of all whole tensors."""
        out = {}
        for key in self._items:
            if key[:1] != b"\0":
                entry = self._entry(key)
                out[key.decode()] = (as_dtype(entry.dtype), tuple(d.size for d in entry.shape.dim))
        return out

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._items

    def _entry(self, key: bytes) -> Any:
        from headrace.proto import BundleEntryProto

        found = self._items.get(key)
        if found is None:
            raise errors.NotFoundError(
                None, None, f"Key {key.decode(errors='replace')} not found in checkpoint"
            )
        return _parse(BundleEntryProto, found, self._prefix)

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """Returns a whole tensor, put together from its slices if it was saved so.

        Raises:
          NotFoundError: There is no such tensor.
          DataLossError: The data is corrupt or cut short.
        """
        entry = self._entry(name.encode())
        if not entry.slices:
            return self._array(entry, name)
        shape = tuple(d.size for d in entry.shape.dim)
        out: Any = None
        for part in self._parts(entry, shape):
            piece = self._array(self._entry(slice_key(name, part)), name)
            if out is None:
                out = np.zeros(shape, piece.dtype)
            out[tuple(slice(s, s + n) for s, n in part)] = piece
        return out  # type: ignore[no-any-return]

    def rows(self) -> list[tuple[str, Any, tuple[int, ...] | None, Slice | None]]:
        """Returns everything in the form that `write` takes."""
        out: list[tuple[str, Any, tuple[int, ...] | None, Slice | None]] = []
        for name, (_, shape) in self.entries().items():
            parts = self._parts(self._entry(name.encode()), shape)
            if not parts:
                out.append((name, self.read(name), None, None))
            for part in parts:
                out.append((name, self._array(self._entry(slice_key(name, part)), name), shape, part))
        return out

    @staticmethod
    def _parts(entry: Any, shape: tuple[int, ...]) -> list[Slice]:
        return [
            tuple(
                (e.start, e.length) if e.WhichOneof("has_length") else (0, d)
                for e, d in zip(proto.extent, shape, strict=True)
            )
            for proto in entry.slices
        ]

    def read_slice(self, name: str, part: Slice) -> np.ndarray[Any, Any]:
        """Returns a part of a tensor."""
        whole = self.read(name)
        return whole[tuple(slice(s, s + n) for s, n in part)]

    def _array(self, entry: Any, name: str) -> np.ndarray[Any, Any]:
        path = data_path(self._prefix, entry.shard_id, self._header.num_shards)
        if not self._files.exists(path):
            raise errors.NotFoundError(None, None, f"{path}; No such file or directory")
        with self._files.open(path, "rb") as f:
            f.seek(entry.offset)
            data = f.read(entry.size)
        shape = tuple(d.size for d in entry.shape.dim)
        dtype = as_dtype(entry.dtype)
        count = math.prod(shape)
        if len(data) != entry.size:
            raise errors.DataLossError(
                None, None, f"{path}: truncated, tensor {name} needs {entry.size} bytes"
            )
        if dtype is string:
            return _strings(data, entry.crc32c, count, name).reshape(shape)
        if mask(crc32c(data)) != entry.crc32c:
            raise errors.DataLossError(
                None, None, f"Checksum does not match: stored {entry.crc32c} for tensor {name}"
            )
        if count * dtype.size != len(data):
            raise errors.DataLossError(
                None, None, f"tensor {name} of shape {list(shape)} has {len(data)} bytes"
            )
        return np.frombuffer(data, dtype.storage).reshape(shape).copy()


def _strings(data: bytes, checksum: int, count: int, name: str) -> np.ndarray[Any, Any]:
    if count > len(data):
        raise errors.DataLossError(None, None, f"tensor {name}: {count} strings in {len(data)} bytes")
    at, lengths = 0, []
    for _ in range(count):
        n, at = varint.decode(data, at)
        lengths.append(n)
    at += 4
    out = np.empty(count, object)
    for i, n in enumerate(lengths):
        if at + n > len(data):
            raise errors.DataLossError(None, None, f"tensor {name}: a string is cut short")
        out[i] = data[at : at + n]
        at += n
    if _payload(out)[1] != checksum:
        raise errors.DataLossError(
            None, None, f"Checksum does not match: stored {checksum} for tensor {name}"
        )
    return out


def _parse(message: Any, data: bytes, where: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError as e:
        raise errors.DataLossError(None, None, f"{where}: an entry can't be read: {e}") from None
