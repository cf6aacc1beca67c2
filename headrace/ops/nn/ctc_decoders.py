"""Decoders of connectionist temporal classification (CTC): the best path, and a search with a beam of prefixes."""

from __future__ import annotations

import heapq

import numpy as np

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.export import export
from headrace.opdef import op, raw
from headrace.ops.nn.ctc_loss import check_frames
from headrace.ops.nn.names import public
from headrace.shapes import merge_dim, with_rank

CTCGreedyDecoder = op("""
    CTCGreedyDecoder(inputs: T, sequence_length: int32) -> (decoded_indices: int64, decoded_values: int64, \
decoded_shape: int64, log_probability: T)
      merge_repeated: bool = false
      T: {float, double} = float

    The labels along the path of each frame's greatest logit, and the negated sum of those logits.
""", grad=None)  # fmt: skip

CTCBeamSearchDecoder = op("""
    CTCBeamSearchDecoder(inputs: T, sequence_length: int32) -> (decoded_indices: top_paths * int64, \
decoded_values: top_paths * int64, decoded_shape: top_paths * int64, log_probability: T)
      beam_width: int >= 1
      top_paths: int >= 1
      merge_repeated: bool = true
      T: {float, double} = float

    The likeliest label sequences that a beam of prefixes finds, and the logarithms of their probabilities.
""", grad=None)  # fmt: skip


def _batch(inputs, sequence_length):
    return merge_dim(with_rank(inputs, 3)[1], with_rank(sequence_length, 1)[0])


@CTCGreedyDecoder.shape
def greedy_shape(inputs, sequence_length):
    return [(None, 2), (None,), (2,), (_batch(inputs, sequence_length), 1)]


@CTCBeamSearchDecoder.shape
def beam_search_shape(inputs, sequence_length, *, top_paths):
    n = top_paths
    return [*[(None, 2)] * n, *[(None,)] * n, *[(2,)] * n, (_batch(inputs, sequence_length), n)]


def _check(inputs, lengths):
    check_frames(inputs, lengths)
    time, batch, classes = inputs.shape
    if time == 0:
        raise InvalidArgumentError(None, None, "max_time is 0")
    if len(lengths) != batch:
        raise FailedPreconditionError(
            None,
            None,
            f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} batch_size: {batch}",
        )
    for b, n in enumerate(lengths.tolist()):
        if n > time:
            raise FailedPreconditionError(None, None, f"sequence_length({b}) <= {time}")
    if classes == 0:
        raise InvalidArgumentError(None, None, "inputs has no classes")


def _sparse(sequences):
    """Returns indices, values and shape of a sparse matrix whose rows are sequences."""
    sizes = [len(s) for s in sequences]
    rows = np.repeat(np.arange(len(sizes)), sizes)
    columns = np.concatenate([np.arange(n) for n in sizes]) if sizes else rows
    values = np.array([v for s in sequences for v in s], np.int64)
    indices = np.stack([rows, columns], 1).astype(np.int64).reshape(-1, 2)
    return indices, values, np.array([len(sizes), max(sizes, default=0)], np.int64)


@CTCGreedyDecoder.host
def greedy_host(inputs, sequence_length, *, merge_repeated):
    _check(inputs, sequence_length)
    blank = inputs.shape[2] - 1
    # Comparisons with NaN are false, so that NaN wins only where it comes first.
    best = np.where(np.isnan(inputs), -np.inf, inputs).argmax(-1)
    best = np.where(np.isnan(inputs[..., 0]), 0, best)
    scores = np.take_along_axis(inputs, best[..., None], -1)[..., 0]
    sums = np.zeros((len(sequence_length), 1), inputs.dtype)
    sequences = []
    for b, n in enumerate(np.maximum(sequence_length, 0)):
        path = best[:n, b]
        kept = path != blank
        if merge_repeated and n:
            kept[1:] &= path[1:] != path[:-1]
        sequences.append(path[kept].tolist())
        if n:
            sums[b] = -np.add.accumulate(scores[:n, b])[-1]
    return (*_sparse(sequences), sums)


