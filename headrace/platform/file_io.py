"""Files behind tf.gfile: one buffered reader and writer, and the errors that TensorFlow's users catch.

Local paths go to the operating system, `file://` among them; any other scheme to fsspec, imported when one is met.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from typing import Any

from headrace import errors
from headrace.platform.strings import as_bytes, as_text

_BY_ERRNO = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.EROFS: errors.FailedPreconditionError,
}

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9.]*)://")


@contextlib.contextmanager
def told_as_tensorflow(path: str, inner: bool = False) -> Iterator[None]:
    """Turns the operating system's errors within a `with` block into those of headrace.errors.

    Args:
      path: What the message names.
      inner: Whether it names the very directory that failed instead, as the operating system tells it.
    """
    try:
        yield
    except OSError as error:
        # fsspec raises bare FileNotFoundError(path) without a number.
        number = error.errno or (errno.ENOENT if isinstance(error, FileNotFoundError) else 0)
        kind = _BY_ERRNO.get(number, errors.UnknownError)
        place = error.filename if inner and isinstance(error.filename, str) else path
        raise kind(None, None, f"{place}; {os.strerror(number) if number else error}") from None


class LocalFiles:
    """The file system of this machine, in the calls that fsspec's file systems have too."""

    open = staticmethod(open)
    exists = staticmethod(os.path.exists)
    isdir = staticmethod(os.path.isdir)
    mkdir = staticmethod(os.mkdir)
    makedirs = staticmethod(os.makedirs)
    rm_file = staticmethod(os.remove)
    mv = staticmethod(os.replace)

    @staticmethod
    def listdir(path: str) -> list[str]:
        return os.listdir(path)

    @staticmethod
    def info(path: str) -> tuple[int, int, bool]:
        stat = os.stat(path)
        return stat.st_size, stat.st_mtime_ns, os.path.isdir(path)

    @staticmethod
    def rmtree(path: str) -> None:
        import shutil

        shutil.rmtree(path)


class RemoteFiles:
    """Another file system by way of fsspec."""

    def __init__(self, system: Any):
        self._system = system
        self.open = system.open
        self.exists = system.exists
        self.isdir = system.isdir
        self.rm_file = system.rm_file

    def mkdir(self, path: str) -> None:
        self._system.mkdir(path, create_parents=False)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self._system.makedirs(path, exist_ok=exist_ok)

    def mv(self, source: str, target: str) -> None:
        self._system.mv(source, target, recursive=True)

    def listdir(self, path: str) -> list[str]:
        inside = self._system.ls(path, detail=False)
        return [name.rstrip("/").rpartition("/")[2] for name in inside]

    def info(self, path: str) -> tuple[int, int, bool]:
        found = self._system.info(path)
        changed = found.get("mtime") or found.get("created") or 0
        seconds = changed.timestamp() if hasattr(changed, "timestamp") else float(changed)
        return found.get("size") or 0, int(seconds * 1e9), found["type"] == "directory"

    def rmtree(self, path: str) -> None:
        self._system.rm(path, recursive=True)


_LOCAL = LocalFiles()


def files_of(path: str) -> tuple[LocalFiles | RemoteFiles, str]:
    """Returns the file system of a path, and the path as that system knows it.

    Raises:
      UnimplementedError: Nobody knows the scheme of the path, or what it needs is not installed.
    """
    match = _SCHEME.match(path)
    if match is None:
        return _LOCAL, path
    scheme = match[1]
    if scheme == "file":
        return _LOCAL, path[match.end() :]
    import fsspec

    try:
        return RemoteFiles(fsspec.filesystem(scheme)), path
    except (ValueError, ImportError):
        raise errors.UnimplementedError(
            None, None, f"File system scheme '{scheme}' not implemented (file: '{path}')"
        ) from None


_MODES = ("r", "w", "a", "r+", "w+", "a+")


