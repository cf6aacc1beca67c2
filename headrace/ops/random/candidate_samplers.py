"""The candidate samplers as ops, and ComputeAccidentalHits."""

from __future__ import annotations

import numpy as np

from headrace.errors import InvalidArgumentError, NotFoundError
from headrace.graph.seeds import get_seed
from headrace.opdef import export, op
from headrace.ops.random import candidates
from headrace.shapes import with_rank

_SAMPLED = "(sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)"
_RANGE = "range_max: int >= 1"


def _shape(true_classes, *, num_true, num_sampled):
    rows = with_rank(true_classes, 2)[0]
    return [(num_sampled,), (rows, num_true), (num_sampled,)]


def _checked(true_classes, num_true):
    if true_classes.ndim != 2:
        raise InvalidArgumentError(None, None, "true_classes must be a matrix")
    if true_classes.shape[1] != num_true:
        raise InvalidArgumentError(
            None,
            None,
            f"true_classes must have num_true columns, expected: {true_classes.shape[1]} was: {num_true}",
        )
    return true_classes


def _sampler(name, make, doc, gives):
    """Declares the sampler of `make(range_max)`; `gives` is what the seeds 7 and 3 begin with."""
    made = op(f"""
    {name}(true_classes: int64) -> {_SAMPLED}
      num_true: int >= 1
      num_sampled: int >= 1
      unique: bool
      {_RANGE}
      seed: int = 0
      seed2: int = 0
      stateful

    {doc}
    """, shape=_shape)  # fmt: skip

    @made.host
    def host(true_classes, *, num_true, num_sampled, unique, range_max, ctx):
        sampler = ctx.node_object(lambda: make(range_max))
        _checked(true_classes, num_true)
        return candidates.sampled(sampler, true_classes, num_sampled, unique, ctx.random)

    @made.cases
    def cases(case):
        attrs = {"num_true": 1, "num_sampled": 6, "unique": True, "range_max": 50, "seed": 7, "seed2": 3}
        case(np.array([[1], [3], [9]]), **attrs, gives=tuple(gives))
        case.shapes("[?,1]", "[6];[?,1];[6]", **attrs)
        case.shapes("?", "[6];[?,1];[6]", **attrs)
        case.fails("[3]", match="must be rank 2", **attrs)
        case.fails((np.array([[1, 2]]),), match="must have num_true columns, expected: 2 was: 1", **attrs)
        case.fails((np.array([[1]]),), match="Sampler's range is too small.", **{**attrs, "range_max": 5})

    return made


_SIX = [[0.12]] * 3, [0.12] * 6
LogUniformCandidateSampler = _sampler(
    "LogUniformCandidateSampler",
    candidates.LogUniform,
    "Samples classes whose likelihood falls as their number grows.",
    [
        np.array([1, 5, 44, 0, 3, 18]),
        [[0.6187433], [0.34051901], [0.14544415]],
        [0.6187433, 0.23523527, 0.03354, 1.05774856, 0.34051901, 0.07827401],
    ],
)
UniformCandidateSampler = _sampler(
    "UniformCandidateSampler",
    candidates.Uniform,
    "Samples classes that are all equally likely.",
    [np.array([11, 48, 22, 42, 8, 30]), *_SIX],
)
LearnedUnigramCandidateSampler = _sampler(
    "LearnedUnigramCandidateSampler",
    candidates.Learned,
    "Samples classes in proportion to how often they were true classes so far.",
    [np.array([43, 8, 0, 38, 32, 40]), *_SIX],
)
ThreadUnsafeUnigramCandidateSampler = _sampler(
    "ThreadUnsafeUnigramCandidateSampler",
    candidates.Learned,
    "Samples classes in proportion to how often they were true classes so far.",
    [np.array([43, 8, 0, 38, 32, 40]), *_SIX],
)

AllCandidateSampler = op(f"""
    AllCandidateSampler(true_classes: int64) -> {_SAMPLED}
      num_true: int >= 1
      num_sampled: int >= 1
      unique: bool
      seed: int = 0
      seed2: int = 0
      stateful

    "Samples" every class once.
""", shape=_shape)  # fmt: skip


@AllCandidateSampler.host
def all_candidates_host(true_classes, *, num_true, num_sampled):
    _checked(true_classes, num_true)
    return [
        np.arange(num_sampled, dtype=np.int64),
        np.ones(true_classes.shape, np.float32),
        np.ones(num_sampled, np.float32),
    ]


