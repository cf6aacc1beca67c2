"""Matrices of old checkpoints, put into the order of new vocabularies."""

from __future__ import annotations

import numpy as np

from headrace import errors
from headrace.formats import bundle
from headrace.opdef import op, raw
from headrace.opdef.strings import invalid, text
from headrace.platform.file_io import FileIO
from headrace.shapes import to_text, with_rank

GenerateVocabRemapping = op("""
    GenerateVocabRemapping(new_vocab_file: string, old_vocab_file: string) -> (remapping: int64, num_present: int32)
      new_vocab_offset: int >= 0
      num_new_vocab: int >= 0
      old_vocab_size: int >= -1 = -1

    Where each word of a new vocabulary stood in an old one, -1 for nowhere.
""", grad=None)  # fmt: skip

LoadAndRemapMatrix = op("""
    LoadAndRemapMatrix(ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64,
        initializing_values: float) -> (output_matrix: float)
      num_rows: int >= 0
      num_cols: int >= 1
      max_rows_in_memory: int = -1
      stateful

    A matrix of a checkpoint with its rows and columns in another order, and given values where there were none.
""", grad=None)  # fmt: skip


def _words(path, limit=-1):
    with FileIO(path, "rb") as file:
        lines = file.read().split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise errors.OutOfRangeError(None, None, "Read less bytes than requested")
    if limit == 0:
        raise errors.OutOfRangeError(None, None, f"Finished reading 0 of lines from {path}")
    if limit > len(lines):
        invalid(f"Invalid vocab_size in {path}: expected {limit} but got {len(lines)}")
    lines = lines[:limit] if limit > 0 else lines
    at = 0
    for line in lines:
        if not line:
            invalid(f"Invalid content in {path}: empty line found at position {at}.")
        at += len(line) + 1
    return [line.removesuffix(b"\r") for line in lines]


@GenerateVocabRemapping.shape
def generate_vocab_remapping_shape(new_vocab_file, old_vocab_file, *, num_new_vocab):
    with_rank(new_vocab_file, 0)
    with_rank(old_vocab_file, 0)
    return [(num_new_vocab,), ()]


@GenerateVocabRemapping.host
def generate_vocab_remapping_host(
    new_vocab_file, old_vocab_file, *, new_vocab_offset, num_new_vocab, old_vocab_size
):
    for which, file in (("new", new_vocab_file), ("old", old_vocab_file)):
        if file.ndim:
            invalid(f"{which}_vocab_file should be a single string, but got {to_text(file.shape)}")
    for which, path in (("new", text(new_vocab_file)), ("old", text(old_vocab_file))):
        if not path:
            invalid(f"{which} vocab filename cannot be empty.")
    new = _words(text(new_vocab_file))
    places: dict[bytes, int] = {}
    for i, word in enumerate(_words(text(old_vocab_file), old_vocab_size)):
        if places.setdefault(word, i) != i:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"HashTable has different value for same key. Key {word.decode(errors='replace')} has {places[word]} "
                f"and trying to add value {i}",
            )
    if new_vocab_offset + num_new_vocab > len(new):
        invalid("lookup table size must be larger than last new vocab entry's line")
    wanted = new[new_vocab_offset : new_vocab_offset + num_new_vocab]
    remapping = np.array([places.get(word, -1) for word in wanted], np.int64)
    return remapping, np.array((remapping >= 0).sum(), np.int32)


@LoadAndRemapMatrix.shape
def load_and_remap_matrix_shape(
    ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values, *, num_rows, num_cols
):
    with_rank(old_tensor_name, 0)
    with_rank(row_remapping, 1)
    with_rank(col_remapping, 1)
    with_rank(initializing_values, 1)
    return (num_rows, num_cols)


def _checked(remapping):
    """Returns where a remapping has something; an old place may be taken once."""
    known = np.flatnonzero(remapping >= 0)
    seen: dict[int, int] = {}
    for new in known.tolist():
        old = int(remapping[new])
        if old in seen:
            raise errors.UnimplementedError(
                None,
                None,
                f"Old ID {old} is mapped to both new ID {seen[old]} and {new}, which is not supported.",
            )
        seen[old] = new
    return known


def _matrix(path, name, num_cols, remaps_columns):
    try:
        reader = bundle.Reader(path)
    except errors.NotFoundError:
        raise errors.NotFoundError(None, None, f"{path}.index; No such file or directory") from None
    entries = reader.entries()
    if name not in entries:
        raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint")
    dtype, shape = entries[name]
    shown = ",".join(map(str, shape))
    if dtype.name != "float32":
        invalid(f"Tensor {name} has invalid type {dtype.name} instead of expected type float")
    if len(shape) != 2:
        invalid(
            f"Tensor {name} has shape [{shown}] of invalid rank {len(shape)} instead of expected shape of rank 2."
        )
    if not remaps_columns and shape[1] != num_cols:
        invalid(
            f"Tensor {name} has shape [{shown}], where the size of its 2nd dimension is {shape[1]} instead of being "
            f"equal to num_cols={num_cols}"
        )
    return reader.read(name)


