"""Runs the benchmarks: `scripts/bench --peer PYTHON_WITH_TENSORFLOW_1 --peer2 PYTHON_WITH_TENSORFLOW_2 --write`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import graph_building, picture, report, roofline, session_overhead, side_by_side
from benchmarks.calibration import slowness

_DOCS = Path(__file__).resolve().parent.parent / "docs"


def _building() -> None:
    """Prints how fast graphs are built, with targets scaled to how fast this machine is now."""
    slow = slowness()
    print(f"this machine takes {slow:.2f} times as long as the reference for the calibration loop\n")
    for name, measure, target in graph_building.ROWS:
        rate = measure() * slow
        print(f"{name:<24} {rate:>9,.0f} a second, calibrated (target {target:,})")
    tiny, loading = session_overhead.tiny_graph() / slow, session_overhead.import_seconds() / slow
    print(f"{'sess.run, tiny graph':<24} {tiny:>9.1f} us, calibrated (target 60)")
    print(f"{'import headrace':<24} {loading:>9.3f} s CPU, calibrated (target 0.3)")


def _versions(found: report.Found) -> str:
    """Returns which releases ran; headrace's own `__version__` is the one of TensorFlow that it stands for."""
    import importlib.metadata

    ours = [f"{name} {importlib.metadata.version(name)}" for name in ("headrace", "jax")]
    peers = {
        r: row["version"] for rows in found.values() for r, row in rows.items() if not r.startswith("head")
    }
    return ", ".join([*ours, *(f"TensorFlow {version}" for version in peers.values())])


def _machine(before: dict[str, float]) -> dict[str, float]:
    """Returns the most that was measured of this machine, now or before."""
    peak, cpu_peak = roofline.matmul_peak()
    now = {"peak": peak, "cpu_peak": cpu_peak, "bandwidth": roofline.bandwidth()}
    return {key: max(value, before.get(key, 0.0)) for key, value in now.items()}


def _write(found: report.Found, machine: dict[str, float], rounds: int, quick: bool) -> None:
    path = _DOCS / "performance.md"
    notes = path.read_text().partition(report.NOTES + "\n")[2] if path.exists() else ""
    about: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": roofline.machine(),
        "versions": _versions(found),
        **machine,
        "rounds": rounds,
        "quick": quick,
        "notes": notes,
    }
    path.write_text(report.document(found, about))
    title = "Time of a step by headrace over that of the faster TensorFlow"
    (_DOCS / "performance.svg").write_text(picture.bars(report.ratios(found), title))


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python that has TensorFlow 1.15")
    parser.add_argument("--peer2", help="a Python that has TensorFlow 2, for its compat.v1")
    parser.add_argument("--programs", default="all", help="which to run, with commas; or all")
    parser.add_argument("--rounds", type=int, default=3, help="how often each runs")
    parser.add_argument("--quick", action="store_true", help="time a few steps of each only")
    parser.add_argument("--results", type=Path, help="a JSON file that keeps and updates the figures")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md and its picture")
    parser.add_argument("--building", action="store_true", help="time the building of graphs instead")
    arguments = parser.parse_args()
    if arguments.building:
        _building()
        return
    peers = {"tensorflow": arguments.peer, "compat.v1": arguments.peer2}
    peers = {name: python for name, python in peers.items() if python}
    wanted = [name for name in arguments.programs.split(",") if name]
    found: report.Found = {}
    machine: dict[str, float] = {}
    if arguments.results and arguments.results.exists():
        kept = json.loads(arguments.results.read_text())
        found, machine = kept["programs"], kept["machine"]
    for program in side_by_side.PROGRAMS if wanted == ["all"] else wanted:
        machine = _machine(machine)  # before each, as others may be busy now
        complain = lambda text: print(text, file=sys.stderr)  # noqa: E731
        rows = side_by_side.compare(program, peers, arguments.rounds, arguments.quick, complain)
        found[program] = rows
        for name, row in rows.items():
            print(
                f"{program:<20} {name:<15} step {row['step'] * 1e3:9.2f} ms, start {row['start']:6.2f} s, "
                f"{row['memory']:6.0f} MiB, loss {row['losses'][0]:.6g}, ratio {row.get('ratio') or 0:.2f}",
                flush=True,
            )
        if arguments.results:
            arguments.results.write_text(json.dumps({"programs": found, "machine": machine}, indent=1))
    found = {name: found[name] for name in side_by_side.PROGRAMS if name in found}
    print("\n".join(["", *report.means(found), *report.short_table(found), *report.losses(found)]))
    if arguments.write:
        _write(found, machine or _machine({}), arguments.rounds, arguments.quick)


if __name__ == "__main__":
    main()
