"""Resources that hand out seeds."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.opdef import op, raw
from headrace.ops.random import philox
from headrace.resources.seed_generator import SeedGenerator
from headrace.shapes import with_rank

_WORDS = 256  # blocks made at a time


def _words(seed: int, seed2: int) -> Iterator[int]:
    key, counter = philox.state_from_seeds(seed, seed2)
    while True:
        yield from philox.words(key, counter, _WORDS * philox.BLOCK_WORDS).tolist()
        counter = philox.advance(counter, _WORDS)


AnonymousRandomSeedGenerator = op("""
    AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> (handle: resource, deleter: variant)
      stateful

    Gives a new source of seeds, and what DeleteRandomSeedGenerator takes beside it. Both seeds 0 are seeds that
    nobody can foretell.
""")  # fmt: skip


@AnonymousRandomSeedGenerator.shape
def anonymous_random_seed_generator_shape(seed, seed2):
    with_rank(seed, 0)
    with_rank(seed2, 0)
    return [(), ()]


@AnonymousRandomSeedGenerator.host
def anonymous_random_seed_generator_host(seed, seed2):
    seeds = (int(seed), int(seed2)) if seed or seed2 else philox.fresh_seeds()
    generator = SeedGenerator(lambda: _words(*seeds))
    return generator, generator


@AnonymousRandomSeedGenerator.cases
def anonymous_random_seed_generator_cases(case):
    @case.program
    def is_made_and_deleted(step):
        handle, deleter = raw.AnonymousRandomSeedGenerator(1, 2)
        step(raw.DeleteRandomSeedGenerator(handle, deleter))


DeleteRandomSeedGenerator = op("""
    DeleteRandomSeedGenerator(handle: resource, deleter: variant) -> ()
      stateful

    Does away with a source of seeds. There is nothing to do, since it goes with its last handle.
""")  # fmt: skip


@DeleteRandomSeedGenerator.shape
def delete_random_seed_generator_shape(handle, deleter):
    with_rank(handle, 0)
    with_rank(deleter, 0)
    return []


@DeleteRandomSeedGenerator.host
def delete_random_seed_generator_host(handle, deleter):
    return []


@DeleteRandomSeedGenerator.cases
def delete_random_seed_generator_cases(case):
    @case.program
    def takes_any_generator(step):
        handle, deleter = raw.AnonymousRandomSeedGenerator(0, 0)
        step(raw.DeleteRandomSeedGenerator(handle, deleter))