class _Beam:
    """The likeliest prefixes after some frames; a prefix is a node of a tree, known by its number.

    Attributes:
      nodes: The prefixes' nodes, likeliest first.
      blank: The log-probability of each with a blank at its end.
      label: The same with its last label at its end.
      total: The sum of both.
    """

    def __init__(self, dtype):
        self.parents, self.labels = [-1], [-1]
        self._children: dict[tuple[int, int], int] = {}
        self.nodes = [0]
        self.blank, self.total = np.zeros(1, dtype), np.zeros(1, dtype)
        self.label = np.full(1, -np.inf, dtype)

    def step(self, scores, width):
        """Takes one frame's log-probabilities, the blank's last, and keeps the `width` likeliest prefixes."""
        places = {node: i for i, node in enumerate(self.nodes)}
        last = np.array([self.labels[n] for n in self.nodes])
        # What a longer prefix gains from this one; the same label again needs a blank between.
        grown = np.repeat(self.total[:, None], len(scores) - 1, 1)
        rows = np.flatnonzero(last >= 0)
        grown[rows, last[rows]] = self.blank[rows]
        label = self.label.copy()
        children: list[dict[int, int]] = [{} for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            parent = places.get(self.parents[node])
            if parent is not None:
                children[parent][int(last[i])] = i
                label[i] = np.logaddexp(label[i], grown[parent, last[i]])
        label[rows] += scores[last[rows]]
        blank = self.total + scores[-1]
        total = np.logaddexp(blank, label)
        grown += scores[:-1]
        chosen = _choose(total, grown, self.total, children, width)
        old = len(total)
        kept = np.array(chosen)
        is_old, at = kept < old, np.minimum(kept, old - 1)
        fresh = grown.reshape(-1)[np.maximum(kept - old, 0)] if grown.size else label[at]
        self.nodes = [self.nodes[k] if k < old else self._grow(k - old, len(scores) - 1) for k in chosen]
        self.blank = np.where(is_old, blank[at], -np.inf).astype(scores.dtype)
        self.label = np.where(is_old, label[at], fresh)
        self.total = np.where(is_old, total[at], fresh)

    def _grow(self, place, labels):
        key = self.nodes[place // labels], place % labels
        node = self._children.get(key)
        if node is None:
            node = self._children[key] = len(self.parents)
            self.parents.append(key[0])
            self.labels.append(key[1])
        return node

    def prefix(self, i, merge_repeated):
        node, out = self.nodes[i], []
        while node:
            label = self.labels[node]
            if not (merge_repeated and out and out[-1] == label):
                out.append(label)
            node = self.parents[node]
        return out[::-1]


def _choose(total, grown, before, children, width):
    """Returns the numbers of the prefixes to keep, likeliest first: old ones, then by row what each may grow into.

    Prefixes are extended in the order of what they were worth before. One that drops out while that goes on is
    extended nevertheless when it is its turn, unless its own parent came across it in between: so TensorFlow does.

    Args:
      total: The old prefixes' log-probabilities now.
      grown: A row for each old prefix, what it and one more label are worth.
      before: The old prefixes' log-probabilities before this frame, descending.
      children: For each old prefix, by label, which other old ones extend it.
      width: How many to keep.
    """
    old, labels = grown.shape
    beam = [(value, i) for i, value in enumerate(total.tolist())]
    heapq.heapify(beam)
    alive = set(range(old))
    barren = set()
    for i in range(old):
        lowest = beam[0][0] if len(beam) >= width else -np.inf
        if not before[i] > lowest:
            break
        if i in barren:
            continue
        row, mine = grown[i].tolist(), children[i]
        for c in sorted({*np.flatnonzero(grown[i] > lowest).tolist(), *mine}):
            if c in mine:
                if mine[c] not in alive:
                    barren.add(mine[c])
            elif len(beam) < width:
                heapq.heappush(beam, (row[c], old + i * labels + c))
            elif row[c] > beam[0][0]:
                alive.discard(heapq.heapreplace(beam, (row[c], old + i * labels + c))[1])
    return [k for _, k in sorted(beam, key=lambda entry: -entry[0])]


@CTCBeamSearchDecoder.host
def beam_search_host(inputs, sequence_length, *, beam_width, top_paths, merge_repeated):
    _check(inputs, sequence_length)
    if top_paths > beam_width:
        raise InvalidArgumentError(None, None, "requested more paths than the beam width.")
    batch = inputs.shape[1]
    found = np.zeros((batch, top_paths), inputs.dtype)
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    with np.errstate(all="ignore"):
        most = inputs.max(-1, keepdims=True)
        scores = inputs - (most + np.log(np.exp(inputs - most).sum(-1, keepdims=True)))
        scores = scores.astype(inputs.dtype)
        for b, n in enumerate(sequence_length.tolist()):
            beam = _Beam(inputs.dtype)
            for t in range(n):
                beam.step(scores[t, b], beam_width)
            if len(beam.nodes) < top_paths:
                raise InvalidArgumentError(None, None, "Less leaves in the beam search than requested.")
            found[b] = beam.total[:top_paths]
            for i in range(top_paths):
                paths[i].append(beam.prefix(i, merge_repeated))
    parts = [_sparse(p) for p in paths]
    return (*(p[i] for i in range(3) for p in parts), found)


_FRAMES = np.log(np.array([[0.6, 0.1, 0.3], [0.5, 0.1, 0.4], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]], np.float32))
_FRAMES = _FRAMES.reshape(4, 1, 3)
_ALL = np.array([4], np.int32)


@CTCGreedyDecoder.cases
def greedy_cases(case):
    logits = np.exp(_FRAMES)
    case(logits, _ALL, gives=([[0, 0], [0, 1], [0, 2]], [0, 0, 1], [1, 3], [[-2.6]]), tol=1e-6)
    case(logits, _ALL, merge_repeated=True, gives=([[0, 0], [0, 1]], [0, 1], [1, 2], [[-2.6]]), tol=1e-6)
    case(logits, np.array([0], np.int32), gives=(np.zeros((0, 2)), np.zeros(0), [1, 0], [[0.0]]))
    case.shapes("[?,2,4];[?]", "[?,2];[?];[2];[2,1]")
    case.fails("[5,2,4];[3]", match="Dimensions must be equal, but are 2 and 3")
    case.fails((logits, np.array([5], np.int32)), match=r"sequence_length\(0\) <= 4",
               raises=FailedPreconditionError)  # fmt: skip
    case.fails((logits[:0], np.array([0], np.int32)), match="max_time is 0")


@CTCBeamSearchDecoder.cases
def beam_search_cases(case):
    # In two frames "0" is 0.6 * 0.5 + 0.6 * 0.4 + 0.3 * 0.5 likely, and nothing at all 0.3 * 0.4.
    two = np.array([2], np.int32)
    case(_FRAMES, two, beam_width=10, top_paths=2, tol=1e-5, gives=(
        [[0, 0]], np.zeros((0, 2)), [0], np.zeros(0), [1, 1], [1, 0], [[np.log(0.69), np.log(0.12)]]))  # fmt: skip
    case(_FRAMES, _ALL, beam_width=3, top_paths=1)
    case.shapes("[?,2,4];[?]", "[?,2];[?,2];[?];[?];[2];[2];[2,2]", beam_width=3, top_paths=2)
    case.fails((_FRAMES, _ALL), match="more paths than the beam width", beam_width=1, top_paths=2)
    case.fails((_FRAMES, two * 0), match="Less leaves in the beam search", beam_width=4, top_paths=2)


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True):
    """Returns the labels along the likeliest path through each sequence.

    Args:
      inputs: The logits, [time, batch, classes]; the last class is the blank.
      sequence_length: How many frames each sequence has, int32.
      merge_repeated: Whether repeated classes without a blank between them are one label.

    Returns:
      A list of one SparseTensor [batch, labels], and the negated sums of the logits along the paths, [batch, 1].
    """
    indices, values, shape, scores = raw.CTCGreedyDecoder(
        inputs, sequence_length, merge_repeated=merge_repeated
    )
    return [public.SparseTensor(indices, values, shape)], scores


@export("nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    """Returns the likeliest label sequences that a search with a beam of prefixes finds.

    Args:
      inputs: The logits, [time, batch, classes]; the last class is the blank.
      sequence_length: How many frames each sequence has, int32.
      beam_width: How many prefixes are kept after each frame.
      top_paths: How many sequences to return.
      merge_repeated: Whether repeated labels of the results are made one.

    Returns:
      A list of `top_paths` SparseTensors [batch, labels], and the log-probabilities, [batch, top_paths].
    """
    *found, scores = raw.CTCBeamSearchDecoder(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated
    )
    return [public.SparseTensor(i, v, s) for i, v, s in zip(*found, strict=True)], scores


@export("nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
    """Returns the likeliest label sequences, repeated labels as they are; see `ctc_beam_search_decoder`.

    Args:
      inputs: The logits, [time, batch, classes]; the last class is the blank.
      sequence_length: How many frames each sequence has, int32.
      beam_width: How many prefixes are kept after each frame.
      top_paths: How many sequences to return.

    Returns:
      A list of `top_paths` SparseTensors [batch, labels], and the log-probabilities, [batch, top_paths].
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)