@LoadAndRemapMatrix.host
def load_and_remap_matrix_host(
    ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values, *, num_rows, num_cols
):
    rows, columns = np.asarray(row_remapping), np.asarray(col_remapping)
    fill = np.asarray(initializing_values).ravel()
    if np.size(ckpt_path) != 1:
        invalid("The `ckpt_path` tensor must have exactly one element")
    if rows.size != num_rows:
        invalid(f"Size of row_remapping is {rows.size} instead of being equal to num_rows={num_rows}")
    if columns.size and columns.size != num_cols:
        invalid(
            f"Provided col_remapping, but its size is {columns.size} instead of being equal to num_cols={num_cols}"
        )
    from_rows = _checked(rows)
    if not columns.size:
        columns = np.arange(num_cols)
        remaps_columns = False
    else:
        remaps_columns = True
    from_columns = _checked(columns)
    old = _matrix(text(ckpt_path), text(old_tensor_name), num_cols, remaps_columns)
    for axis, places in ((0, rows[from_rows]), (1, columns[from_columns])):
        if places.size and places.max() >= old.shape[axis]:
            shown = ",".join(map(str, old.shape))
            raise errors.InternalError(
                None,
                None,
                f"Extent in dimension {axis} out of bounds: shape = [{shown}], index = {places.max()}",
            )
    out = np.zeros((num_rows, num_cols), np.float32)
    there = np.zeros((num_rows, num_cols), bool)
    target = np.ix_(from_rows, from_columns)
    out[target] = old[np.ix_(rows[from_rows], columns[from_columns])]
    there[target] = True
    missing = int((~there).sum())
    if missing > fill.size:
        invalid(f"initializing_values contained {fill.size} elements, but more missing values remain.")
    if missing < fill.size:
        invalid(
            f"initializing_values contained {fill.size} elements, but only {missing} elements were used to fill in "
            "missing values."
        )
    out[~there] = fill
    return out


@GenerateVocabRemapping.cases
def generate_vocab_remapping_cases(case):
    import pathlib
    import tempfile

    @case.program
    def looks_words_up(step):
        with tempfile.TemporaryDirectory() as folder:
            new, old = pathlib.Path(folder, "new"), pathlib.Path(folder, "old")
            new.write_text("a\nb\nc\nd\n")
            old.write_text("c\nx\na\n")
            made = raw.GenerateVocabRemapping(str(new), str(old), new_vocab_offset=0, num_new_vocab=4)
            step(list(made), gives=[np.array([2, -1, 0, -1]), np.array(2, np.int32)])
            few = raw.GenerateVocabRemapping(
                str(new), str(old), new_vocab_offset=1, num_new_vocab=3, old_vocab_size=1
            )
            step(list(few), gives=[np.array([-1, 0, -1]), np.array(1, np.int32)])
            long = raw.GenerateVocabRemapping(str(old), str(new), new_vocab_offset=1, num_new_vocab=3)
            step(list(long), fails=errors.InvalidArgumentError)

    case.shapes("[];[]", "[7];[]", new_vocab_offset=0, num_new_vocab=7)
    case.fails("[1];[]", new_vocab_offset=0, num_new_vocab=7, match="must be rank 0 but is rank 1")
    case.fails((b"", b"x"), new_vocab_offset=0, num_new_vocab=7, match="new vocab filename cannot be empty")


@LoadAndRemapMatrix.cases
def load_and_remap_matrix_cases(case):
    import pathlib
    import tempfile

    @case.program
    def puts_rows_and_columns_in_order(step):
        with tempfile.TemporaryDirectory() as folder:
            prefix = str(pathlib.Path(folder, "old"))
            bundle.write(prefix, [("m", np.arange(12, dtype=np.float32).reshape(4, 3), None, None)])

            def load(rows, columns, values, num_cols=3):
                rows, columns = np.array(rows, np.int64), np.array(columns, np.int64)
                values = np.array(values, np.float32)
                return raw.LoadAndRemapMatrix(
                    prefix, "m", rows, columns, values, num_rows=len(rows), num_cols=num_cols
                )

            step(load([2, 0], [1, 0, 2], []), gives=np.array([[7, 6, 8], [1, 0, 2]], np.float32))
            step(load([3], [], []), gives=np.array([[9, 10, 11]], np.float32))
            step(load([2, -1], [1, -1], [90, 91, 92], 2), gives=np.array([[7, 90], [91, 92]], np.float32))
            step(load([2, -1], [1, -1], [90, 91], 2), fails=errors.InvalidArgumentError)
            step(load([2, 2], [1, 0, 2], []), fails=errors.UnimplementedError)
            step(load([4], [], []), fails=errors.InternalError)

    case.shapes("[];[];[?];[?];[?]", "[4,3]", num_rows=4, num_cols=3)
    none = np.zeros(0, np.int64)
    case.fails((b"x", b"m", none, none, np.zeros(0, np.float32)), num_rows=1, num_cols=1,
               match="Size of row_remapping is 0 instead of being equal to num_rows=1")  # fmt: skip
