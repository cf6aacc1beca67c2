"""Records tests/golden/graphs/ and values/: the graph of each program and what its fetches hold.

Run with the oracle:  scripts/oracle tests/golden/record/graphs.py [program ...]
"""

import pathlib
import sys

import numpy as np
import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "golden"), str(TESTS / "programs")]
import canonical
import programs

CONTROL_FLOW_V1 = {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}


def record(name):
    """Records one program, after checking that a second session gives the same values."""
    module = programs.load("graphs", name)
    graph, fetches = programs.build(tf, module)
    nodes = canonical.graph_nodes(graph)
    found = CONTROL_FLOW_V1 & {line[1] for line in nodes}
    if found:
        raise SystemExit(f"{name}: builds v1 control flow: {sorted(found)}")
    canonical.write_graph(
        f"graphs/{name}.json", {"nodes": nodes, "collections": canonical.graph_collections(graph)}
    )
    first = programs.run_graph_program(tf, graph, fetches, module)
    second = programs.run_graph_program(tf, graph, fetches, module)
    for phase, values in first.items():
        for key, value in values.items():
            again = second[phase][key]
            if (
                np.asarray(value).tobytes() != np.asarray(again).tobytes()
                and np.asarray(value).dtype != object
            ):
                raise SystemExit(f"{name}: {phase} {key} differs between two sessions: {value} {again}")
    table = {
        f"{phase} {key}": canonical.value(value)
        for phase, values in first.items()
        for key, value in values.items()
    }
    canonical.write_table(f"values/{name}.json", table)
    print(f"{name}: {len(nodes)} nodes, {len(table)} values")


def main():
    for name in sys.argv[1:] or programs.names("graphs"):
        record(name)


main()
