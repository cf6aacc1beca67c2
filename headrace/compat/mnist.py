"""The MNIST reader of TensorFlow's tutorials: `input_data.read_data_sets`."""

from __future__ import annotations

import gzip
import os
import urllib.request
from collections import namedtuple
from typing import Any

import numpy as np

from headrace import dtypes
from headrace.graph.seeds import get_seed
from headrace.platform import gfile

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"

Dataset = namedtuple("Dataset", ["data", "target"])
Datasets = namedtuple("Datasets", ["train", "validation", "test"])

_IMAGES = 2051
_LABELS = 2049
_FAKE = 10000


def _numbers(stream: Any, count: int) -> list[int]:
    return [int(number) for number in np.frombuffer(stream.read(4 * count), dtype=">i4")]


def extract_images(f: Any) -> np.ndarray:
    """Returns the images in a gzipped MNIST file, uint8 of shape [count, rows, columns, 1].

    Raises:
      ValueError: It is no such file.
    """
    print("Extracting", f.name)
    with gzip.GzipFile(fileobj=f) as stream:
        (magic,) = _numbers(stream, 1)
        if magic != _IMAGES:
            raise ValueError(f"Invalid magic number {magic} in MNIST image file: {f.name}")
        count, rows, columns = _numbers(stream, 3)
        data = np.frombuffer(stream.read(rows * columns * count), dtype=np.uint8)
        return data.reshape(count, rows, columns, 1)


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """Returns class numbers as rows with a single 1.0."""
    return np.eye(num_classes)[np.ravel(labels_dense)]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> np.ndarray:
    """Returns the labels in a gzipped MNIST file, as uint8 or as rows with a single 1.0.

    Raises:
      ValueError: It is no such file.
    """
    print("Extracting", f.name)
    with gzip.GzipFile(fileobj=f) as stream:
        magic, count = _numbers(stream, 2)
        if magic != _LABELS:
            raise ValueError(f"Invalid magic number {magic} in MNIST label file: {f.name}")
        labels = np.frombuffer(stream.read(count), dtype=np.uint8)
        return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet:
    """Images with labels, dealt in batches.

    Args:
      images: Of shape [count, rows, columns, 1].
      labels: One each.
      fake_data: Deal ones and zeros instead, for tests.
      one_hot: Whether the fake labels are rows.
      dtype: float32 scales the images to [0, 1], uint8 leaves them.
      reshape: Make each image a row.
      seed: Of the shuffling; the graph's seed or chance if None.

    Raises:
      TypeError: Another dtype.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ):
        graph_seed, op_seed = get_seed(seed)
        # NumPy's global stream, as in TensorFlow: programs that seed it see the same order of numbers.
        np.random.seed(graph_seed if seed is None else op_seed)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self._fake_row = [1] + [0] * 9 if one_hot else 0
        self._num_examples = _FAKE
        if not fake_data:
            assert images.shape[0] == labels.shape[0], (
                f"images.shape: {images.shape} labels.shape: {labels.shape}"
            )
            self._num_examples = images.shape[0]
            if reshape:
                assert images.shape[3] == 1
                images = images.reshape(images.shape[0], images.shape[1] * images.shape[2])
            if dtype is dtypes.float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images, self._labels = images, labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        """All images, in the order of the present epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """All labels, in the same order."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """How often all were dealt."""
        return self._epochs_completed

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> Any:
        """Returns the next images and labels; a batch may begin in one epoch and end in the next."""
        if fake_data:
            return [[1] * 784 for _ in range(batch_size)], [self._fake_row for _ in range(batch_size)]
        start = self._index_in_epoch
        if start == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        last_images, last_labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end - self._num_examples
        return (
            np.concatenate((last_images, self._images[: self._index_in_epoch]), axis=0),
            np.concatenate((last_labels, self._labels[: self._index_in_epoch]), axis=0),
        )


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Returns the path of a file in a directory, fetched if it is not there."""
    gfile.makedirs(work_directory)
    path = os.path.join(work_directory, filename)
    if not gfile.exists(path):
        part, _ = urllib.request.urlretrieve(source_url)
        gfile.copy(part, path)
        os.remove(part)
        print("Successfully downloaded", filename, gfile.stat(path).length, "bytes.")
    return path


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Returns MNIST as three DataSets, fetching the files that are not in a directory.

    Args:
      train_dir: The directory.
      fake_data: Make up the data, for tests.
      one_hot: Whether labels are rows with a single 1.0.
      dtype: See DataSet.
      reshape: See DataSet.
      validation_size: How many of the training images are kept for validation.
      seed: See DataSet.
      source_url: Where the files are fetched from.

    Raises:
      ValueError: There are not so many training images.
    """
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        fakes = [DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)]
        return Datasets(*fakes)
    read = []
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        file = name + "-ubyte.gz"
        path = maybe_download(file, train_dir, (source_url or DEFAULT_SOURCE_URL) + file)
        with gfile.GFile(path, "rb") as stream:
            read.append(extract_images(stream) if "images" in name else extract_labels(stream, one_hot))
    images, labels, test_images, test_labels = read
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    return Datasets(
        train=DataSet(images[validation_size:], labels[validation_size:], **options),
        validation=DataSet(images[:validation_size], labels[:validation_size], **options),
        test=DataSet(test_images, test_labels, **options),
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """Returns MNIST as three DataSets; see `read_data_sets`."""
    return read_data_sets(train_dir)
