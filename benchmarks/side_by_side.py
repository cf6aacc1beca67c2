"""Runs programs by headrace and by its peers, each in a process of its own, in turns."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAMS = (
    "softmax_regression",
    "mlp_adam",
    "lenet",
    "cifar10_lrn",
    "alexnet",
    "resnet50_training",
    "inception_v3",
    "dcgan",
    "vgg_a",
    "resnet50_inference",
    "mobilenet",
    "lstm_unrolled",
    "lstm_dynamic",
    "lstm_lengths",
    "counting",
    "word2vec",
    "wide_and_deep",
    "transformer",
    "text_cnn",
    "tiny_graph",
    "small_ops",
    "large_feeds",
)
QUICK = 1.0
"""Seconds of steps that a quick run times, if they are three at least."""
_RUN_ONE = Path(__file__).with_name("run_one.py")
_LIMIT = 900
"""Seconds after which a program has failed."""

Row = dict[str, Any]


def title(program: str) -> str:
    """Returns the first line of what a program says of itself."""
    return str(importlib.import_module(f"benchmarks.programs.{program}").__doc__).splitlines()[0]


def group(program: str) -> str:
    """Returns which of the means a program belongs to."""
    return str(importlib.import_module(f"benchmarks.programs.{program}").GROUP)


def measure(runtime: str, python: str, program: str, seconds: float | None = None, cache: str = "") -> Row:
    """Runs a program once; returns seconds (and MiB of memory) by what they were spent on.

    Args:
      runtime: `headrace`, `tensorflow` or `compat.v1`.
      python: The interpreter that has the runtime.
      program: A module of `benchmarks.programs`.
      seconds: After how long a time three steps are enough, instead of the program's own number of steps.
      cache: A folder for caches on disk, which are so as cold or as warm as the folder.

    Raises:
      RuntimeError: The program failed; the message holds the end of what it said.
    """
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu")
    if cache:
        env.update(XDG_CACHE_HOME=cache)
    command = [python, str(_RUN_ONE), runtime, program, *([str(seconds)] if seconds else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=_LIMIT)
    except subprocess.TimeoutExpired as e:
        raise RuntimeError(f"{program} by {runtime} took more than {_LIMIT} s") from e
    if done.returncode:
        raise RuntimeError(f"{program} by {runtime} failed: {done.stderr[-800:]}")
    found: Row = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _middle(rows: list[Row]) -> Row:
    """Returns the median of every number, and what is no number from the first."""
    return {
        key: statistics.median(row[key] for row in rows) if isinstance(value, (int, float)) else value
        for key, value in rows[0].items()
    }


def compare(
    program: str,
    peers: dict[str, str],
    rounds: int = 3,
    quick: bool = False,
    complain: Callable[[str], None] = print,
) -> dict[str, Row]:
    """Returns for headrace and each peer the medians over some rounds, taken in turns; who fails is left out.

    Each round begins with another runtime. Headrace runs a second time, as `headrace again`, with the cache on disk
    that its first run left, unless it is to be quick.
    """
    pythons = {"headrace": sys.executable, "headrace again": sys.executable, **peers}
    seconds = QUICK if quick else None
    turns = [("headrace",) if quick else ("headrace", "headrace again"), *((name,) for name in peers)]
    rows: dict[str, list[Row]] = {}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            first = number % len(turns)
            for name in itertools.chain(*turns[first:], *turns[:first]):
                try:
                    row = measure(name.split()[0], pythons[name], program, seconds, cache)
                except RuntimeError as e:
                    complain(str(e))
                else:
                    rows.setdefault(name, []).append(row)
    # A ratio belongs to a round: what else the machine did then slowed both.
    found = {name: _middle(each) for name, each in rows.items()}
    for name in found:
        pairs = list(zip(rows.get("headrace", []), rows[name]))
        found[name]["ratio"] = statistics.median(a["step"] / b["step"] for a, b in pairs) if pairs else None
    return {name: found[name] for name in pythons if name in found}


def disagreements(found: dict[str, Row], program: str, tolerance: float = 1e-3) -> list[str]:
    """Returns a line for each peer whose first loss differs from headrace's by more than a share of it."""
    lines = []
    ours = found.get("headrace", {}).get("losses", [None])[0]
    for name, row in found.items():
        theirs = row["losses"][0]
        if ours is None or not abs(ours - theirs) <= tolerance * max(1e-6, abs(theirs)):
            lines.append(f"{program}: the first loss is {ours} by headrace, {theirs} by {name}")
    return lines