@AllCandidateSampler.cases
def all_candidates_cases(case):
    attrs = {"num_true": 1, "num_sampled": 3, "unique": False}
    case(np.array([[1], [2]]), **attrs, gives=(np.arange(3), [[1.0], [1.0]], [1.0, 1.0, 1.0]))
    case.shapes("[?,1]", "[3];[?,1];[3]", **attrs)
    case.fails("[3]", match="must be rank 2", **attrs)


FixedUnigramCandidateSampler = op(f"""
    FixedUnigramCandidateSampler(true_classes: int64) -> {_SAMPLED}
      num_true: int >= 1
      num_sampled: int >= 1
      unique: bool
      {_RANGE}
      vocab_file: string = ""
      distortion: float = 1
      num_reserved_ids: int = 0
      num_shards: int >= 1 = 1
      shard: int >= 0 = 0
      unigrams: list(float) = []
      seed: int = 0
      seed2: int = 0
      stateful

    Samples classes in proportion to given weights, which `distortion` raises to a power.
""", shape=_shape)  # fmt: skip


def _weights_in(path):
    """Returns the last column of a comma-separated file."""
    try:
        with open(path, encoding="utf-8") as lines:
            return [float(line.rsplit(",", 1)[-1]) for line in lines if line.strip()]
    except OSError as error:
        raise NotFoundError(None, None, f"{path}; {error.strerror}") from None
    except ValueError:
        raise InvalidArgumentError(None, None, f"{path} has a line that does not end in a number") from None


def _fixed(range_max, vocab_file, distortion, num_reserved_ids, num_shards, shard, unigrams):
    path = vocab_file.decode() if isinstance(vocab_file, bytes) else vocab_file
    if bool(path) == bool(len(unigrams)):
        raise InvalidArgumentError(None, None, "Must provide exactly one of vocab_file and unigrams.")
    given = np.array(unigrams if len(unigrams) else _weights_in(path), np.float32)
    raised = np.power(given.astype(np.float64), distortion).astype(np.float32)
    reserved = np.zeros(num_reserved_ids, np.float32)
    weights = np.concatenate([reserved, raised])[shard::num_shards]
    if len(weights) != range_max:
        raise InvalidArgumentError(
            None, None, f"range_max is {range_max} but there are weights of {len(weights)} classes"
        )
    total = np.cumsum(raised, dtype=np.float32)[-1]  # in this order: it decides the last bit
    return candidates.Fixed(weights, total)


@FixedUnigramCandidateSampler.host
def fixed_host(
    true_classes, *, num_true, num_sampled, unique, range_max, vocab_file, distortion, num_reserved_ids,
    num_shards, shard, unigrams, ctx,
):  # fmt: skip
    sampler = ctx.node_object(
        lambda: _fixed(range_max, vocab_file, distortion, num_reserved_ids, num_shards, shard, unigrams)
    )
    _checked(true_classes, num_true)
    return candidates.sampled(sampler, true_classes, num_sampled, unique, ctx.random)


@FixedUnigramCandidateSampler.cases
def fixed_cases(case):
    attrs = {"num_true": 1, "num_sampled": 3, "unique": True, "range_max": 10, "seed": 7, "seed2": 3}
    rising = {"distortion": 0.75, "unigrams": [float(i) for i in range(1, 11)]}
    case(
        np.array([[1], [3], [9]]),
        **attrs,
        **rising,
        gives=(
            np.array([7, 8, 6]),
            [[0.17951761], [0.28723511], [0.50537914]],
            [0.44404835, 0.47581226, 0.40978172],
        ),
    )
    case.shapes("[?,1]", "[3];[?,1];[3]", **attrs)
    case.fails((np.array([[1]]),), match="exactly one of vocab_file and unigrams", **attrs)


ComputeAccidentalHits = op(
    """
    ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64) ->
        (indices: int32, ids: int64, weights: float)
      num_true: int
      seed: int = 0
      seed2: int = 0

    Where sampled classes are true ones: the row, the sample's number, and the lowest float as its weight.
""",
)


@ComputeAccidentalHits.shape
def accidental_hits_shape(true_classes, sampled_candidates, *, num_true):
    columns = with_rank(true_classes, 2)[1]
    if columns is not None and columns != num_true:
        raise ValueError(f"Dimension must be {num_true} but is {columns}")
    with_rank(sampled_candidates, 1)
    return [(None,)] * 3


