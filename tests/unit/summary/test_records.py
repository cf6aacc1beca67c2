"""Record files: TensorFlow's bytes, and its words for damage. The files below were written by TensorFlow 1.15."""

import struct
import subprocess
import sys
import zlib

import pytest

import headrace as tf
from headrace import errors
from headrace.formats.checksum import masked_crc32c
from headrace.formats.records import RecordReader

RECORDS = [b"a", b"", b"mill race " * 3]
PLAIN = bytes.fromhex(
    "01000000000000000175de4161786ee428000000000000000029039807d8ea82a21e00000000000000d9dc1232"
    "6d696c6c2072616365206d696c6c2072616365206d696c6c20726163652065bda14e"
)
GZIP = bytes.fromhex(
    "1f8b080000000000000363648000c6d27b8e8915794f34a07c064de619ec375e352d9283f26fde1132cacdccc951284a4c4e55c0"
    "c64addbbd00f001112cb204f000000"
)
ZLIB = bytes.fromhex(
    "789c63648000c6d27b8e8915794f34a07c064de619ec375e352d9283f26fde1132cacdccc951284a4c4e55c0c64addbbd00f00e2"
    "f7165e"
)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "records")


def written(path, options=None):
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    with open(path, "rb") as file:
        return file.read()


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read(path, options=None):
    """Returns the lengths of the records that can be read, and the message of the error that ends them."""
    lengths = []
    try:
        for record in tf.python_io.tf_record_iterator(path, options):
            lengths.append(len(record))
    except errors.DataLossError as error:
        return lengths, error.message
    return lengths, None


def test_plain_files_are_tensorflows_byte_for_byte(path):
    assert written(path) == PLAIN


@pytest.mark.parametrize(
    ("options", "bits"), [("GZIP", 31), ("ZLIB", 15), (tf.io.TFRecordOptions(compression_level=0), None)]
)
def test_compressed_files_hold_the_same(path, options, bits):
    data = written(path, options)
    assert (zlib.decompress(data, bits) if bits else data) == PLAIN


@pytest.mark.parametrize(("options", "data"), [(None, PLAIN), ("GZIP", GZIP), ("ZLIB", ZLIB)])
def test_reads_what_tensorflow_wrote(path, options, data):
    put(path, data)
    assert list(tf.io.tf_record_iterator(path, options)) == RECORDS


def changed(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("data", "gives"),
    [
        (b"", ([], None)),
        (PLAIN[:5], ([], None)),
        (PLAIN[:12], ([], "truncated record at 0")),
        (PLAIN[:14], ([], "truncated record at 0")),
        (PLAIN[:-1], ([1, 0], "truncated record at 33")),
        (PLAIN + b"\0", ([1, 0, 30], None)),
        (PLAIN + b"\0" * 12, ([1, 0, 30], "corrupted record at 79")),
        (changed(PLAIN, 0), ([], "corrupted record at 0")),
        (changed(PLAIN, 9), ([], "corrupted record at 0")),
        (changed(PLAIN, 12), ([], "corrupted record at 12")),
        (changed(PLAIN, 47), ([1, 0], "corrupted record at 45")),
        (b"hello world this is no record file at all", ([], "corrupted record at 0")),
    ],
)
def test_damage_is_told_as_tensorflow_tells_it(path, data, gives):
    put(path, data)
    assert read(path) == gives


@pytest.mark.parametrize(
    ("data", "options", "gives"),
    [
        (GZIP[:-12], "GZIP", ([1, 0], "truncated record at 33")),
        (PLAIN, "GZIP", ([], "inflate() failed with error -3: incorrect header check")),
        (PLAIN, "ZLIB", ([], "inflate() failed with error -3: incorrect header check")),
        (b"", "GZIP", ([], None)),
        (GZIP + GZIP, "GZIP", ([1, 0, 30], None)),
        (GZIP + b"junk", "GZIP", ([1, 0, 30], None)),
        (GZIP, None, ([], "corrupted record at 0")),
    ],
)
def test_damage_to_compressed_files(path, data, options, gives):
    put(path, data)
    assert read(path, options) == gives


def test_a_length_that_lies_costs_no_memory(path):
    length = struct.pack("<Q", 2**62)
    put(path, length + struct.pack("<I", masked_crc32c(length)) + b"short")
    assert read(path) == ([], "truncated record at 0")


def test_a_missing_file_is_missed_when_read(path):
    records = tf.python_io.tf_record_iterator(path)
    with pytest.raises(errors.NotFoundError, match="No such file or directory"):
        next(records)


def test_writers_refuse_text_and_work_after_close(path):
    writer = tf.python_io.TFRecordWriter(path)
    with pytest.raises(TypeError, match="expected bytes, str found"):
        writer.write("text")
    writer.close()
    writer.close()
    with pytest.raises(errors.FailedPreconditionError, match="previously closed"):
        writer.write(b"late")
    with pytest.raises(errors.FailedPreconditionError, match="previously closed"):
        writer.flush()


@pytest.mark.parametrize("options", [None, "GZIP", "ZLIB"])
def test_flushed_records_can_be_read_at_once(path, options):
    writer = tf.python_io.TFRecordWriter(path, options)
    writer.write(b"x" * 300)
    writer.flush()
    assert read(path, options) == ([300], None)
    writer.close()


def test_the_names_of_compressions():
    kind = tf.python_io.TFRecordCompressionType
    name_of = tf.python_io.TFRecordOptions.get_compression_type_string
    given = [None, kind.NONE, kind.ZLIB, kind.GZIP, "", "GZIP", tf.io.TFRecordOptions(kind.ZLIB)]
    assert [name_of(each) for each in given] == ["", "", "ZLIB", "GZIP", "", "GZIP", "ZLIB"]
    with pytest.raises(ValueError, match='Not a valid compression_type: "bad"'):
        tf.io.TFRecordOptions("bad")


@pytest.mark.parametrize(("data", "compression"), [(PLAIN, ""), (GZIP, "GZIP")])
def test_a_reader_goes_on_where_another_stopped(path, data, compression):
    put(path, data)
    with RecordReader(path, compression) as reader:
        assert reader.read() == b"a"
        offset = reader.offset
    with RecordReader(path, compression) as reader:
        reader.skip_to(offset)
        assert list(reader) == RECORDS[1:]


def test_large_records_come_back(path):
    large = bytes(range(256)) * 4096
    for options in (None, "GZIP"):
        with tf.io.TFRecordWriter(path, options) as writer:
            writer.write(large)
            writer.write(b"after")
        assert list(tf.io.tf_record_iterator(path, options)) == [large, b"after"]


def test_a_writer_left_open_is_written_at_the_end(path):
    program = f"import headrace as tf; w = tf.python_io.TFRecordWriter({path!r}); w.write(b'kept')"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert read(path) == ([4], None)
