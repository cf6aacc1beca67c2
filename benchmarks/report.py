"""The tables of docs/performance.md, out of what the programs took."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.side_by_side import Row, disagreements, group, title

Found = dict[str, dict[str, Row]]
_NAMES = {"tensorflow": "TensorFlow {}", "compat.v1": "TensorFlow {} (`compat.v1`)"}


def _peers(rows: dict[str, Row]) -> dict[str, Row]:
    return {name: row for name, row in rows.items() if not name.startswith("headrace")}


def ratio(rows: dict[str, Row], key: str = "step") -> float | None:
    """Returns headrace's figure over that of the better peer, or None where one of them is lacking."""
    peers = _peers(rows)
    if "headrace" not in rows or not peers:
        return None
    if key == "step":
        return max(row["ratio"] for row in peers.values())
    return float(rows["headrace"][key] / min(row[key] for row in peers.values()))


def ratios(found: Found, key: str = "step") -> dict[str, float]:
    """Returns the ratio of each program that has one, the greatest first."""
    each = {name: ratio(rows, key) for name, rows in found.items()}
    return dict(sorted(((k, v) for k, v in each.items() if v), key=lambda item: -item[1]))


def _mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _cell(value: float | None, form: str = "{:.2f}") -> str:
    if value is None:
        return "–"
    return "< 0.01" if 0 < value < 0.005 else form.format(value)


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds * 1e3:.{3 if seconds < 1e-3 else 1 if seconds < 0.1 else 0}f}"


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    line = " | ".join(["---", *["--:"] * (len(heads) - 1)])
    return [f"| {' | '.join(heads)} |", f"| {line} |", *(f"| {' | '.join(row)} |" for row in rows), ""]


def short_table(found: Found) -> list[str]:
    """Returns lines of a table of a step's time by each runtime, the worst ratio first."""
    order = [*ratios(found), *(name for name in found if ratio(found[name]) is None)]
    body = []
    for name in order:
        rows = found[name]
        steps = [rows.get(r, {}).get("step") for r in ("headrace", "tensorflow", "compat.v1")]
        others = (ratio(rows, key) for key in ("least", "cpu", "start", "memory"))
        body.append([name, _cell(ratio(rows)), *map(_milliseconds, steps), *map(_cell, others)])
    heads = "program,ratio,headrace ms,TF 1.15 ms,TF 2 ms,least step,CPU time,start,memory"
    return _table(heads.split(","), body)


def means(found: Found) -> list[str]:
    """Returns lines of a table of geometric means by group."""
    steps, starts, memory = ratios(found), ratios(found, "start"), ratios(found, "memory")
    groups: dict[str, list[str]] = {}
    for name in steps:
        groups.setdefault(group(name), []).append(name)
    body = []
    for label, names in [*groups.items(), ("**all**", list(steps))]:
        values = [_mean([figures[n] for n in names]) for figures in (steps, starts, memory)]
        worst = max(names, key=lambda n: steps[n])
        body.append([label, str(len(names)), *map(_cell, values), f"{worst} {steps[worst]:.2f}"])
    return _table(["group", "programs", "step", "start", "memory", "slowest"], body) if steps else []


def details(found: Found) -> list[str]:
    """Returns lines of a table with every figure of every runtime."""
    heads = "by,step ms,p90 ms,CPU ms,import s,build s,initialise s,first s,warm-up s,compile s,programs,total s,MiB"
    body = []
    for name, rows in found.items():
        for runtime, row in rows.items():
            seconds = [row[k] for k in ("import", "build", "initialize", "first", "warm_up")]
            ours = runtime.startswith("headrace")
            compiling = [f"{row['compile']:.2f}", f"{row['compiled']:.0f}"] if ours else ["–", "–"]
            body.append(
                [
                    name,
                    runtime,
                    _milliseconds(row["step"]),
                    _milliseconds(row["p90"]),
                    _milliseconds(row["cpu"]),
                ]
                + [f"{s:.2f}" for s in seconds]
                + [*compiling, f"{row['total']:.1f}", f"{row['memory']:.0f}"]
            )
    return _table(["program", *heads.split(",")], body)


