"""Reading checkpoints without a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.checkpoint.state import latest_checkpoint
from headrace.export import export
from headrace.formats.slices import open_checkpoint
from headrace.platform.file_io import files_of
from headrace.platform.strings import as_str


class CheckpointReader:
    """The tensors of one checkpoint, by name.

    Raises:
      NotFoundError: There is no such checkpoint.
    """

    def __init__(self, filepattern: Any):
        self._reader = open_checkpoint(as_str(filepattern))

    def has_tensor(self, tensor_str: Any) -> bool:
        """Tells whether there is a tensor of this name."""
        return as_str(tensor_str) in self._reader.entries()

    def get_tensor(self, tensor_str: Any) -> np.ndarray[Any, Any]:
        """Returns a tensor.

        Raises:
          NotFoundError: There is none of this name.
        """
        value = self._reader.read(as_str(tensor_str))
        return value[()] if value.ndim == 0 and value.dtype == object else value

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(shape) for name, (_, shape) in self._reader.entries().items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        return {name: dtype for name, (dtype, _) in self._reader.entries().items()}

    def debug_string(self) -> bytes:
        rows = self._reader.entries().items()
        return "".join(
            f"{name} (DT_{dtype.wire_name.upper()}) [{','.join(map(str, shape))}]\n"
            for name, (dtype, shape) in rows
        ).encode()


@export("train.NewCheckpointReader")
def NewCheckpointReader(filepattern: Any) -> CheckpointReader:
    """Returns a reader of the checkpoint at a path."""
    return CheckpointReader(filepattern)


def _found(ckpt_dir_or_file: Any) -> str:
    path = str(ckpt_dir_or_file)
    files, local = files_of(path)
    if not files.isdir(local):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return latest


@export("train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """Returns a reader of a checkpoint, the latest where a folder is given.

    Raises:
      ValueError: The folder has none.
    """
    return CheckpointReader(_found(ckpt_dir_or_file))


@export("train.load_variable")
def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """Returns one tensor of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@export("train.list_variables")
def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Returns the names and shapes of a checkpoint's tensors, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
