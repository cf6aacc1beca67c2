"""Records tests/golden/gradient_graphs.json: small graphs with gradients, and how wrong calls fail.

Run with the oracle:  scripts/oracle tests/golden/record/gradient_graphs.py
"""

import pathlib
import sys

import tensorflow as tf

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "golden"), str(TESTS / "unit" / "autodiff"), str(TESTS / "unit" / "graphdef")]
import canonical
import gradient_builders
import import_builders


def record(builders, path):
    table = {}
    for name, build in builders.items():
        graph = tf.Graph()
        error = None
        with graph.as_default():
            try:
                build(tf, graph)
            except Exception as e:
                error = [type(e).__name__, str(e)]
        table[name] = {"error": error, "nodes": canonical.graph_nodes(graph)}
    canonical.write_table(path, table)
    print(f"{path}: {len(table)} graphs")


gradient_builders.register(tf)
record(gradient_builders.BUILDERS, "gradient_graphs.json")
record(import_builders.BUILDERS, "imported_graphs.json")
