"""Pairs of neighbouring words of a text, and a step of training on them: ops that graphs up to version 18 have."""

from __future__ import annotations

import collections
import tempfile
from typing import Any

import numpy as np

from headrace.errors import InvalidArgumentError
from headrace.opdef import op, raw
from headrace.opdef.strings import text
from headrace.ops.random import philox
from headrace.ops.random.candidates import Draws
from headrace.platform import file_io

_AHEAD = 3000  # pairs that are made at a time
_SENTENCE = 1000  # words
_POWER = 0.75  # rare words are drawn more often than they occur

Skipgram = op("""
    Skipgram() -> (vocab_word: string, vocab_freq: int32, words_per_epoch: int64, current_epoch: int32,
                   total_words_processed: int64, examples: int32, labels: int32)
      filename: string
      batch_size: int
      window_size: int = 5
      min_count: int = 5
      subsample: float = 0.0010000000474974513
      stateful, deprecated 19

    Pairs of a word of a file and one of its neighbours. Words as frequent as each other are numbered as they occur.
""")


@Skipgram.shape
def skipgram_shape():
    return [None] * 7


def _invalid(message: str) -> None:
    raise InvalidArgumentError(None, None, message)


class _Text:
    """A text as numbers of words, read again and again, and the pairs that are made of it."""

    def __init__(self, filename: str, window: int, min_count: int, subsample: float):
        with file_io.FileIO(filename, "rb") as file:
            words = file.read().split()
        if len(words) < 10 * window:
            _invalid(f"The text file {filename} contains too little data: {len(words)} words")
        kept = [(w, n) for w, n in collections.Counter(words).most_common() if n >= min_count]
        rare = len(words) - sum(n for _, n in kept)
        self.words = np.array([b"UNK", *(w for w, _ in kept)], object)
        self.counts = np.array([rare, *(n for _, n in kept)], np.int32)
        numbers = {w: i for i, (w, _) in enumerate(kept, 1)}
        self.text = [numbers.get(w, 0) for w in words]
        self.window, self.subsample = window, subsample
        self.draws = Draws(*philox.state_from_seeds(0, 0))
        self.epoch = self.processed = self.place = 0
        self.pairs = self._pairs()
        self.ahead: list[tuple[int, int]] = []
        self.used = 0
        self._fill()

    def _fill(self) -> None:
        self.ahead, self.used = [next(self.pairs) for _ in range(_AHEAD)], 0

    def take(self) -> tuple[int, int]:
        """Returns the next pair."""
        pair = self.ahead[self.used]
        self.used += 1
        if self.used == _AHEAD:
            self._fill()
        return pair

    def _keeps(self, word: int) -> bool:
        if self.subsample <= 0:
            return True
        share = np.float32(self.counts[word]) / (self.subsample * len(self.text))
        return self.draws.float() <= (np.sqrt(share) + 1) / share

    def _sentence(self) -> list[int]:
        sentence: list[int] = []
        while len(sentence) < _SENTENCE:
            if self.place == len(self.text):
                self.place = 0
                self.epoch += 1
            word = self.text[self.place]
            self.place += 1
            if self._keeps(word):
                sentence.append(word)
        return sentence

    def _pairs(self) -> Any:
        while True:
            sentence = self._sentence()
            for i, word in enumerate(sentence):
                self.processed += 1
                reach = 1 + (self.draws.below(self.window) if self.window else 0)
                for j in range(max(0, i - reach), min(_SENTENCE, i + reach + 1)):
                    if j != i:
                        yield word, sentence[j]


@Skipgram.host
def skipgram_host(*, filename, batch_size, window_size, min_count, subsample, ctx):
    if batch_size < 0 or window_size < 0:
        _invalid(f"batch_size and window_size must not be negative: {batch_size}, {window_size}")
    words = ctx.node_object(lambda: _Text(text(filename), window_size, min_count, subsample))
    pairs = np.array([words.take() for _ in range(batch_size)], np.int32).reshape(batch_size, 2)
    return [
        words.words,
        words.counts,
        np.int64(len(words.text)),
        np.int32(words.epoch),
        np.int64(words.processed),
        pairs[:, 0].copy(),
        pairs[:, 1].copy(),
    ]


@Skipgram.cases
def skipgram_cases(case):
    case.shapes("", "?;?;?;?;?;?;?", filename="words", batch_size=4)

    @case.program
    def pairs_of_neighbours(step):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(b" ".join(b"%c" % (97 + i % 3) for i in range(60)))
        attrs = {"filename": file.name.encode(), "window_size": 1, "min_count": 1, "subsample": 0.0}
        pairs = Skipgram.node(batch_size=4, **attrs)
        step(
            list(pairs.outputs),
            gives=([b"UNK", b"a", b"b", b"c"], [0, 20, 20, 20], 60, 33, 1502, [1, 2, 2, 3], [2, 1, 3, 2]),
        )
        step(list(pairs.outputs[5:]), gives=([3, 1, 1, 2], [1, 3, 2, 1]))
        step(
            Skipgram.node(batch_size=4, **{**attrs, "window_size": 7}),
            fails=InvalidArgumentError,
            match="too little data: 60 words",
        )
        step(Skipgram.node(batch_size=-1, **attrs), fails=InvalidArgumentError, match="must not be negative")


