"""Tensor bundles and tables: equal to TensorFlow 1.15.5's files, byte for byte, and safe against damage."""

import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as tf
from headrace.formats import bundle, table, varint

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "checkpoints"
SUFFIXES = (".index", ".data-00000-of-00001")


def test_reads_every_type():
    reader = bundle.Reader(str(GOLDEN / "whole"))
    np.testing.assert_array_equal(reader.read("v"), np.float32([1, 2.5, -3]))
    np.testing.assert_array_equal(reader.read("a/w"), np.arange(6.0).reshape(2, 3))
    assert reader.read("step") == 3 and reader.read("step").dtype == np.int32
    assert reader.read("strings").tolist() == [b"x", b"yy", b"", b"\0"]
    assert reader.read("flag").tolist() == [True, False]
    assert reader.read("empty").shape == (0, 4)
    assert reader.entries()["a/w"] == (tf.float64, (2, 3))


def test_puts_slices_together():
    reader = bundle.Reader(str(GOLDEN / "parts"))
    np.testing.assert_array_equal(reader.read("big"), np.arange(300, dtype=np.float32).reshape(100, 3))
    np.testing.assert_array_equal(reader.read_slice("big", ((33, 2), (1, 2))), [[100, 101], [103, 104]])


@pytest.mark.parametrize("name", ["whole", "parts"])
def test_writes_the_same_bytes(name, tmp_path):
    bundle.write(str(tmp_path / name), bundle.Reader(str(GOLDEN / name)).rows())
    for suffix in SUFFIXES:
        assert (tmp_path / (name + suffix)).read_bytes() == (GOLDEN / (name + suffix)).read_bytes()


def copy(tmp_path, index=None, data=None):
    for suffix, change in zip(SUFFIXES, (index, data), strict=True):
        content = (GOLDEN / ("whole" + suffix)).read_bytes()
        (tmp_path / ("whole" + suffix)).write_bytes(change(content) if change else content)
    return str(tmp_path / "whole")


@pytest.mark.parametrize("length", [0, 10, 100, 200])
def test_a_truncated_index_is_refused(length, tmp_path):
    with pytest.raises(tf.errors.DataLossError):
        bundle.Reader(copy(tmp_path, index=lambda b: b[:length]))


def test_every_flipped_byte_of_the_index_is_refused_or_harmless(tmp_path):
    size = (GOLDEN / "whole.index").stat().st_size
    for i in range(0, size, 7):
        path = copy(tmp_path, index=lambda b, i=i: b[:i] + bytes([b[i] ^ 0x40]) + b[i + 1 :])
        try:
            reader = bundle.Reader(path)
            for name in reader.entries():
                reader.read(name)
        except tf.errors.OpError as e:
            assert isinstance(
                e, (tf.errors.DataLossError, tf.errors.NotFoundError, tf.errors.UnimplementedError)
            )


def test_damaged_data_is_refused(tmp_path):
    reader = bundle.Reader(copy(tmp_path, data=lambda b: bytes([b[0] ^ 1]) + b[1:]))
    with pytest.raises(tf.errors.DataLossError, match="Checksum does not match"):
        reader.read("a/w")
    reader = bundle.Reader(copy(tmp_path, data=lambda b: b[:8]))
    with pytest.raises(tf.errors.DataLossError, match="truncated"):
        reader.read("a/w")


def test_a_missing_bundle_is_named(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files for"):
        bundle.Reader(str(tmp_path / "nothing"))


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.binary(max_size=12), st.binary(max_size=40), max_size=60))
def test_tables_round_trip(items):
    assert table.read(table.build(sorted(items.items()))) == items


@given(st.integers(0, 2**63 - 1))
def test_varints_round_trip(value):
    data = varint.encode(value)
    assert varint.decode(data + b"\xff", 0) == (value, len(data))


def test_long_tables_have_several_blocks():
    items = [(f"k{i:06d}".encode(), bytes(200)) for i in range(3000)]
    data = table.build(items)
    assert list(table.read(data).items()) == items
