"""`headrace profile` and `headrace explain`: a program is run, and what its steps were is told at the end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from headrace.runtime import explain
from headrace.runtime.plan import Plan
from headrace.runtime.program import Program
from headrace.runtime.watch import MAKING, Watch

_MOST_ROWS = 15
_DOING = {
    "jax": "importing JAX for",
    "load": "loading",
    "trace": "tracing",
    "lower": "lowering",
    "compile": "compiling",
}


class Profile:
    """Where the steps of a process go.

    Attributes:
      steps: How many steps were run.
      step_s: How long they took, all in all.
      watch: What happened in them.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.step_s = 0.0
        self.watch = Watch(keeps_outputs=False)

    @contextlib.contextmanager
    def running(self, session_class: Any) -> Iterator[None]:
        """Returns a block in which the steps of all sessions are seen.

        Args:
          session_class: The class whose `run` is one step.
        """
        run = session_class.run

        def timed(session: Any, *args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return run(session, *args, **kwargs)
            finally:
                self.steps += 1
                self.step_s += time.perf_counter() - start

        session_class.run = timed
        Plan.watch, Program.measures = self.watch, True
        try:
            yield
        finally:
            session_class.run = run
            Plan.watch, Program.measures = None, False

    def report(self) -> str:
        """Returns where the time went, as text."""
        seconds: dict[str, float] = defaultdict(float)
        ops: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        nodes: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        clusters: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        aside = 0.0
        for row in self.watch.rows:
            if row.is_aside:
                aside += row.own_s
                continue
            seconds["compile" if row.kind in MAKING else row.kind] += row.own_s
            if row.kind == "host":
                for table, key in ((ops, row.what.type), (nodes, f"{row.what.name} ({row.what.type})")):
                    table[key][0] += 1
                    table[key][1] += row.own_s
            else:
                name = f"{row.what.label}, {len(row.what.ops)} nodes for {row.what.purpose}"
                key = name if row.kind == "cluster" else f"{_DOING[row.kind]} {name}"
                clusters[key][0] += 1
                clusters[key][1] += row.own_s
        total = self.step_s
        rest = max(0.0, total - sum(seconds.values()))
        lines = [f"{self.steps} steps took {explain._time(total)}" if self.steps else "No step was run."]
        if not self.steps:
            return lines[0]
        for what, spent in (
            ("clusters (XLA)", seconds["cluster"]),
            ("nodes on the host, interpreted ones included", seconds["host"]),
            ("importing JAX, tracing, compiling, loading", seconds["compile"]),
            ("Python between them (feeds, fetches, plans)", rest),
        ):
            lines.append(f"  {_share(spent, total)}  {explain._time(spent):>9}  {what}")
        if aside:
            lines.append(f"  {'':>6}  {explain._time(aside):>9}  compiling beside the steps, in a thread")
        lines += _table("Clusters, and what made them", clusters, total)
        lines += _table("Ops on the host", ops, total)
        lines += _table("Nodes on the host", nodes, total)
        return "\n".join(lines)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole else 0.0:5.1f}%"


def _table(title: str, rows: dict[str, list[float]], total: float) -> list[str]:
    if not rows:
        return []
    ordered = sorted(rows.items(), key=lambda item: -item[1][1])
    lines = ["", f"{title}   (share, in all, times, each)"]
    for name, (times, spent) in ordered[:_MOST_ROWS]:
        each = explain._time(spent / times)
        lines.append(f"  {_share(spent, total)}  {explain._time(spent):>9}  {times:>6.0f}  {each:>9}  {name}")
    if len(ordered) > _MOST_ROWS:
        left = sum(spent for _, (_, spent) in ordered[_MOST_ROWS:])
        lines.append(
            f"  {_share(left, total)}  {explain._time(left):>9}  and {len(ordered) - _MOST_ROWS} more"
        )
    return lines


@contextlib.contextmanager
def explaining() -> Iterator[list[Plan]]:
    """Returns a block in which all plans that are made are kept, and programs are timed to their end."""
    made: list[Plan] = []
    Plan.made, Program.measures = made, True
    try:
        yield made
    finally:
        Plan.made, Program.measures = None, False


def run_and_tell(run: Callable[[], int | None], tell: Callable[[], str]) -> int:
    """Runs a program, says at its end what there is to say, and ends as the program does.

    Args:
      run: Runs it and returns its exit code.
      tell: Returns the text.
    """
    code = 0
    try:
        code = run() or 0
        return code
    finally:
        # What a program exits with comes as an exception; another code says that it could not be started.
        if not code:
            sys.stdout.flush()
            print("\n" + tell(), flush=True)