NegTrain = op("""
    NegTrain(w_in: Ref(float), w_out: Ref(float), examples: int32, labels: int32, lr: float) -> ()
      vocab_count: list(int)
      num_negative_samples: int
      stateful, deprecated 19

    A step of gradient descent per pair of words and word drawn by chance, in two tables of vectors.
""")


@NegTrain.shape
def neg_train_shape(w_in, w_out, examples, labels, lr):
    return []


def _check(w_in, w_out, examples, labels, lr, vocab_count):
    for table in (w_in, w_out):
        if table.ndim != 2:
            _invalid("Must be a matrix")
    if w_in.shape != w_out.shape:
        _invalid("w_in.shape == w_out.shape")
    if len(w_in) != len(vocab_count):
        _invalid(f"vocab_size mismatches: {len(w_in)} vs. {len(vocab_count)}")
    if examples.ndim != 1:
        _invalid("Must be a vector")
    if examples.shape != labels.shape:
        _invalid("examples.shape == labels.shape")
    if lr.ndim:
        _invalid("Must be a scalar")
    for words in (examples, labels):
        if np.any((words < 0) | (words >= len(w_in))):
            _invalid(f"words are not all in [0, {len(w_in)})")


class _Words:
    """Draws words, from seeds of the system's."""

    def __init__(self, counts: Any):
        weights = np.maximum(np.array(counts, np.float64), 0) ** _POWER
        if not weights.any():
            weights[:] = 1
        self.up_to = np.cumsum(weights / weights.sum())
        self.draws = Draws(*philox.state_from_seeds(*philox.fresh_seeds()))

    def word(self) -> int:
        return min(
            int(np.searchsorted(self.up_to, self.draws.double(), "right")),
            int(np.searchsorted(self.up_to, self.up_to[-1])),
        )


@NegTrain.host
def neg_train_host(w_in, w_out, examples, labels, lr, *, vocab_count, num_negative_samples, ctx):
    first, second = ctx.read(w_in).copy(), ctx.read(w_out).copy()
    _check(first, second, examples, labels, lr, vocab_count)
    words = ctx.node_object(lambda: _Words(vocab_count))

    def step(word: int, target: float, vector: np.ndarray) -> np.ndarray:
        row = second[word]
        rate = np.float32(lr * (target - 1 / (1 + np.exp(-np.dot(vector, row)))))
        change = rate * row
        second[word] = row + rate * vector
        return change

    for example, label in zip(examples.tolist(), labels.tolist(), strict=True):
        vector = first[example].copy()
        change = step(label, 1.0, vector)
        for _ in range(num_negative_samples):
            word = words.word()
            if word != label:
                change = change + step(word, 0.0, vector)
        first[example] = vector + change
    ctx.write(w_in, first)
    ctx.write(w_out, second)
    return ()


@NegTrain.cases
def neg_train_cases(case):
    case.shapes("[3,2];[3,2];[2];[2];[]", "", vocab_count=[1, 2, 3], num_negative_samples=1)

    @case.program
    def tables_change(step):
        tables = [raw.VariableV2(shape=[3, 2], dtype="float32") for _ in range(2)]
        values = [[[1.0, 2.0], [0.5, 0.25], [-1.0, 1.0]], [[0.1, 0.2], [0.3, -0.4], [2.0, 1.0]]]
        step([raw.Assign(t, v) for t, v in zip(tables, values, strict=True)])
        attrs = {"vocab_count": [0, 0, 5], "num_negative_samples": 1}
        words = np.array([0, 1], np.int32)
        step(NegTrain.node(*tables, words, words[::-1].copy(), np.float32(0.1), **attrs))
        step(
            tables,
            gives=(
                [[0.8222710, 1.8769002], [0.3602441, 0.1984398], [-1.0, 1.0]],
                [[0.1237510, 0.2118755], [0.3622459, -0.2755081], [1.8638066, 0.7846012]],
            ),
        )
        step(
            NegTrain.node(*tables, words[:1], words, np.float32(0.1), **attrs),
            fails=InvalidArgumentError,
            match="examples.shape == labels.shape",
        )
        step(
            NegTrain.node(*tables, words + 2, words, np.float32(0.1), **attrs),
            fails=InvalidArgumentError,
            match="not all in",
        )
