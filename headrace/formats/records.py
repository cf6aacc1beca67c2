"""Record files (TFRecord): length, masked CRC32C of the length, bytes, masked CRC32C of the bytes, and so on.

The whole file may be compressed. `RecordReader` and `RecordWriter` know nothing of options; tf.io's faces of them
are in `headrace.summary.record_options`.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from headrace import errors
from headrace.formats.checksum import masked_crc32c
from headrace.platform.file_io import files_of, told_as_tensorflow
from headrace.platform.strings import as_text

NONE, ZLIB, GZIP = "", "ZLIB", "GZIP"

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_CHUNK = 1 << 18
_GZIP_BITS = 16  # added to zlib's window bits


def frame(record: bytes) -> bytes:
    """Returns a record as it stands in a file."""
    length = struct.pack("<Q", len(record))
    return b"".join((length, _CRC.pack(masked_crc32c(length)), record, _CRC.pack(masked_crc32c(record))))


class RecordWriter:
    """Writes a record file, which it begins anew.

    Args:
      path: The file's path.
      compression: "", "ZLIB" or "GZIP".
      level: zlib's level, -1 for its own choice.
      window_bits: zlib's window.
      memory: zlib's memory level.
      strategy: zlib's strategy.
      flush_mode: What of zlib's state `flush` brings out.

    Raises:
      NotFoundError: There is no such directory.
    """

    def __init__(
        self,
        path: Any,
        compression: str = NONE,
        *,
        level: int = -1,
        window_bits: int = 15,
        memory: int = 9,
        strategy: int = zlib.Z_DEFAULT_STRATEGY,
        flush_mode: int = zlib.Z_PARTIAL_FLUSH,
    ):
        self._flush_mode = flush_mode
        self._compress: Any = None
        if compression:
            bits = window_bits + (_GZIP_BITS if compression == GZIP else 0)
            self._compress = zlib.compressobj(level, zlib.DEFLATED, bits, memory, strategy)
        path = as_text(os.fspath(path))
        files, name = files_of(path)
        open_file: Any = files.open
        self._file: Any = None
        with told_as_tensorflow(path):
            self._file = open_file(name, "wb")

    def _open(self) -> Any:
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer not initialized or previously closed")
        return self._file

    def write(self, record: bytes) -> None:
        """Adds a record.

        Args:
          record: Its bytes.

        Raises:
          TypeError: It is no bytes.
          FailedPreconditionError: The file is closed.
        """
        file = self._open()
        if not isinstance(record, bytes):
            raise TypeError(f"expected bytes, {type(record).__name__} found")
        data = frame(record)
        file.write(data if self._compress is None else self._compress.compress(data))

    def flush(self) -> None:
        """Hands all to the operating system.

        Raises:
          FailedPreconditionError: The file is closed.
        """
        file = self._open()
        if self._compress is not None and self._flush_mode != zlib.Z_NO_FLUSH:
            file.write(self._compress.flush(self._flush_mode))
        file.flush()

    def close(self) -> None:
        """Writes out all and closes the file; a second time does nothing."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            if self._compress is not None:
                file.write(self._compress.flush())
        finally:
            file.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()


class _Inflated:
    """A compressed stream, read as what it holds. Data behind the end of the compressed stream is passed over."""

    def __init__(self, file: Any, compression: str):
        self._file = file
        self._inflate = zlib.decompressobj(15 + (_GZIP_BITS if compression == GZIP else 0))

    def read(self, n: int) -> bytes:
        out: list[bytes] = []
        while n > 0 and not self._inflate.eof:
            data = self._inflate.unconsumed_tail or self._file.read(_CHUNK)
            try:
                part = self._inflate.decompress(data, n)
            except zlib.error as error:
                raise errors.DataLossError(None, None, _as_told(str(error))) from None
            if not part and not data:
                break
            out.append(part)
            n -= len(part)
        return b"".join(out)

    def close(self) -> None:
        self._file.close()


def _as_told(message: str) -> str:
    """Error -3 while decompressing data: incorrect header check -> the same in TensorFlow's words."""
    match = re.match(r"Error (-?\d+) while [^:]*(: .*)?$", message)
    return f"inflate() failed with error {match[1]}{match[2] or ''}" if match else message


class RecordReader:
    """Reads a record file from its beginning.

    Args:
      path: The file's path.
      compression: "", "ZLIB" or "GZIP".
      buffer_size: How many bytes are read at a time; None for the usual number.

    Attributes:
      offset: Where the next record begins, in what the file holds uncompressed.

    Raises:
      NotFoundError: There is no such file.
    """

    def __init__(self, path: Any, compression: str = NONE, buffer_size: int | None = None):
        self.path = as_text(os.fspath(path))
        self.offset = 0
        files, name = files_of(self.path)
        open_file: Any = files.open
        with told_as_tensorflow(self.path):
            file = open_file(name, "rb", buffer_size or _CHUNK)
        self._source: Any = _Inflated(file, compression) if compression else file

    def _read(self, n: int) -> bytes:
        if n <= _CHUNK:
            return self._source.read(n)  # type: ignore[no-any-return]
        # A length that lies must not cost memory: no more is asked for than comes.
        parts = []
        while n > 0:
            part = self._source.read(min(n, _CHUNK))
            if not part:
                break
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def read(self) -> bytes | None:
        """Returns the next record, None at the end. A last header that is cut short counts as the end.

        Raises:
          DataLossError: A checksum does not fit, or the file ends within the record.
        """
        start = self.offset
        header = self._read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        length, crc = _HEADER.unpack(header)
        if masked_crc32c(header[:8]) != crc:
            raise self._lost("corrupted", start)
        body = self._read(length + _CRC.size)
        if len(body) < length + _CRC.size:
            raise self._lost("truncated", start)
        record = body[:length]
        if masked_crc32c(record) != _CRC.unpack_from(body, length)[0]:
            raise self._lost("corrupted", start + _HEADER.size)
        self.offset = start + _HEADER.size + len(body)
        return record

    def skip_to(self, offset: int) -> None:
        """Goes on from another place: one that `offset` has told."""
        if isinstance(self._source, _Inflated):
            if offset < self.offset:
                raise errors.UnimplementedError(None, None, "a compressed record file is read forwards only")
            self._read(offset - self.offset)
        else:
            self._source.seek(offset)
        self.offset = offset

    def _lost(self, how: str, where: int) -> errors.OpError:
        return errors.DataLossError(None, None, f"{how} record at {where}")  # type: ignore[no-any-return]

    def close(self) -> None:
        """Closes the file."""
        self._source.close()

    def __iter__(self) -> Iterator[bytes]:
        while (record := self.read()) is not None:
            yield record

    def __enter__(self) -> RecordReader:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
