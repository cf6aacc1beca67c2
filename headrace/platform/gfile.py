"""tf.gfile and tf.io.gfile: files and directories, local or of any scheme that fsspec knows."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace import errors
from headrace.export import export
from headrace.platform import file_io
from headrace.platform.file_io import files_of, told_as_tensorflow
from headrace.platform.strings import as_text


@export("gfile.GFile", "gfile.Open", "io.gfile.GFile")
class GFile(file_io.FileIO):
    """A file opened when it is first read or written; see the methods."""


@export("gfile.FastGFile")
class FastGFile(file_io.FileIO):
    """The same as GFile, under a name that TensorFlow itself calls outdated."""


export("gfile.Stat")(file_io.stat)


@export("io.gfile.stat")
def stat(path: Any) -> file_io.FileStatistics:
    """Returns the length, the time of the last change and the kind of a file or directory.

    Raises:
      NotFoundError: There is no such file or directory.
    """
    return file_io.stat(path)


@export("io.gfile.exists")
def exists(path: Any) -> bool:
    """Says whether there is a file or directory of that name."""
    files, local = files_of(as_text(path))
    return bool(files.exists(local))


@export("io.gfile.isdir")
def isdir(path: Any) -> bool:
    """Says whether the path is a directory."""
    files, local = files_of(as_text(path))
    return bool(files.isdir(local))


@export("io.gfile.listdir")
def listdir(path: Any) -> list[str]:
    """Returns the names in a directory, in the order of the file system.

    Raises:
      NotFoundError: There is no such directory.
    """
    name = as_text(path)
    files, local = files_of(name)
    if not files.isdir(local):
        raise errors.NotFoundError(None, None, f"Could not find directory {name}")
    with told_as_tensorflow(name):
        return files.listdir(local)


@export("io.gfile.mkdir")
def mkdir(path: Any) -> None:
    """Makes a directory in one that exists; one that is there already is left alone.

    Raises:
      NotFoundError: The directory it should be in does not exist.
    """
    name = as_text(path)
    files, local = files_of(name)
    with told_as_tensorflow(name):
        if not files.exists(local):
            files.mkdir(local)


@export("io.gfile.makedirs")
def makedirs(path: Any) -> None:
    """Makes a directory and those above it; what is there already is left alone."""
    name = as_text(path)
    files, local = files_of(name)
    if not local:
        return
    with told_as_tensorflow(name, inner=True):
        if not files.exists(local):
            files.makedirs(local, exist_ok=True)


@export("io.gfile.remove")
def remove(path: Any) -> None:
    """Deletes a file.

    Raises:
      NotFoundError: There is no such file.
      FailedPreconditionError: It is a directory.
    """
    name = as_text(path)
    files, local = files_of(name)
    with told_as_tensorflow(name):
        files.rm_file(local)


@export("io.gfile.rmtree")
def rmtree(path: Any) -> None:
    """Deletes a directory with all that is in it.

    Raises:
      NotFoundError: There is no such directory.
      FailedPreconditionError: It is a file.
    """
    name = as_text(path)
    files, local = files_of(name)
    if not files.exists(local):
        raise errors.NotFoundError(None, None, f"{name} not found")
    if not files.isdir(local):
        raise errors.FailedPreconditionError(None, None, f"{name}; Not a directory")
    with told_as_tensorflow(name):
        files.rmtree(local)


def _refuse_existing(path: str, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise errors.AlreadyExistsError(None, None, "file already exists")


@export("io.gfile.copy")
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies the content of a file.

    Raises:
      AlreadyExistsError: The new name is taken and `overwrite` is not set.
    """
    source, target = as_text(src), as_text(dst)
    _refuse_existing(target, overwrite)
    if isdir(source):
        raise errors.InvalidArgumentError(None, None, f"{target}; Invalid argument")
    with GFile(source, "rb") as reader, GFile(target, "wb") as writer:
        block = reader.read(1 << 20)
        writer.write(block)
        while block:
            block = reader.read(1 << 20)
            writer.write(block)


@export("io.gfile.rename")
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Gives a file or directory another name.

    Raises:
      AlreadyExistsError: The new name is taken and `overwrite` is not set.
    """
    source, target = as_text(src), as_text(dst)
    _refuse_existing(target, overwrite)
    files, local = files_of(source)
    with told_as_tensorflow(source):
        files.mv(local, files_of(target)[1])


@export("gfile.Copy")
def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies the content of a file; see `tf.io.gfile.copy`."""
    copy(oldpath, newpath, overwrite)