class FileIO:
    """A file opened when it is first read or written.

    Args:
      name: Its path.
      mode: "r", "w", "a", "r+", "w+" or "a+", with a "b" for bytes instead of text.

    Raises:
      InvalidArgumentError: Another mode.
    """

    def __init__(self, name: Any, mode: str = "r"):
        self._name = name
        self._mode = mode
        kind = mode.replace("b", "")
        if kind not in _MODES:
            raise errors.InvalidArgumentError(
                None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            )
        self._binary = "b" in mode
        self._may_read = kind in ("r", "r+", "w+", "a+")
        self._may_write = kind != "r"
        self._append = kind in ("a", "a+")  # "r+" cuts the file at its first write, in TensorFlow too
        self._reader: Any = None
        self._writer: Any = None

    @property
    def name(self) -> Any:
        """The path, as given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode, as given."""
        return self._mode

    def _open(self, how: str) -> Any:
        files, path = files_of(as_text(self._name))
        with told_as_tensorflow(as_text(self._name)):
            return files.open(path, how)

    def _reading(self) -> Any:
        if self._reader is None:
            if not self._may_read:
                raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
            self._reader = self._open("rb")
        return self._reader

    def _writing(self) -> Any:
        if self._writer is None:
            if not self._may_write:
                raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
            self._writer = self._open("ab" if self._append else "wb")
        return self._writer

    def _given(self, data: bytes) -> Any:
        return data if self._binary else data.decode("utf-8")

    def size(self) -> int:
        """Returns the length of the file in bytes."""
        return stat(self._name).length

    def write(self, file_content: Any) -> None:
        """Appends text or bytes."""
        data = as_bytes(file_content)
        with told_as_tensorflow(as_text(self._name)):
            self._writing().write(data)

    def read(self, n: int = -1) -> Any:
        """Returns the next n bytes, or all that is left; as text unless the mode has a "b"."""
        reader = self._reading()
        with told_as_tensorflow(as_text(self._name)):
            return self._given(reader.read(n if n >= 0 else -1))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to a place in the file that is read.

        Args:
          offset: How many bytes from the start (whence 0), from here (1) or from the end (2).
          whence: See above.
          position: An old name of `offset`.

        Raises:
          TypeError: There is no offset.
          InvalidArgumentError: There is no such place, or no such `whence`.
          OutOfRangeError: The place is past the end.
        """
        reader = self._reading()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        to = position if position is not None else offset
        assert to is not None
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        to += {0: 0, 1: reader.tell(), 2: self.size() if whence == 2 else 0}[whence]
        if to < 0:
            raise errors.InvalidArgumentError(None, None, f"Seeking to a negative position: {to}")
        if to > self.size():
            raise errors.OutOfRangeError(None, None, "reached end of file")
        reader.seek(to)

    def tell(self) -> int:
        """Returns the place in the file: where the next read begins, or the end of what is written."""
        if self._may_read:
            return int(self._reading().tell())
        return int(self._writing().tell())

    def readline(self) -> Any:
        """Returns the next line with its newline, or an empty one at the end."""
        reader = self._reading()
        with told_as_tensorflow(as_text(self._name)):
            return self._given(reader.readline())

    def readlines(self) -> list[Any]:
        """Returns all lines that are left."""
        return list(iter(self.readline, self._given(b"")))

    def seekable(self) -> bool:
        """Returns True, always."""
        return True

    def flush(self) -> None:
        """Makes what was written visible to readers."""
        if self._writer is not None:
            with told_as_tensorflow(as_text(self._name)):
                self._writer.flush()

    def close(self) -> None:
        """Writes what is left and closes; the next read or write opens the file again."""
        reader, writer, self._reader, self._writer = self._reader, self._writer, None, None
        with told_as_tensorflow(as_text(self._name)):
            for file in (reader, writer):
                if file is not None:
                    file.close()

    def __enter__(self) -> FileIO:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __del__(self) -> None:
        # TensorFlow's files write what they hold when they are dropped; programs forget to close.
        with contextlib.suppress(Exception):
            self.close()


class FileStatistics:
    """What `stat` tells of a file: `length` in bytes, `mtime_nsec`, `is_directory`."""

    __slots__ = ("is_directory", "length", "mtime_nsec")

    def __init__(self, length: int, mtime_nsec: int, is_directory: bool):
        self.length = length
        self.mtime_nsec = mtime_nsec
        self.is_directory = is_directory


def stat(filename: Any) -> FileStatistics:
    """Returns the statistics of a file or directory.

    Raises:
      NotFoundError: There is none of that name.
    """
    name = as_text(filename)
    files, path = files_of(name)
    with told_as_tensorflow(name):
        return FileStatistics(*files.info(path))
