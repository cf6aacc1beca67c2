"""The MNIST reader: shuffles and numbers are what TensorFlow 1.15 gives."""

import gzip
import struct

import numpy as np
import pytest

import headrace as tf
from headrace.compat import mnist


def images():
    return np.arange(24).reshape(6, 2, 2, 1).astype(np.uint8)


def test_batches_go_over_the_ends_of_epochs():
    data = mnist.DataSet(images(), np.arange(6), seed=1)
    assert data.images.dtype == np.float32
    np.testing.assert_allclose(data.images[1], [0.01568628, 0.01960784, 0.02352941, 0.02745098], rtol=1e-6)
    batches = [(data.next_batch(4)[1].tolist(), data.epochs_completed) for _ in range(4)]
    assert batches == [([2, 1, 4, 0], 0), ([3, 5, 3, 4], 1), ([2, 5, 0, 1], 1), ([2, 3, 1, 5], 2)]
    assert mnist.DataSet(images(), np.arange(6)).next_batch(6, shuffle=False)[1].tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]


def test_the_seed_of_the_graph_counts():
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        assert mnist.DataSet(images(), np.arange(6)).next_batch(6)[1].tolist() == [3, 5, 0, 2, 1, 4]


def test_dtypes():
    assert mnist.DataSet(images(), np.arange(6), dtype=tf.uint8, reshape=False).images.shape == (6, 2, 2, 1)
    with pytest.raises(TypeError) as caught:
        mnist.DataSet(images(), np.arange(6), dtype=tf.int32)
    assert str(caught.value) == "Invalid image dtype tf.int32, expected uint8 or float32"


def write(folder, name, count):
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb") as file:
        file.write(struct.pack(">iiii", 2051, count, 28, 28) + bytes(i % 256 for i in range(count * 784)))
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb") as file:
        file.write(struct.pack(">ii", 2049, count) + bytes(i % 10 for i in range(count)))


def test_files(tmp_path):
    write(tmp_path, "train", 30)
    write(tmp_path, "t10k", 10)
    data = mnist.read_data_sets(str(tmp_path), one_hot=True, validation_size=5, seed=3)
    assert data.train.images.shape == (25, 784) and data.validation.images.shape == (5, 784)
    assert data.test.labels[3].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert data.train.next_batch(3)[1].argmax(1).tolist() == [3, 2, 7]
    np.testing.assert_allclose(data.train.images[0, :3], [0.43921572, 0.4431373, 0.44705886], rtol=1e-6)
    with pytest.raises(ValueError) as caught:
        mnist.read_data_sets(str(tmp_path), validation_size=50)
    assert str(caught.value) == "Validation size should be between 0 and 30. Received: 50."


def test_a_file_of_another_kind(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(struct.pack(">iiii", 7, 1, 2, 2) + b"1234"))
    with pytest.raises(ValueError) as caught, tf.gfile.GFile(str(path), "rb") as file:
        mnist.extract_images(file)
    assert str(caught.value) == f"Invalid magic number 7 in MNIST image file: {path}"
