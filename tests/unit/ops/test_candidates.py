"""Samplers of candidates: what is drawn many at a time is what is drawn one by one."""

import numpy as np
import pytest

from headrace.ops.random import candidates, philox
from headrace.ops.random.candidates import Draws

KEY, COUNTER = philox.state_from_seeds(7, 3)


def _samplers():
    learned = candidates.Learned(1000)
    learned.learn(np.arange(1000) % 17)
    return [
        candidates.Uniform(1000),
        candidates.Uniform(1024),
        candidates.LogUniform(1000),
        learned,
        candidates.Fixed(np.arange(1, 51, dtype=np.float32), np.float32(1275)),
    ]


@pytest.mark.parametrize("sampler", _samplers(), ids=lambda s: f"{type(s).__name__}{s.count}")
@pytest.mark.parametrize("before", [0, 1, 6, 300])
def test_several_draws_are_those_made_one_by_one(sampler, before):
    many, single = Draws(KEY, COUNTER), Draws(KEY, COUNTER)
    for _ in range(before):
        assert many.word() == single.word()
    got = candidates._several(sampler, many, 50)
    assert got.dtype == np.int64
    assert got.tolist() == [sampler.sample(single) for _ in range(50)]
    assert many.word() == single.word()


def test_a_word_that_is_refused_is_drawn_again():
    # Of 2**32 words, 2**31 - 1 are surplus over a multiple of 2**31 + 1: about half of the draws are refused.
    sampler = candidates.Uniform(2**31 + 1)
    sampler.width, sampler.sample = 1, lambda draws: draws.below(sampler.count)
    sampler.classes = lambda words: candidates._below(words[:, 0], sampler.count, 32)
    many, single = Draws(KEY, COUNTER), Draws(KEY, COUNTER)
    got = candidates._several(sampler, many, 50)
    assert got.tolist() == [sampler.sample(single) for _ in range(50)]
    assert many.word() == single.word()


@pytest.mark.parametrize("sampler", _samplers(), ids=lambda s: f"{type(s).__name__}{s.count}")
def test_different_classes_are_drawn_until_there_are_enough(sampler):
    single = Draws(KEY, COUNTER)
    count = min(sampler.count, 200) - 5
    chosen: dict[int, None] = {}
    tries = 0
    while len(chosen) < count:
        tries += 1
        chosen[sampler.sample(single)] = None
    got, took = candidates.draw(sampler, count, True, Draws(KEY, COUNTER))
    assert got.tolist() == list(chosen)
    assert took == tries
