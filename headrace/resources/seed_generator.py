"""A source of seeds that lives between steps, such as a data set shuffled anew in each epoch needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator


class SeedGenerator:
    """Hands out pairs of seeds, 32 bits each.

    Args:
      words: Makes an iterator over the random words that the seeds are.
    """

    def __init__(self, words: Callable[[], Iterator[int]]):
        self._make = words
        self._lock = threading.Lock()
        self._words = words()
        self._given = 0

    @property
    def given(self) -> int:
        """How many words were handed out; with it a checkpoint can say where a generator stands."""
        return self._given

    def seeds(self) -> tuple[int, int]:
        """Returns the next two seeds."""
        with self._lock:
            self._given += 2
            return next(self._words), next(self._words)

    def restore(self, given: int) -> None:
        """Goes to where a generator stands that has handed out so many words."""
        with self._lock:
            self._words, self._given = self._make(), given
            for _ in range(given):
                next(self._words)
