"""Runs programs by headrace and by its peers, each in a process of its own, in turns; prints ratios.

scripts/bench --programs lstm_dynamic,counting --peer PYTHON_WITH_TENSORFLOW_1 --peer2 PYTHON_WITH_TENSORFLOW_2
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAMS = ("lstm_dynamic", "lstm_unrolled", "lstm_lengths", "counting")
_RUN_ONE = Path(__file__).with_name("run_one.py")


def measure(runtime: str, python: str, program: str) -> dict[str, float]:
    """Runs a program once; returns seconds (and MiB of memory) by what they were spent on.

    Raises:
      RuntimeError: The program failed; the message holds the end of what it said.
    """
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [python, str(_RUN_ONE), runtime, program], capture_output=True, text=True, env=env, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{program} by {runtime}: {done.stderr[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare(program: str, peers: dict[str, str], rounds: int = 3) -> dict[str, dict[str, float]]:
    """Returns for headrace and each peer the median of every figure over some rounds, taken in turns."""
    runtimes = {"headrace": sys.executable, **peers}
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in runtimes}
    for _ in range(rounds):
        for name, python in runtimes.items():
            rows[name].append(measure(name, python, program))
    return {
        name: {key: statistics.median(row[key] for row in found) for key in found[0]}
        for name, found in rows.items()
    }


def report(programs: list[str], peers: dict[str, str], rounds: int) -> list[str]:
    """Returns lines of a Markdown table."""
    lines = [
        "| program | by | step ms | p90 ms | first s | second s | total s | MiB | step to headrace's |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for program in programs:
        found = compare(program, peers, rounds)
        whole: Any = getattr(importlib.import_module(f"benchmarks.programs.{program}"), "WHOLE", False)
        key = "total" if whole else "median"
        for name, row in found.items():
            ratio = found["headrace"][key] / row[key]
            lines.append(
                f"| {program} | {name} | {row['median'] * 1e3:.1f} | {row['p90'] * 1e3:.1f} | {row['first']:.2f} | "
                f"{row['second']:.2f} | {row['total']:.2f} | {row['memory']:.0f} | {ratio:.2f} |"
            )
    return lines
