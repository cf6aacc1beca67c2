"""Splitting strings into pieces, as a sparse tensor of a row for each."""

from __future__ import annotations

import numpy as np

from headrace.export import NAMES
from headrace.graph import name_scope
from headrace.graph.sparse_tensor import SparseTensor
from headrace.opdef import convert_to_tensor, export, op, raw
from headrace.opdef.strings import flat, invalid, strings, text
from headrace.shapes import with_rank

StringSplit = op("""
    StringSplit(input: string, delimiter: string) -> (indices: int64, values: string, shape: int64)
      skip_empty: bool = true

    Splits strings at any of the delimiter's bytes; between all bytes if it is empty.
""", grad=None)  # fmt: skip

StringSplitV2 = op("""
    StringSplitV2(input: string, sep: string) -> (indices: int64, values: string, shape: int64)
      maxsplit: int = -1

    Splits strings at a separator as Python does; at runs of blanks if it is empty.
""")


@StringSplit.shape
def string_split_shape(input, delimiter):
    with_rank(input, 1)
    with_rank(delimiter, 0)
    return [(None, 2), (None,), (2,)]


@StringSplitV2.shape
def string_split_v2_shape(input, sep):
    with_rank(input, 1)
    with_rank(sep, 0)
    return [(None, 2), (None,), (2,)]


def _sparse(rows):
    longest = max((len(row) for row in rows), default=0)
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [s for row in rows for s in row]
    indices = np.array(places, np.int64).reshape(-1, 2)
    return indices, strings(values, (len(values),)), np.array([len(rows), longest], np.int64)


def _pieces(s, marks, skip_empty):
    if not s:
        return []
    if not marks:
        pieces = [s[i : i + 1] for i in range(len(s))]
    else:
        pieces, start = [], 0
        for i, byte in enumerate(s):
            if byte in marks:
                pieces.append(s[start:i])
                start = i + 1
        pieces.append(s[start:])
    return [p for p in pieces if p] if skip_empty else pieces


@StringSplit.host
def string_split_host(input, delimiter, *, skip_empty):
    if input.ndim != 1:
        invalid(f"input must be a vector, got shape: {list(input.shape)}")
    if delimiter.ndim:
        invalid(f"delimiter must be a scalar, got shape: {list(delimiter.shape)}")
    marks = frozenset(b"".join(flat(delimiter)))
    return _sparse([_pieces(s, marks, skip_empty) for s in flat(input)])


@StringSplitV2.host
def string_split_v2_host(input, sep, *, maxsplit):
    if input.ndim != 1:
        invalid(f"input must be a vector, got shape: {list(input.shape)}")
    if sep.ndim:
        invalid(f"sep must be a scalar, got shape: {list(sep.shape)}")
    mark = text(sep).encode("utf-8")
    return _sparse([s.split(mark or None, maxsplit) for s in flat(input)])


def _words(*texts):
    return np.array([t.encode() for t in texts], object)


@StringSplit.cases
def string_split_cases(case):
    case(["mill race", "", "x"], " ",
         gives=(np.array([[0, 0], [0, 1], [2, 0]]), _words("mill", "race", "x"), np.array([3, 2])))  # fmt: skip
    case(["a,b;;c"], ",;", skip_empty=False,
         gives=(np.array([[0, 0], [0, 1], [0, 2], [0, 3]]), _words("a", "b", "", "c"), np.array([1, 4])))  # fmt: skip
    case(["", "a"], ",", skip_empty=False, gives=(np.array([[1, 0]]), _words("a"), np.array([2, 1])))
    case(["abc"], "", gives=(np.array([[0, 0], [0, 1], [0, 2]]), _words("a", "b", "c"), np.array([1, 3])))
    case.shapes("[?];[]", "[?,2];[?];[2]")
    case.fails("[2,3];[]", match="must be rank 1")


@StringSplitV2.cases
def string_split_v2_cases(case):
    case(
        [" a  b c "],
        "",
        maxsplit=1,
        gives=(np.array([[0, 0], [0, 1]]), _words("a", "b c "), np.array([1, 2])),
    )
    case(["a<>b<><>c", ""], "<>",
         gives=(np.array([[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]), _words("a", "b", "", "c", ""),
                np.array([2, 4])))  # fmt: skip
    case.shapes("[?];[]", "[?,2];[?];[2]")
    case.fails("[2,3];[]", match="must be rank 1")


def _parts(outputs):
    indices, values, shape = outputs
    indices.set_shape([None, 2])
    values.set_shape([None])
    shape.set_shape([2])
    return SparseTensor(indices=indices, values=values, dense_shape=shape)


@export("string_split")
def string_split(source, sep=None, skip_empty=True, delimiter=None, result_type="SparseTensor", name=None):
    """Splits strings into pieces.

    Args:
      source: A vector of strings.
      sep: The characters to split at; "" means between all bytes. By default blanks.
      skip_empty: Whether empty pieces are left out.
      delimiter: The old name of `sep`.
      result_type: "SparseTensor" or "RaggedTensor".
      name: The scope's name.

    Returns:
      A sparse or ragged tensor with a row of pieces for each string.

    Raises:
      ValueError: An argument is given under both of its names, or the result's type is unknown.
    """
    if sep is not None and delimiter is not None:
        raise ValueError("Cannot specify both 'sep' and 'delimiter'")
    sep = delimiter if sep is None else sep
    with name_scope(name, "StringSplit", [source]):
        mark = convert_to_tensor(" " if sep is None else sep, dtype="string")
        source = convert_to_tensor(source, dtype="string")
        parts = _parts(raw.StringSplit(source, mark, skip_empty=skip_empty))
        if result_type == "SparseTensor":
            return parts
        if result_type == "RaggedTensor":
            return NAMES["RaggedTensor"].from_value_rowids(
                parts.values, parts.indices[:, 0], nrows=parts.dense_shape[0], validate=False
            )
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


@export("strings.split")
def strings_split(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):
    """Splits strings into pieces as Python's `str.split` does.

    Args:
      input: A tensor of strings, which may be ragged.
      sep: The separator; by default runs of blanks.
      maxsplit: If not negative, how many cuts there are at most.
      result_type: "SparseTensor" or "RaggedTensor".
      source: The same as `input`.
      name: The scope's name.

    Returns:
      A sparse or ragged tensor with a row of pieces for each string.

    Raises:
      ValueError: Both names of the input are given, or the result's type is unknown.
    """
    if input is not None and source is not None:
        raise ValueError("Cannot specify both 'source' and 'input'")
    input = source if input is None else input
    with name_scope(name, "StringSplit", [input]):
        if not hasattr(input, "nested_row_splits"):
            input = convert_to_tensor(input, dtype="string", name="input")
        if result_type == "SparseTensor" and input.shape.ndims == 1:
            mark = convert_to_tensor("" if sep is None else sep, dtype="string")
            return _parts(raw.StringSplitV2(input, mark, maxsplit=maxsplit))
        split = NAMES["python.ops.ragged.ragged_string_ops.string_split_v2"]
        rows = split(input, sep, maxsplit)
        if result_type == "SparseTensor":
            return rows.to_sparse()
        if result_type == "RaggedTensor":
            return rows
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