@export("gfile.Rename")
def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Gives a file or directory another name; see `tf.io.gfile.rename`."""
    rename(oldname, newname, overwrite)


@export("io.gfile.walk")
def walk(top: Any, topdown: bool = True, onerror: Callable[[Any], Any] | None = None) -> Iterator[Any]:
    """Yields (directory, names of directories in it, names of files in it) for a directory and all inside it.

    Args:
      top: The directory to begin with.
      topdown: Whether a directory comes before those in it, or after.
      onerror: Called with the error where a directory cannot be listed, which is then left out.
    """
    where = as_text(top)
    try:
        names = listdir(where)
    except errors.NotFoundError as error:
        if onerror:
            onerror(error)
        return
    directories = [name for name in names if isdir(os.path.join(where, name))]
    inside = set(directories)
    here = (where, directories, [name for name in names if name not in inside])
    if topdown:
        yield here
    for name in directories:
        yield from walk(os.path.join(where, name), topdown, onerror)
    if not topdown:
        yield here


@export("gfile.Walk")
def Walk(top: Any, in_order: bool = True) -> Iterator[Any]:
    """Yields what `tf.io.gfile.walk` yields; `in_order` is its `topdown`."""
    return walk(top, in_order)


_MAGIC = re.compile(r"[*?\[\\]")


@export("io.gfile.glob")
def glob(pattern: Any) -> list[str]:
    """Returns the files and directories that match a pattern, or any of a list of patterns.

    `*` and `?` match anything but a slash, hidden files too; `[...]` matches one character of a set, `[^...]` one
    that is not.

    Raises:
      NotFoundError: The directory before the first wildcard does not exist.
    """
    patterns: Iterable[Any] = [pattern] if isinstance(pattern, (str, bytes)) else pattern
    return [match for one in patterns for match in _matches(as_text(one))]


@export("gfile.Glob")
def Glob(filename: Any) -> list[str]:
    """Returns the files and directories that match a pattern; see `tf.io.gfile.glob`."""
    return glob(filename)


def _matches(pattern: str) -> list[str]:
    if not pattern:
        return []
    scheme = re.match(r"[a-zA-Z][a-zA-Z0-9.]*://", pattern)
    prefix = scheme[0] if scheme else ""
    parts = pattern[len(prefix) :].split("/")
    if parts[-1] == "":
        return []
    wild = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), None)
    if wild is None:
        return [pattern] if exists(pattern) else []
    root = "/".join(parts[:wild])
    if not root:
        root = "/" if wild == 1 else "."
    if not exists(prefix + root):
        raise errors.NotFoundError(None, None, f"{prefix}{root}; No such file or directory")
    found = [root]
    for i, part in enumerate(parts[wild:]):
        accepts = re.compile(fnmatch.translate(part.replace("[^", "[!"))).match
        last = wild + i == len(parts) - 1
        found = [
            os.path.join(place, name)
            for place in found
            for name in listdir(prefix + place)
            if accepts(name) and (last or isdir(prefix + os.path.join(place, name)))
        ]
    return [prefix + place for place in found]


# -- the first version's names, whose arguments are called otherwise --------------------------------------------


@export("gfile.Exists")
def Exists(filename: Any) -> bool:
    """Says whether there is a file or directory of that name."""
    return exists(filename)


@export("gfile.IsDirectory")
def IsDirectory(dirname: Any) -> bool:
    """Says whether the path is a directory."""
    return isdir(dirname)


@export("gfile.ListDirectory")
def ListDirectory(dirname: Any) -> list[str]:
    """Returns the names in a directory; see `tf.io.gfile.listdir`."""
    return listdir(dirname)


@export("gfile.MkDir")
def MkDir(dirname: Any) -> None:
    """Makes a directory; see `tf.io.gfile.mkdir`."""
    mkdir(dirname)


@export("gfile.MakeDirs")
def MakeDirs(dirname: Any) -> None:
    """Makes a directory and those above it."""
    makedirs(dirname)


@export("gfile.Remove")
def Remove(filename: Any) -> None:
    """Deletes a file; see `tf.io.gfile.remove`."""
    remove(filename)


@export("gfile.DeleteRecursively")
def DeleteRecursively(dirname: Any) -> None:
    """Deletes a directory with all that is in it; see `tf.io.gfile.rmtree`."""
    rmtree(dirname)
