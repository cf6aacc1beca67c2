"""Python's cyclic garbage collector, held back where many objects are made that all live on."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Keeps the collector off inside a block; a graph's nodes form cycles, and it would look through them often."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
