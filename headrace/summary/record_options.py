"""tf.io.TFRecordWriter, tf_record_iterator and their options."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, ClassVar

from headrace.export import export
from headrace.formats.records import GZIP, NONE, ZLIB, RecordReader, RecordWriter


@export("io.TFRecordCompressionType", "python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    """How a record file is compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


@export("io.TFRecordOptions", "python_io.TFRecordOptions")
class TFRecordOptions:
    """How a record file is written and read.

    Args:
      compression_type: "GZIP", "ZLIB" or "" (no compression), or a constant of TFRecordCompressionType.
      flush_mode: zlib's flush mode, for `TFRecordWriter.flush`.
      input_buffer_size: How many bytes are compressed at a time; kept for the record, zlib needs none.
      output_buffer_size: Kept for the record too.
      window_bits: zlib's window, 8 to 15.
      compression_level: 0 to 9, or -1.
      compression_method: zlib's method; there is one.
      mem_level: zlib's memory level, 1 to 9.
      compression_strategy: zlib's strategy.

    Raises:
      ValueError: There is no such compression.
    """

    compression_type_map: ClassVar[dict[int, str]] = {
        TFRecordCompressionType.ZLIB: ZLIB,
        TFRecordCompressionType.GZIP: GZIP,
        TFRecordCompressionType.NONE: NONE,
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ):
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Returns "GZIP", "ZLIB" or "" for whatever says so.

        Args:
          options: A TFRecordOptions, one of these strings, a constant of TFRecordCompressionType, or None.

        Raises:
          ValueError: There is no such compression.
        """
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if not options:
            return NONE
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')


@export("io.TFRecordWriter", "python_io.TFRecordWriter")
class TFRecordWriter(RecordWriter):
    """Writes a file of records, each a string of bytes.

    Args:
      path: The file's path; a file that is there is written over.
      options: A TFRecordOptions, or the name of a compression.

    Raises:
      NotFoundError: There is no such directory.
      ValueError: There is no such compression.
    """

    def __init__(self, path: Any, options: Any = None):
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        given = {
            "flush_mode": options.flush_mode,
            "window_bits": options.window_bits,
            "level": options.compression_level,
            "memory": options.mem_level,
            "strategy": options.compression_strategy,
        }
        kind = TFRecordOptions.get_compression_type_string(options)
        try:
            super().__init__(path, kind, **{key: value for key, value in given.items() if value is not None})
        except (ValueError, zlib.error) as error:
            raise ValueError(f"zlib does not take these TFRecordOptions: {error}") from None


@export("io.tf_record_iterator", "python_io.tf_record_iterator")
def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yields the records of a file, in order.

    Args:
      path: The file's path.
      options: A TFRecordOptions, or the name of a compression.

    Raises:
      NotFoundError: There is no such file.
      DataLossError: The file is damaged or cut short.
    """
    with RecordReader(path, TFRecordOptions.get_compression_type_string(options)) as reader:
        yield from reader
