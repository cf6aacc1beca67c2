"""Strings cut into pieces and joined again, where the pieces of each string make a row of a ragged tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.export import NAMES, export
from headrace.graph import name_scope
from headrace.opdef import convert_to_tensor, raw
from headrace.ops.array.concat import concat
from headrace.ops.array.pack import stack
from headrace.ops.array.reshape import reshape
from headrace.ops.array.shape import shape as shape_of
from headrace.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor

_UNKNOWN = "input must have a statically-known rank."


def _in_pieces(input: Any, cut: Callable[[Any], Any], rows: Callable[[Any], Any]) -> Any:
    """Cuts the strings of a tensor of any rank.

    Args:
      input: The tensor, ragged or not.
      cut: What cuts a tensor of another rank, or ragged.
      rows: What gives the coordinates, the pieces and the shape for a vector of strings.
    """
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(cut(input.flat_values))
    rank = input.shape.ndims
    if rank == 0:
        return cut(stack([input]))[0]
    if rank in (1, None):
        return as_rows(*rows(input))
    return cut(RaggedTensor.from_tensor(input))


def as_rows(indices: Any, values: Any, shape: Any) -> RaggedTensor:
    """Returns the elements of a sparse matrix, whose rows have no gaps, as a ragged tensor."""
    indices.set_shape([None, 2])
    values.set_shape([None])
    shape.set_shape([2])
    return RaggedTensor.from_value_rowids(
        values=values, value_rowids=indices[:, 0], nrows=shape[0], validate=False
    )


@export("python.ops.ragged.ragged_string_ops.string_split_v2")
def string_split_v2(input: Any, sep: Any = None, maxsplit: Any = -1, name: str | None = None) -> Any:
    """Splits strings into pieces as Python's `str.split` does.

    Args:
      input: A tensor of strings, which may be ragged.
      sep: The separator; by default runs of blanks.
      maxsplit: If not negative, how many cuts there are at most.
      name: The scope's name.

    Returns:
      A ragged tensor of one dimension more; for a scalar a vector.
    """
    with name_scope(name, "StringSplit", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, dtype="string", name="input")

        def rows(vector: Any) -> Any:
            mark = convert_to_tensor("" if sep is None else sep, dtype="string")
            return raw.StringSplitV2(vector, mark, maxsplit=maxsplit)

        return _in_pieces(input, lambda t: string_split_v2(t, sep, maxsplit), rows)


@export("strings.bytes_split")
def bytes_split(input: Any, name: str | None = None) -> Any:
    """Splits strings into their bytes.

    Args:
      input: A tensor of strings, which may be ragged.
      name: The scope's name.

    Returns:
      A ragged tensor of one dimension more; for a scalar a vector.

    Raises:
      ValueError: The rank is unknown.
    """
    with name_scope(name, "StringsByteSplit", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not isinstance(input, RaggedTensor) and input.shape.ndims is None:
            raise ValueError(_UNKNOWN)
        return _in_pieces(input, bytes_split, lambda t: raw.StringSplit(t, "", skip_empty=False))


@export("strings.ngrams")
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: Any = " ",
    pad_values: Any = None,
    padding_width: Any = None,
    preserve_short_sequences: Any = False,
    name: str | None = None,
) -> Any:
    """Joins neighbours in the innermost dimension.

    Args:
      data: A tensor of strings, which may be ragged.
      ngram_width: How many neighbours, or a list of such numbers.
      separator: What stands between two strings.
      pad_values: What is put before and after each row, or a pair of those; nothing by default.
      padding_width: How often at most; by default once less than there are neighbours.
      preserve_short_sequences: Whether rows that are too short give all that they have.
      name: The scope's name.

    Returns:
      A tensor of the rank of `data`, ragged if that is.

    Raises:
      TypeError: `pad_values` is neither a string nor a pair.
      ValueError: A width is out of range, or the rank is unknown or 0.
    """
    with name_scope(name, "StringNGrams", [data]):
        left, right = _fillings(pad_values)
        if padding_width is None:
            pad_width = 0 if pad_values is None else -1
        else:
            if pad_values is None:
                raise ValueError("pad_values must be provided if padding_width is set.")
            if padding_width < 1:
                raise ValueError("padding_width must be greater than 0.")
            pad_width = padding_width
        data = convert_to_tensor_or_ragged_tensor(data, name="data", dtype="string")
        options = (separator, pad_values, padding_width, preserve_short_sequences, name)
        whole = None
        if not isinstance(data, RaggedTensor):
            whole = concat([shape_of(data)[:-1], [-1]], axis=0)
            rank = data.shape.ndims
            if rank is None:
                raise ValueError("Rank of data must be known.")
            if rank == 0:
                raise ValueError("Data must have rank>0")
            if rank == 1:
                rows = RaggedTensor.from_row_starts(data, [0], validate=False)
                return ngrams(rows, ngram_width, *options)[0]
            data = RaggedTensor.from_tensor(data, ragged_rank=rank - 1)
        if data.ragged_rank > 1:
            found = data.with_values(ngrams(data.values, ngram_width, *options))
        else:
            widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
            if any(width < 1 for width in widths):
                raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
            joined, splits = raw.StringNGrams(
                data.flat_values,
                data.row_splits,
                separator=separator,
                ngram_widths=widths,
                left_pad=left,
                right_pad=right,
                pad_width=pad_width,
                preserve_short_sequences=preserve_short_sequences,
            )
            found = RaggedTensor.from_row_splits(joined, splits, validate=False)
        return found if whole is None else reshape(found.flat_values, whole)


def _fillings(pad_values: Any) -> tuple[Any, Any]:
    if pad_values is None:
        return "", ""
    pair = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if not all(isinstance(value, (str, bytes)) for value in pair):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return pair[0], pair[1]


def joins(separator: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns how a dense tensor's strings are joined, along axes and by segments."""

    def reduce(value: Any, axis: Any, keepdims: Any, name: str | None = None) -> Any:
        # Over all of a ragged tensor, TensorFlow forgets the separator.
        between = "" if axis is None else separator
        return NAMES["reduce_join"](value, axis, keepdims=keepdims, separator=between, name=name)

    def by_segments(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        return raw.UnsortedSegmentJoin(data, segment_ids, num_segments, separator=separator)

    return reduce, by_segments
