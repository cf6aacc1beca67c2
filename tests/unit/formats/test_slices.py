"""Checkpoints of the first version, byte for byte as TensorFlow 1.15 writes them (recorded by record/slices.py)."""

import base64
import json
import pathlib

import numpy as np
import pytest

import headrace as tf
from headrace import errors
from headrace.formats import slices
from headrace.ops.io.checkpoint import parse_slice

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "checkpoints" / "slices.json"
ROWS = json.loads(GOLDEN.read_text())
WHOLE = {"x": np.arange(12, dtype=np.float32).reshape(4, 3)}


def arrays(tensors):
    for name, spec, dtype, value in tensors:
        if dtype == "string":
            array = np.array([v.encode() for v in value], object)
        else:
            array = np.array(value, dtype)
        yield name, array, *parse_slice(spec)


@pytest.fixture
def folder(tmp_path):
    for name, _, content in ROWS:
        (tmp_path / name).write_bytes(base64.b64decode(content))
    return tmp_path


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_bytes(row, tmp_path):
    name, tensors, content = row
    slices.write(str(tmp_path / name), arrays(tensors))
    assert (tmp_path / name).read_bytes() == base64.b64decode(content)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["two", "types"])
def test_reading(name, folder):
    reader = slices.open_checkpoint(str(folder / name))
    for key, array, *_ in arrays(next(tensors for n, tensors, _ in ROWS if n == name)):
        np.testing.assert_array_equal(reader.read(key), array)
        assert reader.read(key).dtype == array.dtype


def test_slices_join(folder):
    reader = slices.Reader(str(folder / "[fs]*"))
    np.testing.assert_array_equal(reader.read("x"), WHOLE["x"])
    np.testing.assert_array_equal(reader.read_slice("x", ((1, 2), (1, 1))), WHOLE["x"][1:3, 1:2])
    with pytest.raises(errors.InvalidArgumentError, match="Error copying slice data"):
        slices.Reader(str(folder / "first")).read("x")


def test_savers_and_readers_take_them(folder):
    path = str(folder / "two")
    assert tf.train.NewCheckpointReader(path).get_variable_to_shape_map() == {"x": [2, 3], "y/z": [2]}
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.get_variable("x", [2, 3])
        tf.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(x), WHOLE["x"][:2])


@pytest.mark.parametrize("damage", ["short", "flipped", "junk", "empty"])
def test_damage_is_data_loss(damage, folder):
    path = folder / "two"
    data = bytearray(path.read_bytes())
    if damage == "short":
        data = data[: len(data) // 2]
    elif damage == "flipped":
        data[60] ^= 1
    else:
        data = b"xx" * 100 if damage == "junk" else b""
    path.write_bytes(data)
    with pytest.raises(errors.DataLossError):
        slices.Reader(str(path)).read("x")


def test_a_lying_shape_takes_no_memory(folder, tmp_path):
    """A file may say that a tensor is of any size; nothing of that size is made before the data is seen."""
    from headrace.formats import table
    from headrace.proto import SavedTensorSlices

    items = table.read((folder / "two").read_bytes())
    head = SavedTensorSlices.FromString(items[b""])
    head.meta.tensor[0].shape.dim[0].size = 2**50
    items[b""] = head.SerializeToString()
    path = tmp_path / "lies"
    path.write_bytes(table.build(sorted(items.items())))
    with pytest.raises(errors.DataLossError, match="6 values"):
        slices.Reader(str(path)).read("x")


def test_types_without_a_place_are_refused(tmp_path):
    with pytest.raises(errors.UnimplementedError, match="Saving data type uint32 not yet supported"):
        slices.write(str(tmp_path / "a"), [("u", np.uint32([3]), None, None)])
    assert not list(tmp_path.iterdir())
