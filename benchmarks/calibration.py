"""A loop to compare with, so that a busy machine does not change what a benchmark says."""

from __future__ import annotations

import time
from collections.abc import Callable

_REFERENCE_SECONDS = 0.0195
"""What the loop below takes on the machine that the targets were set on (one core of a Zen 4 server)."""


def _loop() -> int:
    table: dict[str, int] = {}
    total = 0
    for i in range(100_000):
        key = f"k{i % 1000}"
        table[key] = table.get(key, 0) + i
        total += len(key)
    return total


def cpu_seconds(function: Callable[[], object], repeat: int = 5) -> float:
    """Returns the least CPU time of several calls."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def wall_seconds(function: Callable[[], object], repeat: int = 5) -> float:
    """Returns the least wall time of several calls."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def slowness() -> float:
    """Returns how much slower this machine is now than the reference machine."""
    return cpu_seconds(_loop, 7) / _REFERENCE_SECONDS