def roofs(found: Found, peak: float, cpu_peak: float) -> list[str]:
    """Returns lines of a table of the share of the peak that each program reaches, where its operations are known.

    Args:
      found: Figures by program and runtime.
      peak: Operations a second of a large product of matrices.
      cpu_peak: The same a second of CPU time, which a busy machine changes less.
    """
    body = []
    for name, rows in found.items():
        flops = max(row["flops"] for row in rows.values())
        if flops >= 1e8 and "headrace" in rows:
            shares = [flops / rows["headrace"]["least"] / peak]
            shares += [
                flops / rows[r]["cpu"] / cpu_peak if r in rows else None
                for r in ("headrace", "tensorflow", "compat.v1")
            ]
            body.append([name, f"{flops / 1e9:.1f}", *(_cell(s, "{:.0%}") for s in shares)])
    heads = "program,GFLOP a step,headrace's fastest step,headrace by CPU time,TF 1.15 by CPU time,TF 2 by CPU time"
    return _table(heads.split(","), body)


def losses(found: Found) -> list[str]:
    """Returns a line for each program whose first loss differs between headrace and a peer by more than 0.1 %."""
    return [f"- {line}" for name, rows in found.items() for line in disagreements(rows, name)]


def _failures(found: Found) -> list[str]:
    """Returns lines that name the programs that headrace did not finish; no mean counts them."""
    names = [name for name, rows in found.items() if "headrace" not in rows]
    return [f"headrace did not finish: {', '.join(names)}. No mean counts that.", ""] if names else []


def _often(about: dict[str, Any]) -> str:
    rounds = about["rounds"]
    return f"{rounds} time{'s' if rounds > 1 else ''}{', a few steps each' if about['quick'] else ''}"


def document(found: Found, about: dict[str, Any]) -> str:
    """Returns docs/performance.md.

    Args:
      found: Figures by program and runtime.
      about: `date`, `machine`, `versions`, `peak`, `cpu_peak`, `bandwidth`, `rounds`, `notes`.
    """
    lines = [
        "# How fast headrace is",
        "",
        "Written by `scripts/bench --write`; do not edit what stands above the notes.",
        "",
        f"Run of {about['date']} on {about['machine']}, with {about['versions']}. Each program of "
        "[benchmarks/programs](../benchmarks/programs) is plain TensorFlow 1 and runs unchanged by headrace, by "
        "TensorFlow 1.15 and by TensorFlow 2's `compat.v1`, each in a process of its own, in turns, "
        f"{_often(about)}. A *ratio* is headrace's median step over that of the faster TensorFlow: below 1 headrace "
        "is faster. *Start* is initialising variables and the first step; *warm-up* is what the steps took beyond a "
        "median step each until nothing was being compiled any more; *memory* is the most that the process held. "
        "*headrace again* is a second process that finds what the first left in its cache on disk.",
        "",
        "![Ratios of step times](performance.svg)",
        "",
        "## Geometric means of the ratios",
        "",
        *means(found),
        "## Ratios, the worst first",
        "",
        "The four columns on the right are ratios, too: of the fastest step, of the CPU time of a step (all threads), "
        "of the start and of the memory.",
        "",
        *short_table(found),
        *_failures(found),
        "## Share of the machine's peak",
        "",
        f"Products of large float32 matrices reach {about['peak'] / 1e9:.0f} GFLOP/s here, copies move "
        f"{about['bandwidth'] / 1e9:.1f} GB/s (read and written). Operations are those of products of matrices and "
        f"of convolutions in the graph. A product of matrices makes {about['cpu_peak'] / 1e9:.0f} GFLOP in a second of "
        "CPU time; the columns by CPU time compare with that, and hold on a busy machine, too.",
        "",
        *roofs(found, about["peak"], about["cpu_peak"]),
        "## Agreement",
        "",
        "With the same seeds the first loss is the same to 0.1 %, except:",
        "",
        *(losses(found) or ["- none"]),
        "",
        "## All figures",
        "",
        *details(found),
        "The programs: " + "; ".join(f"*{n}*: {title(n).rstrip('.')}" for n in found) + ".",
        "",
        NOTES,
        "",
    ]
    return "\n".join(lines) + about["notes"]


NOTES = "## Notes"
