"""Libraries of compiled kernels and file systems, which headrace can't load."""

from __future__ import annotations

import errno
import os
from typing import Any

from headrace.errors import NotFoundError
from headrace.export import export


def _refuse(function: str, path: Any) -> None:
    raise NotImplementedError(
        f"tf.{function}: headrace can't load the library {path}: it was compiled for TensorFlow's own kernels. Write "
        "the op in Python instead: see docs/add_an_op.md."
    )


def _load_file(function: str, path: Any) -> None:
    if not os.path.exists(path):
        raise NotFoundError(None, None, f"{path}: cannot open shared object file: No such file or directory")
    _refuse(function, path)


@export("load_op_library")
def load_op_library(library_filename: Any) -> None:
    """Refuses a library of ops, since compiled kernels can't be used here.

    Args:
      library_filename: The library's file.

    Raises:
      NotFoundError: There is no such file.
      NotImplementedError: There is one.
    """
    _load_file("load_op_library", library_filename)


@export("load_file_system_library")
def load_file_system_library(library_filename: Any) -> None:
    """Refuses a library with a file system, since compiled ones can't be used here.

    Args:
      library_filename: The library's file.

    Raises:
      NotFoundError: There is no such file.
      NotImplementedError: There is one.
    """
    _load_file("load_file_system_library", library_filename)


@export("load_library")
def load_library(library_location: Any) -> None:
    """Refuses a library, or a folder of libraries, since compiled kernels can't be used here.

    Args:
      library_location: A file or a folder.

    Raises:
      FileNotFoundError: There is no such file or folder.
      NotImplementedError: There is one.
    """
    if not os.path.exists(library_location):
        raise FileNotFoundError(
            errno.ENOENT, "The file or folder to load kernel libraries from does not exist.", library_location
        )
    _refuse("load_library", library_location)