@ComputeAccidentalHits.host
def accidental_hits_host(true_classes, sampled_candidates, *, num_true):
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise InvalidArgumentError(None, None, "true_candidates must be a batch_size * num_true matrix")
    if sampled_candidates.ndim != 1:
        raise InvalidArgumentError(
            None,
            None,
            "sampled_candidates must be a vector, which is typically an output from CandidateSampler",
        )
    places = {int(c): i for i, c in enumerate(sampled_candidates)}
    hits = [(row, places[c]) for row, true in enumerate(true_classes.tolist()) for c in true if c in places]
    rows, samples = np.array(hits, np.int64).reshape(-1, 2).T
    return [rows.astype(np.int32), samples.copy(), np.full(len(hits), np.finfo(np.float32).min)]


@ComputeAccidentalHits.cases
def accidental_hits_cases(case):
    low = np.finfo(np.float32).min
    case(
        np.array([[1, 2], [3, 4], [2, 2]]),
        np.array([2, 9, 4, 2]),
        num_true=2,
        gives=(np.array([0, 1, 2, 2], np.int32), np.array([3, 2, 3, 3]), [low] * 4),
    )
    case(np.array([[1]]), np.array([2]), num_true=1, gives=(np.zeros(0, np.int32), np.zeros(0, np.int64), []))
    case.shapes("[?,2];[3]", "[?];[?];[?]", num_true=2)
    case.fails("[3];[3]", match="must be rank 2", num_true=1)


def _public(op_, true_classes, seed, name, **attrs):
    seed, seed2 = get_seed(seed)
    return op_(true_classes, seed=seed, seed2=seed2, name=name, **attrs)


@export("nn.log_uniform_candidate_sampler", "random.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """Returns classes sampled with a likelihood that falls with their number, and the expected counts.

    Class k has the probability (log(k + 2) - log(k + 1)) / log(range_max + 1): good for words sorted by
    falling frequency.

    Args:
      true_classes: The true classes, int64 of shape [batch, num_true].
      num_true: How many true classes an example has.
      num_sampled: How many classes to sample.
      unique: Whether they are all different.
      range_max: How many classes there are.
      seed: The op-level seed.
      name: A name for the operation.

    Returns:
      The sampled classes, the expected counts of the true classes, those of the sampled ones.
    """
    return _public(
        LogUniformCandidateSampler, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
    )  # fmt: skip


@export("nn.uniform_candidate_sampler", "random.uniform_candidate_sampler")
def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Returns equally likely classes and the expected counts; see `log_uniform_candidate_sampler`."""
    return _public(
        UniformCandidateSampler, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
    )  # fmt: skip


@export("nn.learned_unigram_candidate_sampler", "random.learned_unigram_candidate_sampler")
def learned_unigram_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """Returns classes sampled as often as they were true ones before; see `log_uniform_candidate_sampler`."""
    return _public(
        LearnedUnigramCandidateSampler, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
    )  # fmt: skip


@export("nn.fixed_unigram_candidate_sampler", "random.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, vocab_file="", distortion=1.0, num_reserved_ids=0,
    num_shards=1, shard=0, unigrams=(), seed=None, name=None,
):  # fmt: skip
    """Returns classes sampled in proportion to given weights, and the expected counts.

    Args:
      true_classes: The true classes, int64 of shape [batch, num_true].
      num_true: How many true classes an example has.
      num_sampled: How many classes to sample.
      unique: Whether they are all different.
      range_max: How many classes there are.
      vocab_file: A file whose lines end in a comma and the weight of a class.
      distortion: The power to which weights are raised.
      num_reserved_ids: How many classes before the first weight are never sampled.
      num_shards: Into how many parts the classes are dealt.
      shard: Which of them this op samples from.
      unigrams: The weights, in place of `vocab_file`.
      seed: The op-level seed.
      name: A name for the operation.
    """
    return _public(
        FixedUnigramCandidateSampler, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, vocab_file=vocab_file,
        distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
        unigrams=unigrams,
    )  # fmt: skip


@export("nn.all_candidate_sampler", "random.all_candidate_sampler")
def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """Returns all classes in order, each expected once; for tests. See `log_uniform_candidate_sampler`."""
    return _public(
        AllCandidateSampler, true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique,
    )  # fmt: skip


@export("nn.compute_accidental_hits")
def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """Returns where sampled classes are true ones: rows, numbers of samples, and weights to add to logits.

    Args:
      true_classes: int64 of shape [batch, num_true].
      sampled_candidates: What a sampler returned.
      num_true: How many true classes an example has.
      seed: The op-level seed, which does nothing.
      name: A name for the operation.
    """
    seed, seed2 = get_seed(seed)
    return ComputeAccidentalHits(
        true_classes, sampled_candidates, num_true=num_true, seed=seed, seed2=seed2, name=name
    )
