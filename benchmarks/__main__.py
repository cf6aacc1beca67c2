"""Runs the benchmarks: `scripts/bench [--peer PYTHON_WITH_TENSORFLOW_1]`."""

from __future__ import annotations

import argparse

from benchmarks import graph_building, session_overhead, side_by_side
from benchmarks.calibration import slowness


def main() -> None:
    """Prints one line a figure, with its target scaled to how fast this machine is now."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", help="a Python that has TensorFlow 1.15, to time LeNet side by side")
    parser.add_argument("--peer2", help="a Python that has TensorFlow 2, for its compat.v1")
    parser.add_argument("--programs", help="programs to run side by side, with commas; or 'all'")
    parser.add_argument("--rounds", type=int, default=3, help="how often each runs")
    arguments = parser.parse_args()
    peer = arguments.peer
    if arguments.programs:
        names = side_by_side.PROGRAMS if arguments.programs == "all" else arguments.programs.split(",")
        peers = {"tensorflow": peer, "compat.v1": arguments.peer2}
        print(
            "\n".join(
                side_by_side.report(list(names), {k: v for k, v in peers.items() if v}, arguments.rounds)
            )
        )
        return
    slow = slowness()
    print(f"this machine takes {slow:.2f} times as long as the reference for the calibration loop\n")
    for name, measure, target in graph_building.ROWS:
        rate = measure() * slow
        print(f"{name:<24} {rate:>9,.0f} a second, calibrated (target {target:,})")
    print(
        f"{'sess.run, tiny graph':<24} {session_overhead.tiny_graph() / slow:>9.1f} us, calibrated (target 60)"
    )
    print(
        f"{'import headrace':<24} {session_overhead.import_seconds() / slow:>9.3f} s CPU, calibrated (target 0.3)"
    )
    rows = [("headrace", session_overhead.lenet())]
    if peer:
        rows.append(("TensorFlow", session_overhead.lenet(peer, "")))
    for name, (init, first, second, median) in rows:
        print(
            f"LeNet, {name:<11} init {init:.3f} s, first step {first:.3f} s, second {second:.3f} s, "
            f"median {median * 1e3:.1f} ms"
        )


if __name__ == "__main__":
    main()
