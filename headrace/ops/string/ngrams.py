"""Sequences of neighbouring strings, joined."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import as_dtype
from headrace.errors import ResourceExhaustedError
from headrace.opdef import op
from headrace.opdef.strings import attr_bytes, flat, invalid, strings
from headrace.shapes import with_rank

StringNGrams = op("""
    StringNGrams(data: string, data_splits: Tsplits) -> (ngrams: string, ngrams_splits: Tsplits)
      separator: string
      ngram_widths: list(int) >= 0
      left_pad: string
      right_pad: string
      pad_width: int
      preserve_short_sequences: bool
      Tsplits: {int32, int64} = int64

    For each row of a ragged tensor of strings, its neighbours joined by twos, threes and so on.
""")


@StringNGrams.shape
def string_n_grams_shape(data, data_splits):
    with_rank(data, 1)
    return [(None,), with_rank(data_splits, 1)]


_MOST = 2**28  # parts in the strings made of one row


def _padded(row, pad, left, right):
    return [left] * pad + row + [right] * pad


def _grams(row, width, pad, left, right, separator):
    """Joins every `width` neighbours of a row which has at most `pad` fillings on each side."""
    pad = min(width - 1 if pad < 0 else pad, width - 1)
    if (len(row) + 2 * pad - width + 1) * width > _MOST:
        raise ResourceExhaustedError(
            None, None, f"{len(row) + 2 * pad - width + 1} strings of {width} parts are too many"
        )
    if len(row) + 2 * pad < width:
        return []
    filled = _padded(row, pad, left, right)
    return [separator.join(filled[i : i + width]) for i in range(len(filled) - width + 1)]


@StringNGrams.host
def string_n_grams_host(
    data,
    data_splits,
    *,
    separator,
    ngram_widths,
    left_pad,
    right_pad,
    pad_width,
    preserve_short_sequences,
    Tsplits,
):
    words = flat(data)
    splits = np.asarray(data_splits)
    kind = as_dtype(Tsplits).storage
    for split in splits.tolist():
        if not 0 <= split <= len(words):
            invalid(f"Invalid split value {split}, must be in [0,{len(words)}]")
    if any(width < 1 for width in ngram_widths):
        invalid(f"ngram_widths must be positive, got {min(ngram_widths)}")
    for word, value in (*(("ngram_widths", width) for width in ngram_widths), ("pad_width", pad_width)):
        if not -(2**31) <= value < 2**31:
            invalid(f"Attr {word} has value {value} out of range for an int32")
    left, right, between = (attr_bytes(v) for v in (left_pad, right_pad, separator))
    grams, ends = [], [0]
    for start, end in zip(splits[:-1].tolist(), splits[1:].tolist()):
        row = words[start:end]
        made = [g for width in ngram_widths for g in _grams(row, width, pad_width, left, right, between)]
        if not made and row and preserve_short_sequences:
            pad = max(pad_width, 0)
            made = [between.join(_padded(row, pad, left, right))]
        grams += made
        ends.append(len(grams))
    return strings(grams, [len(grams)]), np.array(ends if splits.size else [], kind)


@StringNGrams.cases
def string_n_grams_cases(case):
    attrs = {
        "separator": "|",
        "left_pad": "L",
        "right_pad": "R",
        "pad_width": 0,
        "preserve_short_sequences": False,
    }
    data, splits = ["a", "b", "c", "d", "e", "f"], np.array([0, 4, 4, 6])
    grams = np.array([b"a", b"b", b"c", b"d", b"a|b|c", b"b|c|d", b"e", b"f"], object)
    case(data, splits, ngram_widths=[1, 3], **attrs, gives=(grams, np.array([0, 6, 6, 8])))
    attrs["pad_width"] = 1
    case(data, np.array([0, 4, 6], np.int32), ngram_widths=[3], **attrs,
         gives=(np.array([b"L|a|b", b"a|b|c", b"b|c|d", b"c|d|R", b"L|e|f", b"e|f|R"], object),
                np.array([0, 4, 6], np.int32)))  # fmt: skip
    case(["a", "b"], np.array([0, 2]), ngram_widths=[9], **dict(attrs, preserve_short_sequences=True),
         gives=(np.array([b"L|a|b|R"], object), np.array([0, 1])))  # fmt: skip
    case.shapes("[?];[4]", "[?];[4]", ngram_widths=[2], Tsplits="int64", **attrs)
    case.fails("[1,2];[4]", ngram_widths=[2], Tsplits="int64", match="must be rank 1 but is rank 2", **attrs)
    case.fails(
        (data, np.array([0, 7])),
        ngram_widths=[2],
        match=r"Invalid split value 7, must be in \[0,6\]",
        **attrs,
    )
    case.fails((data, np.array([0, 6])), ngram_widths=[0], match="must be positive", **attrs)
