"""tf.resource_loader: files that lie beside a program's own."""

from __future__ import annotations

import os
import sys

from headrace.export import export


def _directory_of_caller(depth: int) -> str:
    return os.path.dirname(sys._getframe(depth + 1).f_code.co_filename)


@export("resource_loader.get_data_files_path")
def get_data_files_path() -> str:
    """Returns the directory of the file that calls this function."""
    return _directory_of_caller(1)


@export("resource_loader.get_path_to_datafile")
def get_path_to_datafile(path: str) -> str:
    """Returns a path relative to the calling file as one that can be opened."""
    return os.path.join(_directory_of_caller(1), path)


@export("resource_loader.get_root_dir_with_all_resources")
def get_root_dir_with_all_resources() -> str:
    """Returns the directory of the file that calls this function."""
    return _directory_of_caller(1)


@export("resource_loader.load_resource")
def load_resource(path: str) -> bytes:
    """Returns the content of a file, by its path relative to the package headrace.

    Raises:
      FileNotFoundError: There is no such file.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, path), "rb") as file:
        return file.read()


@export("resource_loader.readahead_file_path")
def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Returns the path as it is; elsewhere this function asks a file system to read ahead."""
    return path
