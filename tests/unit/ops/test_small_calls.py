"""Ops on strings and messages give what TensorFlow 1.15 does.

Recorded by tests/golden/record/small_calls.py.
"""

import json
import pathlib
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.opdef import raw

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
sys.path[:0] = [str(GOLDEN)]
import small_calls  # noqa: E402

FACTS = json.loads((GOLDEN / "small_calls.json").read_text())


def test_every_call_was_recorded():
    assert list(FACTS) == small_calls.CALLS


@pytest.mark.parametrize("number", range(len(small_calls.CALLS)))
def test_values(number):
    call = small_calls.CALLS[number]
    got, expected = small_calls.run(tf, raw, np, call), FACTS[call]
    assert json.loads(json.dumps(got)) == expected, call


def test_an_empty_row_has_fillings_only():
    # TensorFlow puts a word of the row before between them.
    with tf.Graph().as_default(), tf.Session() as session:
        grams = raw.StringNGrams(
            ["a", "b"],
            np.array([0, 2, 2]),
            separator="|",
            ngram_widths=[3],
            left_pad="L",
            right_pad="R",
            pad_width=-1,
            preserve_short_sequences=False,
        )
        words, ends = session.run(list(grams))
    assert words.tolist() == [b"L|L|a", b"L|a|b", b"a|b|R", b"b|R|R", b"L|L|R", b"L|R|R"]
    assert ends.tolist() == [0, 4, 6]


def test_defaults_fill_up():
    # TensorFlow leaves what it has for enums, and takes a byte of a uint32.
    source = b"bytes://" + small_calls.descriptors()
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.io.decode_proto(
            [b""],
            "p.M",
            ["o_enum", "o_int32", "o_string", "o_double"],
            ["int32", "int32", "string", "float64"],
            source,
        )
        sizes, values = session.run([found.sizes, found.values])
    assert sizes.tolist() == [[0, 0, 0, 0]]
    assert [v.tolist() for v in values] == [[[3]], [[-7]], [[b"dd"]], [[2.5]]]
