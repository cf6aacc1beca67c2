"""Whole files read and written by a step, and names of files by patterns."""

from __future__ import annotations

import numpy as np

from headrace.opdef import export, op, raw
from headrace.opdef.strings import flat, strings, text
from headrace.platform import file_io, gfile
from headrace.shapes import with_rank

# The rules ask for `ctx` only so that nobody runs them ahead of the step: what is in a file changes.

ReadFile = op("""
    ReadFile(filename: string) -> (contents: string)

    The contents of a file.
""")

WriteFile = op("""
    WriteFile(filename: string, contents: string) -> ()
      stateful

    Writes a file, and the directories it lies in.
""")

MatchingFiles = op("""
    MatchingFiles(pattern: string) -> (filenames: string)

    The names of the files that match patterns, in order.
""")


@ReadFile.shape
def read_file_shape(filename):
    with_rank(filename, 0)
    return ()


@ReadFile.host
def read_file_host(filename, *, ctx):
    with file_io.FileIO(text(filename), "rb") as file:
        return np.array(file.read(), object)


@WriteFile.shape
def write_file_shape(filename, contents):
    with_rank(filename, 0)
    with_rank(contents, 0)
    return []


@WriteFile.host
def write_file_host(filename, contents, *, ctx):
    path = text(filename)
    folder = path.rpartition("/")[0]
    if folder and not gfile.exists(folder):
        gfile.makedirs(folder)
    with file_io.FileIO(path, "wb") as file:
        file.write(contents.item())
    return ()


@MatchingFiles.shape
def matching_files_shape(pattern):
    return (None,)


@MatchingFiles.host
def matching_files_host(pattern, *, ctx):
    found = []
    for one in flat(pattern):
        found += gfile.glob(one.decode())
    return strings(
        [name.encode() if isinstance(name, str) else name for name in sorted(found)], (len(found),)
    )


@WriteFile.cases
def write_file_cases(case):
    import os
    import tempfile

    @case.program
    def written_read_and_found(step):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "inner", "a.txt")
            step(raw.WriteFile(path, b"\x00data"))
            step(raw.ReadFile(path), gives=np.array(b"\x00data", object))
            step(
                raw.MatchingFiles([os.path.join(folder, "*", "?.txt")]),
                gives=np.array([path.encode()], object),
            )


@ReadFile.cases
def read_file_cases(case):
    import tempfile

    from headrace import errors

    @case.program
    def read(step):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"data")
            file.flush()
            step(raw.ReadFile(file.name), gives=np.array(b"data", object))

    case.shapes("[]", "[]")
    case.fails("[1]", match="must be rank 0 but is rank 1")
    case.fails(
        (np.array(b"no/such/file", object),), raises=errors.NotFoundError, match="no/such/file; No such file"
    )


@MatchingFiles.cases
def matching_files_cases(case):
    case(np.array(["no such file ?"], object), gives=np.array([], object))
    case.shapes("[3]", "[?]")


@export("read_file", "io.read_file")
def read_file(filename, name=None):
    """Returns the contents of a file.

    Args:
      filename: The file's name, a scalar string.
      name: The node's name.
    """
    return raw.ReadFile(filename, name=name)


@export("write_file", "io.write_file")
def write_file(filename, contents, name=None):
    """Returns the operation that writes a file, and the directories it lies in.

    Args:
      filename: The file's name, a scalar string.
      contents: What to write, a scalar string.
      name: The node's name.
    """
    return raw.WriteFile(filename, contents, name=name)


@export("matching_files", "io.matching_files")
def matching_files(pattern, name=None):
    """Returns the names of the files that match patterns, in order.

    Args:
      pattern: A pattern as of a shell, or a vector of patterns.
      name: The node's name.
    """
    return raw.MatchingFiles(pattern, name=name)
